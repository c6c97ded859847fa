// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaching events to a context and a group, and detaching them.  Functions named
 * *_owned run as the context's owner, by kpmu_ctx_call().
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../event/family.h"
#include "../ring/ring.h"
#include "../sampling/follow.h"
#include "../sched/call.h"
#include "../sched/sched.h"
#include "life.h"

struct attach {
	struct kpmu_event *event;
	struct kpmu_event *leader;	/* NULL: the event becomes a leader */
	const char *why;
};

static int check_leader(struct kpmu_ctx *ctx, struct attach *a)
{
	struct kpmu_event *leader = a->leader, *e = a->event;

	if (!leader->se.attached) {
		a->why = "the group leader's task has exited";
		return -ENODEV;
	}
	if (e->se.flags & (KPMU_ATTR_PINNED | KPMU_ATTR_EXCLUSIVE)) {
		a->why = "pinned and exclusive are for group leaders";
		return -EINVAL;
	}
	if (leader->clockid != e->clockid) {
		a->why = "the group uses a different clock";
		return -EINVAL;
	}
	if (leader->se.group.nr >= min(leader->se.group.max, e->se.max)) {
		a->why = "the group is too large";
		return -E2BIG;
	}
	if (!kpmu_group_fits(&leader->se, &e->se)) {
		a->why = "the group would never fit on the counters";
		return -EINVAL;
	}
	return 0;
}

static __always_inline void join_ctx(struct kpmu_event *e, struct kpmu_ctx *ctx,
				    struct kpmu_event *leader)
{
	kpmu_entity_join(&e->se, ctx, leader ? &leader->se : NULL);
	if (e->family)
		ctx->nr_inherit++;
	if (e->sampling) {
		ctx->nr_sampling++;
		if (e->sampling->freq) {
			ctx->nr_freq++;
			ctx->follow |= KPMU_FOLLOW_ACTIVE;
		}
	}
	if (e->se.flags & KPMU_ATTR_SIDE)
		hlist_add_head(&e->sampling->side, &ctx->side);
	/* An event with a counter that does not overflow has neither hits nor a timer */
	if (!kpmu_has_counter(&e->se) || e->se.hw.period)
		kpmu_hit_link(ctx, e);
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
	join_ctx(e, ctx, leader);
}

/* Some events count only together with another one */
static bool has_partner(const struct kpmu_event *e, struct kpmu_event *leader)
{
	const struct kpmu_hw *hw = &e->se.hw;
	struct kpmu_event *member;

	if (!leader)
		return false;
	if (leader->se.hw.source == hw->source && hw->source->goes_with(hw, &leader->se.hw))
		return true;
	kpmu_for_each_member(member, leader)
		if (member->se.hw.source == hw->source &&
		    hw->source->goes_with(hw, &member->se.hw))
			return true;
	return false;
}

static __always_inline int attach_owned(struct kpmu_ctx *ctx, void *data)
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
		a->why = "this task, CPU or cgroup has the maximum number of events";
		return -ENOSPC;
	}
	if (a->leader) {
		err = check_leader(ctx, a);
		if (err)
			return err;
	}
	if (unlikely(e->se.hw.paired) && !has_partner(e, a->leader)) {
		a->why = "the group must have an auxiliary event before this one";
		return -ENODATA;
	}
	join_ctx(e, ctx, a->leader);
	return 0;
}

/**
 * kpmu_event_attach() - attach a new event to a context and a group
 * @e: the event
 * @ctx: the context; on success the event takes over the caller's reference
 * @leader: leader of the group to join, of the same context; NULL to become a leader
 * @why: set to the reason of an error
 *
 * If the event is enabled, the context active, and a counter free, the event counts
 * when this returns.
 *
 * Context: task, may sleep.
 * Return: 0; -EAGAIN if the context has retired (get a new one); -ENODEV if the
 * leader's task is gone or the CPU is offline; -ENOSPC if the context is full; -EINVAL
 * if the event cannot be in this group; -E2BIG if the group is full; -ENODATA if it lacks an event.
 */
int kpmu_event_attach(struct kpmu_event *e, struct kpmu_ctx *ctx,
		      struct kpmu_event *leader, const char **why)
{
	struct attach a = { .event = e, .leader = leader, .why = *why };
	int err;

	err = kpmu_ctx_call_inline(ctx, attach_owned, &a);
	*why = a.why;
	return err;
}

static __always_inline void leave_ctx(struct kpmu_ctx *ctx, struct kpmu_event *e)
{
	if (e->se.attached) {
		if (e->family)
			ctx->nr_inherit--;
		if (e->sampling) {
			ctx->nr_sampling--;
			ctx->nr_freq -= !!e->sampling->freq;
		}
	}
	kpmu_side_leave(e);
	if (!hlist_unhashed(&e->hit_node))
		kpmu_hit_unlink(e);
	kpmu_entity_leave(ctx, &e->se);
}

/**
 * kpmu_event_leave() - remove an event from its context and group
 * @ctx: its context
 * @e: the event; kpmu_entity_clock() is left to the caller
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_event_leave(struct kpmu_ctx *ctx, struct kpmu_event *e)
{
	leave_ctx(ctx, e);
}

static __always_inline int detach_owned(struct kpmu_ctx *ctx, void *data)
{
	leave_ctx(ctx, data);
	return 0;
}

static int detach_child_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_event *e = data;

	if (!e->se.attached)
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
	kpmu_ctx_call_inline(e->se.ctx, detach_owned, e);
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
	return kpmu_ctx_call(e->se.ctx, detach_child_owned, e);
}

/**
 * kpmu_event_finish() - what is left to do when an event has ended
 * @e: the event
 *
 * The final values of a child are added to its family; the root may be
 * closed and freed from then on.  Pollers are woken last, so that they find that no record can
 * follow.  The ring is valid until then, as it is freed by RCU.  Nothing is done for a child that is not
 * in its family any more.
 *
 * Context: owner of the event's context, IRQs off.
 */
void kpmu_event_finish(struct kpmu_event *e)
{
	struct kpmu_ring *ring;

	if (e->root && list_empty(&e->sibling))
		return;
	rcu_read_lock();
	ring = rcu_dereference((e->root ?: e)->ring);
	if (e->root && kpmu_family_fold(e))
		refcount_dec(&e->ref);	/* the link's; the context's remains */
	if (ring)
		kpmu_ring_notify(ring);
	rcu_read_unlock();
}
