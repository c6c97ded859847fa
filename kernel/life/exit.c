// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of events, at task exit and exec: events that have an fd keep their last
 * values, those of inherited events are added to their family.
 */
#include <linux/rcupdate.h>

#include "../event/family.h"
#include "../event/rates.h"
#include "../ring/ring.h"
#include "../sampling/follow.h"
#include "../sched/sched.h"
#include "life.h"

/*
 * The event is not counting any more.  It leaves the error state too, as it cannot
 * be enabled again: reads return its last values.
 */
static void end_event(struct kpmu_event *e)
{
	kpmu_check_gone(&e->se);
	if (e->se.state == KPMU_ERROR)
		e->se.state = KPMU_OFF;
	e->se.attached = false;
	kpmu_side_leave(e);
	kpmu_hit_unlink(e);
}

/**
 * kpmu_event_end_owned() - end one event of a context
 * @ctx: the context
 * @e: the event; the rest of its group stays
 * @gone: an inherited event is moved there, for kpmu_events_put_list()
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_event_end_owned(struct kpmu_ctx *ctx, struct kpmu_event *e,
			  struct list_head *gone)
{
	kpmu_event_leave(ctx, e);
	end_event(e);
	e->se.group.nr = 1;
	kpmu_group_clocks(&e->se, ctx->time);
	kpmu_event_finish(e);
	if (e->root)
		list_add_tail(&e->se.node, gone);
}

static void end_group(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_event *e;

	kpmu_queue_del(ctx, &leader->se);
	/* An inherited leader is freed after this batch: later batches must not find it placed */
	kpmu_ctx_unplace(ctx, &leader->se);
	if (unlikely(leader->se.flags & KPMU_ATTR_STRICT))
		kpmu_strict_unlink(ctx, &leader->se);
	end_event(leader);
	kpmu_for_each_member(e, leader)
		end_event(e);
	kpmu_group_clocks(&leader->se, ctx->time);
	/* The leader last: while it is linked, a read of the group finds that a child is left */
	kpmu_for_each_member(e, leader)
		kpmu_event_finish(e);
	kpmu_event_finish(leader);
}

/* kpmu_sched_ops.end: inherited groups are moved to @gone */
static bool end_batch(struct kpmu_ctx *ctx, struct list_head *gone)
{
	struct kpmu_event *leader;
	struct kpmu_entity *se;
	u32 n = 0;

	while ((se = kpmu_scan_group(ctx))) {
		leader = kpmu_event_of(se);
		end_group(ctx, leader);
		if (leader->root)
			list_move_tail(&se->node, gone);
		n += se->group.nr;
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
 * kpmu_events_put_list() - drop the contexts' references to inherited groups that ended
 * @gone: list of their leaders
 *
 * Context: task, may be atomic.
 */
void kpmu_events_put_list(struct list_head *gone)
{
	struct kpmu_event *leader, *e, *t1, *t2;

	list_for_each_entry_safe(leader, t1, gone, se.node) {
		list_for_each_entry_safe(e, t2, &leader->se.group.members, se.node) {
			list_del_init(&e->se.node);
			kpmu_event_put(e);
		}
		list_del_init(&leader->se.node);
		kpmu_event_put(leader);
	}
}

const struct kpmu_sched_ops kpmu_event_ops = {
	.follow = kpmu_followers_update,
	.keep = kpmu_kept_put,
	.end = end_batch,
	.put = kpmu_events_put_list,
	.lost = kpmu_events_lost,
	.turn = kpmu_rates_turn,
};
