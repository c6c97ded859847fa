// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups that need no counter: all their events that are on count something else
 * than the CPU's counters do.  They never wait, so no plan has to know of them:
 * they are placed while they are on, however many there are.
 *
 * Just one thing can keep such a group from running: a task's group may be bound
 * to a CPU on which its task is not.
 */
#include <linux/list.h>

#include "sched.h"

/**
 * kpmu_group_is_free() - does a group need no counter?
 * @leader: its leader, on
 *
 * Context: the context's owner.
 */
bool kpmu_group_is_free(const struct kpmu_event *leader)
{
	const struct kpmu_event *e;

	if (kpmu_has_counter(leader))
		return false;
	kpmu_for_each_member(e, leader)
		if (kpmu_has_counter(e) && e->state == KPMU_ON)
			return false;
	return true;
}

static bool is_bound(const struct kpmu_ctx *ctx, const struct kpmu_event *leader)
{
	return ctx->home < 0 && leader->cpu >= 0;
}

/**
 * kpmu_free_add() - a group that needs no counter wants to run
 * @ctx: its context
 * @leader: its leader, on, not placed by any plan
 *
 * Context: the context's owner, IRQs off; kpmu_group_clocks() must follow.
 */
void kpmu_free_add(struct kpmu_ctx *ctx, struct kpmu_event *leader)
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
 * kpmu_free_del() - it does not want to any more, or needs counters now
 * @leader: its leader
 *
 * Context: the context's owner, IRQs off; kpmu_group_clocks() must follow.
 */
void kpmu_free_del(struct kpmu_event *leader)
{
	struct kpmu_group *g = &leader->group;

	list_del_init(&g->pinned_node);
	g->free = false;
	g->queued = false;
	g->placed = false;
}

/**
 * kpmu_free_move() - a task has come to another CPU than it was on
 * @ctx: its context
 *
 * Context: the context's owner, IRQs off, its clock up to date.
 */
void kpmu_free_move(struct kpmu_ctx *ctx)
{
	struct kpmu_event *leader;

	list_for_each_entry(leader, &ctx->bound, group.pinned_node) {
		bool here = leader->cpu == ctx->last_cpu;

		if (leader->group.placed == here)
			continue;
		leader->group.placed = here;
		kpmu_group_clocks(leader, ctx->time);
	}
}
