// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scan of all events of a context.  Fork, exec, exit and the prctl handle each event of a
 * task, up to KPMU_CTX_MAX of them.  This is done in batches, each as the context's owner,
 * with IRQs on in between.
 *
 * ctx->scan is the next event.  The context may change between two batches: when an event
 * leaves, the scan moves on to the one after it, and when a leader leaves, its members are
 * promoted and take its place in the list of leaders.  So no event is missed or seen
 * twice.  Groups attached meanwhile are last; a new member of an earlier group is not seen.
 *
 * A context has at most one scan at a time, made by its own task.  The last scans write the
 * exit records and end the events.  If an open races with the exit of the task, the last scan
 * is made by the one of the two that retires the context.
 */
#include <linux/list.h>

#include "sched.h"

static struct kpmu_entity *next_leader(struct kpmu_ctx *ctx,
				      struct kpmu_entity *leader)
{
	return list_is_last(&leader->node, &ctx->leaders) ?
		       NULL : list_next_entry(leader, node);
}

/**
 * kpmu_scan_begin() - start a scan with the first event
 * @ctx: the context
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_scan_begin(struct kpmu_ctx *ctx)
{
	ctx->scan = list_first_entry_or_null(&ctx->leaders, struct kpmu_entity,
					     node);
}

/**
 * kpmu_scan_group() - get the next group
 * @ctx: the context
 *
 * Context: the context's owner, IRQs off.
 * Return: its leader; NULL at the end.
 */
struct kpmu_entity *kpmu_scan_group(struct kpmu_ctx *ctx)
{
	struct kpmu_entity *e = ctx->scan;

	if (e)
		ctx->scan = next_leader(ctx, e->leader);
	return e;
}

/**
 * kpmu_scan_next() - get the next event; a leader precedes its members
 * @ctx: the context
 *
 * Context: the context's owner, IRQs off.
 * Return: the event; NULL at the end.
 */
struct kpmu_entity *kpmu_scan_next(struct kpmu_ctx *ctx)
{
	struct kpmu_entity *e = ctx->scan, *leader;
	struct list_head *members;

	if (!e)
		return NULL;
	leader = e->leader;
	members = &leader->group.members;
	if (e == leader && !list_empty(members))
		ctx->scan = list_first_entry(members, struct kpmu_entity, node);
	else if (e != leader && !list_is_last(&e->node, members))
		ctx->scan = list_next_entry(e, node);
	else
		ctx->scan = next_leader(ctx, leader);
	return e;
}
