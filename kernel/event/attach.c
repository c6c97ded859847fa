// SPDX-License-Identifier: GPL-2.0-only
/*
 * Into a context and a group, and out again.  The functions named *_owned run
 * as the context's owner, by kpmu_ctx_call().
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/slab.h>

#include "../sched/sched.h"
#include "event.h"
#include "sampling.h"

/* What a group needs has changed: queue it by the new needs */
static void requeue(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	if (!leader->group.queued || ctx->parked == leader)
		return;
	kpmu_queue_del(ctx, leader);
	kpmu_queue_add(ctx, leader);
}

/*
 * Could the group with the new member ever run?  Members that are off count
 * too: they may be switched on.
 */
static bool group_fits(struct kpmu_event *leader, struct kpmu_event *new)
{
	struct kpmu_event *events[KPMU_NR_SLOTS], *e;
	int n = 0;

	if (!kpmu_has_counter(new))
		return true;
	events[n++] = new;
	if (kpmu_has_counter(leader))
		events[n++] = leader;
	kpmu_for_each_member(e, leader) {
		if (!kpmu_has_counter(e))
			continue;
		if (n == KPMU_NR_SLOTS)
			return false;
		events[n++] = e;
	}
	return kpmu_plan_fits(events, n);
}

struct attach {
	struct kpmu_event *event;
	struct kpmu_event *leader;	/* NULL: it leads itself */
	const char *why;
};

static int check_leader(struct kpmu_ctx *ctx, struct attach *a)
{
	struct kpmu_event *leader = a->leader, *e = a->event;

	if (!leader->attached) {
		a->why = "the group leader's task is gone";
		return -ENODEV;
	}
	if (!kpmu_is_leader(leader)) {
		a->why = "group_fd is not a group leader";
		return -EINVAL;
	}
	if (e->flags & (KPMU_ATTR_PINNED | KPMU_ATTR_EXCLUSIVE)) {
		a->why = "pinned and exclusive are for group leaders";
		return -EINVAL;
	}
	if (leader->clockid != e->clockid) {
		a->why = "the group has another clock";
		return -EINVAL;
	}
	if (leader->group.nr >= min(leader->group.max, e->group.max)) {
		a->why = "the group is too large";
		return -E2BIG;
	}
	if (!group_fits(leader, e)) {
		a->why = "the group would never fit on the counters";
		return -EINVAL;
	}
	return 0;
}

/* Does the event need a counter while its leader is on? */
static bool demands(const struct kpmu_event *e)
{
	return kpmu_has_counter(e) && e->state == KPMU_ON;
}

/* Costs the same in a group of any size, unless the group needs another counter now */
static noinline void join_group(struct kpmu_ctx *ctx, struct kpmu_cpu *live,
				struct kpmu_event *e, struct kpmu_event *leader)
{
	struct kpmu_group *g = &leader->group;

	e->leader = leader;
	list_add_tail(&e->node, &g->members);
	g->nr++;
	g->gen++;
	g->max = min(g->max, e->group.max);
	g->shared = true;
	if (!demands(e))
		return;
	kpmu_plan_remove(live, leader);
	requeue(ctx, leader);
	if (leader->state == KPMU_ON)
		kpmu_plan_insert(live, leader);
	kpmu_group_clocks(leader, ctx->time);
}

/**
 * kpmu_event_join() - put an event into a context, as far as that needs no check
 * @e: the event
 * @ctx: the context, its reference the event's from now on
 * @leader: the group, NULL to lead its own
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_event_join(struct kpmu_event *e, struct kpmu_ctx *ctx,
		     struct kpmu_event *leader)
{
	struct kpmu_cpu *live = kpmu_plan_live(ctx);

	kpmu_ctx_assert_owned(ctx);
	e->ctx = ctx;
	e->attached = true;
	e->clock.since = ctx->time;
	ctx->nr_events++;
	if (e->family)
		ctx->nr_inherit++;
	if (e->sampling) {
		ctx->nr_sampling++;
		if (e->sampling->freq) {
			ctx->nr_freq++;
			ctx->follow = true;
		}
	}
	if (e->flags & KPMU_ATTR_SIDE)
		hlist_add_head(&e->sampling->side, &ctx->side);
	kpmu_hit_link(ctx, e);
	if (leader) {
		join_group(ctx, live, e, leader);
	} else {
		list_add_tail(&e->node, &ctx->leaders);
		if (e->state == KPMU_ON) {
			kpmu_queue_add(ctx, e);
			kpmu_plan_insert(live, e);
		}
	}
	kpmu_event_clock(e, ctx->time);
}

static int attach_owned(struct kpmu_ctx *ctx, void *data)
{
	struct attach *a = data;
	struct kpmu_event *e = a->event;
	int err;

	if (ctx->retired)
		return -EAGAIN;
	if (ctx->home >= 0 && per_cpu(kpmu_cpu, ctx->home).offline) {
		a->why = "the CPU is offline";
		return -ENODEV;
	}
	if (ctx->nr_events >= KPMU_CTX_MAX) {
		a->why = "this task, CPU or cgroup has as many events as it may have";
		return -ENOSPC;
	}
	if (a->leader) {
		err = check_leader(ctx, a);
		if (err)
			return err;
	}
	kpmu_event_join(e, ctx, a->leader);
	return 0;
}

/**
 * kpmu_event_attach() - let an event take part
 * @e: the event, new
 * @ctx: where it is to count; a task's context held, for the event to keep
 * @leader: the group it joins, of the same context; NULL to lead its own
 * @why: set to what is wrong
 *
 * If it is enabled it counts when this returns, as far as there is room.
 *
 * Context: task, may sleep.
 * Return: 0; -EAGAIN if the context has retired (get a new one); -ENODEV if
 * the leader's task is gone; -ENOSPC if the context is full; -EINVAL, -E2BIG.
 */
int kpmu_event_attach(struct kpmu_event *e, struct kpmu_ctx *ctx,
		      struct kpmu_event *leader, const char **why)
{
	struct attach a = { .event = e, .leader = leader, .why = *why };
	int err;

	err = kpmu_ctx_call(ctx, attach_owned, &a);
	*why = a.why;
	return err;
}

/* The leader goes; each member goes on alone, as it was told to, in its place */
static noinline void promote_members(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_event *e, *tmp;
	struct kpmu_cpu *live;

	list_for_each_entry_safe(e, tmp, &leader->group.members, node) {
		list_move_tail(&e->node, &leader->node);
		e->leader = e;
		e->group.nr = 1;
		if (e->attached && e->state == KPMU_ON && !ctx->retired) {
			/* Not once one had no room: the next plan is made from all */
			live = kpmu_plan_live(ctx);
			kpmu_queue_add(ctx, e);
			kpmu_plan_insert(live, e);
		}
		kpmu_group_clocks(e, ctx->time);
	}
}

/* How large it may become, now that the event which allowed least has left */
static noinline void update_max(struct kpmu_event *leader)
{
	u16 max = kpmu_read_max(leader);
	struct kpmu_event *e;

	if (max == leader->group.max)
		return;
	kpmu_for_each_member(e, leader) {
		if (e->group.max == leader->group.max)
			return;		/* there is another one */
		max = min(max, e->group.max);
	}
	leader->group.max = max;
}

/* From here on it leads itself: the leader may go before the last reference to the event */
static noinline void leave_group(struct kpmu_ctx *ctx, struct kpmu_cpu *live,
				 struct kpmu_event *e)
{
	struct kpmu_event *leader = e->leader;
	struct kpmu_group *g = &leader->group;
	bool demanded = demands(e);

	/* Before the event gets another leader: its counter is found by that */
	if (demanded)
		kpmu_plan_remove(live, leader);
	list_del_init(&e->node);
	WRITE_ONCE(e->leader, e);
	g->nr--;
	g->gen++;
	if (e->group.max == g->max && g->max < KPMU_GROUP_MAX)
		update_max(leader);
	if (!demanded)
		return;
	requeue(ctx, leader);
	if (g->queued && ctx->parked != leader)
		kpmu_plan_insert(live, leader);
	kpmu_group_clocks(leader, ctx->time);
}

/**
 * kpmu_event_leave() - take an event out of its context and group
 * @ctx: its context
 * @e: the event; its values are final afterwards
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_event_leave(struct kpmu_ctx *ctx, struct kpmu_event *e)
{
	struct kpmu_cpu *live = kpmu_plan_live(ctx);

	kpmu_ctx_assert_owned(ctx);
	kpmu_look_gone(e);
	if (unlikely(ctx->scan == e))
		kpmu_scan_event(ctx);
	if (e->attached) {
		if (!--ctx->nr_events)
			ctx->emptied = jiffies;
		if (e->family)
			ctx->nr_inherit--;
		if (e->sampling) {
			ctx->nr_sampling--;
			ctx->nr_freq -= !!e->sampling->freq;
		}
	}
	e->attached = false;
	kpmu_side_leave(e);
	kpmu_hit_unlink(e);
	if (e->leader != e) {
		leave_group(ctx, live, e);
		return;
	}
	kpmu_queue_del(ctx, e);
	kpmu_plan_remove(live, e);
	if (e->group.placed)
		kpmu_ctx_unplace(ctx, e);
	if (!list_empty(&e->group.members))
		promote_members(ctx, e);
	list_del_init(&e->node);
}

static int detach_owned(struct kpmu_ctx *ctx, void *data)
{
	kpmu_event_leave(ctx, data);
	return 0;
}

static int detach_child_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_event *e = data;

	if (!e->attached)
		return false;
	kpmu_event_leave(ctx, e);
	return true;
}

/**
 * kpmu_event_detach() - the event counts no more and belongs to no group
 * @e: the event, attached before
 *
 * Context: task, may sleep.
 */
void kpmu_event_detach(struct kpmu_event *e)
{
	kpmu_ctx_call(e->ctx, detach_owned, e);
}

/**
 * kpmu_event_detach_child() - the same for an inherited event
 * @e: the event
 *
 * Context: task, may sleep.
 * Return: whether it was attached; its context's reference to it is the
 * caller's then.
 */
bool kpmu_event_detach_child(struct kpmu_event *e)
{
	return kpmu_ctx_call(e->ctx, detach_child_owned, e);
}
