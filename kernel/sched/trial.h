/* SPDX-License-Identifier: GPL-2.0-only */
/* Trial placements of groups that are in no context. */
#ifndef KPMU_TRIAL_H
#define KPMU_TRIAL_H

#include "sched.h"

/**
 * struct kpmu_trial - a group in a trial placement
 * @leader: its leader, in no context
 * @why: the reason why it does not run, NULL if it does
 * @blocker: index of a group before it without which it would run, -1 if no single one is such
 * @alone: it would run if there were no other group
 */
struct kpmu_trial {
	struct kpmu_entity *leader;
	const char *why;
	int blocker;
	bool alone;
};

void kpmu_trial_copy(struct kpmu_entity *to, const struct kpmu_entity *from);
int kpmu_trial_place(struct kpmu_trial *t, int n, int cpu);

#endif
