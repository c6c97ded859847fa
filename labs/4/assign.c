// SPDX-License-Identifier: GPL-2.0-only
/* Lab 4: assignment under constraints.  Documentation/labs/4.rst says what assign() has to do. */
#include "lab.h"

/* SOLUTION: what assign() needs: a search for a path from an event to a free counter */
/*
 * Give event e a counter.  If all that it may use are taken, one of their events has to move to
 * another counter, for which this function calls itself.  @seen: counters that were tried already;
 * to try one again leads nowhere, so each is tried once for a new event.
 */
static bool place(const u32 *allowed, int *counter, int *owner, u32 *seen, int e)
{
	int c;

	for (c = 0; c < MAX_COUNTERS; c++) {
		if (!(allowed[e] & ~*seen & 1u << c))
			continue;
		*seen |= 1u << c;
		if (owner[c] < 0 || place(allowed, counter, owner, seen, owner[c])) {
			owner[c] = e;
			counter[e] = c;
			return true;
		}
	}
	return false;
}

/* END */
bool assign(const u32 *allowed, int nr, int *counter)
{
	/* SOLUTION: place one event after the other, and let those before it move */
	int owner[MAX_COUNTERS], c, e;
	u32 seen;

	for (c = 0; c < MAX_COUNTERS; c++)
		owner[c] = -1;
	for (e = 0; e < nr; e++) {
		seen = 0;
		if (!place(allowed, counter, owner, &seen, e))
			return false;
	}
	return true;
	/* SKELETON: return false; */
	/* END */
}
