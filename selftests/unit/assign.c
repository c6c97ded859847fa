// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel/assign.  Results are compared with an exhaustive search where that is feasible, and
 * checked to be a valid matching.
 */
#include "unit.h"
#include "../../kernel/assign/assign.h"

/* Can @n events all get a counter out of the mask @free?  Tries all assignments. */
static bool solvable(const u32 *allowed, int n, u32 free)
{
	u32 c;

	if (!n)
		return true;
	for (c = allowed[0] & free; c; c &= c - 1)
		if (solvable(allowed + 1, n - 1, free & ~(c & -c)))
			return true;
	return false;
}

/* Is this a valid matching: an allowed counter for each event, no counter used twice? */
static bool sound(const struct kpmu_matching *m)
{
	u32 used = 0;
	int e;

	for (e = 0; e < m->nr; e++) {
		u32 bit = 1u << m->counter[e], bits = bit | (bit << 1 & m->upper);

		if (!(m->allowed[e] & bit) || used & bits ||
		    m->owner[(int)m->counter[e]] != e)
			return false;
		used |= bits;
	}
	return used == m->used;
}

/* All 16^4 sets of 4 events on 4 counters, with the events added one at a time */
TEST(every_small_set)
{
	u32 set, allowed[4], kept[4];
	struct kpmu_matching m;
	int i, n;

	ROWS("Q-13");
	for (set = 0; set < 1u << 16; set++) {
		kpmu_matching_init(&m);
		for (i = n = 0; i < 4; i++) {
			allowed[i] = set >> 4 * i & 15;
			kept[n] = allowed[i];
			if (kpmu_assign(&m, allowed[i], -1) !=
			    solvable(kept, n + 1, 15)) {
				TH_LOG("set %#x, event %d", set, i);
				ASSERT_TRUE(false);
			}
			if (m.nr > n)
				n++;
			ASSERT_EQ(m.nr, n);
			ASSERT_TRUE(sound(&m));
		}
	}
}

/* Random groups of 1 to 4 events on 10 counters, with and without hints */
TEST(random_groups)
{
	u64 seed = 88172645463325252ull;
	struct kpmu_matching m, before;
	u32 allowed[32], kept[64];
	s8 hint[32];
	int round, i, n, nr, fits, refused = 0;

	for (round = 0; round < unit_often(20000); round++) {
		kpmu_matching_init(&m);
		nr = 0;
		while (nr < 9) {
			n = 1 + unit_random(&seed) % 4;
			for (i = 0; i < n; i++) {
				allowed[i] = unit_random(&seed) & unit_random(&seed) & 0x3ff;
				hint[i] = (int)(unit_random(&seed) % 11) - 1;
				kept[nr + i] = allowed[i];
			}
			before = m;
			fits = solvable(kept, nr + n, 0x3ff);
			ASSERT_EQ(kpmu_assign_group(&m, allowed, hint, 0, n), fits);
			ASSERT_TRUE(sound(&m));
			if (!fits) {
				/* No event of a refused group stays on a counter */
				ASSERT_EQ(m.nr, before.nr);
				ASSERT_EQ(m.used, before.used);
				for (i = 0; i < m.nr; i++)
					ASSERT_EQ(m.counter[i], before.counter[i]);
				refused++;
				break;
			}
			nr += n;
		}
	}
	EXPECT_GT(refused, unit_often(1000));
}

/* The hint is used if it is free, which saves reprogramming the counter */
TEST(hint)
{
	struct kpmu_matching m;

	kpmu_matching_init(&m);
	ASSERT_TRUE(kpmu_assign(&m, 0xf, 2));
	ASSERT_EQ(m.counter[0], 2);
	/* Counter 0 is a hint as well */
	kpmu_matching_init(&m);
	ASSERT_TRUE(kpmu_assign(&m, 0xf, 0));
	ASSERT_EQ(m.counter[0], 0);
	/* The hint is in use: another counter is chosen */
	kpmu_matching_init(&m);
	ASSERT_TRUE(kpmu_assign(&m, 0xf, 2));
	ASSERT_TRUE(kpmu_assign(&m, 0xf, 2));
	ASSERT_NE(m.counter[1], 2);
	/* The hint is not allowed: it is ignored */
	ASSERT_TRUE(kpmu_assign(&m, 0x3, 3));
	ASSERT_TRUE(sound(&m));
	/* The new event needs counter 2, so the first event moves to another one */
	ASSERT_TRUE(kpmu_assign(&m, 0x4, 2));
	ASSERT_EQ(m.counter[3], 2);
	ASSERT_NE(m.counter[0], 2);
}

/* 32 events get 32 counters, and a further event is refused */
TEST(all_counters)
{
	struct kpmu_matching m;
	int i;

	kpmu_matching_init(&m);
	for (i = 0; i < 32; i++)
		ASSERT_TRUE(kpmu_assign(&m, ~0u, -1));
	ASSERT_EQ(m.used, ~0u);
	ASSERT_FALSE(kpmu_assign(&m, ~0u, -1));
	ASSERT_FALSE(kpmu_assign(&m, 0, -1));
	ASSERT_TRUE(sound(&m));
}

/*
 * The longest augmenting path: event i can use counters i and i + 1, and is on the upper one.
 * The last event needs the top counter, so each other event moves down by one.
 */
TEST(long_path)
{
	struct kpmu_matching m;
	int i;

	kpmu_matching_init(&m);
	for (i = 0; i < 31; i++)
		ASSERT_TRUE(kpmu_assign(&m, 3u << i, i + 1));
	for (i = 0; i < 31; i++)
		ASSERT_EQ(m.counter[i], i + 1);
	ASSERT_TRUE(kpmu_assign(&m, 1u << 31, -1));
	for (i = 0; i < 31; i++)
		ASSERT_EQ(m.counter[i], i);
	ASSERT_EQ(m.counter[31], 31);
	ASSERT_TRUE(sound(&m));
}

#define EVEN	0x15u		/* lower counters of the pairs of 6 counters */

/* Which events of @m have a pair? */
static u32 wides_of(const struct kpmu_matching *m)
{
	u32 wides = 0;
	int e;

	for (e = 0; e < m->nr; e++)
		if (m->upper & 2u << m->counter[e])
			wides |= 1u << e;
	return wides;
}

/*
 * Wide events take pairs of 6 counters, others any of these, on which their hints scatter them: all fit
 * if there are enough counters
 */
TEST(pairs)
{
	u64 seed = 2463534242u;
	struct kpmu_matching m, before;
	int round, i, n, taken, need, refused = 0, moved = 0;
	u32 allowed[4], wide, wides;
	s8 hint[4];

	ROWS("Q-13");
	for (round = 0; round < unit_often(20000); round++) {
		kpmu_matching_init(&m);
		taken = 0;
		wides = 0;
		do {
			n = 1 + unit_random(&seed) % 3;
			wide = unit_random(&seed) & ((1u << n) - 1);
			need = n;
			for (i = 0; i < n; i++) {
				need += wide >> i & 1;
				allowed[i] = wide & 1u << i ? EVEN : 0x3f;
				hint[i] = (int)(unit_random(&seed) % 7) - 1;
			}
			before = m;
			ASSERT_EQ(kpmu_assign_group(&m, allowed, hint, wide, n), taken + need <= 6);
			ASSERT_TRUE(sound(&m));
			wides |= taken + need <= 6 ? wide << before.nr : 0;
			ASSERT_EQ(wides_of(&m), wides);
			for (i = 0; i < before.nr; i++)
				moved += m.counter[i] != before.counter[i];
			taken += need;
		} while (taken <= 6);
		ASSERT_EQ(m.nr, before.nr);
		ASSERT_EQ(m.used, before.used);
		ASSERT_EQ(m.upper, before.upper);
		refused++;
	}
	EXPECT_EQ(refused, unit_often(20000));
	EXPECT_GT(moved, unit_often(1000));
}

/* A wide event's hint, and events that cannot move away from a pair, or only one after the other */
TEST(pairs_restricted)
{
	static const u32 even = EVEN;
	static const s8 none = -1, two = 2, odd = 1;
	struct kpmu_matching m;

	kpmu_matching_init(&m);
	ASSERT_TRUE(kpmu_assign_group(&m, &even, &two, 1, 1));
	ASSERT_EQ(m.counter[0], 2);
	ASSERT_EQ(m.used, 0xc);
	ASSERT_EQ(m.upper, 8);
	/* An upper counter is no place for a pair */
	ASSERT_TRUE(kpmu_assign_group(&m, &even, &odd, 1, 1));
	ASSERT_EQ(m.counter[1], 4);
	/* This event must have counter 0: the third pair is not free */
	ASSERT_TRUE(kpmu_assign(&m, 1, -1));
	ASSERT_FALSE(kpmu_assign_group(&m, &even, &none, 1, 1));
	ASSERT_EQ(m.nr, 3);
	ASSERT_EQ(m.used, 0x3d);
	ASSERT_TRUE(sound(&m));

	/* Event 0 moves from counter 0 to 2, for which event 1 moves from there to 3 */
	kpmu_matching_init(&m);
	ASSERT_TRUE(kpmu_assign(&m, 0x5, 0));
	ASSERT_TRUE(kpmu_assign(&m, 0xc, 2));
	ASSERT_TRUE(kpmu_assign_group(&m, &even, &none, 1, 1));
	ASSERT_EQ(m.counter[2], 4);
	ASSERT_TRUE(kpmu_assign_group(&m, &even, &none, 1, 1));
	ASSERT_EQ(m.counter[3], 0);
	ASSERT_EQ(m.counter[0], 2);
	ASSERT_EQ(m.counter[1], 3);
	ASSERT_TRUE(sound(&m));
	ASSERT_EQ(m.used, 0x3f);
}

UNIT_SUITE(kpmu_assign, unit_nothing,
	   CASE(every_small_set) CASE(random_groups) CASE(hint) CASE(all_counters)
	   CASE(long_path) CASE(pairs) CASE(pairs_restricted));
