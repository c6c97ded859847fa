// SPDX-License-Identifier: GPL-2.0-only
/* The state of each CPU, generations of contexts, and the groups placed of a context. */
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/static_call.h>

#include "sched.h"

DEFINE_PER_CPU(struct kpmu_cpu, kpmu_cpu);
DEFINE_STATIC_CALL(kpmu_follow, kpmu_follow_none);
unsigned int kpmu_mux_interval_ms = 4;
DEFINE_STATIC_KEY_DEFERRED_FALSE(kpmu_firm_key, HZ);
DEFINE_STATIC_KEY_FALSE(kpmu_reserved_key);
DEFINE_STATIC_KEY_FALSE(kpmu_turns_key);

const struct kpmu_sched_ops *kpmu_sched_events;	/* constant after module init */

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
	ctx->gen = ctx->nr_flexible | ctx->nr_pinned | ctx->reserved ? new_gen() : 0;
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

/**
 * kpmu_strict_link() - a strict group joins a context
 * @ctx: the context
 * @leader: the group's leader
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_strict_link(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	list_add_tail(&leader->group.strict_node, &ctx->strict);
	ctx->nr_strict++;
	ctx->nr_firm += !!(leader->flags & KPMU_ATTR_FIRM);
}

/**
 * kpmu_strict_unlink() - a strict group leaves its context, or has ended
 * @ctx: the context
 * @leader: the group's leader; nothing is done if it has ended before
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_strict_unlink(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	if (list_empty(&leader->group.strict_node))
		return;
	list_del_init(&leader->group.strict_node);
	ctx->nr_strict--;
	ctx->nr_firm -= !!(leader->flags & KPMU_ATTR_FIRM);
}

/**
 * kpmu_usable_now() - kpmu_usable() while counters are reserved on some CPU
 * @e: the event
 * @cpu: the CPU
 *
 * Context: any; IRQs off on that CPU for a result that stays valid.
 * Return: bit mask of counters.
 */
u32 kpmu_usable_now(const struct kpmu_entity *e, int cpu)
{
	const struct kpmu_cpu *kc = &per_cpu(kpmu_cpu, cpu);
	u32 m, own = 0, reserved = READ_ONCE(kc->ctx.reserved);
	u16 id = (e->flags & KPMU_ATTR_RESERVED) >> KPMU_ATTR_RESERVED_SHIFT;

	if (id)
		for (m = reserved; m; m &= m - 1)
			if (READ_ONCE(kc->reserved_by[__ffs(m)]) == id)
				own |= m & -m;
	return kpmu_usable_among(e, own ?: ~reserved);
}
