/* SPDX-License-Identifier: GPL-2.0-only */
/* The groups beside which a strict one must fit, in sched/ only. */
#ifndef KPMU_CROWD_H
#define KPMU_CROWD_H

#include "sched.h"

struct kpmu_build;

/* Copies of events in a trial.  Pinned groups may take half of them: no more events fit */
#define KPMU_MAX_COPIES	128

/**
 * struct kpmu_crowd - the groups beside which a new one must fit
 * @cpu: the CPU of the trial
 * @skip: leader of the group that is to become larger
 * @firm: take only firm groups
 * @full: there were too many
 * @n: number of @copy in use
 * @copy: copies of their events; members follow their leader
 */
struct kpmu_crowd {
	int cpu;
	const struct kpmu_entity *skip;
	bool firm;
	bool full;
	int n;
	struct kpmu_entity copy[KPMU_MAX_COPIES];
};

int kpmu_crowd_copy(struct kpmu_entity *to, int room, const struct kpmu_entity *leader, bool all);
void kpmu_crowd_add(struct kpmu_crowd *c, struct kpmu_ctx *ctx);
void kpmu_crowd_place(struct kpmu_build *b, struct kpmu_crowd *c, u64 strict);

#endif
