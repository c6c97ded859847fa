// SPDX-License-Identifier: GPL-2.0-only
/* Lab 5: groups.  Documentation/labs/5.rst says what each function has to do. */
#include "lab.h"

/* SOLUTION: a variable with the counters of the groups that are on, a bit each */
static u32 taken;
/* END */

/*
 * Put the group on counters of its own and let it count in kernel mode.  Return false if there are not
 * enough: then nothing has changed, and no register was written.  Other groups go on counting.
 */
bool group_start(struct group *g)
{
	/*
	 * SOLUTION: assign counters; clear each and write its selector; then enable all of them by one
	 * write of IA32_PERF_GLOBAL_CTRL, along with those that are on already
	 */
	int i;

	if (!assign(g, taken))
		return false;
	for (i = 0; i < g->nr; i++) {
		lab_wrmsr(0x4c1 + g->member[i].counter, 0);
		lab_wrmsr(0x186 + g->member[i].counter, g->member[i].code | BIT(17) | BIT(22));
		taken |= BIT(g->member[i].counter);
	}
	g->on = true;
	lab_wrmsr(0x38f, taken);
	return true;
	/* SKELETON: return false; */
	/* END */
}

/* Stop the group, add what it has counted to the members' counts, and free its counters */
void group_stop(struct group *g)
{
	/*
	 * SOLUTION: disable all of its counters by one write, then read them.  A group that is not on
	 * stays as it is.
	 */
	int i;

	if (!g->on)
		return;
	for (i = 0; i < g->nr; i++)
		taken &= ~BIT(g->member[i].counter);
	lab_wrmsr(0x38f, taken);
	for (i = 0; i < g->nr; i++)
		g->member[i].count += lab_rdmsr(0xc1 + g->member[i].counter);
	g->on = false;
	/* END */
}
