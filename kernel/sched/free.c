// SPDX-License-Identifier: GPL-2.0-only
/*
 * Free groups: no enabled event of the group needs a counter.  A free group never
 * waits and is in no plan; it is placed while it is enabled, and the number of
 * free groups does not matter.
 *
 * The only reason for a free group not to run is that it is bound to a CPU and its
 * task is on another one.
 */
#include <linux/list.h>

#include "sched.h"

/**
 * kpmu_group_is_free() - test whether a group needs no counter
 * @leader: its leader, enabled
 *
 * Context: the context's owner.
 * Return: true if neither the leader nor an enabled member needs one.
 */
bool kpmu_group_is_free(const struct kpmu_entity *leader)
{
	const struct kpmu_entity *e;

	if (kpmu_has_counter(leader))
		return false;
	kpmu_for_each_in_group(e, leader)
		if (kpmu_has_counter(e) && e->state == KPMU_ON)
			return false;
	return true;
}

static bool is_bound(const struct kpmu_ctx *ctx, const struct kpmu_entity *leader)
{
	return ctx->home < 0 && leader->cpu >= 0;
}

/**
 * kpmu_free_add() - start a group that needs no counter
 * @ctx: its context
 * @leader: its leader, enabled, not placed by any plan
 *
 * Context: the context's owner, IRQs off; kpmu_group_clocks() must follow.
 */
void kpmu_free_add(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	struct kpmu_group *g = &leader->group;

	if (g->free)
		return;
	g->free = true;
	g->queued = true;
	g->placed = true;
	INIT_LIST_HEAD(&g->pinned_node);
	if (is_bound(ctx, leader)) {
		list_add_tail(&g->pinned_node, &ctx->bound);
		g->placed = leader->cpu == ctx->last_cpu;
	}
}

/**
 * kpmu_free_del() - stop a free group: it is disabled, or needs counters now
 * @leader: its leader
 *
 * Context: the context's owner, IRQs off; kpmu_group_clocks() must follow.
 */
void kpmu_free_del(struct kpmu_entity *leader)
{
	struct kpmu_group *g = &leader->group;

	list_del_init(&g->pinned_node);
	g->free = false;
	g->queued = false;
	g->placed = false;
}

/**
 * kpmu_free_move() - update bound groups after their task has changed its CPU
 * @ctx: the context, its last_cpu and its clock up to date
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_free_move(struct kpmu_ctx *ctx)
{
	struct kpmu_entity *leader;

	list_for_each_entry(leader, &ctx->bound, group.pinned_node) {
		bool here = leader->cpu == ctx->last_cpu;

		if (leader->group.placed == here)
			continue;
		leader->group.placed = here;
		kpmu_group_clocks(leader, ctx->time);
	}
}
