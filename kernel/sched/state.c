// SPDX-License-Identifier: GPL-2.0-only
/* The state of each CPU, generations of contexts, and the groups placed of a context. */
#include <linux/percpu.h>
#include <linux/static_call.h>

#include "sched.h"

DEFINE_PER_CPU(struct kpmu_cpu, kpmu_cpu);
DEFINE_STATIC_CALL(kpmu_follow, kpmu_follow_none);
unsigned int kpmu_mux_interval_ms = 4;

/* Each CPU's generations advance by this step, so they are unique over all CPUs */
#define GEN_STEP	NR_CPUS

static DEFINE_PER_CPU(u64, next_gen);

/**
 * kpmu_gens_init() - set the first generation of a CPU
 * @cpu: the CPU
 *
 * Context: module init.
 */
void __init kpmu_gens_init(int cpu)
{
	per_cpu(next_gen, cpu) = cpu + 1;
}

static u64 new_gen(void)
{
	return this_cpu_add_return(next_gen, GEN_STEP);
}

/**
 * kpmu_ctx_changed() - invalidate the plans built from a context
 * @ctx: the context
 *
 * Context: its owner, IRQs off.
 */
void kpmu_ctx_changed(struct kpmu_ctx *ctx)
{
	ctx->gen = ctx->nr_flexible | ctx->nr_pinned ? new_gen() : 0;
	if (ctx->cpu >= 0)
		this_cpu_write(kpmu_cpu.stale, true);
}

/**
 * kpmu_ctx_unplace() - remove a group from the placed groups of its context
 * @ctx: the context
 * @leader: the group's leader, out of the queue, so the next plan does not contain
 *	the group; its counters are released with that plan
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_ctx_unplace(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	if (!leader->group.placed)
		return;
	leader->group.placed = false;
	kpmu_groups_drop(ctx->placed, &ctx->nr_placed, leader);
}
