// SPDX-License-Identifier: GPL-2.0-only
/* Task events: on the caller, on other processes and on threads, on any CPU. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define N	100001
#define FEW	1

static struct perf_event_attr insns(int disabled)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = disabled;
	a.read_format = FORMAT_TIMES;
	return a;
}

/* Count of @n rounds, less the count of FEW rounds to cancel the worker's overhead */
static uint64_t seen(int fd, struct worker *w, uint64_t n)
{
	uint64_t a, b, c;

	a = ev_count(fd);
	worker_run(w, FEW);
	b = ev_count(fd);
	worker_run(w, n);
	c = ev_count(fd);
	return c - b - (b - a);
}

#define SEES_ALL(fd, w, n) do {						\
	uint64_t __s = seen(fd, w, n), __e = worker_insns(n, FEW);	\
									\
	EXPECT_GE(__s + SLACK(__e), __e);				\
	EXPECT_LE(__s, __e + SLACK(__e));				\
} while (0)

TEST(another_process)
{
	ROWS("O-07 F-08");
	struct perf_event_attr a = insns(0);
	struct worker w;
	int fd;

	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	SEES_ALL(fd, &w, N);
	SEES_ALL(fd, &w, N);
	/* The caller's own work is not counted */
	uint64_t before = ev_count(fd);

	work(N);
	EXPECT_EQ(ev_count(fd), before);
	worker_stop(&w);
}

TEST(another_thread)
{
	ROWS("O-09");
	struct perf_event_attr a = insns(0);
	struct worker one, two;
	int fd1, fd2, self;
	uint64_t before1, before2;

	worker_start_thread(&one);
	worker_start_thread(&two);
	fd1 = ev_must(&a, one.pid, -1, -1, 0);
	fd2 = ev_must(&a, two.pid, -1, -1, 0);
	SEES_ALL(fd1, &one, N);
	SEES_ALL(fd2, &two, N);
	before1 = ev_count(fd1);
	before2 = ev_count(fd2);
	worker_run(&one, N);
	EXPECT_GE(ev_count(fd1), before1 + 4 * N);
	EXPECT_EQ(ev_count(fd2), before2);
	/* The PID of a process selects its main thread, not all its threads */
	self = ev_must(&a, getpid(), -1, -1, 0);
	ev_disable(self);
	before1 = ev_count(self);
	worker_run(&one, N);
	EXPECT_EQ(ev_count(self), before1);
	worker_stop(&one);
	worker_stop(&two);
}

/*
 * Count of the children: the inherited event less the caller's own event.  The instructions
 * between the two reads add a constant.
 */
static uint64_t others(int family, int own)
{
	uint64_t mine = ev_count(own);

	return ev_count(family) - mine;
}

/*
 * Two processes share one address space (CLONE_VM).  A switch between them does not change the
 * page table, but must still switch the events.  The inherited event counts both processes.
 */
static void in_one_memory(struct __test *_metadata, int cpu)
{
	struct perf_event_attr a = insns(0);
	static struct worker w;		/* static: the sharing child uses it too */
	int own, family, fd;
	uint64_t n[3];

	pin_to(0);
	own = ev_must(&a, 0, -1, -1, 0);
	a.inherit = 1;
	family = ev_must(&a, 0, -1, -1, 0);
	a.inherit = 0;
	worker_start_sharing(&w);
	worker_pin(&w, cpu);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	SEES_ALL(fd, &w, N);
	n[0] = others(family, own);
	worker_run(&w, FEW);
	n[1] = others(family, own);
	worker_run(&w, N);
	n[2] = others(family, own);
	if (exact())
		EXPECT_EQ(n[2] - n[1] - (n[1] - n[0]), worker_insns(N, FEW));
	worker_stop(&w);
}

TEST(shared_address_space)
{
	ROWS("O-07");
	in_one_memory(_metadata, 0);
	in_one_memory(_metadata, nr_cpus() - 1);
}

TEST(first_thread_only)
{
	ROWS("O-09");
	struct perf_event_attr a = insns(0);
	struct worker w;
	uint64_t before;
	int fd;

	worker_start_thread(&w);
	fd = ev_must(&a, getpid(), -1, -1, 0);
	before = ev_count(fd);
	worker_run(&w, 100 * N);	/* 40 million instructions in the thread */
	EXPECT_LT(ev_count(fd) - before, 20000000);
	worker_stop(&w);
}

TEST(children_not_counted)
{
	struct perf_event_attr a = insns(0);
	int fd = ev_must(&a, 0, -1, -1, 0), status;
	uint64_t before = ev_count(fd);
	pid_t pid = fork();

	if (!pid) {
		work(100 * N);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT_LT(ev_count(fd) - before, 10000000);
}

TEST(follows_migrations)
{
	ROWS("O-05 O-07");
	struct perf_event_attr a = insns(0);
	uint64_t v[3];
	struct worker w;
	int fd;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_roam(&w, 1, 20);
	v[0] = ev_count(fd);
	worker_roam(&w, 1, 20);
	v[1] = ev_count(fd);
	worker_roam(&w, 10001, 20);
	v[2] = ev_count(fd);
	if (exact())
		EXPECT_EQ(v[2] - v[1] - (v[1] - v[0]), 20 * worker_insns(10001, 1));
	else
		EXPECT_GE(v[2] - v[1], 20 * worker_insns(10001, 1));
	worker_stop(&w);
}

TEST(self_follows_migrations)
{
	ROWS("O-05");
	struct perf_event_attr a = insns(1);
	int fd = ev_must(&a, 0, -1, -1, 0);
	struct ev_times t;
	int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(pin_to(i % nr_cpus()), 0);
		work_counted(fd, 1000, 0);
	}
	t = ev_times(fd);
	EXPECT_GE(t.value, 100 * WORK_INSNS(1000));
	EXPECT_LE(t.value, 100 * (WORK_INSNS(1000) + SLACK(WORK_INSNS(1000))));
	EXPECT_EQ(t.enabled, t.running);
}

TEST(self_on_one_cpu_only)
{
	ROWS("O-06");
	struct perf_event_attr a = insns(0);
	struct ev_times one, two;
	int fd;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	ASSERT_EQ(pin_to(0), 0);
	fd = ev_must(&a, 0, 1, -1, 0);
	work(N);
	one = ev_times(fd);
	EXPECT_EQ(one.value, 0);
	EXPECT_EQ(one.running, 0);
	EXPECT_GT(one.enabled, 0);
	ASSERT_EQ(pin_to(1), 0);
	work(N);
	ASSERT_EQ(pin_to(0), 0);
	two = ev_times(fd);
	EXPECT_GE(two.value, 4 * N);
	EXPECT_GT(two.running, 0);
	EXPECT_LT(two.running, two.enabled);
	work(N);
	one = ev_times(fd);
	EXPECT_EQ(one.value, two.value);
	EXPECT_EQ(one.running, two.running);
	EXPECT_GT(one.enabled, two.enabled);
}

TEST(self_on_this_cpu_exact)
{
	ROWS("O-06");
	struct perf_event_attr a = insns(1);
	int cpu, fd[8], n = nr_cpus() < 8 ? nr_cpus() : 8;

	for (cpu = 0; cpu < n; cpu++)
		fd[cpu] = ev_must(&a, 0, cpu, -1, 0);
	for (cpu = 0; cpu < n; cpu++) {
		ASSERT_EQ(pin_to(cpu), 0);
		for (int i = 0; i < n; i++)
			work_counted(fd[i], 1000 + cpu, 0);
	}
	for (cpu = 0; cpu < n; cpu++) {
		EXPECT_GE(ev_count(fd[cpu]), WORK_INSNS(1000 + cpu));
		EXPECT_LE(ev_count(fd[cpu]), WORK_INSNS(1000 + cpu) +
					     SLACK(WORK_INSNS(1000)));
	}
}

TEST(another_on_one_cpu_only)
{
	ROWS("O-08");
	struct perf_event_attr a = insns(0);
	struct ev_times before, after;
	struct worker w;
	int on1, any;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	worker_start(&w);
	worker_pin(&w, 0);
	on1 = ev_must(&a, w.pid, 1, -1, 0);
	any = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, N);
	before = ev_times(on1);
	EXPECT_EQ(before.value, 0);
	EXPECT_EQ(before.running, 0);
	EXPECT_GT(before.enabled, 0);
	SEES_ALL(any, &w, N);
	worker_pin(&w, 1);
	SEES_ALL(on1, &w, N);
	SEES_ALL(any, &w, N);
	before = ev_times(on1);
	worker_pin(&w, 0);
	before = ev_times(on1);
	worker_run(&w, N);
	after = ev_times(on1);
	EXPECT_EQ(after.value, before.value);
	EXPECT_EQ(after.running, before.running);
	EXPECT_GT(after.enabled, before.enabled);
	worker_stop(&w);
}

/* Open and close events while the target runs, on each CPU in turn */
TEST(attach_running)
{
	ROWS("O-07");
	struct perf_event_attr a = insns(0);
	uint64_t one, two, n = 3000000;
	struct worker w;
	int fd, i, tries = 0;

	worker_start(&w);
	for (i = 0; i < 10; i++) {
		worker_pin(&w, i % nr_cpus());
		worker_go(&w, n);
		fd = ev_must(&a, w.pid, -1, -1, 0);
		/* The event counts at once: wait until the count changes or the worker is done */
		one = ev_count(fd);
		while ((two = ev_count(fd)) == one && !worker_done(&w))
			;
		/* The worker was done before the count changed: retry with more work */
		if (two == one && ++tries < 10) {
			n *= 2;
			i--;
		} else {
			EXPECT_GT(two, one);
			EXPECT_TRUE(always_ran(fd));
		}
		close(fd);
		worker_wait(&w);
	}
	worker_stop(&w);
}

TEST(enable_disable_running)
{
	ROWS("O-07 I-01 I-02");
	struct perf_event_attr a = insns(1);
	struct ev_times one, two;
	struct worker w;
	int fd, i;

	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	for (i = 0; i < 10; i++) {
		worker_pin(&w, i % nr_cpus());
		worker_go(&w, 3000000);
		ev_enable(fd);
		ev_disable(fd);
		/* A disabled event counts nothing, although the task runs */
		one = ev_times(fd);
		two = ev_times(fd);
		EXPECT_EQ(memcmp(&one, &two, sizeof(one)), 0);
		EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
		EXPECT_EQ(ev_count(fd), 0);
		worker_wait(&w);
		EXPECT_EQ(ev_count(fd), 0);
	}
	worker_stop(&w);
}

TEST(attach_sleeping)
{
	ROWS("O-07");
	struct perf_event_attr a = insns(0);
	struct worker w;
	int fd, i;

	worker_start(&w);
	for (i = 0; i < 10; i++) {
		worker_pin(&w, i % nr_cpus());
		fd = ev_must(&a, w.pid, -1, -1, 0);
		EXPECT_EQ(ev_count(fd), 0);
		EXPECT_EQ(ev_times(fd).enabled, 0);
		SEES_ALL(fd, &w, N);
		close(fd);
	}
	worker_stop(&w);
}

#define MANY 32

TEST(many_tasks)
{
	ROWS("O-07 O-04");
	struct perf_event_attr a = insns(0);
	struct worker w[MANY];
	uint64_t v[MANY][3];
	int fd[MANY], i, round;

	for (i = 0; i < MANY; i++) {
		worker_start(&w[i]);
		fd[i] = ev_must(&a, w[i].pid, -1, -1, 0);
	}
	/* All workers run concurrently; in the last round each does a different amount */
	for (round = 0; round < 3; round++) {
		for (i = 0; i < MANY; i++)
			worker_go(&w[i], round == 2 ? 10001 + 1000 * i : 1);
		for (i = 0; i < MANY; i++)
			worker_wait(&w[i]);
		for (i = 0; i < MANY; i++)
			v[i][round] = ev_count(fd[i]);
	}
	for (i = 0; i < MANY; i++) {
		uint64_t want = worker_insns(10001 + 1000 * i, 1);
		uint64_t got = v[i][2] - v[i][1] - (v[i][1] - v[i][0]);

		EXPECT_GE(got + SLACK(want), want);
		EXPECT_LE(got, want + SLACK(want));
	}
	for (i = 0; i < MANY; i++)
		worker_stop(&w[i]);
}

/* Many tasks on one CPU, with two kinds of events: task switches reprogram counters */
TEST(many_tasks_one_cpu)
{
	ROWS("O-07");
	struct perf_event_attr a = insns(0);
	struct worker w[8];
	uint64_t v[8][3];
	int fd[8], i, round;

	for (i = 0; i < 8; i++) {
		worker_start(&w[i]);
		worker_pin(&w[i], nr_cpus() - 1);
		a.type = i % 2 ? PERF_TYPE_HARDWARE : PERF_TYPE_RAW;
		a.config = i % 2 ? PERF_COUNT_HW_INSTRUCTIONS : RAW_LOADS;
		fd[i] = ev_must(&a, w[i].pid, -1, -1, 0);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 8; i++)
			worker_go(&w[i], round == 2 ? 5000001 : 1);
		for (i = 0; i < 8; i++)
			worker_wait(&w[i]);
		for (i = 0; i < 8; i++)
			v[i][round] = ev_count(fd[i]);
	}
	for (i = 0; i < 8; i++) {
		uint64_t want = 5000000 * (i % 2 ? 4 : 1);
		uint64_t got = v[i][2] - v[i][1] - (v[i][1] - v[i][0]);

		EXPECT_GE(got + SLACK(want), want);
		EXPECT_LE(got, want + SLACK(want));
	}
	for (i = 0; i < 8; i++)
		worker_stop(&w[i]);
}

/* Two equal events on one task.  Closing one does not affect the other. */
TEST(two_observers)
{
	ROWS("O-04");
	struct perf_event_attr a = insns(0);
	struct worker w;
	int one, two;
	uint64_t before[2], after[2];

	worker_start(&w);
	one = ev_must(&a, w.pid, -1, -1, 0);
	two = ev_must(&a, w.pid, -1, -1, 0);
	before[0] = ev_count(one);
	before[1] = ev_count(two);
	worker_run(&w, N);
	after[0] = ev_count(one);
	after[1] = ev_count(two);
	EXPECT_EQ(after[0] - before[0], after[1] - before[1]);
	close(one);
	SEES_ALL(two, &w, N);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
