// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a task, and exec, which ends what a task was: events that have an
 * fd stay with their last values, inherited ones are folded into their family.
 */
#include <linux/rcupdate.h>

#include "../ring/ring.h"
#include "../sched/sched.h"
#include "event.h"
#include "family.h"
#include "sampling.h"

/*
 * An event counts no more.  What waited in error state for somebody to
 * enable it waits no more either.
 */
static void end(struct kpmu_event *e)
{
	kpmu_look_gone(e);
	if (e->state == KPMU_ERROR)
		e->state = KPMU_OFF;
	e->attached = false;
	kpmu_side_leave(e);
	kpmu_hit_unlink(e);
}

/*
 * The event has ended.  A child's values are final: its family keeps them, and the root may be
 * closed and freed from then on.  Pollers are woken last, when they find that no record will come
 * any more; a ring is freed by RCU.
 */
static void finish(struct kpmu_event *e)
{
	struct kpmu_ring *ring;

	rcu_read_lock();
	ring = rcu_dereference((e->root ?: e)->ring);
	if (e->root && kpmu_family_fold(e))
		refcount_dec(&e->ref);	/* the link's; the context's is left */
	if (ring)
		kpmu_ring_notify(ring);
	rcu_read_unlock();
}

/**
 * kpmu_event_end_owned() - one event of a context counts no more
 * @ctx: the context
 * @e: the event; what is left of its group goes on
 * @gone: an inherited event is moved there, for kpmu_events_put_list()
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_event_end_owned(struct kpmu_ctx *ctx, struct kpmu_event *e,
			  struct list_head *gone)
{
	kpmu_event_leave(ctx, e);
	end(e);
	e->group.nr = 1;
	kpmu_group_clocks(e, ctx->time);
	finish(e);
	if (e->root)
		list_add_tail(&e->node, gone);
}

static void end_group(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_event *e;

	kpmu_queue_del(ctx, leader);
	/* An inherited leader is freed after this batch, while later ones are yet to come */
	kpmu_ctx_unplace(ctx, leader);
	end(leader);
	kpmu_for_each_member(e, leader)
		end(e);
	kpmu_group_clocks(leader, ctx->time);
	finish(leader);
	kpmu_for_each_member(e, leader)
		finish(e);
}

/**
 * kpmu_events_end_owned() - a batch of a context's events count no more
 * @ctx: the context, its scan begun; nothing can be attached to it any more
 * @gone: inherited groups are moved there, for kpmu_events_put_list()
 *
 * Context: the context's owner, IRQs off.
 * Return: whether there are more.
 */
bool kpmu_events_end_owned(struct kpmu_ctx *ctx, struct list_head *gone)
{
	struct kpmu_event *leader;
	u32 n = 0;

	while ((leader = kpmu_scan_group(ctx))) {
		end_group(ctx, leader);
		if (leader->root)
			list_move_tail(&leader->node, gone);
		n += leader->group.nr;
		if (n >= KPMU_BATCH && ctx->scan)
			return true;
	}
	ctx->nr_events = 0;
	ctx->nr_inherit = 0;
	ctx->nr_sampling = 0;
	ctx->nr_freq = 0;
	return false;
}

/**
 * kpmu_events_put_list() - let go of inherited groups that have ended
 * @gone: their leaders
 *
 * Context: task, may be atomic.
 */
void kpmu_events_put_list(struct list_head *gone)
{
	struct kpmu_event *leader, *e, *t1, *t2;

	list_for_each_entry_safe(leader, t1, gone, node) {
		list_for_each_entry_safe(e, t2, &leader->group.members, node) {
			list_del_init(&e->node);
			kpmu_event_put(e);
		}
		list_del_init(&leader->node);
		kpmu_event_put(leader);
	}
}
