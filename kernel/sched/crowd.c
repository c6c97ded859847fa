// SPDX-License-Identifier: GPL-2.0-only
/*
 * The groups beside which a strict one must fit (strict.c): copies of the strict and pinned groups of some
 * contexts, and their placement in a trial.
 */
#include <linux/minmax.h>

#include "crowd.h"
#include "place.h"
#include "trial.h"

/* Pinned groups of a context that are looked at: those behind them cannot have a counter */
#define MAX_PINNED	(8 * KPMU_NR_SLOTS)

static bool counts_here(const struct kpmu_entity *e, bool all)
{
	return kpmu_has_counter(e) && (all || e->state == KPMU_ON);
}

/**
 * kpmu_crowd_copy() - copy a leader, and those of its members that need counters
 * @to: where to
 * @room: number of entities that fit there
 * @leader: the leader
 * @all: also members that are not enabled
 *
 * Context: the owner of the leader's context, IRQs off.
 * Return: number of copies, which follow their leader; -1 if there is not enough room.
 */
int kpmu_crowd_copy(struct kpmu_entity *to, int room, const struct kpmu_entity *leader, bool all)
{
	const struct kpmu_entity *e;
	int n = 1;

	if (!room)
		return -1;
	kpmu_trial_copy(to, leader);
	kpmu_for_each_in_group(e, leader) {
		if (!counts_here(e, all))
			continue;
		if (n == room)
			return -1;
		kpmu_trial_copy(&to[n], e);
		to[n].leader = to;
		list_add_tail(&to[n++].node, &to->group.members);
	}
	return n;
}

static bool has_needs(const struct kpmu_entity *leader)
{
	const struct kpmu_entity *e;

	if (kpmu_has_counter(leader))
		return true;
	kpmu_for_each_in_group(e, leader)
		if (kpmu_has_counter(e))
			return true;
	return false;
}

static bool is_elsewhere(const struct kpmu_crowd *c, const struct kpmu_entity *leader)
{
	return leader == c->skip || (leader->cpu >= 0 && leader->cpu != c->cpu);
}

static void add_strict(struct kpmu_crowd *c, const struct kpmu_ctx *ctx)
{
	const struct kpmu_entity *leader;
	int n;

	list_for_each_entry(leader, &ctx->strict, group.strict_node) {
		if (is_elsewhere(c, leader) || leader->state == KPMU_ERROR ||
		    (c->firm && !(leader->flags & KPMU_ATTR_FIRM)) || !has_needs(leader))
			continue;
		n = kpmu_crowd_copy(&c->copy[c->n], KPMU_MAX_COPIES - c->n, leader, true);
		if (n < 0)
			c->full = true;
		else
			c->n += n;
	}
}

static void add_pinned(struct kpmu_crowd *c, const struct kpmu_ctx *ctx)
{
	const struct kpmu_entity *leader;
	int n, seen = 0;

	list_for_each_entry(leader, &ctx->pinned, group.pinned_node) {
		if (c->n >= KPMU_MAX_COPIES / 2 || ++seen > MAX_PINNED)
			return;
		if (leader == ctx->parked || leader->flags & KPMU_ATTR_STRICT ||
		    is_elsewhere(c, leader))
			continue;
		n = kpmu_crowd_copy(&c->copy[c->n], KPMU_MAX_COPIES / 2 - c->n, leader, false);
		c->n += max(n, 0);
	}
}

static int add_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_crowd *c = data;

	if (ctx->retired)
		return 0;
	add_strict(c, ctx);
	if (!c->firm)
		add_pinned(c, ctx);
	return 0;
}

/**
 * kpmu_crowd_add() - add the groups of a context
 * @c: the crowd
 * @ctx: the context
 *
 * Context: task, may sleep.
 */
void kpmu_crowd_add(struct kpmu_crowd *c, struct kpmu_ctx *ctx)
{
	if (READ_ONCE(ctx->nr_strict) || (!c->firm && READ_ONCE(ctx->nr_pinned)))
		kpmu_ctx_visit(ctx, add_owned, c);
}

/**
 * kpmu_crowd_place() - place the groups of a crowd
 * @b: the build of a plan
 * @c: the crowd
 * @strict: KPMU_ATTR_STRICT: only strict groups; 0: only the others
 *
 * Context: any.
 */
void kpmu_crowd_place(struct kpmu_build *b, struct kpmu_crowd *c, u64 strict)
{
	struct kpmu_entity *e;

	for (e = c->copy; e < c->copy + c->n; e++)
		if (e->leader == e && (e->flags & KPMU_ATTR_STRICT) == strict)
			kpmu_place(b, e);
}
