// SPDX-License-Identifier: GPL-2.0-only
/*
 * Edits of the plan in force.  While nothing waits, removing a group frees counters that
 * no other group needs, and adding one only needs free counters; the other groups
 * stay where they are.  A group that waits may always be removed: no counter becomes free.
 * Otherwise a new plan is built.
 */
#include "../source/drivers.h"
#include "../trace/kpmu_trace.h"
#include "place.h"
#include "sched.h"

/*
 * The counters that a plan holds for a group, according to its slots: an event that
 * was inserted has no counter before the commit, and hw.idx may be the counter
 * of an earlier plan.  A plan has each event once, so for a group of one event a match
 * at hw.idx is the result.
 */
static u32 counters_of(const struct kpmu_slots *slots, struct kpmu_entity *leader)
{
	int i = leader->hw.idx;
	u32 m, mask = 0, used = kpmu_slots_used(slots);

	if (list_empty(&leader->group.members) && i >= 0 &&
	    used & 1u << i && slots->hw[i] == &leader->hw)
		return 1u << i;
	for (m = used; m; m &= m - 1) {
		i = __ffs(m);
		if (container_of(slots->hw[i], struct kpmu_entity, hw)->leader ==
		    leader)
			mask |= 1u << i;
	}
	return mask;
}

/**
 * kpmu_plan_remove() - remove a group from the plan in force
 * @kc: from kpmu_plan_live(); with NULL nothing is done
 * @leader: the group's leader; e->leader of its events in the plan must still be set
 *	to it
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_plan_remove(struct kpmu_cpu *kc, struct kpmu_entity *leader)
{
	struct kpmu_ctx *ctx = leader->ctx;
	struct kpmu_plan *plan;
	u32 left;

	if (!kc || !leader->group.placed || leader->group.free)
		return;
	plan = kc->applied;
	plan->slots.like = 0;
	left = ~counters_of(&plan->slots, leader);
	plan->slots.mask &= left;
	plan->slots.driven &= left;
	plan->slots.alt &= plan->slots.mask;
	plan->upper &= plan->slots.mask << 1;
	kpmu_groups_drop(plan->groups, &plan->nr, leader);
	kpmu_groups_drop(ctx->placed, &ctx->nr_placed, leader);
	if (ctx->home >= 0)
		plan->nr_cpu--;
	leader->group.placed = false;
	kpmu_plan_stamp(plan, kc);
}

/* A counter for the event outside @mask, or -1 */
static int free_counter(const struct kpmu_entity *e, u32 mask)
{
	u32 free = e->hw.allowed & ~mask;
	int hint = kpmu_hint(&e->hw);

	if (hint >= 0 && free & 1u << hint)
		return hint;
	return free ? 31 - __builtin_clz(free) : -1;
}

static __always_inline bool add_entity(struct kpmu_slots *slots, struct kpmu_entity *e)
{
	int counter;

	if (!kpmu_has_counter(e) || e->state != KPMU_ON)
		return true;
	counter = free_counter(e, kpmu_slots_used(slots));
	if (counter < 0 || e->hw.extra_reg || e->hw.branches || e->hw.wide)
		return false;
	if (kpmu_hw_is_driven(&e->hw))
		slots->driven |= 1u << counter;
	else
		slots->mask |= 1u << counter;
	slots->hw[counter] = &e->hw;
	trace_kpmu_assign(e->id, counter, e->hw.allowed);
	return true;
}

/* Add all events of the group, or none */
static noinline bool add_members(struct kpmu_slots *slots, struct kpmu_entity *leader)
{
	u32 mask = slots->mask, driven = slots->driven;
	struct kpmu_entity *e;
	bool ok = add_entity(slots, leader);

	kpmu_for_each_in_group(e, leader)
		ok = ok && add_entity(slots, e);
	if (!ok) {
		slots->mask = mask;
		slots->driven = driven;
	}
	return ok;
}

static bool add_group(struct kpmu_slots *slots, struct kpmu_entity *leader)
{
	return list_empty(&leader->group.members) ? add_entity(slots, leader) :
						    add_members(slots, leader);
}

/* Is the group no candidate on this CPU? */
static __always_inline bool not_for_cpu(const struct kpmu_entity *leader,
					 const struct kpmu_cpu *kc)
{
	if (leader->cpu >= 0 && leader->cpu != kc->ctx.home)
		return true;
	return leader->group.kind && leader->group.kind != kpmu_kind_of_cpu(kc->ctx.home);
}

/**
 * kpmu_plan_insert() - add a group to the plan in force
 * @kc: from kpmu_plan_live(); with NULL nothing is done
 * @leader: the group's leader, queued
 *
 * If that is not possible, the plan stays stale: the next kpmu_resched() builds a new
 * one, and kpmu_plan_live() returns NULL until then: call it for each change.
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_plan_insert(struct kpmu_cpu *kc, struct kpmu_entity *leader)
{
	struct kpmu_ctx *ctx = leader->ctx;
	struct kpmu_plan *plan;

	if (!kc || leader->group.free || not_for_cpu(leader, kc) ||
	    leader->flags & KPMU_ATTR_EXCLUSIVE || static_branch_unlikely(&kpmu_reserved_key))
		return;
	plan = kc->applied;
	plan->slots.like = 0;
	/* The slots do not tell of upper counters */
	if (plan->nr == KPMU_NR_SLOTS || plan->upper || !add_group(&plan->slots, leader))
		return;
	plan->groups[plan->nr++] = leader;
	if (ctx->home >= 0)
		plan->nr_cpu++;
	ctx->placed[ctx->nr_placed++] = leader;
	leader->group.placed = true;
	leader->group.charged = ctx->time;
	kpmu_plan_stamp(plan, kc);
}

/**
 * kpmu_plan_missing() - kpmu_plan_waiting() for a group that is queued but not placed
 * @ctx: its context
 * @leader: the group's leader
 *
 * Context: as kpmu_plan_waiting().
 * Return: as kpmu_plan_waiting().
 */
struct kpmu_cpu *kpmu_plan_missing(const struct kpmu_ctx *ctx,
				   const struct kpmu_entity *leader)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);

	if (ctx->cpu < 0 || !kc->applied || kc->stale || leader->group.free ||
	    kpmu_is_pinned(leader) || not_for_cpu(leader, kc))
		return NULL;
	return kc;
}

/**
 * kpmu_plan_forget() - a group that waited has left the queue: the plan in force stays
 * @kc: from kpmu_plan_waiting(), not NULL
 * @leader: the group's leader
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_plan_forget(struct kpmu_cpu *kc, const struct kpmu_entity *leader)
{
	if (leader->ctx->home >= 0)
		kc->applied->cpu_waits--;
	else
		kc->applied->task_waits--;
	kpmu_plan_stamp(kc->applied, kc);
}
