// SPDX-License-Identifier: GPL-2.0-only
/* CPU events (pid -1): they count every task that runs on their CPU. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define N 100001

static int on_cpu(int cpu, int disabled)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = disabled;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, -1, cpu, -1, 0);
}

/* The guest is otherwise idle, so nearly all user-mode instructions on the CPU are the test's */
TEST(own_work)
{
	ROWS("O-10");
	int fd = on_cpu(1, 1);

	ASSERT_EQ(pin_to(1), 0);
	work_counted(fd, N, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(N));
	EXPECT_LE(ev_count(fd), WORK_INSNS(N) + 1000 + SLACK(WORK_INSNS(N)));
	EXPECT_TRUE(always_ran(fd));
}

TEST(other_processes)
{
	ROWS("O-10");
	int here = on_cpu(1, 0), there = on_cpu(0, 0);
	struct worker one, two;
	uint64_t a, b, c;

	ASSERT_EQ(pin_to(0), 0);
	worker_start(&one);
	worker_start(&two);
	worker_pin(&one, 1);
	worker_pin(&two, 1);
	worker_run(&one, 1);
	worker_run(&two, 1);
	a = ev_count(here);
	worker_run(&one, 1);
	worker_run(&two, 1);
	b = ev_count(here);
	worker_run(&one, N);
	worker_run(&two, N);
	c = ev_count(here);
	EXPECT_GE(c - b, 2 * worker_insns(N, 1));
	EXPECT_LE(c - b - (b - a), 2 * worker_insns(N, 1) + 1000 +
				   SLACK(8 * N));
	/* The event on CPU 0 counts this process, but not the workers on CPU 1 */
	a = ev_count(there);
	worker_run(&one, 10 * N);
	EXPECT_LT(ev_count(there) - a, 10 * N);
	worker_stop(&one);
	worker_stop(&two);
}

TEST(other_cpus_not_counted)
{
	ROWS("O-10");
	int fd = on_cpu(1, 1);

	ASSERT_EQ(pin_to(0), 0);
	work_counted(fd, 10 * N, 0);
	EXPECT_LT(ev_count(fd), 10 * N);
	EXPECT_GT(ev_times(fd).enabled, 0);
	EXPECT_TRUE(always_ran(fd));
}

/* An event of a task on CPU 0 does not count it on CPU 1, whether pinned or flexible; then it does on CPU 0 */
TEST(a_task_on_one_cpu)
{
	ROWS("O-10 O-05");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	for (a.pinned = 0;; a.pinned = 1) {
		ASSERT_EQ(pin_to(1), 0);
		fd = ev_must(&a, 0, 0, -1, 0);
		work_counted(fd, N, 0);
		EXPECT_EQ(ev_count(fd), 0);
		ASSERT_EQ(pin_to(0), 0);
		work_counted(fd, N, 0);
		EXPECT_GE(ev_count(fd), WORK_INSNS(N));
		EXPECT_LE(ev_count(fd), WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
		close(fd);
		if (a.pinned)
			break;
	}
}

/* One worker and one event per CPU; all workers run concurrently */
TEST(one_event_per_cpu)
{
	ROWS("O-10");
	int n = nr_cpus() > 8 ? 8 : nr_cpus(), fd[8], cpu;
	struct worker w[8];

	for (cpu = 0; cpu < n; cpu++) {
		worker_start(&w[cpu]);
		worker_pin(&w[cpu], cpu);
		fd[cpu] = on_cpu(cpu, 0);
	}
	for (cpu = 0; cpu < n; cpu++)
		worker_go(&w[cpu], (cpu + 1) * 1000000);
	for (cpu = 0; cpu < n; cpu++)
		worker_wait(&w[cpu]);
	/* CPU 0 also runs this process; an event of all CPUs would count all workers */
	for (cpu = 0; cpu < n; cpu++) {
		uint64_t v = ev_count(fd[cpu]);

		EXPECT_GE(v, 4 * (cpu + 1) * 1000000);
		EXPECT_LT(v, 4 * (cpu + 2) * 1000000);
		EXPECT_TRUE(always_ran(fd[cpu]));
	}
	for (cpu = 0; cpu < n; cpu++)
		worker_stop(&w[cpu]);
}

/* A CPU event can be read, enabled and disabled from any CPU */
TEST(from_every_cpu)
{
	ROWS("O-10");
	int fd = on_cpu(1, 0), cpu;
	struct ev_times last = ev_times(fd), t;

	for (int i = 0; i < 100; i++) {
		cpu = i % nr_cpus();
		ASSERT_EQ(pin_to(cpu), 0);
		t = ev_times(fd);
		EXPECT_GE(t.value, last.value);
		EXPECT_GT(t.enabled, last.enabled);
		EXPECT_EQ(t.enabled, t.running);
		last = t;
	}
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(pin_to(cpu), 0);
		ev_disable(fd);
		last = ev_times(fd);
		t = ev_times(fd);
		EXPECT_EQ(memcmp(&t, &last, sizeof(t)), 0);
		ev_enable(fd);
		EXPECT_GT(ev_times(fd).enabled, last.enabled);
	}
}

TEST(groups)
{
	ROWS("O-10 O-16 I-05");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	uint64_t v[8];
	int lead, member;

	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	lead = ev_must(&a, -1, 1, -1, 0);
	a.config = RAW_STORES;
	member = ev_must(&a, -1, 1, lead, 0);
	ASSERT_EQ(pin_to(1), 0);
	work_counted(member, N, PERF_IOC_FLAG_GROUP);
	ASSERT_EQ(read(member, v, sizeof(v)), 40);
	EXPECT_EQ(v[0], 2);
	EXPECT_EQ(v[1], v[2]);
	EXPECT_GE(v[3], WORK_LOADS(N));
	EXPECT_GE(v[4], WORK_STORES(N));
	EXPECT_LE(v[3], WORK_LOADS(N) + 1000 + SLACK(N));
	EXPECT_LE(v[4], WORK_STORES(N) + 1000 + SLACK(N));
}

/* A task event and a CPU event both count the same instructions */
TEST(task_and_cpu_together)
{
	ROWS("O-10 O-05");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int cpu = on_cpu(1, 0), task;
	uint64_t before;

	a.read_format = FORMAT_TIMES;
	ASSERT_EQ(pin_to(1), 0);
	task = ev_must(&a, 0, -1, -1, 0);
	before = ev_count(cpu);
	work_counted(task, N, 0);
	EXPECT_GE(ev_count(cpu) - before, WORK_INSNS(N));
	EXPECT_GE(ev_count(task), WORK_INSNS(N));
	EXPECT_LE(ev_count(task), WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
	EXPECT_TRUE(always_ran(task));
	EXPECT_TRUE(always_ran(cpu));
}

/* A CPU event also counts while its CPU is idle */
TEST(idle_cpu_counts_kernel)
{
	ROWS("O-10");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t first;
	int fd;

	a.disabled = 0;
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	ASSERT_EQ(pin_to(0), 0);
	fd = ev_must(&a, -1, nr_cpus() - 1, -1, 0);
	first = ev_count(fd);
	/* The read sends an IPI to that CPU, and the instructions of its handler are counted */
	EXPECT_GT(ev_count(fd), first);
}

TEST_HARNESS_MAIN
