// SPDX-License-Identifier: GPL-2.0-only
/* Lab 6: fair multiplexing.  Documentation/labs/6.rst says what each function has to do. */
#include "lab.h"

/* A turn of some length has ended: account for it */
void turn_over(struct group *groups, int nr, u64 time)
{
	/* SOLUTION: enabled of all groups; account and running of those that were on */
	int i;

	for (i = 0; i < nr; i++) {
		groups[i].enabled += time;
		if (groups[i].on) {
			groups[i].account += time;
			groups[i].running += time;
		}
	}
	/* END */
}

/* Group g joins nr others.  It must neither catch up on the time before, nor wait for the others. */
void group_join(struct group *g, const struct group *groups, int nr)
{
	g->on = false;
	g->enabled = 0;
	g->running = 0;
	g->account = 0;
	/* SOLUTION: its account starts level with the smallest of the others */
	for (int i = 0; i < nr; i++)
		if (!i || groups[i].account < g->account)
			g->account = groups[i].account;
	/* END */
}

/*
 * Choose the groups of the next turn: in the order of their accounts, the smallest first, of equal ones
 * the first in the array.  A group that does not fit waits, and the next is tried.
 */
void choose(struct group *groups, int nr, int counters)
{
	/* SOLUTION: as above */
	bool tried[MAX_GROUPS] = {};
	int round, i, next;

	for (round = 0; round < nr; round++) {
		next = -1;
		for (i = 0; i < nr; i++)
			if (!tried[i] && (next < 0 || groups[i].account < groups[next].account))
				next = i;
		tried[next] = true;
		groups[next].on = groups[next].need <= counters;
		if (groups[next].on)
			counters -= groups[next].need;
	}
	/* END */
}

/* What the count would be if the event had run all the time; rounded down.  0 if it never ran. */
u64 estimate(u64 count, u64 enabled, u64 running)
{
	/* SOLUTION: the product does not fit into 64 bits */
	return running ? (__uint128_t)count * enabled / running : 0;
	/* SKELETON: return running ? count : 0; */
	/* END */
}
