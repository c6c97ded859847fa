// SPDX-License-Identifier: GPL-2.0-only
/*
 * One exec both enables events of a group (enable_on_exec) and removes others (remove_on_exec).
 * Enabled events count exactly.  Removed events count no further and occupy no counter.  They are
 * closed while the others still count.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define N	10000000
#define TINY	"/tmp/kpmu-tiny"
#define ROUNDS	3
#define SPRAY	16

#define EXACT(got, want) do {						\
	uint64_t __g = got, __w = want;					\
									\
	EXPECT_GE(__g + SLACK(__w), __w);				\
	EXPECT_LE(__g, __w + SLACK(__w));				\
} while (0)

/* starts(): disabled until exec.  ends(): enabled until exec, then removed. */
static struct perf_event_attr starts(uint64_t config, bool inherit)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, config);

	a.enable_on_exec = 1;
	a.inherit = inherit;
	a.read_format = FORMAT_TIMES;
	return a;
}

static struct perf_event_attr ends(uint64_t config, bool inherit)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, config);

	a.disabled = 0;
	a.remove_on_exec = 1;
	a.inherit = inherit;
	a.read_format = FORMAT_TIMES;
	return a;
}

/* Close @fd and open new events, which may reuse its memory, while the program runs */
static void close_and_reuse(int fd, int *spray)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	int i;

	close(fd);
	a.disabled = 0;
	for (i = 0; i < SPRAY; i++)
		spray[i] = ev_must(&a, 0, -1, -1, 0);
}

static void close_all(int *spray)
{
	int i;

	for (i = 0; i < SPRAY; i++)
		close(spray[i]);
}

/* Wait until the event counts the executed program.  Return: false on timeout. */
static bool counts(int fd)
{
	uint64_t end = patience();

	while (!ev_count(fd)) {
		if (now_ns() > end)
			return false;
		sched_yield();
	}
	return true;
}

static void reap(struct worker *w)
{
	waitpid(w->pid, NULL, 0);
	close(w->to);
	close(w->from);
}

/* exec enables the leader and removes a member, which was enabled under the disabled leader */
TEST(member_goes_as_leader_starts)
{
	int round, leader, member, other, spray[SPRAY];
	struct perf_event_attr a, b, c;
	struct worker w;

	a = starts(PERF_COUNT_HW_INSTRUCTIONS, false);
	b = ends(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false);
	c = ends(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false);
	c.remove_on_exec = 0;
	tiny_install(TINY, N, 0755);
	for (round = 0; round < ROUNDS; round++) {
		worker_start(&w);
		leader = ev_must(&a, w.pid, -1, -1, 0);
		member = ev_must(&b, w.pid, -1, leader, 0);
		other = ev_must(&c, w.pid, -1, leader, 0);
		worker_exec_only(&w, TINY);
		ASSERT_TRUE(counts(leader));
		EXPECT_EQ(ev_count(member), 0);
		EXPECT_EQ(ev_times(member).running, 0);
		close_and_reuse(member, spray);
		reap(&w);
		EXACT(ev_count(leader), TINY_INSNS(N));
		EXACT(ev_count(other), TINY_BRANCHES(N));
		EXPECT_TRUE(always_ran(leader));
		EXPECT_TRUE(always_ran(other));
		close_all(spray);
		close(other);
		close(leader);
	}
}

/* exec removes the leader and enables a member, which continues as a group of its own */
TEST(leader_goes_as_member_starts)
{
	int round, leader, member, spray[SPRAY];
	struct perf_event_attr a, b;
	struct worker w;
	uint64_t v;

	a = ends(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false);
	b = starts(PERF_COUNT_HW_INSTRUCTIONS, false);
	tiny_install(TINY, N, 0755);
	for (round = 0; round < ROUNDS; round++) {
		worker_start(&w);
		leader = ev_must(&a, w.pid, -1, -1, 0);
		member = ev_must(&b, w.pid, -1, leader, 0);
		v = ev_count(leader);
		worker_exec_only(&w, TINY);
		ASSERT_TRUE(counts(member));
		/* The few branches before the exec are counted, those of TINY are not */
		EXPECT_LT(ev_count(leader), v + 5000);
		close_and_reuse(leader, spray);
		reap(&w);
		EXACT(ev_count(member), TINY_INSNS(N));
		EXPECT_TRUE(always_ran(member));
		close_all(spray);
		close(member);
	}
}

/* Inherited events are removed and freed within the exec, as they have no fd */
TEST(copies_of_members)
{
	int round, leader, member;
	struct perf_event_attr a, b;
	struct worker top, kid;

	a = starts(PERF_COUNT_HW_INSTRUCTIONS, true);
	b = ends(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, true);
	tiny_install(TINY, N, 0755);
	for (round = 0; round < ROUNDS; round++) {
		worker_start(&top);
		leader = ev_must(&a, top.pid, -1, -1, 0);
		member = ev_must(&b, top.pid, -1, leader, 0);
		worker_fork(&top, &kid);
		worker_exec(&kid, TINY);
		EXACT(ev_count(leader), TINY_INSNS(N));
		EXPECT_EQ(ev_count(member), 0);
		EXPECT_EQ(ev_times(member).running, 0);
		worker_reap(&top);
		worker_stop(&top);
		EXACT(ev_count(leader), TINY_INSNS(N));
		EXPECT_EQ(ev_count(member), 0);
		close(member);
		close(leader);
	}
}

TEST(copies_of_leaders)
{
	int round, leader, member;
	struct perf_event_attr a, b;
	struct worker top, kid;
	uint64_t v;

	a = ends(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, true);
	b = starts(PERF_COUNT_HW_INSTRUCTIONS, true);
	tiny_install(TINY, N, 0755);
	for (round = 0; round < ROUNDS; round++) {
		worker_start(&top);
		leader = ev_must(&a, top.pid, -1, -1, 0);
		member = ev_must(&b, top.pid, -1, leader, 0);
		worker_fork(&top, &kid);
		v = ev_count(leader);
		worker_exec(&kid, TINY);
		EXPECT_LT(ev_count(leader), v + 5000);
		EXACT(ev_count(member), TINY_INSNS(N));
		worker_reap(&top);
		worker_stop(&top);
		EXACT(ev_count(member), TINY_INSNS(N));
		close(member);
		close(leader);
	}
}

TEST_HARNESS_MAIN
