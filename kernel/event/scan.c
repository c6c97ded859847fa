// SPDX-License-Identifier: GPL-2.0-only
/*
 * All events of a context, a batch at a time.  Fork, exec, exit and the prctl do
 * something to each event of a task, which may have 16,384.  So it is done in
 * batches, each as the context's owner, with IRQs on in between.
 *
 * ctx->scan is the event that comes next.  The context may change between two batches: an
 * event that leaves hands the scan on to the next one, and members whose leader leaves are
 * promoted to its place in the list of leaders.  So no event is missed or seen twice.
 * What is attached meanwhile comes last.
 *
 * There is one scan of a context at a time, made by its own task; the last ones write the
 * records of its end, and end its events.
 */
#include <linux/list.h>

#include "../sched/sched.h"
#include "event.h"

static struct kpmu_event *next_leader(struct kpmu_ctx *ctx,
				      struct kpmu_event *leader)
{
	return list_is_last(&leader->node, &ctx->leaders) ?
		       NULL : list_next_entry(leader, node);
}

/**
 * kpmu_scan_begin() - start with the first event
 * @ctx: the context
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_scan_begin(struct kpmu_ctx *ctx)
{
	ctx->scan = list_first_entry_or_null(&ctx->leaders, struct kpmu_event,
					     node);
}

/**
 * kpmu_scan_group() - the next group
 * @ctx: the context
 *
 * Context: the context's owner, IRQs off.
 * Return: its leader; NULL at the end.
 */
struct kpmu_event *kpmu_scan_group(struct kpmu_ctx *ctx)
{
	struct kpmu_event *e = ctx->scan;

	if (e)
		ctx->scan = next_leader(ctx, e->leader);
	return e;
}

/**
 * kpmu_scan_event() - the next event: a leader comes before its members
 * @ctx: the context
 *
 * Context: the context's owner, IRQs off.
 * Return: the event; NULL at the end.
 */
struct kpmu_event *kpmu_scan_event(struct kpmu_ctx *ctx)
{
	struct kpmu_event *e = ctx->scan, *leader;
	struct list_head *members;

	if (!e)
		return NULL;
	leader = e->leader;
	members = &leader->group.members;
	if (e == leader && !list_empty(members))
		ctx->scan = list_first_entry(members, struct kpmu_event, node);
	else if (e != leader && !list_is_last(&e->node, members))
		ctx->scan = list_next_entry(e, node);
	else
		ctx->scan = next_leader(ctx, leader);
	return e;
}
