// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_EXPLAIN of open events: their state, what they wait for, and between which limits their counts are. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explain.h"
#include "harness.h"

/* Of @nr events that share the counters: how many wait */
static int count_waiting(struct __test *_metadata, int nr)
{
	int i, waiting = 0;

	for (i = 0; i < nr; i++) {
		EXPECT_GT(ev[i].enabled, 0);
		EXPECT_LE(ev[i].running, ev[i].enabled);
		if (!ev[i].now[0])
			continue;
		waiting++;
		EXPECT_EQ(strcmp(ev[i].now, "no usable counter is free"), 0);
	}
	return waiting;
}

TEST(open_events)
{
	ROWS("W-04");
	NEED_PMU();
	int gp = counters_general(), fd[40], waiting = 0, i, tries;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	for (i = 0; i <= gp; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	start(gp + 1);
	for (i = 0; i <= gp; i++)
		ev[i].fd = fd[i];
	ASSERT_EQ(ask(), 0);
	for (i = 0; i <= gp; i++) {
		EXPECT_EQ(strcmp(ev[i].now, "off"), 0);
		EXPECT_EQ(ev[i].enabled, 0);
		EXPECT_EQ(ev[i].fits, i < gp);
	}
	for (i = 0; i <= gp; i++)
		ev_enable(fd[i]);
	/* Each event is looked at by itself: a rotation in between shows another one waiting */
	for (tries = 0; tries < 20 && waiting != 1; tries++) {
		work(100000);
		ASSERT_EQ(ask(), 0);
		waiting = count_waiting(_metadata, gp + 1);
	}
	EXPECT_EQ(waiting, 1);
	/* Without one of them there is no lack of counters */
	close(fd[0]);
	work(100000);
	ev[0] = ev[gp];
	set.nr = gp;
	ASSERT_EQ(ask(), 0);
	for (i = 0; i < gp; i++) {
		EXPECT_EQ(ev[i].fits, 1);
		EXPECT_EQ(ev[i].now[0], 0);
	}
}

/* Open events of one group are a group in the set, and an event may join it */
/* A flexible event of a CPU whose counters pinned ones have */
TEST(waiting)
{
	ROWS("W-44");
	NEED_PMU();
	int gp = counters_general(), fd[40], i;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	uint64_t before;

	pin_to(0);
	a.disabled = 0;
	a.pinned = 1;
	for (i = 0; i < gp; i++)
		fd[i] = ev_must(&a, -1, 0, -1, 0);
	a.pinned = 0;
	fd[gp] = ev_must(&a, 0, -1, -1, 0);
	start(2);
	ev[0].fd = fd[0];
	ev[1].fd = fd[gp];
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[0].waits, 0);
	EXPECT_EQ(ev[0].holder, 0);
	before = ev[1].waits;
	EXPECT_EQ(before, ev[1].enabled);
	for (i = 0; i < gp && ev_id(fd[i]) != ev[1].holder; i++)
		;
	EXPECT_LT(i, gp);
	work(1000000);
	ASSERT_EQ(ask(), 0);
	EXPECT_GT(ev[1].waits, before);
	EXPECT_EQ(ev[1].running, 0);
	/* What is off does not wait */
	ev_disable(fd[gp]);
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[1].waits, 0);
	EXPECT_EQ(ev[1].holder, 0);
	ev_enable(fd[gp]);
	/* Without permission to observe the CPU, what is on its counters is not shown */
	set_paranoid(2);
	drop_privilege();
	ASSERT_EQ(ask(), 0);
	EXPECT_GT(ev[1].waits, 0);
	EXPECT_EQ(ev[1].holder, 0);
}

#define TURNS	8

/* Work until all events of the set from the second on have had some turns; false if they do not get them */
static bool take_turns(uint64_t turns)
{
	for (int n = 0; n < 20000; n++) {
		int i = 1;

		work(20000);
		if (ask())
			return false;
		while (i < (int)set.nr && ev[i].turns >= turns)
			i++;
		if (i == (int)set.nr)
			return true;
	}
	return false;
}

/* No CPU takes so many branches in the time without a counter, and there are none before the count's */
static bool is_possible(const struct kpmu_explain_event *e)
{
	return e->count <= e->low && e->low <= e->high &&
	       e->high <= e->count + 16 * (e->enabled - e->running);
}

/* Events that take turns count the same as one that always has a counter */
TEST(limits_of_the_count)
{
	ROWS("W-45");
	NEED_PMU();
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int gp = counters_general(), i;

	if (gp < 2)
		SKIP(return, "%d general counters", gp);
	start(gp + 2);
	for (i = 0; i < gp + 2; i++) {
		a.pinned = !i;
		ev[i].fd = ev_must(&a, 0, -1, -1, 0);
	}
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[1].turns, 0);
	ASSERT_TRUE(take_turns(TURNS));
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[0].count, ev_count(ev[0].fd));
	EXPECT_EQ(ev[0].low, ev[0].count);
	EXPECT_EQ(ev[0].high, ev[0].count);
	for (i = 1; i < gp + 2; i++) {
		EXPECT_LT(ev[i].running, ev[i].enabled);
		EXPECT_EQ(ev[i].count, ev_count(ev[i].fd));
		EXPECT_TRUE(is_possible(&ev[i]));
		/* A busy host makes turns slow, perhaps all that this event had */
		if (!exact_time())
			continue;
		/* With -icount all turns are alike, and the limits are closer than the last, unfinished turns */
		EXPECT_LE(ev[i].low, ev[0].count + ev[0].count / 500);
		EXPECT_GE(ev[i].high, ev[0].count - ev[0].count / 500);
	}
}

/* A reset is no turn in which nothing was counted */
TEST(limits_after_a_reset)
{
	ROWS("W-45");
	NEED_PMU();
	int gp = counters_general(), i;

	if (gp < 2)
		SKIP(return, "%d general counters", gp);
	start(gp + 2);
	for (i = 0; i < gp + 2; i++)
		ev[i].fd = ev_self(PERF_TYPE_RAW, RAW_BRANCHES, -1);
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(take_turns(i + 1));
		for (int k = 0; k < gp + 2; k++)
			ioctl(ev[k].fd, PERF_EVENT_IOC_RESET, 0);
	}
	ASSERT_TRUE(take_turns(TURNS));
	/* Without -icount, a host that is busy makes turns slow */
	for (i = 0; i < gp + 2; i++) {
		EXPECT_TRUE(is_possible(&ev[i]));
		if (exact_time())
			EXPECT_GT(ev[i].low - ev[i].count, (ev[i].high - ev[i].count) / 4);
	}
}

TEST(open_group)
{
	ROWS("W-04");
	NEED_PMU();
	int gp = counters_general(), i;

	if (gp < 3)
		SKIP(return, "%d general counters", gp);
	start(gp + 1);
	for (i = 0; i < gp; i++)
		ev[i].fd = ev_self(PERF_TYPE_RAW, RAW_BRANCHES, i ? ev[0].fd : -1);
	dry(gp, RAW_BRANCHES, -1);
	ASSERT_EQ(ask(), 0);
	for (i = 0; i < gp; i++)
		EXPECT_EQ(ev[i].fits, 1);
	EXPECT_EQ(ev[gp].fits, 0);
	EXPECT_EQ(ev[gp].blocker, 0);
	ev[gp].group = 0;
	ASSERT_EQ(ask(), 0);
	for (i = 0; i <= gp; i++)
		EXPECT_EQ(ev[i].fits, 0);
	/* Not to a member, nor may the group of an open event be chosen */
	ev[gp].group = 1;
	EXPECT_EQ(ask(), 0);
	ev[1].group = 0;
	EXPECT_EQ(ask(), EINVAL);
}

/* Of another task: it does not run, then it has exited */
TEST(of_another_task)
{
	ROWS("W-04");
	NEED_PMU();
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int status, pair[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(pair), 0);
	pid = fork();
	if (!pid)
		_exit(read(pair[0], &byte, 1) != 1);
	a.disabled = 0;
	start(1);
	ev[0].fd = ev_must(&a, pid, -1, -1, 0);
	/* Until it waits */
	for (int i = 0; i < 1000 && strncmp(ev[0].now, "what it", 7); i++) {
		usleep(1000);
		ASSERT_EQ(ask(), 0);
	}
	EXPECT_EQ(strcmp(ev[0].now, "what it counts for does not run now"), 0);
	ASSERT_EQ(write(pair[1], "", 1), 1);
	waitpid(pid, &status, 0);
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(strncmp(ev[0].now, "removed: ", 9), 0);
	EXPECT_EQ(ev[0].fits, 1);
}

TEST(pinned_in_error)
{
	ROWS("W-04");
	NEED_PMU();
	int gp = counters_general(), i;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	a.disabled = 0;
	a.pinned = 1;
	start(gp + 2);
	for (i = 0; i <= gp; i++)
		ev[i].fd = ev_must(&a, 0, -1, -1, 0);
	a.pinned = 0;
	ev[i].fd = ev_must(&a, 0, -1, ev[gp].fd, 0);
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(strcmp(ev[0].now, ""), 0);
	for (i = gp; i < gp + 2; i++)
		EXPECT_EQ(strcmp(ev[i].now, "in error: pinned, and no counter was free"), 0);
}

TEST_HARNESS_MAIN
