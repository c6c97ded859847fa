// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_OPEN_SET: counting the same events on several targets, with one fd. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "harness.h"
#include "sets.h"
#include "task.h"

#define N	100001

TEST(own_work)
{
	ROWS("W-10");
	NEED_PMU();
	int fd;

	plan(3, 1, KPMU_SET_TASKS);
	attr[1].config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr[2].type = PERF_TYPE_SOFTWARE;
	attr[2].config = PERF_COUNT_SW_DUMMY;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(error[i], 0);
	EXPECT_EQ(get(fd), size_of(3));
	EXPECT_EQ(result.head.seq, 1);
	EXPECT_EQ(result.head.nr_targets, 1);
	EXPECT_EQ(result.head.nr_events, 3);
	EXPECT_EQ(result.word[0], 0);
	uint64_t before = now_ns();

	work_counted(fd, N, 0);
	EXPECT_EQ(get(fd), size_of(3));
	EXPECT_EQ(result.head.seq, 2);
	EXPECT_GE(result.head.time, before);
	EXPECT_LE(result.head.time, now_ns());
	EXPECT_GE(result.word[0], WORK_INSNS(N));
	EXPECT_LE(result.word[0], WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
	EXPECT_LE(result.word[1], WORK_BRANCHES(N) + SLACK(N));
	EXPECT_GE(result.word[1], WORK_BRANCHES(N));
	EXPECT_EQ(result.word[2], 0);
	/* Off again: the counts stay */
	before = result.word[1];
	work(N);
	get(fd);
	EXPECT_EQ(result.word[1], before);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	get(fd);
	EXPECT_EQ(result.word[0], 0);
	EXPECT_EQ(result.word[1], 0);
}

TEST(times)
{
	ROWS("W-10");
	NEED_PMU();
	int gp = counters_general(), fd;

	/* More than fit: some wait, and their times tell */
	plan(gp + 2, 1, KPMU_SET_TASKS | KPMU_SET_TIMES);
	for (int i = 0; i < gp + 2; i++) {
		attr[i].type = PERF_TYPE_RAW;
		attr[i].config = RAW_BRANCHES;
	}
	fd = open_set();
	ASSERT_GE(fd, 0);
	work_counted(fd, 1, 0);
	EXPECT_EQ(get(fd), size_of(3 * (gp + 2)));
	int full = 0, none = 0;

	for (int i = 0; i < gp + 2; i++) {
		const uint64_t *w = &result.word[3 * i];

		EXPECT_GT(w[1], 0);
		EXPECT_EQ(w[1], result.word[1]);
		full += w[2] == w[1];
		none += !w[2];
	}
	/* A rotation may have come between */
	EXPECT_TRUE((full == gp && none == 2) || full + none < gp + 2);
}

/* Many events that count the same page faults */
TEST(many_values)
{
	ROWS("W-10 W-12");
	enum { FAULTS = 10, NR = EVENTS * 8, PAGE = 4096 };
	size_t size = size_of(NR);
	char *pages, *buf;
	int fd;

	plan(EVENTS, NR / EVENTS, KPMU_SET_TASKS);
	for (int i = 0; i < EVENTS; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_PAGE_FAULTS;
	}
	fd = open_set();
	ASSERT_GE(fd, 0);
	pages = mmap(NULL, 100 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(pages, MAP_FAILED);
	madvise(pages, 100 * PAGE, MADV_NOHUGEPAGE);
	EXPECT_EQ(get(fd), size);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	for (int i = 0; i < FAULTS; i++)
		((volatile char *)pages)[i * PAGE] = 1;
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_EQ(get(fd), size);
	EXPECT_EQ(result.head.seq, 2);
	for (int i = 0; i < NR; i++)
		EXPECT_EQ(result.word[i], FAULTS);
	/* A buffer that ends too early, and one whose end is not mapped */
	EXPECT_EQ(read(fd, pages, size - 1), -1);
	EXPECT_EQ(errno, ENOSPC);
	buf = pages + 50 * PAGE;
	munmap(buf, PAGE);
	EXPECT_EQ(read(fd, buf - size + 8, size), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(read(fd, buf - size, size), size);
	EXPECT_EQ(memcmp(buf - size + sizeof(result.head), result.word, 8 * NR), 0);
}

TEST(cpus)
{
	ROWS("W-10 W-11");
	NEED_PMU();
	struct worker w[TARGETS];
	uint64_t base[TARGETS];
	int n = nr_cpus(), fd;

	plan(2, n, 0);
	attr[1].type = PERF_TYPE_SOFTWARE;
	attr[1].config = PERF_COUNT_SW_TASK_CLOCK;
	fd = open_set();
	ASSERT_GE(fd, 0);
	pin_to(0);
	for (int i = 0; i < n; i++) {
		worker_start(&w[i]);
		worker_pin(&w[i], i);
		worker_run(&w[i], 1);
	}
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	get(fd);
	for (int i = 0; i < n; i++)
		base[i] = result.word[2 * i];
	for (int i = 0; i < n; i++)
		worker_run(&w[i], (i + 1) * N);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_EQ(get(fd), size_of(2 * n));
	for (int i = 1; i < n; i++) {	/* CPU 0 has this process as well */
		uint64_t got = result.word[2 * i] - base[i];

		EXPECT_GE(got, 4ULL * (i + 1) * N);
		EXPECT_LE(got, 4ULL * (i + 1) * N + 3000 + SLACK(4ULL * (i + 1) * N));
		EXPECT_GT(result.word[2 * i + 1], 0);
	}
	for (int i = 0; i < n; i++)
		worker_stop(&w[i]);
}

TEST(tasks)
{
	ROWS("W-10");
	NEED_PMU();
	struct worker w[8];
	uint64_t base[8];
	int fd;

	plan(1, 8, KPMU_SET_TASKS);
	for (int i = 0; i < 8; i++) {
		if (i & 1)
			worker_start_thread(&w[i]);
		else
			worker_start(&w[i]);
		worker_run(&w[i], 1);
		target[i] = w[i].pid;
	}
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 8; i++)
		worker_run(&w[i], 1);
	get(fd);
	for (int i = 0; i < 8; i++)
		base[i] = result.word[i];
	for (int i = 0; i < 8; i++)
		worker_run(&w[i], i * N + 1);
	EXPECT_EQ(get(fd), size_of(8));
	for (int i = 0; i < 8; i++) {
		uint64_t want = base[i] + 4ULL * i * N;

		/* The first command has set up less, so one command is in @base */
		EXPECT_GE(result.word[i], want);
		EXPECT_LE(result.word[i], want + 2000 + SLACK(want));
	}
	/* The counts of tasks that have ended stay */
	memcpy(base, result.word, sizeof(base));
	for (int i = 0; i < 8; i++)
		worker_stop(&w[i]);
	EXPECT_EQ(get(fd), size_of(8));
	for (int i = 0; i < 8; i++) {
		EXPECT_GE(result.word[i], base[i]);
		EXPECT_NE(result.word[i], KPMU_SET_NONE);
	}
}

TEST(inherited)
{
	ROWS("W-10");
	NEED_PMU();
	int fd, status;
	pid_t pid;

	plan(2, 1, KPMU_SET_TASKS | KPMU_SET_TIMES);
	attr[0].inherit = 1;
	fd = open_set();
	ASSERT_GE(fd, 0);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	pid = fork();
	if (!pid) {
		work(N);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_EQ(get(fd), size_of(6));
	/* The other event counts the parent only */
	EXPECT_GE(result.word[0], result.word[3] + WORK_INSNS(N));
	EXPECT_GT(result.word[2], 0);
	/* As of an event's own fd, what a child that has ended has counted is not reset */
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	get(fd);
	EXPECT_EQ(result.word[3], 0);
	EXPECT_GE(result.word[0], WORK_INSNS(N));
	EXPECT_LE(result.word[0], WORK_INSNS(N) + 1000 + SLACK(WORK_INSNS(N)));
}

/* Without times, the total of an event and its children is one word among others */
TEST(inherited_without_times)
{
	ROWS("W-10");
	NEED_PMU();
	int fd, status;
	pid_t pid;

	plan(4, 1, KPMU_SET_TASKS);
	attr[0].inherit = 1;
	attr[1].config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	for (int i = 2; i < 4; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_DUMMY;
	}
	fd = open_set();
	ASSERT_GE(fd, 0);
	pid = fork();
	if (!pid) {
		work(N);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	work_counted(fd, N, 0);
	EXPECT_EQ(get(fd), size_of(4));
	EXPECT_GE(result.word[0], WORK_INSNS(N));
	EXPECT_GE(result.word[1], WORK_BRANCHES(N));
	EXPECT_LE(result.word[1], WORK_BRANCHES(N) + SLACK(WORK_BRANCHES(N)));
	EXPECT_EQ(result.word[2], 0);
	EXPECT_EQ(result.word[3], 0);
	close(fd);
}

TEST(cgroups)
{
	ROWS("W-10");
	NEED_PMU();
	struct cgroup root, c;
	struct worker w;
	uint64_t base;
	int fd;

	cgroup_v2();
	cgroup_root(&root);
	cgroup_make(&c, &root, "sets");
	plan(1, nr_cpus(), KPMU_SET_CGROUP);
	args.cgroup = c.fd;
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	worker_start(&w);
	worker_run(&w, N);
	get(fd);
	for (int i = 0; i < nr_cpus(); i++)
		EXPECT_EQ(result.word[i], 0);
	cgroup_add(&c, w.pid);
	worker_pin(&w, 1);
	worker_run(&w, 1);
	get(fd);
	base = result.word[1];
	worker_run(&w, N);
	get(fd);
	EXPECT_GE(result.word[1] - base, worker_insns(N, 1));
	EXPECT_LE(result.word[1] - base, worker_insns(N, 1) + 2000 + SLACK(4 * N));
	worker_stop(&w);
	args.cgroup = ev_device();
	EXPECT_EQ(open_errno(), EBADF);
}

TEST(groups)
{
	ROWS("W-10");
	NEED_PMU();
	int gp = counters_general(), fd;

	/* A group that is larger than the number of counters cannot be opened */
	plan(gp + 1, 1, KPMU_SET_TASKS | KPMU_SET_TIMES);
	for (int i = 0; i <= gp; i++) {
		attr[i].type = PERF_TYPE_RAW;
		attr[i].config = RAW_BRANCHES;
		attr[i].disabled = !i;
		ev[i].group = i ? 0 : -1;
	}
	EXPECT_EQ(open_errno(), EINVAL);
	EXPECT_EQ(error[gp - 1], 0);
	EXPECT_EQ(error[gp], EINVAL);
	args.nr_events = gp;
	fd = open_set();
	ASSERT_GE(fd, 0);
	work_counted(fd, N, 0);
	get(fd);
	for (int i = 0; i < gp; i++) {
		EXPECT_EQ(result.word[3 * i], result.word[0]);
		EXPECT_EQ(result.word[3 * i + 2], result.word[3 * i + 1]);
	}
	close(fd);

	/* Without its leader a member is not opened either */
	args.flags |= KPMU_SET_PARTIAL;
	attr[0].type = 0x7fff;
	EXPECT_EQ(open_errno(), ENOENT);
	EXPECT_EQ(error[0], ENOENT);
	EXPECT_EQ(error[1], EBADF);
	ev[gp - 1].group = -1;
	attr[gp - 1].disabled = 1;
	fd = open_set();
	ASSERT_GE(fd, 0);
	work_counted(fd, N, 0);
	get(fd);
	EXPECT_EQ(result.word[0], KPMU_SET_NONE);
	EXPECT_EQ(result.word[1] | result.word[2], 0);
	EXPECT_EQ(result.word[3], KPMU_SET_NONE);
	EXPECT_GE(result.word[3 * (gp - 1)], WORK_BRANCHES(N));
	close(fd);

	/* The leader need not be the first event, and each target has its own */
	plan(3, 2, 0);
	ev[2].group = 1;
	if (nr_cpus() > 1)
		EXPECT_EQ(open_errno(), 0);
}

TEST(pinned_in_error)
{
	ROWS("W-10");
	NEED_PMU();
	int gp = counters_general(), fd;

	plan(gp + 1, 1, KPMU_SET_TASKS);
	for (int i = 0; i <= gp; i++) {
		attr[i].type = PERF_TYPE_RAW;
		attr[i].config = RAW_BRANCHES;
		attr[i].pinned = 1;
	}
	fd = open_set();
	ASSERT_GE(fd, 0);
	work_counted(fd, N, 0);
	get(fd);
	int none = 0;

	for (int i = 0; i <= gp; i++)
		none += result.word[i] == KPMU_SET_NONE;
	/* DISABLE has ended the error state: the one without counter has counted nothing */
	EXPECT_EQ(none, 0);
	EXPECT_EQ(result.word[gp], 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	get(fd);
	for (int i = 0; i <= gp; i++)
		none += result.word[i] == KPMU_SET_NONE;
	EXPECT_EQ(none, 1);
}

static volatile int stop;

#define EACH	8

/* Four events with counters and four without on each CPU */
static void plan_each(int cpus)
{
	static const struct { int type, config; } kind[EACH] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	};

	plan(EACH, cpus, 0);
	for (int i = 0; i < EACH; i++) {
		attr[i].type = kind[i].type;
		attr[i].config = kind[i].config;
		attr[i].exclude_kernel = 0;
		attr[i].disabled = 0;
	}
}

/* Values that are less than at the last read */
static int gone_back(int n)
{
	static uint64_t last[TARGETS * EACH];
	int back = 0;

	for (int i = 0; i < n * EACH; i++) {
		back += result.word[i] < last[i];
		last[i] = result.word[i];
	}
	return back;
}

/* Nothing is lost or counted twice while CPUs go and come and events are read from everywhere */
TEST(hotplug)
{
	ROWS("W-11");
	NEED_PMU();
	int n = nr_cpus(), fd;
	pthread_t thread;

	if (n < 2 || cpu_online(n - 1, 0))
		SKIP(return, "no CPU can be taken offline");
	cpu_online(n - 1, 1);
	plan_each(n);
	fd = open_set();
	ASSERT_GE(fd, 0);
	pthread_create(&thread, NULL, toggle_last_cpu, (void *)&stop);
	for (int round = 0; round < 100; round++) {
		pin_to(round % (n - 1));
		ASSERT_EQ(get(fd), size_of(EACH * n));
		EXPECT_EQ(result.head.seq, round + 1);
		EXPECT_EQ(gone_back(n), 0);
		if (round % 50 == 0) {
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		}
	}
	stop = 1;
	pthread_join(thread, NULL);
	/* A CPU that is back counts again */
	get(fd);
	uint64_t was = result.word[EACH * (n - 1)];

	pin_to(n - 1);
	work(N);
	get(fd);
	EXPECT_GE(result.word[EACH * (n - 1)], was + WORK_INSNS(N));
	close(fd);
}

static int shared;

static void *read_on(void *seqs)
{
	struct { struct kpmu_set_head head; uint64_t word[2]; } r;
	long *n = seqs;

	while (!stop)
		if (read(shared, &r, sizeof(r)) == sizeof(r))
			++*n;
	return NULL;
}

/* Reads by several threads, of tasks that move and exit: each read has its own number */
TEST(threads)
{
	ROWS("W-11");
	pthread_t thread[3];
	long reads[3] = { };
	struct worker w[2];
	long all = 1;

	plan(1, 2, KPMU_SET_TASKS);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].config = PERF_COUNT_SW_TASK_CLOCK;
	attr[0].disabled = 0;
	for (int i = 0; i < 2; i++) {
		worker_start(&w[i]);
		target[i] = w[i].pid;
	}
	shared = open_set();
	ASSERT_GE(shared, 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, read_on, &reads[i]);
	for (int i = 0; i < 2; i++)
		worker_roam(&w[i], 2000, 500);
	for (int i = 0; i < 2; i++)
		worker_stop(&w[i]);
	stop = 1;
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		all += reads[i];
	}
	EXPECT_EQ(get(shared), size_of(2));
	EXPECT_EQ(result.head.seq, all);
	EXPECT_GT(result.word[0], 0);
}

/* The events of a set are those of the task that opened them */
TEST(opener)
{
	ROWS("W-10");
	NEED_PMU();
	int fd;

	plan(1, 1, KPMU_SET_TASKS);
	fd = open_set();
	ASSERT_GE(fd, 0);
	ioctl(ev_device(), KPMU_IOC_TASK_ENABLE);
	work(N);
	ioctl(ev_device(), KPMU_IOC_TASK_DISABLE);
	get(fd);
	EXPECT_GE(result.word[0], WORK_INSNS(N));
}

TEST_HARNESS_MAIN
