// SPDX-License-Identifier: GPL-2.0-only
/*
 * Putting a plan into effect on this CPU, with IRQs off.  Also the activation of contexts of
 * tasks and cgroups.
 */
#include <linux/percpu.h>

#include "../trace/stats.h"
#include "apply.h"

/* Are the context's groups in the plan those that are placed already? */
static bool same_groups(const struct kpmu_ctx *ctx, const struct kpmu_plan *plan)
{
	int i, n = 0;

	for (i = 0; i < plan->nr; i++) {
		if (plan->groups[i]->ctx != ctx)
			continue;
		if (n == ctx->nr_placed || ctx->placed[n] != plan->groups[i])
			return false;
		n++;
	}
	return n == ctx->nr_placed;
}

/* Make placement, and with it time_running, match the plan */
static void place_groups(struct kpmu_ctx *ctx, const struct kpmu_plan *plan)
{
	int i, n = 0;

	for (i = 0; i < plan->nr; i++)
		plan->groups[i]->group.mark = true;
	for (i = 0; i < ctx->nr_placed; i++) {
		struct kpmu_entity *leader = ctx->placed[i];

		if (leader->group.mark)
			continue;
		leader->group.placed = false;
		kpmu_group_clocks(leader, ctx->time);
		if (static_branch_unlikely(&kpmu_turns_key))
			kpmu_sched_events->turn(leader);
	}
	for (i = 0; i < plan->nr; i++) {
		struct kpmu_entity *leader = plan->groups[i];

		leader->group.mark = false;
		if (leader->ctx != ctx)
			continue;
		ctx->placed[n++] = leader;
		if (leader->group.placed)
			continue;
		leader->group.placed = true;
		leader->group.charged = ctx->time;
		kpmu_group_clocks(leader, ctx->time);
	}
	ctx->nr_placed = n;
}

/**
 * kpmu_place_none() - take all groups of a context off this CPU's counters
 * @ctx: the context, its clock up to date
 *
 * Context: the context's owner, IRQs off; a kpmu_commit() without counters must follow.
 */
void kpmu_place_none(struct kpmu_ctx *ctx)
{
	static const struct kpmu_plan nothing;

	place_groups(ctx, &nothing);
}

/**
 * kpmu_plan_apply() - put a plan into force that is not in force yet, or is stale
 * @kc: this CPU
 * @plan: its plan; built if it is not good
 * @clock: local_clock() of the change
 *
 * Context: IRQs off.
 */
void kpmu_plan_apply(struct kpmu_cpu *kc, struct kpmu_plan *plan, u64 clock)
{
	struct kpmu_ctx *task = kc->task, *ctx;

	if (kpmu_plan_is_good(plan, kc)) {
		kc->stale = false;
		kpmu_stat_inc(plan_hits);
	} else {
		kpmu_for_each_cpu_ctx(ctx, kc)
			kpmu_ctx_tick(ctx, clock);
		if (task)
			kpmu_ctx_tick(task, clock);
		kpmu_plan_build(plan, kc);
	}
	kpmu_for_each_cpu_ctx(ctx, kc) {
		if (!(plan->nr_cpu | ctx->nr_placed) || same_groups(ctx, plan))
			continue;
		kpmu_ctx_tick(ctx, clock);
		place_groups(ctx, plan);
	}
	if (task && !same_groups(task, plan)) {
		kpmu_ctx_tick(task, clock);
		place_groups(task, plan);
	}
	kc->applied = plan;
}

/**
 * kpmu_rotate_arm() - start the rotation timer, which does not run
 * @kc: this CPU
 *
 * Context: on the CPU, IRQs off.
 */
void kpmu_rotate_arm(struct kpmu_cpu *kc)
{
	kc->armed = true;
	hrtimer_start(&kc->rotate, ns_to_ktime(kpmu_turn()),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * kpmu_resched() - bring the plan and the counters of this CPU up to date
 * @kc: this CPU
 * @clock: local_clock() when the change began: one time for the whole change, so
 *	an event that is enabled and scheduled in by it has equal times
 *
 * Context: IRQs off; after any change to an active context.
 */
void kpmu_resched(struct kpmu_cpu *kc, u64 clock)
{
	kpmu_resched_inline(kc, kc->task, clock, false);
}

/**
 * kpmu_ctx_activate() - make this CPU the owner of a context
 * @kc: this CPU
 * @ctx: the context
 * @clock: local_clock() of the change
 *
 * Context: IRQs off.
 * Return: false if the context has retired, or is active elsewhere.
 */
bool kpmu_ctx_activate(struct kpmu_cpu *kc, struct kpmu_ctx *ctx, u64 clock)
{
	return kpmu_ctx_activate_inline(kc, ctx, clock);
}
