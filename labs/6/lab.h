/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 6: fair multiplexing.  Documentation/labs/6.rst */
#ifndef LAB_6_H
#define LAB_6_H

#include "host.h"

#define MAX_GROUPS	16

/**
 * struct group - a group that waits for counters or has them
 * @need: counters that it needs, at least 1
 * @on: it runs in this turn
 * @account: time for which it has run, by which groups are ordered
 * @enabled: time since it joined
 * @running: time for which it has run
 */
struct group {
	int need;
	bool on;
	u64 account;
	u64 enabled;
	u64 running;
};

void turn_over(struct group *groups, int nr, u64 time);
void group_join(struct group *g, const struct group *groups, int nr);
void choose(struct group *groups, int nr, int counters);
u64 estimate(u64 count, u64 enabled, u64 running);

#endif
