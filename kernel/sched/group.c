// SPDX-License-Identifier: GPL-2.0-only
/*
 * Membership: entities join a context and a group, and leave them.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>

#include "first.h"
#include "sched.h"

/* The counter requirements of a group have changed: queue it again */
static void requeue_group(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	if (!leader->group.queued || ctx->parked == leader)
		return;
	kpmu_queue_del(ctx, leader);
	kpmu_queue_add(ctx, leader);
}

/* Does the event need a counter while its leader is enabled? */
static bool needs_counter(const struct kpmu_entity *e)
{
	return kpmu_has_counter(e) && e->state == KPMU_ON;
}

/**
 * kpmu_group_fits() - could a group with a new member ever be scheduled in?
 * @leader: its leader
 * @new: the new member
 *
 * Members that are disabled do not count, as in upstream.  If they are enabled later, the group may
 * have to wait for ever.
 *
 * Context: the context's owner, IRQs off.
 * Return: true if it could, on counters that nothing else uses.  All events of a group that need
 * counters must be of the same PMU.
 */
bool kpmu_group_fits(struct kpmu_entity *leader, struct kpmu_entity *new)
{
	struct kpmu_entity *events[KPMU_NR_SLOTS], *e;
	int n = 0;

	if (!kpmu_has_counter(new))
		return true;
	events[n++] = new;
	if (kpmu_has_counter(leader))
		events[n++] = leader;
	if (n > 1 && leader->hw.source != new->hw.source)
		return false;
	kpmu_for_each_in_group(e, leader) {
		if (!kpmu_has_counter(e))
			continue;
		if (e->hw.source != new->hw.source)
			return false;
		if (!needs_counter(e))
			continue;
		if (n == KPMU_NR_SLOTS)
			return false;
		events[n++] = e;
	}
	return kpmu_plan_fits(events, n);
}

/* Constant time for a group of any size, unless the event needs a counter now */
static noinline void join_group(struct kpmu_ctx *ctx, struct kpmu_cpu *live,
				struct kpmu_entity *e, struct kpmu_entity *leader)
{
	struct kpmu_group *g = &leader->group;

	e->leader = leader;
	list_add_tail(&e->node, &g->members);
	g->nr++;
	g->gen++;
	g->max = min(g->max, e->max);
	g->shared = true;
	if (!needs_counter(e))
		return;
	kpmu_plan_remove(live, leader);
	requeue_group(ctx, leader);
	if (leader->state == KPMU_ON)
		kpmu_plan_insert(live, leader);
	kpmu_group_clocks(leader, ctx->time);
}

/**
 * kpmu_entity_join() - add an entity to a context and a group, without checks
 * @e: the entity
 * @ctx: the context; the entity takes over the caller's reference
 * @leader: leader of the group to join, NULL to become a leader
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_entity_join(struct kpmu_entity *e, struct kpmu_ctx *ctx,
		      struct kpmu_entity *leader)
{
	struct kpmu_cpu *live = kpmu_plan_live(ctx);

	kpmu_ctx_assert_owned(ctx);
	e->ctx = ctx;
	e->attached = true;
	e->clock.since = ctx->time;
	ctx->nr_events++;
	if (leader) {
		join_group(ctx, live, e, leader);
	} else {
		kpmu_list_add(&e->node, &ctx->leaders);
		if (unlikely(e->flags & KPMU_ATTR_STRICT))
			kpmu_strict_link(ctx, e);
		if (e->state == KPMU_ON) {
			kpmu_queue_add(ctx, e);
			kpmu_plan_insert(live, e);
		}
	}
	/* As kpmu_entity_clock(), but no time has passed */
	e->clock.is_enabled = kpmu_is_enabled(e);
	e->clock.is_running = e->clock.is_enabled && e->leader->group.placed;
}

/* The leader leaves: each member becomes a leader at the same place, its state unchanged */
static noinline void promote_members(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	struct kpmu_entity *e, *tmp;
	struct kpmu_cpu *live;

	list_for_each_entry_safe(e, tmp, &leader->group.members, node) {
		list_move_tail(&e->node, &leader->node);
		e->leader = e;
		e->group.nr = 1;
		if (e->attached && e->state == KPMU_ON && !ctx->retired) {
			/* For each member: NULL after one did not fit; then a new plan is built */
			live = kpmu_plan_live(ctx);
			kpmu_queue_add(ctx, e);
			kpmu_plan_insert(live, e);
		}
		kpmu_group_clocks(e, ctx->time);
	}
}

/* The event with the lowest limit has left: update the limit of the group's size */
static noinline void update_max(struct kpmu_entity *leader)
{
	u16 max = leader->max;
	struct kpmu_entity *e;

	if (max == leader->group.max)
		return;
	kpmu_for_each_in_group(e, leader) {
		if (e->max == leader->group.max)
			return;		/* another event has the same limit */
		max = min(max, e->max);
	}
	leader->group.max = max;
}

/* The event becomes its own leader, as the old leader may be freed before it */
static noinline void leave_group(struct kpmu_ctx *ctx, struct kpmu_cpu *live,
				 struct kpmu_entity *e)
{
	struct kpmu_entity *leader = e->leader;
	struct kpmu_group *g = &leader->group;
	bool demanded = needs_counter(e);

	/* Before e->leader changes: counters_of() finds the event's counter by it */
	if (demanded)
		kpmu_plan_remove(live, leader);
	list_del_init(&e->node);
	WRITE_ONCE(e->leader, e);
	g->nr--;
	g->gen++;
	if (e->max == g->max && g->max < KPMU_GROUP_MAX)
		update_max(leader);
	if (!demanded)
		return;
	requeue_group(ctx, leader);
	if (g->queued && ctx->parked != leader)
		kpmu_plan_insert(live, leader);
	kpmu_group_clocks(leader, ctx->time);
}

/**
 * kpmu_entity_leave() - remove an entity from its context and group
 * @ctx: its context
 * @e: the entity; kpmu_entity_clock() is left to the caller
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_entity_leave(struct kpmu_ctx *ctx, struct kpmu_entity *e)
{
	struct kpmu_cpu *live = kpmu_plan_live(ctx), *waits;

	kpmu_ctx_assert_owned(ctx);
	kpmu_check_gone(e);
	if (unlikely(ctx->scan == e))
		kpmu_scan_next(ctx);
	if (e->attached && !--ctx->nr_events)
		ctx->emptied = jiffies;
	e->attached = false;
	if (e->leader != e) {
		leave_group(ctx, live, e);
		return;
	}
	if (unlikely(e->flags & KPMU_ATTR_STRICT))
		kpmu_strict_unlink(ctx, e);
	waits = kpmu_plan_waiting(ctx, e);
	kpmu_queue_del(ctx, e);
	kpmu_plan_remove(live, e);
	if (unlikely(waits))
		kpmu_plan_forget(waits, e);
	if (e->group.placed)
		kpmu_ctx_unplace(ctx, e);
	if (!list_empty(&e->group.members))
		promote_members(ctx, e);
	kpmu_list_del(&e->node, &ctx->leaders);
}
