// SPDX-License-Identifier: GPL-2.0-only
/* Pinned events: always on a counter, or in error state until enabled or disabled. */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define MAX 40

static int fd[MAX], flex[MAX], pin[MAX];

static int open_ev(int pinned, int group, pid_t pid, int cpu)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	a.disabled = 0;
	a.pinned = pinned;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, cpu, group, 0);
}

static int pinned(void)
{
	return open_ev(1, -1, 0, -1);
}

static int flexible(void)
{
	return open_ev(0, -1, 0, -1);
}

/* In error state, read(2) returns 0 (end of file) */
static bool in_error(int fd)
{
	uint64_t v[8];

	return read(fd, v, sizeof(v)) == 0;
}

/* Fill the general counters with pinned events; one more enters error state */
static int fill(void)
{
	int gp = counters_general(), i;

	for (i = 0; i < gp; i++)
		fd[i] = pinned();
	fd[gp] = pinned();
	work(1000);
	return gp;
}

TEST(never_multiplexed_out)
{
	ROWS("Q-06 A-21");
	int gp = counters_general(), only = pinned(), i;
	uint64_t end = patience();

	for (i = 0; i < 3 * gp; i++)
		fd[i] = flexible();
	do {
		work(100000);
		for (i = 0; i < 3 * gp; i++)
			if (ev_times(fd[i]).running < 5000000)
				break;
	} while (i < 3 * gp && now_ns() < end);
	EXPECT_EQ(i, 3 * gp);
	EXPECT_TRUE(always_ran(only));
	for (i = 0; i < 3 * gp; i++)
		EXPECT_LT(ev_times(fd[i]).running, ev_times(fd[i]).enabled);
}

TEST(displaces_flexible)
{
	ROWS("Q-06");
	int gp = counters_general(), i;
	struct ev_times before, after;

	for (i = 0; i < gp; i++)
		flex[i] = flexible();
	work(1000);
	for (i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(flex[i]));
	for (i = 0; i < gp; i++)
		pin[i] = pinned();
	for (i = 0; i < gp; i++) {
		before = ev_times(flex[i]);
		work(10000);
		after = ev_times(flex[i]);
		EXPECT_EQ(after.value, before.value);
		EXPECT_EQ(after.running, before.running);
		EXPECT_GT(after.enabled, before.enabled);
		EXPECT_TRUE(always_ran(pin[i]));
	}
	close(pin[0]);
	usleep(1000);
	work(10000);
	for (i = 1; i < gp; i++)
		EXPECT_TRUE(always_ran(pin[i]));
}

TEST(one_too_many)
{
	ROWS("Q-07 F-18");
	int gp = fill(), i;

	for (i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
	EXPECT_TRUE(in_error(fd[gp]));
	EXPECT_TRUE(in_error(fd[gp]));		/* still in error */
	close(fd[0]);
	work(1000);
	usleep(1000);
	EXPECT_TRUE(in_error(fd[gp]));		/* even with a free counter */
}

TEST(short_read_in_error)
{
	ROWS("F-18");
	int gp = fill();
	uint64_t v;

	EXPECT_EQ(read(fd[gp], &v, 8), 0);	/* normally ENOSPC: 24 bytes are needed */
	EXPECT_EQ(read(fd[gp], &v, 0), 0);
}

TEST(recovers_by_enable)
{
	ROWS("Q-08");
	int gp = fill();
	struct ev_times before, after;

	ev_enable(fd[gp]);			/* still no free counter */
	EXPECT_TRUE(in_error(fd[gp]));
	close(fd[0]);
	ev_enable(fd[gp]);
	EXPECT_FALSE(in_error(fd[gp]));
	before = ev_times(fd[gp]);
	work(1000);
	after = ev_times(fd[gp]);
	EXPECT_GE(after.value - before.value, 1000);
	EXPECT_EQ(after.enabled - before.enabled, after.running - before.running);
	EXPECT_GT(after.enabled, before.enabled);
}

TEST(recovers_by_disable)
{
	ROWS("Q-08");
	int gp = fill();
	struct ev_times t;

	ev_disable(fd[gp]);
	EXPECT_FALSE(in_error(fd[gp]));
	t = ev_times(fd[gp]);
	EXPECT_EQ(t.value, 0);
	EXPECT_EQ(t.running, 0);
	close(fd[0]);
	work_counted(fd[gp], 1000, 0);
	EXPECT_GE(ev_times(fd[gp]).value, WORK_BRANCHES(1000));
	EXPECT_LE(ev_times(fd[gp]).value, WORK_BRANCHES(1000) + SLACK(1000));
}

TEST(error_keeps_id_and_closes)
{
	ROWS("Q-07");
	int gp = fill();

	EXPECT_NE(ev_id(fd[gp]), 0);
	EXPECT_EQ(ioctl(fd[gp], PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_TRUE(in_error(fd[gp]));
	EXPECT_EQ(close(fd[gp]), 0);
	work_counted(fd[0], 1000, 0);
}

/* Error state retains the count from before it */
TEST(value_survives_the_error)
{
	ROWS("Q-08");
	int gp = counters_general(), mine, i;
	struct ev_times before, after;

	ASSERT_EQ(pin_to(0), 0);
	mine = pinned();
	work(1000);
	for (i = 0; i < gp; i++)
		fd[i] = open_ev(1, -1, -1, 1);
	ASSERT_EQ(pin_to(1), 0);
	work(1000);
	EXPECT_TRUE(in_error(mine));
	ASSERT_EQ(pin_to(0), 0);
	work(10000);
	ev_enable(mine);
	before = ev_times(mine);
	EXPECT_GE(before.value, 1000);
	EXPECT_LT(before.value, 10000);
	work(10000);
	after = ev_times(mine);
	EXPECT_GE(after.value, before.value + 10000);
	EXPECT_EQ(after.running - before.running, after.enabled - before.enabled);
}

TEST(whole_groups)
{
	ROWS("Q-06 Q-07");
	int gp = counters_general(), lead = pinned(), i, member = -1, other, om;
	uint64_t v[3];

	for (i = 1; i < gp; i++)
		member = open_ev(0, lead, 0, -1);
	work(1000);
	EXPECT_TRUE(always_ran(lead));
	EXPECT_TRUE(member < 0 || always_ran(member));
	other = pinned();
	EXPECT_TRUE(in_error(other));
	/* A sibling of a leader in error is not in error itself, but does not count */
	om = open_ev(0, other, 0, -1);
	work(1000);
	EXPECT_EQ(read(om, v, sizeof(v)), 24);
	EXPECT_EQ(v[0], 0);
	EXPECT_EQ(v[2], 0);
	close(lead);
	ev_enable(other);
	work(1000);
	EXPECT_FALSE(in_error(other));
	EXPECT_GE(ev_count(om), 1000);
}

/* Pinned groups of the CPU are placed before those of the task */
TEST(cpu_before_task)
{
	ROWS("Q-06 Q-07");
	int gp = counters_general(), mine, i;

	ASSERT_EQ(pin_to(0), 0);
	for (i = 0; i < gp; i++)
		fd[i] = open_ev(1, -1, -1, 1);
	mine = pinned();
	work(1000);
	EXPECT_TRUE(always_ran(mine));
	/* On the CPU with the pinned CPU events, no counter is free */
	ASSERT_EQ(pin_to(1), 0);
	work(1000);
	EXPECT_TRUE(in_error(mine));
	ASSERT_EQ(pin_to(0), 0);
	work(1000);
	EXPECT_TRUE(in_error(mine));
	ev_enable(mine);
	EXPECT_FALSE(in_error(mine));
	for (i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
}

/* A pinned task event that is bound to another CPU waits and is not in error */
TEST(other_cpu_no_error)
{
	ROWS("O-06 Q-07");
	int fd;

	ASSERT_EQ(pin_to(0), 0);
	fd = open_ev(1, -1, 0, 1);
	work(1000);
	EXPECT_FALSE(in_error(fd));
	EXPECT_EQ(ev_times(fd).running, 0);
	ASSERT_EQ(pin_to(1), 0);
	work(1000);
	EXPECT_FALSE(in_error(fd));
	EXPECT_GE(ev_count(fd), 1000);
}

/* Two pinned events need the same fixed counter */
TEST(conflict_on_one_counter)
{
	ROWS("Q-07 Q-13");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, 0x0300);
	int one, two;

	if (counters_fixed() < 3)
		SKIP(return, "less than 3 fixed counters");
	a.disabled = 0;
	a.pinned = 1;
	a.read_format = FORMAT_TIMES;
	one = ev_must(&a, 0, -1, -1, 0);
	two = ev_must(&a, 0, -1, -1, 0);
	work(1000);
	EXPECT_TRUE(always_ran(one));
	EXPECT_TRUE(in_error(two));
	close(one);
	ev_enable(two);
	work(1000);
	EXPECT_FALSE(in_error(two));
	EXPECT_GT(ev_count(two), 0);
}

TEST(other_task)
{
	ROWS("Q-06 Q-07");
	int gp = counters_general(), i;
	struct worker w;

	worker_start(&w);
	for (i = 0; i <= gp; i++)
		fd[i] = open_ev(1, -1, w.pid, -1);
	worker_run(&w, 1000);
	for (i = 0; i < gp; i++) {
		EXPECT_FALSE(in_error(fd[i]));
		EXPECT_TRUE(always_ran(fd[i]));
	}
	EXPECT_TRUE(in_error(fd[gp]));
	worker_stop(&w);
	EXPECT_FALSE(in_error(fd[0]));
}

/* Error state ends with the task: a read then returns the final count */
TEST(error_ends_with_the_task)
{
	ROWS("F-24");
	int gp = counters_general(), i;
	struct worker w;

	worker_start(&w);
	for (i = 0; i <= gp; i++)
		fd[i] = open_ev(1, -1, w.pid, -1);
	worker_run(&w, 1000);
	EXPECT_TRUE(in_error(fd[gp]));
	worker_stop(&w);
	EXPECT_FALSE(in_error(fd[gp]));
}

TEST_HARNESS_MAIN
