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
		u32 bit = 1u << m->counter[e];

		if (!(m->allowed[e] & bit) || used & bit ||
		    m->owner[(int)m->counter[e]] != e)
			return false;
		used |= bit;
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
			ASSERT_EQ(kpmu_assign_group(&m, allowed, hint, n), fits);
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

UNIT_SUITE(kpmu_assign, unit_nothing,
	   CASE(every_small_set) CASE(random_groups) CASE(hint) CASE(all_counters)
	   CASE(long_path));
