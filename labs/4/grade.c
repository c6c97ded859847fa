// SPDX-License-Identifier: GPL-2.0-only
/* FLAGS: -O1 -fsanitize=address,undefined -fno-sanitize-recover=all */
/* The grader of lab 4.  Documentation/labs/4.rst explains each figure. */
#include "lab.h"

static int nr_wrong;

/* Ask for a solution.  A wrong one counts. */
static bool asked(const u32 *allowed, int nr)
{
	/* Of the exact size, for ASan to see more */
	int *counter = malloc(nr * sizeof(*counter)), i;
	u32 *copy = malloc(nr * sizeof(*copy)), used = 0;
	bool found;

	memcpy(copy, allowed, nr * sizeof(*copy));
	memset(counter, 0xff, nr * sizeof(*counter));
	found = assign(copy, nr, counter);
	for (i = 0; found && i < nr; i++) {
		if (counter[i] < 0 || counter[i] >= MAX_COUNTERS ||
		    !(allowed[i] & ~used & 1u << counter[i])) {
			nr_wrong++;
			break;
		}
		used |= 1u << counter[i];
	}
	free(counter);
	free(copy);
	return found;
}

/* All sequences of nr masks of four counters, the empty one included */
static u32 all_masks(int nr)
{
	u32 allowed[4], found = 0, i, n;

	for (i = 0; i < 1u << 4 * nr; i++) {
		for (n = 0; n < nr; n++)
			allowed[n] = i >> 4 * n & 0xf;
		found += asked(allowed, nr);
	}
	return found;
}

/* Event i may use counters i and i + 1; the last event only counter 0, so all others have to move */
static bool chain(int nr)
{
	u32 allowed[MAX_COUNTERS];
	int i;

	for (i = 0; i < nr - 1; i++)
		allowed[i] = 3u << i;
	allowed[nr - 1] = 1;
	return asked(allowed, nr);
}

/* nr events, each of which may use any of the same counters */
static bool crowd(int nr, u32 counters)
{
	u32 allowed[MAX_COUNTERS + 1];
	int i;

	for (i = 0; i < nr; i++)
		allowed[i] = counters;
	return asked(allowed, nr);
}

int main(void)
{
	static const u32 easy[] = { 0xf, 0xf, 0xf, 0xf };
	static const u32 haswell[] = { 0xf, 0xf, 0xf, 0x4 };
	static const u32 late[] = { 0xf, 0xe, 0xc, 0x8 }, early[] = { 0x8, 0xc, 0xe, 0xf };
	static const u32 two[] = { 0x4, 0xf, 0x4 };

	lab_check("four events that may use each of four counters", asked(easy, 4), 1);
	lab_check("the last may use only counter 2", asked(haswell, 4), 1);
	lab_check("from the least to the most restricted", asked(late, 4), 1);
	lab_check("from the most to the least restricted", asked(early, 4), 1);
	lab_check("two that may use only counter 2", asked(two, 3), 0);
	lab_check("five on four counters", crowd(5, 0xf), 0);
	lab_check("no event at all", asked(easy, 0), 1);
	lab_check("1 event, all 16 masks: solutions", all_masks(1), 15);
	lab_check("2 events, all 256 pairs: solutions", all_masks(2), 221);
	lab_check("3 events, all 4,096 triples: solutions", all_masks(3), 3125);
	lab_check("4 events, all 65,536: solutions", all_masks(4), 37823);
	lab_check("32 events, of which 31 have to move", chain(32), 1);
	lab_check("32 events on all of 32 counters", crowd(32, ~0u), 1);
	lab_check("32 events on 31 counters, in time", crowd(32, ~1u), 0);
	lab_check("wrong solutions", nr_wrong, 0);
	lab_end();
	return 0;
}
