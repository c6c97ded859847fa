// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan of a new task's context.  The events that a child inherits need the same counters as
 * those of its parent, which runs at the fork.  So if the child inherits all groups that have
 * counters, its plan is that of the parent with the copies of the events.
 */
#include "../source/drivers.h"
#include "sched.h"

/**
 * kpmu_plan_copy_entity() - enter an inherited entity into the plan of its context
 * @from: the parent's entity
 * @to: its copy, which has joined its context
 *
 * The plan is not valid before kpmu_plan_copy().
 *
 * Context: owner of both contexts, IRQs off.
 */
void kpmu_plan_copy_entity(const struct kpmu_entity *from, struct kpmu_entity *to)
{
	struct kpmu_plan *plan = &to->ctx->plan;
	int i = from->hw.idx;

	if (i >= 0) {
		if (kpmu_hw_is_driven(&from->hw))
			plan->slots.driven |= 1u << i;
		else
			plan->slots.mask |= 1u << i;
		plan->slots.hw[i] = &to->hw;
	}
	if (kpmu_is_leader(from) && from->group.placed && !from->group.free)
		plan->groups[plan->nr++] = to;
}

/*
 * Nothing waits in the parent's context, so the groups in its queue are those of the plan.  If
 * the child has as many, and as many were entered, it has the same ones and no others.
 */
static bool may_copy(const struct kpmu_cpu *kc, const struct kpmu_ctx *to,
		     const struct kpmu_ctx *from)
{
	const struct kpmu_plan *plan = &from->plan;

	return kc->applied == plan && !kc->stale && kpmu_plan_is_good(plan, kc) &&
	       plan->cpu < 0 && !plan->task_waits && !to->nr_bound && !to->nr_placed &&
	       to->nr_pinned == from->nr_pinned && to->nr_flexible == from->nr_flexible &&
	       to->plan.nr == plan->nr && to->plan.slots.mask == plan->slots.mask &&
	       to->plan.slots.driven == plan->slots.driven;
}

/* Flags of events whose contexts are not kept; INHERIT_THREAD as it depends on the next child */
#define NOT_KEPT (KPMU_ATTR_INHERIT_THREAD | KPMU_ATTR_STRICT | KPMU_ATTR_RESERVED)

/*
 * The child's context can be used again, for the next child, if it has nothing but copies of all events of
 * the parent: single events that just count, each on one of the CPU's own counters.
 */
static bool may_keep(const struct kpmu_ctx *to, const struct kpmu_ctx *from)
{
	const struct kpmu_plan *plan = &to->plan;
	int i;

	if (to->nr_events != plan->nr || from->nr_events != plan->nr || to->nr_inherit != plan->nr ||
	    to->nr_sampling | to->nr_pinned | to->follow || to->branches || plan->slots.driven)
		return false;
	for (i = 0; i < plan->nr; i++) {
		const struct kpmu_entity *e = plan->groups[i];

		if (e->flags & NOT_KEPT || e->hw.period || e->hw.rare || e->group.shared ||
		    !kpmu_has_counter(e))
			return false;
	}
	return true;
}

/**
 * kpmu_plan_copy() - copy the plan of a parent's context to its child's
 * @to: context of the child, which has not run yet
 * @from: context of the parent, which is current
 * @all: kpmu_plan_copy_entity() was called for each inherited entity, without a change of
 *	@from in between
 *
 * If the plans would not be the same, nothing is copied; the child's is built when it runs.  If it
 * is copied, and simple enough, @to can be kept for the next child (life/kept.c).
 *
 * Context: owner of both contexts, IRQs off.
 */
void kpmu_plan_copy(struct kpmu_ctx *to, const struct kpmu_ctx *from, bool all)
{
	const struct kpmu_plan *old = &from->plan;
	struct kpmu_plan *plan = &to->plan;
	int i;

	if (!all || !may_copy(this_cpu_ptr(&kpmu_cpu), to, from)) {
		plan->slots.mask = 0;
		plan->slots.driven = 0;
		plan->nr = 0;
		return;
	}
	plan->serial = old->serial;
	plan->exclusive = old->exclusive;
	/* Not that of the parent: an event that samples is alike only to itself, not to a copy */
	plan->slots.like = 0;
	plan->slots.alt = old->slots.alt;
	plan->upper = old->upper;
	plan->task_gen = to->gen;
	for (i = 0; i < plan->nr; i++) {
		struct kpmu_entity *leader = plan->groups[i];

		to->placed[i] = leader;
		leader->group.placed = true;
		leader->group.charged = to->time;
		kpmu_group_clocks(leader, to->time);
	}
	to->nr_placed = plan->nr;
	if (may_keep(to, from)) {
		to->model = from->gen;
		to->copied = to->gen;
	}
}
