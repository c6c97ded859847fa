// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaching events to a context and a group, and detaching them.  Functions named
 * *_owned run as the context's owner, by kpmu_ctx_call().
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/slab.h>

#include "../sched/sched.h"
#include "event.h"
#include "sampling.h"

/* The counter requirements of a group have changed: queue it again */
static void requeue(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	if (!leader->group.queued || ctx->parked == leader)
		return;
	kpmu_queue_del(ctx, leader);
	kpmu_queue_add(ctx, leader);
}

/*
 * Could the group with the new member ever be scheduled in?  Disabled members
 * count too: they may be enabled later.
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
	struct kpmu_event *leader;	/* NULL: the event becomes a leader */
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

/* Does the event need a counter while its leader is enabled? */
static bool demands(const struct kpmu_event *e)
{
	return kpmu_has_counter(e) && e->state == KPMU_ON;
}

/* Constant time for a group of any size, unless the event needs a counter now */
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
 * kpmu_event_join() - add an event to a context and a group, without checks
 * @e: the event
 * @ctx: the context; the event takes over the caller's reference
 * @leader: leader of the group to join, NULL to become a leader
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
 * kpmu_event_attach() - attach a new event to a context and a group
 * @e: the event
 * @ctx: the context; on success the event takes over the caller's reference
 * @leader: leader of the group to join, of the same context; NULL to become a leader
 * @why: set to the reason of an error
 *
 * If the event is enabled and the context active, the event counts when this
 * returns, as far as counters are free.
 *
 * Context: task, may sleep.
 * Return: 0; -EAGAIN if the context has retired (get a new one); -ENODEV if the
 * leader's task is gone or the CPU is offline; -ENOSPC if the context is full; -EINVAL
 * if the event cannot be in this group; -E2BIG if the group is full.
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

/* The leader leaves: each member becomes a leader at the same place, its state unchanged */
static noinline void promote_members(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_event *e, *tmp;
	struct kpmu_cpu *live;

	list_for_each_entry_safe(e, tmp, &leader->group.members, node) {
		list_move_tail(&e->node, &leader->node);
		e->leader = e;
		e->group.nr = 1;
		if (e->attached && e->state == KPMU_ON && !ctx->retired) {
			/* Per member: NULL after one did not fit, a new plan is built then */
			live = kpmu_plan_live(ctx);
			kpmu_queue_add(ctx, e);
			kpmu_plan_insert(live, e);
		}
		kpmu_group_clocks(e, ctx->time);
	}
}

/* The event with the lowest limit has left: update the limit of the group's size */
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

/* The event becomes its own leader, as the old leader may be freed before it */
static noinline void leave_group(struct kpmu_ctx *ctx, struct kpmu_cpu *live,
				 struct kpmu_event *e)
{
	struct kpmu_event *leader = e->leader;
	struct kpmu_group *g = &leader->group;
	bool demanded = demands(e);

	/* Before e->leader changes: counters_of() finds the event's counter by it */
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
 * kpmu_event_leave() - remove an event from its context and group
 * @ctx: its context
 * @e: the event; kpmu_event_clock() is left to the caller
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
 * kpmu_event_detach() - remove an event from its context and group for good
 * @e: the event, attached before
 *
 * Context: task, may sleep.
 */
void kpmu_event_detach(struct kpmu_event *e)
{
	kpmu_ctx_call(e->ctx, detach_owned, e);
}

/**
 * kpmu_event_detach_child() - detach an inherited event, unless it has ended
 * @e: the event
 *
 * Context: task, may sleep.
 * Return: whether it was attached; the caller then owns the context's reference
 * to it.
 */
bool kpmu_event_detach_child(struct kpmu_event *e)
{
	return kpmu_ctx_call(e->ctx, detach_child_owned, e);
}
