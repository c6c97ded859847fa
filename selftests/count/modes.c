// SPDX-License-Identifier: GPL-2.0-only
/* exclude_user and exclude_kernel: user mode, kernel mode, both or neither; exclude_idle. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define N 100000
/* Rounds of work that take more instructions than the interrupts meanwhile, on any machine */
#define LONG 10000000
/* A plausible count is lower; one based on a wrong previous counter value is higher */
#define SANE 50000000

static int open_mode(int user, int kernel, int group, uint32_t type,
		     uint64_t config)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.exclude_user = !user;
	a.exclude_kernel = !kernel;
	a.disabled = group < 0;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, 0, -1, group, 0);
}

#define INSNS	PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS

TEST(kernel_only)
{
	ROWS("A-23");
	int fd = open_mode(0, 1, -1, INSNS), i;
	uint64_t idle, busy;

	work_counted(fd, LONG, 0);
	idle = ev_count(fd);
	EXPECT_GT(idle, 0);
	EXPECT_LT(idle, WORK_INSNS(LONG));	/* no user instructions */
	ev_enable(fd);
	for (i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	ev_disable(fd);
	busy = ev_count(fd) - idle;
	EXPECT_GT(busy, 1000 * 20);
	EXPECT_LT(busy, SANE);
}

TEST(user_only)
{
	ROWS("A-24");
	int fd = open_mode(1, 0, -1, INSNS);
	uint64_t one, two;

	/* Instructions of interrupts and system calls in the kernel are not counted */
	work_counted(fd, N, 0);
	one = ev_count(fd);
	EXPECT_GE(one, WORK_INSNS(N));
	EXPECT_LE(one, WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
	ev_enable(fd);
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	ev_disable(fd);
	two = ev_count(fd) - one;
	EXPECT_GT(two, 1000 * 3);
	EXPECT_LT(two, 1000 * 30);
}

/*
 * The three events are one group, so they start and stop at the same instruction.  The user
 * and kernel counts then add up to the count of both modes.  PMU version 1 has no
 * IA32_PERF_GLOBAL_CTRL: each counter is started by its own WRMSR, and counters that already
 * run may count those instructions.
 */
static void halves(struct __test *_metadata, uint32_t type, uint64_t config)
{
	int both = open_mode(1, 1, -1, type, config);
	int user = open_mode(1, 0, both, type, config);
	int kernel = open_mode(0, 1, both, type, config);
	uint64_t b, u, k;

	ev_enable(both);
	for (int i = 0; i < 200; i++) {
		work(100);
		syscall(SYS_getppid);
	}
	ev_disable(both);
	b = ev_count(both);
	u = ev_count(user);
	k = ev_count(kernel);
	printf("# both %lu user %lu kernel %lu\n", b, u, k);
	EXPECT_GE(u, 200 * 100);
	EXPECT_GT(k, 0);
	if (exact() && pmu_version() > 1) {
		EXPECT_EQ(b, u + k);
	} else {
		EXPECT_GT(b, u);
		EXPECT_GT(b, k);
	}
}

TEST(halves_of_instructions)
{
	ROWS("A-23 A-24 O-16");
	halves(_metadata, INSNS);
}

TEST(halves_of_branches)
{
	ROWS("A-23 A-24");
	halves(_metadata, PERF_TYPE_RAW, RAW_BRANCHES);
}

TEST(halves_of_loads)
{
	ROWS("A-23 A-24");
	halves(_metadata, PERF_TYPE_RAW, RAW_LOADS);
}

TEST(neither)
{
	ROWS("A-23 A-24");
	int fd = open_mode(0, 0, -1, INSNS);
	struct ev_times t;

	work_counted(fd, N, 0);
	t = ev_times(fd);
	EXPECT_EQ(t.value, 0);
	EXPECT_GT(t.enabled, 0);
	EXPECT_EQ(t.enabled, t.running);
}

/* Two groups count the same event concurrently, one in user and one in kernel mode */
TEST(modes_concurrent)
{
	ROWS("A-23 A-24");
	int user = open_mode(1, 0, -1, INSNS), kernel = open_mode(0, 1, -1, INSNS);
	uint64_t before;

	ev_enable(kernel);
	before = ev_count(kernel);
	work_counted(user, N, 0);
	EXPECT_GE(ev_count(user), WORK_INSNS(N));
	EXPECT_LE(ev_count(user), WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
	EXPECT_GT(ev_count(kernel), before);
}

/* Enable the events one after another, so that one counter is reused for different modes */
TEST(modes_alternating)
{
	ROWS("A-23 A-24");
	int user = open_mode(1, 0, -1, INSNS), kernel = open_mode(0, 1, -1, INSNS);
	int both = open_mode(1, 1, -1, INSNS);
	uint64_t last[3] = { 0 }, now;

	for (int i = 0; i < 50; i++) {
		work_counted(user, 1000, 0);
		now = ev_count(user) - last[0];
		EXPECT_GE(now, WORK_INSNS(1000));
		EXPECT_LE(now, WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
		last[0] += now;
		work_counted(kernel, 1000, 0);
		now = ev_count(kernel) - last[1];
		EXPECT_GT(now, 0);
		EXPECT_LT(now, SANE);
		last[1] += now;
		work_counted(both, 1000, 0);
		now = ev_count(both) - last[2];
		EXPECT_GT(now, WORK_INSNS(1000));
		EXPECT_LT(now, SANE);
		last[2] += now;
	}
}

/*
 * exclude_idle is accepted for hardware events and has no effect: they count in the idle task
 * too.  Both events are in one group and start and stop at the same instruction, so their
 * counts must be equal.  If exclude_idle had an effect, its count would lack the idle task's
 * instructions.  With PMU version 1, counters start one after another, so the counts differ
 * a little.
 */
TEST(exclude_idle)
{
	ROWS("A-26");
	struct perf_event_attr a = ev_attr(INSNS);
	int fd, idle;

	a.exclude_kernel = 0;
	a.exclude_user = 1;
	fd = ev_must(&a, -1, nr_cpus() - 1, -1, 0);
	a.exclude_idle = 1;
	a.disabled = 0;
	idle = ev_must(&a, -1, nr_cpus() - 1, fd, 0);
	ev_enable(fd);
	usleep(50000);
	ev_disable(fd);
	EXPECT_GT(ev_count(fd), 0);
	if (exact() && pmu_version() > 1)
		EXPECT_EQ(ev_count(idle), ev_count(fd));
	else
		EXPECT_GE(ev_count(idle), ev_count(fd) / 10 * 9);
}

TEST_HARNESS_MAIN
