// SPDX-License-Identifier: GPL-2.0-only
/* A group must fit on the counters: opening an event that does not fit fails. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"

#define N 1000

static int add(int lead, uint32_t type, uint64_t config)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.disabled = lead < 0;
	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	return ev_open(&a, 0, -1, lead, 0);
}

/* Branch events need a general counter on all models */
static int general(int lead)
{
	return add(lead, PERF_TYPE_RAW, RAW_BRANCHES);
}

static int insns(int lead)
{
	return add(lead, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static void all_run(struct __test *_metadata, int lead, int nr)
{
	uint64_t v[40];

	work_counted(lead, N, 0);
	ASSERT_EQ(read(lead, v, sizeof(v)), 8 * (3 + nr));
	EXPECT_EQ(v[0], nr);
	EXPECT_GT(v[1], 0);
	EXPECT_EQ(v[1], v[2]);
}

TEST(general_counters_full)
{
	ROWS("O-15 E-22 N-09 N-20 Q-12");
	int gp = counters_general(), lead = general(-1), i;
	uint64_t v[40];

	for (i = 1; i < gp; i++)
		ASSERT_GE(general(lead), 0);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(general(lead), -1);
		EXPECT_EQ(errno, EINVAL);
	}
	/* The failed opens did not change the group */
	all_run(_metadata, lead, gp);
	ASSERT_GT(read(lead, v, sizeof(v)), 0);
	for (i = 0; i < gp; i++) {
		EXPECT_GE(v[3 + i], WORK_BRANCHES(N));
		EXPECT_LE(v[3 + i], WORK_BRANCHES(N) + SLACK(N));
	}
}

TEST(all_counters_full)
{
	ROWS("O-15 Q-12");
	int gp = counters_general(), lead = general(-1), nr, i;

	if (counters_fixed() < 3)
		SKIP(return, "less than 3 fixed counters");
	for (nr = 1; nr < gp; nr++)
		ASSERT_GE(general(lead), 0);
	/* Events that can use a fixed counter still fit */
	ASSERT_GE(insns(lead), 0);
	ASSERT_GE(add(lead, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), 0);
	ASSERT_GE(add(lead, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES), 0);
	nr += 3;
	all_run(_metadata, lead, nr);
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(add(lead, PERF_TYPE_HARDWARE, i), -1);
		EXPECT_TRUE(errno == EINVAL || errno == ENOENT);
	}
	all_run(_metadata, lead, nr);
}

/* Events that can use several counters make room for others, in any order of opening */
TEST(order_does_not_matter)
{
	ROWS("Q-13");
	int gp = counters_general(), lead, i, nr = 0;

	if (!counters_fixed())
		SKIP(return, "no fixed counters");
	/* Open two instruction events first: one can use the fixed, one a general counter */
	lead = insns(-1);
	ASSERT_GE(insns(lead), 0);
	nr = 2;
	for (i = 0; i < gp - 1; i++, nr++)
		ASSERT_GE(general(lead), 0);
	EXPECT_EQ(general(lead), -1);
	EXPECT_EQ(insns(lead), -1);
	all_run(_metadata, lead, nr);
}

TEST(fixed_only_twice)
{
	ROWS("Q-13 E-22");
	int lead;

	if (counters_fixed() < 3 || cpu_model() == CPU_SPR)
		SKIP(return, "reference cycles go on other counters as well");
	lead = add(-1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES);
	ASSERT_GE(lead, 0);
	EXPECT_EQ(add(lead, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES), -1);
	EXPECT_EQ(errno, EINVAL);
	all_run(_metadata, lead, 1);
}

/*
 * Members that are disabled need no counter: there may be more than fit.  If too many are enabled
 * later, the whole group waits.
 */
TEST(disabled_members)
{
	ROWS("E-22 Q-12");
	int gp = counters_general(), lead = general(-1), off[3], i;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	uint64_t v[40];

	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	for (i = 0; i < 3; i++)
		off[i] = ev_must(&a, 0, -1, lead, 0);
	for (i = 1; i < gp; i++)
		ASSERT_GE(general(lead), 0);
	EXPECT_EQ(general(lead), -1);
	EXPECT_EQ(errno, EINVAL);
	all_run(_metadata, lead, gp + 3);
	ASSERT_EQ(ioctl(off[0], PERF_EVENT_IOC_ENABLE, 0), 0);
	work_counted(lead, N, 0);
	ASSERT_GT(read(lead, v, sizeof(v)), 0);
	EXPECT_GT(v[1], v[2]);
	EXPECT_EQ(v[3 + 1], 0);
}

/* Closing a sibling frees its place in the group */
TEST(closed_sibling_frees_counter)
{
	ROWS("E-22");
	int gp = counters_general(), lead = general(-1), last = -1, i;

	for (i = 1; i < gp; i++)
		ASSERT_GE(last = general(lead), 0);
	EXPECT_EQ(general(lead), -1);
	close(last);
	last = general(lead);
	EXPECT_GE(last, 0);
	EXPECT_EQ(general(lead), -1);
	all_run(_metadata, lead, gp);
}

/* Only the group itself must fit; events of other groups do not matter */
TEST(other_groups_irrelevant)
{
	ROWS("E-22");
	int gp = counters_general(), lead[3], i, g;

	for (g = 0; g < 3; g++) {
		lead[g] = general(-1);
		for (i = 1; i < gp; i++)
			ASSERT_GE(general(lead[g]), 0);
	}
	for (g = 0; g < 3; g++)
		all_run(_metadata, lead[g], gp);
}

/* The same limit applies to a group of CPU events */
TEST(group_on_a_cpu)
{
	ROWS("E-22 O-15");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int gp = counters_general(), lead, i;
	uint64_t v[40];

	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	lead = ev_must(&a, -1, 1, -1, 0);
	a.disabled = 0;
	for (i = 1; i < gp; i++)
		ev_must(&a, -1, 1, lead, 0);
	EXPECT_EQ(ev_errno(&a, -1, 1, lead, 0), EINVAL);
	ASSERT_EQ(pin_to(1), 0);
	work_counted(lead, N, 0);
	ASSERT_EQ(read(lead, v, sizeof(v)), 8 * (3 + gp));
	EXPECT_EQ(v[1], v[2]);
	for (i = 0; i < gp; i++) {
		EXPECT_GE(v[3 + i], WORK_BRANCHES(N));
		EXPECT_EQ(v[3 + i], v[3]);
	}
}

TEST(many_groups_of_each_size)
{
	ROWS("O-15 O-16");
	int gp = counters_general(), fd[16], nr, i;
	uint64_t v[40];

	for (nr = 1; nr <= gp; nr++) {
		fd[0] = general(-1);
		for (i = 1; i < nr; i++)
			ASSERT_GE(fd[i] = general(fd[0]), 0);
		work_counted(fd[0], N, 0);
		ASSERT_EQ(read(fd[0], v, sizeof(v)), 8 * (3 + nr));
		EXPECT_EQ(v[1], v[2]);
		for (i = 0; i < nr; i++) {
			EXPECT_GE(v[3 + i], WORK_BRANCHES(N));
			EXPECT_EQ(v[3 + i], v[3]);
		}
		for (i = 0; i < nr; i++)
			close(fd[i]);
	}
}

/* The group fits on the PMU, but not beside a pinned one: it stops running as soon as it has its member */
TEST(grows_beside_a_pinned_group)
{
	ROWS("O-14 Q-06");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int gp = counters_general(), pinned, lead, member, i;
	uint64_t before[4], after[4], end;

	a.pinned = 1;
	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	pinned = ev_must(&a, 0, -1, -1, 0);
	for (i = 1; i < gp - 1; i++)
		ASSERT_GE(general(pinned), 0);
	ev_enable(pinned);
	lead = general(-1);
	ASSERT_GE(lead, 0);
	ev_enable(lead);
	work(N);
	ASSERT_EQ(read(lead, before, sizeof(before)), 32);
	EXPECT_GE(before[3], WORK_BRANCHES(N));
	EXPECT_EQ(before[1], before[2]);
	member = general(lead);
	ASSERT_GE(member, 0);
	/* The group has five values now, of which the first four are read */
	for (i = 0; i < 2; i++) {
		uint64_t v[5];

		ASSERT_EQ(read(lead, v, sizeof(v)), 40);
		EXPECT_EQ(v[4], 0);
		memcpy(i ? after : before, v, sizeof(before));
		work(N);
	}
	EXPECT_GT(after[1], before[1]);
	EXPECT_EQ(after[2], before[2]);
	EXPECT_EQ(after[3], before[3]);
	/* It runs again without the member, natively from the next rotation on */
	close(member);
	end = patience();
	do {
		work(N);
		ASSERT_EQ(read(lead, before, sizeof(before)), 32);
	} while (before[3] < after[3] + WORK_BRANCHES(N) && now_ns() < end);
	EXPECT_GT(before[2], after[2]);
	EXPECT_GE(before[3], after[3] + WORK_BRANCHES(N));
	close(lead);
	close(pinned);
}

TEST_HARNESS_MAIN
