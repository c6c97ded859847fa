// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many groups that each have a different constraint.  A plan is built with IRQs off under the
 * run-queue lock, so its cost must not grow with the square of their number.  Rotation must still
 * reach each group.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define OFFCORE		0x01b7
#define LIMIT		16384
/* Maximum kernel instructions per plan, including everything else that the kernel does */
#define A_PLAN		1500000

static void many_fds(int n)
{
	struct rlimit r = { n + 100, n + 100 };

	if (setrlimit(RLIMIT_NOFILE, &r)) {
		perror("setrlimit");
		exit(KSFT_FAIL);
	}
}

/* Groups with different values of the extra register are in different classes */
static struct perf_event_attr offcore(int i)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, OFFCORE);

	a.config1 = 0x10000 + i;
	a.disabled = 0;
	a.exclude_kernel = 1;
	a.read_format = FORMAT_TIMES;
	return a;
}

static long plans(void)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/stats", "r");
	char line[200];
	long n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, "plans", 5))
			n = strtol(line + 5 + strcspn(line + 5, "0123456789"), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

static int kernel_instructions(int cpu)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.exclude_kernel = 0;
	a.exclude_user = 1;
	a.pinned = 1;
	return ev_must(&a, -1, cpu, -1, 0);
}

TEST(cost_of_a_plan)
{
	enum { NR = 1500 };
	struct worker w;
	uint64_t count;
	int fd, i;
	long n;

	if (route_is_native())
		SKIP(return, "statistics are kpmu's");
	if (slow() > 1)
		SKIP(return, "the module is profiled");
	many_fds(NR);
	worker_start(&w);
	worker_pin(&w, nr_cpus() - 1);
	fd = kernel_instructions(nr_cpus() - 1);
	for (i = 0; i < NR; i++) {
		struct perf_event_attr a = offcore(i);

		ev_must(&a, w.pid, -1, -1, 0);
	}
	n = plans();
	ASSERT_GE(n, 0);
	ev_enable(fd);
	worker_run(&w, 200000);
	ev_disable(fd);
	n = plans() - n;
	count = ev_count(fd);
	TH_LOG("%ld plans, %llu kernel instructions for each", n,
	       (unsigned long long)count / (n ?: 1));
	ASSERT_GT(n, 0);
	EXPECT_LT(count / n, A_PLAN);
}

/* Also the groups beyond the maximum number of classes, which share one class */
TEST(each_group_runs)
{
	enum { NR = 200, PATIENCE = 400 };
	int fds[NR], i, left = NR, turns;
	struct ev_times t;
	struct worker w;

	many_fds(NR);
	worker_start(&w);
	for (i = 0; i < NR; i++) {
		struct perf_event_attr a = offcore(i);

		fds[i] = ev_must(&a, w.pid, -1, -1, 0);
	}
	for (turns = 0; left && turns < PATIENCE; turns++) {
		worker_run(&w, 1000000);
		for (i = left = 0; i < NR; i++) {
			t = ev_times(fds[i]);
			left += !t.running;
		}
	}
	TH_LOG("after %d rounds %d of %d have had none", turns, left, NR);
	EXPECT_EQ(left, 0);
}

TEST(event_limit)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_DUMMY);
	struct worker w;
	int i, fd;

	if (route_is_native())
		SKIP(return, "upstream has no limit");
	if (slow() > 1)
		SKIP(return, "minutes, with debug checks");
	many_fds(LIMIT + 2);
	worker_start(&w);
	for (i = 0; i < LIMIT; i++)
		fd = ev_must(&a, w.pid, -1, -1, 0);
	EXPECT_EQ(ev_open(&a, w.pid, -1, -1, 0), -1);
	EXPECT_EQ(errno, ENOSPC);
	/* The limit is per task, and closing an event makes room for another */
	EXPECT_GE(ev_open(&a, 0, -1, -1, 0), 0);
	close(fd);
	EXPECT_GE(ev_open(&a, w.pid, -1, -1, 0), 0);
}

TEST_HARNESS_MAIN
