// SPDX-License-Identifier: GPL-2.0-only
/* Enable, disable and reset groups: the leader, a sibling, or all events. */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"

#define N 1000

enum { LEAD, ONE, TWO, NR };

/* What work_counted() with N rounds adds to each event */
static const uint64_t per_work[NR] = {
	WORK_INSNS(N), WORK_LOADS(N), WORK_STORES(N)
};

static int fd[NR];
static uint64_t expected[NR];

static void open_group(int lead_off, int one_off, int two_off)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.read_format = FORMAT_TIMES;
	a.disabled = lead_off;
	fd[LEAD] = ev_must(&a, 0, -1, -1, 0);
	a.type = PERF_TYPE_RAW;
	a.config = RAW_LOADS;
	a.disabled = one_off;
	fd[ONE] = ev_must(&a, 0, -1, fd[LEAD], 0);
	a.config = RAW_STORES;
	a.disabled = two_off;
	fd[TWO] = ev_must(&a, 0, -1, fd[LEAD], 0);
}

static void control(int who, unsigned long cmd, unsigned long flag)
{
	if (ioctl(fd[who], cmd, flag)) {
		perror("ioctl");
		exit(1);
	}
}

#define ENABLE(who, flag)	control(who, PERF_EVENT_IOC_ENABLE, flag)
#define DISABLE(who, flag)	control(who, PERF_EVENT_IOC_DISABLE, flag)
#define RESET(who, flag)	control(who, PERF_EVENT_IOC_RESET, flag)
#define ALL			PERF_IOC_FLAG_GROUP

/*
 * Work between enabling and disabling event @who.  Events whose argument is 1 must have counted
 * all of it, the others nothing.
 */
static void work_of(struct __test *_metadata, int who, unsigned long flag,
		    int lead, int one, int two)
{
	int counts[NR] = { lead, one, two }, i;

	work_counted(fd[who], N, flag);
	for (i = 0; i < NR; i++) {
		struct ev_times t = ev_times(fd[i]);

		expected[i] += counts[i] * per_work[i];
		EXPECT_GE(t.value, expected[i]);
		EXPECT_LE(t.value, expected[i] + 10 * SLACK(expected[i]));
		EXPECT_EQ(t.enabled, t.running);
		expected[i] = t.value;
		if (_metadata->failed) {
			printf("# event %d of the group\n", i);
			exit(KSFT_FAIL);
		}
	}
}

TEST(members_follow_their_leader)
{
	ROWS("I-03 A-18 O-14");
	open_group(1, 0, 0);
	work(N);
	for (int i = 0; i < NR; i++)
		EXPECT_EQ(ev_count(fd[i]), 0);
	work_of(_metadata, LEAD, 0, 1, 1, 1);
	work(N);
	work_of(_metadata, LEAD, 0, 1, 1, 1);
}

TEST(sibling_times)
{
	ROWS("A-18");
	struct ev_times t;

	open_group(1, 0, 0);
	work(N);
	for (int i = 0; i < NR; i++) {
		t = ev_times(fd[i]);
		EXPECT_EQ(t.enabled, 0);
		EXPECT_EQ(t.running, 0);
	}
	work_of(_metadata, LEAD, 0, 1, 1, 1);
	t = ev_times(fd[LEAD]);
	EXPECT_EQ(ev_times(fd[ONE]).enabled, t.enabled);
	EXPECT_EQ(ev_times(fd[TWO]).running, t.running);
}

TEST(a_member_by_itself)
{
	ROWS("I-04");
	open_group(1, 0, 0);
	DISABLE(ONE, 0);
	work_of(_metadata, LEAD, 0, 1, 0, 1);
	ENABLE(ONE, 0);
	work_of(_metadata, LEAD, 0, 1, 1, 1);
}

TEST(a_member_while_the_leader_runs)
{
	ROWS("I-04");
	struct ev_times before, after;

	open_group(0, 1, 0);
	before = ev_times(fd[LEAD]);
	work_counted(fd[ONE], N, 0);
	after = ev_times(fd[LEAD]);
	EXPECT_GE(ev_count(fd[ONE]), WORK_LOADS(N));
	EXPECT_LE(ev_count(fd[ONE]), WORK_LOADS(N) + SLACK(N));
	EXPECT_GE(after.value - before.value, WORK_INSNS(N));
	EXPECT_GE(ev_count(fd[TWO]), WORK_STORES(N));
	EXPECT_EQ(after.enabled, after.running);
	after = ev_times(fd[ONE]);
	EXPECT_EQ(after.enabled, after.running);
	EXPECT_LT(after.enabled, ev_times(fd[LEAD]).enabled);
}

TEST(a_member_without_its_leader)
{
	ROWS("I-07");
	open_group(1, 1, 1);
	work_of(_metadata, ONE, 0, 0, 0, 0);
	ENABLE(ONE, 0);
	work(N);
	EXPECT_EQ(ev_count(fd[ONE]), 0);
	EXPECT_EQ(ev_times(fd[ONE]).enabled, 0);
	/* The sibling is enabled, and counts once its leader does */
	work_of(_metadata, LEAD, 0, 1, 1, 0);
}

TEST(group_flag_from_the_leader)
{
	ROWS("I-05 N-07");
	open_group(1, 1, 1);
	work_of(_metadata, LEAD, ALL, 1, 1, 1);
	work_of(_metadata, LEAD, 0, 1, 0, 0);
}

TEST(group_flag_from_a_member)
{
	ROWS("I-05 N-07");
	open_group(1, 1, 1);
	work_of(_metadata, TWO, ALL, 1, 1, 1);
	ENABLE(ONE, ALL);
	DISABLE(TWO, ALL);
	work(N);
	RESET(ONE, ALL);
	memset(expected, 0, sizeof(expected));
	work_of(_metadata, ONE, ALL, 1, 1, 1);
}

TEST(disable_group_enable_leader)
{
	ROWS("I-06");
	open_group(1, 0, 0);
	DISABLE(LEAD, ALL);
	work_of(_metadata, LEAD, 0, 1, 0, 0);
	ENABLE(TWO, 0);
	work_of(_metadata, LEAD, 0, 1, 0, 1);
}

TEST(reset_one)
{
	ROWS("I-08 I-09");
	struct ev_times t[NR], now;

	open_group(1, 0, 0);
	work_of(_metadata, LEAD, 0, 1, 1, 1);
	for (int i = 0; i < NR; i++)
		t[i] = ev_times(fd[i]);
	RESET(ONE, 0);
	now = ev_times(fd[ONE]);
	EXPECT_EQ(now.value, 0);
	EXPECT_EQ(now.enabled, t[ONE].enabled);
	EXPECT_EQ(now.running, t[ONE].running);
	EXPECT_EQ(ev_count(fd[LEAD]), t[LEAD].value);
	EXPECT_EQ(ev_count(fd[TWO]), t[TWO].value);
	/* Without the group flag, resetting the leader resets only the leader */
	RESET(LEAD, 0);
	EXPECT_EQ(ev_count(fd[LEAD]), 0);
	EXPECT_EQ(ev_count(fd[TWO]), t[TWO].value);
	expected[LEAD] = expected[ONE] = 0;
	work_of(_metadata, LEAD, 0, 1, 1, 1);
}

TEST(reset_all)
{
	ROWS("I-05 I-08");
	open_group(1, 0, 0);
	for (int who = 0; who < NR; who++) {
		memset(expected, 0, sizeof(expected));
		work_of(_metadata, LEAD, 0, 1, 1, 1);
		RESET(who, ALL);
		for (int i = 0; i < NR; i++) {
			EXPECT_EQ(ev_count(fd[i]), 0);
			EXPECT_GT(ev_times(fd[i]).enabled, 0);
		}
	}
}

/* Reset while the group counts: later events are counted from 0 */
TEST(reset_while_running)
{
	ROWS("I-08");
	struct ev_times before, after;

	open_group(0, 0, 0);
	work(100000);
	before = ev_times(fd[LEAD]);
	EXPECT_GE(before.value, 400000);
	RESET(LEAD, ALL);
	after = ev_times(fd[LEAD]);
	EXPECT_LT(after.value, 100000);
	EXPECT_GT(after.value, 0);
	EXPECT_GT(after.enabled, before.enabled);
	EXPECT_EQ(after.enabled, after.running);
	work(N);
	DISABLE(LEAD, 0);
	EXPECT_GE(ev_count(fd[ONE]), N);
	EXPECT_LT(ev_count(fd[ONE]), 100000);
}

TEST(repeated)
{
	ROWS("I-01 I-02");
	open_group(1, 0, 0);
	for (int i = 0; i < 100; i++)
		work_of(_metadata, LEAD, 0, 1, 1, 1);
	for (int i = 0; i < 100; i++)
		work_of(_metadata, i % NR, ALL, 1, 1, 1);
}

TEST(leader_closed)
{
	uint64_t one, two;

	/* Each sibling becomes a leader of its own and stays enabled or disabled */
	open_group(0, 0, 1);
	work(N);
	close(fd[LEAD]);
	one = ev_count(fd[ONE]);
	EXPECT_GE(one, N);
	work(N);
	EXPECT_GE(ev_count(fd[ONE]), one + N);
	EXPECT_EQ(ev_count(fd[TWO]), 0);
	work_counted(fd[TWO], N, 0);
	two = ev_count(fd[TWO]);
	EXPECT_GE(two, WORK_STORES(N));
	EXPECT_LE(two, WORK_STORES(N) + SLACK(N));
	DISABLE(ONE, 0);
	one = ev_count(fd[ONE]);
	work_counted(fd[TWO], N, ALL);
	EXPECT_EQ(ev_count(fd[ONE]), one);
	EXPECT_GE(ev_count(fd[TWO]), 2 * WORK_STORES(N));
}

/*
 * Closing the leader makes each sibling a leader.  An event with an extra register cannot be
 * added to the plan in force, so it needs a new plan; the sibling after it must be in it too.
 */
TEST(leader_closed_extra_register)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct ev_times before, after;

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	fd[LEAD] = ev_must(&a, 0, -1, -1, 0);
	a.type = PERF_TYPE_RAW;
	a.config = 0x01b7;
	a.config1 = 0x10001;
	fd[ONE] = ev_must(&a, 0, -1, fd[LEAD], 0);
	a.config = RAW_STORES;
	a.config1 = 0;
	fd[TWO] = ev_must(&a, 0, -1, fd[LEAD], 0);
	close(fd[LEAD]);
	before = ev_times(fd[ONE]);
	work(N);
	after = ev_times(fd[ONE]);
	EXPECT_GT(after.running, before.running);
	EXPECT_EQ(after.running - before.running, after.enabled - before.enabled);
	EXPECT_GE(ev_count(fd[TWO]), WORK_STORES(N));
	close(fd[ONE]);
	close(fd[TWO]);
}

TEST(leader_closed_while_off)
{
	open_group(1, 0, 1);
	work(N);
	EXPECT_EQ(ev_count(fd[ONE]), 0);
	close(fd[LEAD]);
	/* ONE has no disabled leader any more; natively it is scheduled in at the next switch */
	usleep(1000);
	work(N);
	EXPECT_GE(ev_count(fd[ONE]), N);
	EXPECT_EQ(ev_count(fd[TWO]), 0);
}

TEST(leader_closed_then_member_leads)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t v[8];
	int new;

	a.read_format = PERF_FORMAT_GROUP;
	open_group(1, 1, 1);
	close(fd[LEAD]);
	new = ev_must(&a, 0, -1, fd[ONE], 0);
	EXPECT_EQ(read(new, v, sizeof(v)), 24);
	EXPECT_EQ(v[0], 2);
	EXPECT_EQ(ioctl(new, PERF_EVENT_IOC_ENABLE, ALL), 0);
	work(N);
	EXPECT_EQ(ioctl(new, PERF_EVENT_IOC_DISABLE, ALL), 0);
	EXPECT_GE(ev_count(fd[ONE]), N);
	EXPECT_EQ(ev_count(fd[TWO]), 0);
}

TEST(member_closed)
{
	open_group(1, 0, 0);
	work_of(_metadata, LEAD, 0, 1, 1, 1);
	close(fd[ONE]);
	work_counted(fd[LEAD], N, 0);
	EXPECT_GE(ev_count(fd[LEAD]), 2 * WORK_INSNS(N));
	EXPECT_GE(ev_count(fd[TWO]), 2 * WORK_STORES(N));
	EXPECT_LE(ev_count(fd[TWO]), 2 * WORK_STORES(N) + SLACK(N));
}

TEST(member_added_while_running)
{
	ROWS("O-14");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	int lead = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	struct ev_times l, m;
	int member;

	ev_enable(lead);
	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	member = ev_must(&a, 0, -1, lead, 0);
	work(N);
	ev_disable(lead);
	l = ev_times(lead);
	m = ev_times(member);
	EXPECT_GE(m.value, N);
	EXPECT_EQ(l.enabled, l.running);
	EXPECT_EQ(m.enabled, m.running);
	EXPECT_LT(m.enabled, l.enabled);
}

TEST_HARNESS_MAIN
