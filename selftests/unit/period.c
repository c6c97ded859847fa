// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of periods: kernel/source/period.h (when the next overflow is due), kernel/sampling/ideal.h
 * (the period of an event with a frequency) and kernel/sampling/fair.h (the time that is charged).
 */
#include "unit.h"
#include "../../kernel/source/period.h"
#include "../../kernel/sampling/fair.h"
#include "../../kernel/sampling/ideal.h"

#define MS	1000000ull
#define SECOND	1000000000ull

static struct kpmu_hw hw;

/* An overflow that comes late stands for all periods that have passed */
TEST(late)
{
	u64 count;

	kpmu_period_start(&hw, 100, 1000);
	EXPECT_EQ(kpmu_period_left(&hw, 1000), 100);
	EXPECT_EQ(kpmu_period_left(&hw, 1100), 0);
	EXPECT_EQ(kpmu_period_left(&hw, 1101), -1);
	for (count = 1100; count < 1500; count++) {
		kpmu_period_due(&hw, 1100);
		ASSERT_EQ(kpmu_period_skip(&hw, count), (count - 1100) / 100 * 100);
		ASSERT_EQ(hw.next, 1100 + (count - 1100) / 100 * 100);
		/* The next period ends after the count */
		ASSERT_GT(kpmu_period_left(&hw, count), -100);
	}
}

/* Counts wrap at 2^64, and so does the count at which an overflow is due */
TEST(wrap)
{
	u64 before = -50ull;

	kpmu_period_start(&hw, 100, before);
	EXPECT_EQ(hw.next, 50);
	EXPECT_EQ(kpmu_period_left(&hw, before), 100);
	EXPECT_EQ(kpmu_period_left(&hw, 0), 50);
	EXPECT_EQ(kpmu_period_left(&hw, 51), -1);
	EXPECT_EQ(kpmu_period_skip(&hw, 350), 300);
	EXPECT_EQ(hw.next, 350);
}

/* A new period counts from the next overflow on; a reset keeps the distance to it */
TEST(change_and_reset)
{
	kpmu_period_start(&hw, 100, 1000);
	kpmu_period_change(&hw, 7);
	EXPECT_EQ(hw.period, 7);
	EXPECT_EQ(kpmu_period_left(&hw, 1040), 60);
	local64_set(&hw.count, 1040);
	kpmu_source_reset(&hw, 1040);
	EXPECT_EQ(local64_read(&hw.count), 0);
	EXPECT_EQ(kpmu_period_left(&hw, 0), 60);
}

TEST(ideal)
{
	ROWS("A-30");
	/* A million events in 1 ms are 10^9 per second */
	EXPECT_EQ(kpmu_ideal_period(1000, 1000000, MS), 1000000);
	EXPECT_EQ(kpmu_ideal_period(4000, 1000000, MS), 250000);
	EXPECT_EQ(kpmu_ideal_period(100000, 1, MS), 0);
	EXPECT_EQ(kpmu_ideal_period(3, 1, SECOND), 0);
	EXPECT_EQ(kpmu_ideal_period(3, 10, SECOND), 3);
	/* Up to 2^33 events all bits of them are used, above that 33 */
	EXPECT_EQ(kpmu_ideal_period(1, (1ull << 33) - 1, SECOND), (1ull << 33) - 1);
	EXPECT_EQ(kpmu_ideal_period(1, (1ull << 34) + 1, SECOND), 1ull << 34);
	EXPECT_EQ(kpmu_ideal_period(1, ~0ull, SECOND), ~0ull << 31);
	EXPECT_EQ(kpmu_ideal_period(1000000, 1ull << 63, 4 * MS), (1ull << 32) / 4000 << 31);
}

/* Half of the way to the ideal, which is taken as at least half and at most 8 times the old period */
TEST(next)
{
	ROWS("A-30");
	EXPECT_EQ(kpmu_next_period(1000, 1000, 1000, MS), 1000);
	EXPECT_EQ(kpmu_next_period(1000, 1000, 2000, MS), 1500);
	EXPECT_EQ(kpmu_next_period(1000, 1000, 900, MS), 950);
	EXPECT_EQ(kpmu_next_period(1000, 1000, 100000, MS), 4500);
	EXPECT_EQ(kpmu_next_period(1000, 1000, 1, MS), 750);
	EXPECT_EQ(kpmu_next_period(1, 1000, 1, 2 * MS), 1);
	/* From 1 on there is a way up, and the way down ends there */
	EXPECT_EQ(kpmu_next_period(1, 1000, 2, MS), 2);
	EXPECT_EQ(kpmu_next_period(2, 1000, 1, MS), 2);
	EXPECT_EQ(kpmu_next_period(3, 1000, 1, MS), 2);
	EXPECT_EQ(kpmu_next_period(KPMU_LONGEST_PERIOD, 1, ~0ull, MS), KPMU_LONGEST_PERIOD);
}

/* From any period and for any rate, some intervals later the period is near the ideal */
TEST(converges)
{
	u64 seed = 88172645463325252ull, period, ideal, rate;
	int round, i;
	u32 freq;

	ROWS("A-30");
	for (round = 0; round < unit_often(20000); round++) {
		rate = 1 + unit_random(&seed) % SECOND;		/* events per ms */
		freq = 1 + unit_random(&seed) % 100000;
		period = 1 + (unit_random(&seed) & (KPMU_LONGEST_PERIOD >> unit_random(&seed) % 60));
		ideal = kpmu_ideal_period(freq, rate, MS);
		for (i = 0; i < 300; i++) {
			period = kpmu_next_period(period, freq, rate, MS);
			ASSERT_GE(period, 1);
			ASSERT_GE(KPMU_LONGEST_PERIOD, period);
		}
		/* Rounding may keep it one away, and it is at least 1 */
		if (period > ideal + 1 || period + 1 < ideal)
			TH_LOG("rate %llu, frequency %u: period %llu, ideal %llu", (long long)rate,
			       freq, (long long)period, (long long)ideal);
		ASSERT_GE(ideal + 2, period);
		ASSERT_GE(period + 1, ideal);
	}
}

/* One long duration is not charged, the second one of four is */
TEST(charged)
{
	u64 before[3] = { 10, 12, 11 };

	EXPECT_EQ(kpmu_fair(before, 1000), 11);
	EXPECT_EQ(before[0], 12);
	EXPECT_EQ(before[1], 11);
	EXPECT_EQ(before[2], 1000);
	EXPECT_EQ(kpmu_fair(before, 9), 9);
	EXPECT_EQ(kpmu_fair(before, 1000), 11);
	/* Now two of the last three are long */
	EXPECT_EQ(kpmu_fair(before, 1000), 1000);
	/* Up to a quarter of the limit is charged in any case */
	before[0] = before[1] = before[2] = 10;
	EXPECT_EQ(kpmu_charge(before, 1000, 400), 100);
	EXPECT_EQ(kpmu_charge(before, 50, 400), 50);
}

UNIT_SUITE(kpmu_period, unit_nothing,
	   CASE(late) CASE(wrap) CASE(change_and_reset) CASE(ideal) CASE(next) CASE(converges)
	   CASE(charged));
