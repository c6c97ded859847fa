// SPDX-License-Identifier: GPL-2.0-only
/* Software events in groups, alone and with hardware events, as leader or member. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "event.h"
#include "harness.h"

#define N	1000
#define PAGES	20
#define SW	PERF_TYPE_SOFTWARE
#define HW	PERF_TYPE_HARDWARE
#define FAULTS	PERF_COUNT_SW_PAGE_FAULTS
#define CLOCK	PERF_COUNT_SW_TASK_CLOCK

struct group {
	uint64_t nr, enabled, running, value[60];
};

static int add(int lead, uint32_t type, uint64_t config)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.disabled = lead < 0;
	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	return ev_must(&a, 0, -1, lead, 0);
}

static struct group values(int lead)
{
	struct group g = { 0 };

	if (read(lead, &g, sizeof(g)) < 24) {
		printf("# group read: %s\n", strerror(errno));
		exit(1);
	}
	return g;
}

static char *fresh(void)
{
	char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, PAGES * 4096, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p)
{
	int i;

	for (i = 0; i < PAGES; i++)
		((volatile char *)p)[i * 4096] = 1;
}

static void go(int lead, char *p)
{
	touch(fresh());
	work(N);	/* fault in the code before it is counted */
	ev_enable(lead);
	touch(p);
	work(N);
	ev_disable(lead);
}

TEST(hardware_leads)
{
	ROWS("Q-15");
	int lead = add(-1, HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	char *p = fresh();
	struct group g;

	add(lead, SW, FAULTS);
	add(lead, SW, CLOCK);
	add(lead, HW, PERF_COUNT_HW_INSTRUCTIONS);
	go(lead, p);
	g = values(lead);
	EXPECT_EQ(g.nr, 4);
	EXPECT_EQ(g.enabled, g.running);
	EXPECT_GE(g.value[0], WORK_BRANCHES(N));
	EXPECT_EQ(g.value[1], PAGES);
	EXPECT_GT(g.value[2], 0);
	EXPECT_LE(g.value[2], g.running + 1000000);
	EXPECT_GE(g.value[3], WORK_INSNS(N));
	/* The members stop with the leader */
	touch(fresh());
	EXPECT_EQ(values(lead).value[1], PAGES);
}

TEST(software_leads)
{
	ROWS("Q-15");
	int lead = add(-1, SW, CLOCK), hw, sw;
	char *p = fresh();
	struct group g;

	sw = add(lead, SW, FAULTS);
	hw = add(lead, HW, PERF_COUNT_HW_INSTRUCTIONS);
	go(lead, p);
	g = values(lead);
	EXPECT_EQ(g.nr, 3);
	EXPECT_EQ(g.enabled, g.running);
	EXPECT_GT(g.value[0], 0);
	EXPECT_EQ(g.value[1], PAGES);
	EXPECT_GE(g.value[2], WORK_INSNS(N));
	/* A disabled member does not count, the others do */
	ev_disable(hw);
	go(lead, fresh());
	EXPECT_EQ(values(lead).value[1], 2 * PAGES);
	EXPECT_EQ(values(lead).value[2], g.value[2]);
	ev_disable(sw);
	ev_enable(hw);
	go(lead, fresh());
	EXPECT_EQ(values(lead).value[1], 2 * PAGES);
	EXPECT_GE(values(lead).value[2], g.value[2] + WORK_INSNS(N));
}

/* A hardware event joins and leaves while the group counts */
TEST(hardware_joins_and_leaves)
{
	ROWS("Q-15");
	int lead = add(-1, SW, FAULTS), hw, i;
	struct group g;

	ev_enable(lead);
	for (i = 1; i <= 5; i++) {
		touch(fresh());
		hw = add(lead, HW, PERF_COUNT_HW_INSTRUCTIONS);
		touch(fresh());
		work(N);
		g = values(lead);
		EXPECT_EQ(g.nr, 2);
		EXPECT_GE(g.value[0], i * 3 * PAGES - PAGES);
		EXPECT_GE(g.value[1], WORK_INSNS(N));
		EXPECT_EQ(g.enabled, g.running);
		close(hw);
		touch(fresh());
		g = values(lead);
		EXPECT_EQ(g.nr, 1);
		EXPECT_GE(g.value[0], i * 3 * PAGES);
		EXPECT_EQ(g.enabled, g.running);
	}
}

TEST(leader_closes)
{
	ROWS("Q-15");
	int lead = add(-1, SW, CLOCK), hw, sw;

	hw = add(lead, HW, PERF_COUNT_HW_INSTRUCTIONS);
	sw = add(lead, SW, FAULTS);
	ev_enable(lead);
	close(lead);
	touch(fresh());
	work(N);
	EXPECT_GE(values(sw).value[0], PAGES);
	EXPECT_GE(values(hw).value[0], WORK_INSNS(N));
	EXPECT_EQ(values(sw).nr, 1);
	EXPECT_EQ(values(hw).nr, 1);
}

/* Any number of software events always run, even if all counters are in use */
TEST(software_never_waits)
{
	ROWS("Q-05");
	int hw[30], sw[60], i;

	for (i = 0; i < ARRAY_SIZE(hw); i++) {
		hw[i] = ev_self_times(PERF_TYPE_RAW, RAW_BRANCHES, -1);
		ev_enable(hw[i]);
	}
	for (i = 0; i < ARRAY_SIZE(sw); i++) {
		sw[i] = ev_self_times(SW, i % 2 ? FAULTS : CLOCK, -1);
		ev_enable(sw[i]);
	}
	touch(fresh());
	for (i = 0; i < 200; i++)
		work(N);
	for (i = 0; i < ARRAY_SIZE(sw); i++) {
		EXPECT_TRUE(always_ran(sw[i]));
		EXPECT_GE(ev_times(sw[i]).value, PAGES);
	}
}

/* While a group waits for counters, its software members do not count either */
TEST(mixed_group_multiplexed)
{
	ROWS("Q-15 Q-12");
	int gp = counters_general(), lead[4], i, j;
	struct group g;

	for (i = 0; i < 4; i++) {
		lead[i] = add(-1, i % 2 ? SW : PERF_TYPE_RAW,
			      i % 2 ? CLOCK : RAW_BRANCHES);
		for (j = 0; j < gp - 1; j++)
			add(lead[i], PERF_TYPE_RAW, RAW_BRANCHES);
		add(lead[i], SW, CLOCK);
		ev_enable(lead[i]);
	}
	for (i = 0; i < 20000; i++)
		work(N);
	for (i = 0; i < 4; i++)
		ev_disable(lead[i]);
	for (i = 0; i < 4; i++) {
		g = values(lead[i]);
		EXPECT_LT(g.running, g.enabled);
		EXPECT_GT(g.running, 0);
		/* The task clock counts the time running, not the time enabled */
		EXPECT_LE(g.value[g.nr - 1], g.running + g.running / 10 + 1000000);
	}
}

TEST(errors)
{
	ROWS("Q-15");
	int sw = add(-1, SW, CLOCK), hw = add(-1, HW, PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr a = ev_attr(SW, FAULTS);

	/* Software members follow the same rules as hardware members */
	a.pinned = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, sw, 0), EINVAL);
	a.pinned = 0;
	a.exclusive = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, hw, 0), EINVAL);
	a.exclusive = 0;
	EXPECT_EQ(ev_errno(&a, 0, 0, sw, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, 0, hw, 0), EINVAL);
	a.inherit = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, hw, 0), EINVAL);
	a.inherit = 0;
	a.use_clockid = 1;
	a.clockid = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, sw, 0), EINVAL);
}

/* The number of counters limits the hardware members of a group, not the software members */
TEST(group_size)
{
	ROWS("Q-05 E-22");
	int gp = counters_general(), lead = add(-1, SW, CLOCK), i;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	struct group g;

	for (i = 0; i < gp; i++)
		add(lead, PERF_TYPE_RAW, RAW_BRANCHES);
	a.disabled = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), EINVAL);
	for (i = 0; i < 40; i++)
		add(lead, SW, FAULTS);
	go(lead, fresh());
	g = values(lead);
	EXPECT_EQ(g.nr, gp + 41);
	EXPECT_EQ(g.enabled, g.running);
	for (i = 0; i < 40; i++)
		EXPECT_EQ(g.value[gp + 1 + i], PAGES);
}

/* The values that a read of a group returns must fit into 16 KiB */
TEST(no_more_than_16_kib)
{
	ROWS("U-16");
	struct perf_event_attr a = ev_attr(SW, PERF_COUNT_SW_DUMMY);
	struct rlimit many = { 1024, 1024 };
	int lead, n;

	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &many), 0);
	a.disabled = 0;
	a.read_format = FORMAT_TIMES | PERF_FORMAT_GROUP | PERF_FORMAT_ID |
			PERF_FORMAT_LOST;
	lead = ev_must(&a, 0, -1, -1, 0);
	/* nr and both times, then three words for each event */
	for (n = 1; 24 + 24 * (n + 1) <= 16384; n++)
		ev_must(&a, 0, -1, lead, 0);
	EXPECT_EQ(n, 681);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), E2BIG);
	a.read_format = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), E2BIG);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

/* pinned and exclusive have no effect on software events: these need no counters */
TEST(pinned_and_exclusive)
{
	ROWS("Q-05");
	struct perf_event_attr a = ev_attr(SW, FAULTS);
	int hw = ev_self_times(HW, PERF_COUNT_HW_INSTRUCTIONS, -1), pinned, alone;

	a.read_format = FORMAT_TIMES;
	a.pinned = 1;
	pinned = ev_must(&a, 0, -1, -1, 0);
	a.pinned = 0;
	a.exclusive = 1;
	alone = ev_must(&a, 0, -1, -1, 0);
	ev_enable(pinned);
	ev_enable(hw);
	ev_enable(alone);
	touch(fresh());
	work(N);
	EXPECT_GE(ev_times(pinned).value, PAGES);
	EXPECT_GE(ev_times(alone).value, PAGES);
	EXPECT_TRUE(always_ran(pinned));
	EXPECT_TRUE(always_ran(alone));
	EXPECT_TRUE(always_ran(hw));
}

TEST_HARNESS_MAIN
