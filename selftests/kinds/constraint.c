// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that only some counters can count.  A group that does not fit cannot be opened, so the
 * size of the largest group is the number of counters that an event may use.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"

static int raw(uint64_t code, int lead)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, code);

	a.disabled = lead < 0;
	a.read_format = FORMAT_TIMES;
	return ev_open(&a, 0, -1, lead, 0);
}

/* Size of the largest group of events with this code */
static int room_for(uint64_t code)
{
	int fd[40], n = 0;

	fd[0] = raw(code, -1);
	if (fd[0] < 0)
		return 0;
	for (n = 1; n < 40; n++) {
		fd[n] = raw(code, fd[0]);
		if (fd[n] < 0)
			break;
	}
	for (int i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

TEST(skylake)
{
	ROWS("Q-13 E-22");
	if (cpu_model() != CPU_SKYLAKE)
		SKIP(return, "not Skylake");
	EXPECT_EQ(room_for(0x00c0), 5);		/* general and fixed */
	EXPECT_EQ(room_for(0x003c), 5);
	EXPECT_EQ(room_for(0x0300), 1);		/* fixed only */
	EXPECT_EQ(room_for(0x01c0), 1);		/* counter 1 only */
	EXPECT_EQ(room_for(0x81d0), 4);
	EXPECT_EQ(room_for(0x08d1), 4);
	EXPECT_EQ(room_for(0x02cd), 4);
	EXPECT_EQ(room_for(0x00c4), 4);
}

TEST(icelake)
{
	ROWS("Q-13 E-22");
	static const uint16_t four[] = {
		0x0103, 0x010a, 0x011f, 0x0128, 0x0132, 0x0148, 0x0156, 0x0160,
		0x018b, 0x01a3, 0x01a8, 0x01b0, 0x01b7, 0x01bd, 0x81d0, 0x01e6,
		0x01ef, 0x01f0, 0x01f4,
	};
	static const uint16_t eight[] = {
		0x00c4, 0x0102, 0x010b, 0x011e, 0x0129, 0x0131, 0x0147, 0x0157,
		0x018c, 0x04a3, 0x10a3, 0x14a3, 0x01a7, 0x01b1, 0x01be, 0x01e7,
		0x01f5,
	};
	int i;

	if (cpu_model() != CPU_ICELAKE)
		SKIP(return, "not Icelake");
	for (i = 0; i < ARRAY_SIZE(four); i++) {
		if (room_for(four[i]) != 4)
			printf("# event %#x\n", four[i]);
		EXPECT_EQ(room_for(four[i]), 4);
	}
	for (i = 0; i < ARRAY_SIZE(eight); i++) {
		if (room_for(eight[i]) != 8)
			printf("# event %#x\n", eight[i]);
		EXPECT_EQ(room_for(eight[i]), 8);
	}
	EXPECT_EQ(room_for(0x00c0), 9);
	EXPECT_EQ(room_for(0x01c0), 9);
	EXPECT_EQ(room_for(0x003c), 9);
	EXPECT_EQ(room_for(0x0100), 1);
	EXPECT_EQ(room_for(0x0200), 1);
	EXPECT_EQ(room_for(0x0300), 1);
	EXPECT_EQ(room_for(0x0400), 1);
}

TEST(sapphire_rapids)
{
	ROWS("Q-13 E-22");
	static const uint16_t one[] = { 0x04a4, 0x08a4, 0x02cd, 0x01ce, 0x10ce };
	static const uint16_t four[] = {
		0x0101, 0x012d, 0x012f, 0x013b, 0x013d, 0x018f, 0x81d0, 0x01df,
		0x01a3, 0x02a3, 0x05a3, 0x06a3, 0x08a3, 0x0ca3,
	};
	static const uint16_t eight[] = {
		0x412e, 0x0190, 0x00c4, 0x04a3, 0x10a3, 0x01a4, 0x04cd, 0x01e0,
		0x01ad,
	};
	int i;

	if (cpu_model() != CPU_SPR)
		SKIP(return, "not Sapphire Rapids");
	for (i = 0; i < ARRAY_SIZE(one); i++) {
		if (room_for(one[i]) != 1)
			printf("# event %#x\n", one[i]);
		EXPECT_EQ(room_for(one[i]), 1);
	}
	for (i = 0; i < ARRAY_SIZE(four); i++) {
		if (room_for(four[i]) != 4)
			printf("# event %#x\n", four[i]);
		EXPECT_EQ(room_for(four[i]), 4);
	}
	for (i = 0; i < ARRAY_SIZE(eight); i++) {
		if (room_for(eight[i]) != 8)
			printf("# event %#x\n", eight[i]);
		EXPECT_EQ(room_for(eight[i]), 8);
	}
	/* All counters except 0; cannot be opened if its extra register does not exist */
	if (room_for(0x01cd))
		EXPECT_EQ(room_for(0x01cd), 7);
	EXPECT_EQ(room_for(0x00c0), 9);
	EXPECT_EQ(room_for(0x013c), 9);
	EXPECT_EQ(room_for(0x0300), 1);
	EXPECT_EQ(room_for(0x0400), 1);
}

TEST(unknown_model)
{
	ROWS("Q-13");
	if (cpu_model())
		SKIP(return, "a known model");
	EXPECT_EQ(room_for(0x00c4), counters_general());
	EXPECT_EQ(room_for(0x01cd), counters_general());
	EXPECT_EQ(room_for(0x00c0), counters_general() + (counters_fixed() > 0));
}

/* Two events that need the same counter rotate: both get time on it, never at the same time */
TEST(two_for_one_counter)
{
	ROWS("Q-13 Q-01");
	uint64_t code = cpu_model() == CPU_SPR ? 0x02cd : 0x0300;
	uint64_t end = patience();
	struct ev_times a, b;
	int one, two;

	if (cpu_model() == CPU_OTHER && counters_fixed() < 3)
		SKIP(return, "no such event");
	one = raw(code, -1);
	two = raw(code, -1);
	ASSERT_GE(two, 0);
	ev_enable(one);
	ev_enable(two);
	do {
		work(100000);
		a = ev_times(one);
		b = ev_times(two);
	} while ((a.running < 10000000 || b.running < 10000000) &&
		 now_ns() < end);
	ev_disable(two);
	ev_disable(one);
	a = ev_times(one);
	b = ev_times(two);
	printf("# of %lu and %lu ns they ran %lu and %lu\n", a.enabled, b.enabled,
	       a.running, b.running);
	EXPECT_GE(a.running, 10000000);
	EXPECT_GE(b.running, 10000000);
	EXPECT_LE(a.running + b.running, a.enabled);
}

/* Unconstrained events are placed so that a constrained one gets the counter it needs */
TEST(unconstrained_events_move)
{
	ROWS("Q-13");
	int gp = counters_general(), lead, i;

	if (!cpu_model())
		SKIP(return, "no constraint known");
	lead = raw(RAW_BRANCHES, -1);
	for (i = 1; i < gp - 1; i++)
		ASSERT_GE(raw(RAW_BRANCHES, lead), 0);
	/* One general counter is free, not necessarily the one that this event needs */
	EXPECT_GE(raw(cpu_model() == CPU_SPR ? 0x02cd :
		      cpu_model() == CPU_SKYLAKE ? 0x01c0 : RAW_LOADS, lead), 0);
	work_counted(lead, 1000, 0);
	EXPECT_TRUE(always_ran(lead));
}

TEST_HARNESS_MAIN
