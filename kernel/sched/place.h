/* SPDX-License-Identifier: GPL-2.0-only */
/* Placement of groups while a plan is built, in sched/ only. */
#ifndef KPMU_PLACE_H
#define KPMU_PLACE_H

#include "../assign/assign.h"
#include "sched.h"

/**
 * struct kpmu_build - the state of one build of a plan
 * @plan: the plan
 * @m: which event is on which counter
 * @hw: the placed events, in order of placement
 * @alt: placed events that use the alternative register
 * @extra_used: extra registers claimed
 * @extra: their values
 * @branches: a placed event records branches
 * @branch_filter: with this filter
 * @exclusive: the placed group is exclusive
 * @cpu: the CPU
 * @kind: its kind, 0 if there is only one, or no CPU
 */
struct kpmu_build {
	struct kpmu_plan *plan;
	struct kpmu_matching m;
	struct kpmu_hw *hw[KPMU_MAX_COUNTERS];
	u32 alt;
	u8 extra_used;
	u64 extra[5];
	bool branches;
	u32 branch_filter;
	bool exclusive;
	u8 kind;
	int cpu;
};

/**
 * kpmu_build_init() - start a build of a plan, without groups
 * @b: the build
 * @plan: the plan; NULL to only test what fits
 * @cpu: the CPU, where kpmu_place() accepts bound groups; -1 for none
 *
 * Sets single fields, because the arrays are large and written before they are read.
 *
 * Context: any.
 */
static inline void kpmu_build_init(struct kpmu_build *b, struct kpmu_plan *plan, int cpu)
{
	b->plan = plan;
	kpmu_matching_init(&b->m);
	b->alt = 0;
	b->extra_used = 0;
	b->branches = false;
	b->exclusive = false;
	b->cpu = cpu;
	b->kind = kpmu_kind_of_cpu(cpu);
}

/**
 * kpmu_hint() - the counter that an event is to get if it is free
 * @hw: the event
 *
 * Context: IRQs off, on the CPU of the plan that is built.
 * Return: the one it had last; if it had none, one that needs no new selector; -1: any.
 */
static __always_inline int kpmu_hint(const struct kpmu_hw *hw)
{
	return likely(hw->hint >= 0) ? hw->hint : kpmu_counters_like(hw);
}

extern const char *const kpmu_place_elsewhere;
extern const char *const kpmu_place_other_kind;

const char *kpmu_place(struct kpmu_build *b, struct kpmu_entity *leader);

#endif
