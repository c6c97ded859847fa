// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who wants to run.  A context's enabled pinned groups are a list in the order
 * of their enabling.  Its enabled flexible groups are kept in classes: groups of
 * a class need the same counters, so if one of them does not fit beside what is
 * placed, none does.  A plan therefore looks at each class once, however
 * many groups wait.  Within a class the group served least comes first.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/sort.h>
#include <linux/smp.h>

#include "sched.h"

/* A CPU's generations must not look like another CPU's */
static DEFINE_PER_CPU(u64, next_gen);

static u64 new_gen(void)
{
	return this_cpu_inc_return(next_gen) * NR_CPUS + raw_smp_processor_id() + 1;
}

/**
 * kpmu_ctx_changed() - plans made from this context are wrong from now on
 * @ctx: the context
 *
 * Context: its owner, IRQs off.
 */
void kpmu_ctx_changed(struct kpmu_ctx *ctx)
{
	bool empty = list_empty(&ctx->pinned) && list_empty(&ctx->classes);

	ctx->gen = empty ? 0 : new_gen();
}

static bool less_served(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct kpmu_event, group.rb)->group.served <
	       rb_entry(b, struct kpmu_event, group.rb)->group.served;
}

static u64 mix(u64 key, u64 val)
{
	return (key ^ val) * GOLDEN_RATIO_64 + (key >> 29);
}

/* Order of members must not matter, so what they need is summed up */
static u64 event_key(const struct kpmu_event *e)
{
	if (!kpmu_has_counter(e) || e->state != KPMU_ON)
		return 0;
	return mix(mix(e->hw.allowed, e->hw.extra_reg), e->hw.extra);
}

static u64 class_key(const struct kpmu_event *leader)
{
	const struct kpmu_event *e;
	u64 key = event_key(leader);

	kpmu_for_each_member(e, leader)
		key += event_key(e);
	key = mix(key, leader->cpu);
	return mix(key, leader->flags & KPMU_ATTR_EXCLUSIVE);
}

static struct kpmu_class *find_class(struct kpmu_ctx *ctx, u64 key)
{
	struct kpmu_class *c;

	list_for_each_entry(c, &ctx->classes, node)
		if (c->key == key)
			return c;
	return NULL;
}

static void class_add(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	u64 key = class_key(leader);
	struct kpmu_class *c = find_class(ctx, key);

	if (!c) {
		c = &leader->group.class;
		c->groups = RB_ROOT_CACHED;
		c->nr = 0;
		c->cpu = leader->cpu;
		list_add_tail(&c->node, &ctx->classes);
	}
	/* What the group's own storage says of the key is how it finds its way out */
	leader->group.class.key = key;
	rb_add_cached(&leader->group.rb, &c->groups, less_served);
	c->nr++;
}

static void class_del(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_class *c = find_class(ctx, leader->group.class.key);
	struct kpmu_class *heir;

	rb_erase_cached(&leader->group.rb, &c->groups);
	c->nr--;
	if (!c->nr) {
		list_del(&c->node);
		return;
	}
	if (c != &leader->group.class)
		return;
	/* The class lived in the group that leaves */
	heir = &rb_entry(rb_first_cached(&c->groups), struct kpmu_event,
			 group.rb)->group.class;
	*heir = *c;
	list_replace(&c->node, &heir->node);
}

/**
 * kpmu_queue_add() - a group wants to run
 * @ctx: its context
 * @leader: its leader, enabled
 *
 * Context: the context's owner, IRQs off, its clock up to date.
 */
void kpmu_queue_add(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_group *g = &leader->group;

	if (g->queued)
		return;
	g->queued = true;
	if (leader->cpu >= 0)
		ctx->nr_bound++;
	if (kpmu_is_pinned(leader)) {
		list_add_tail(&g->pinned_node, &ctx->pinned);
	} else {
		/* Time not asked for is not owed */
		g->served = max(g->served, ctx->min_served);
		g->charged = ctx->time;
		class_add(ctx, leader);
		ctx->nr_flexible++;
	}
	kpmu_ctx_changed(ctx);
}

/**
 * kpmu_queue_del() - a group does not want to run any more
 * @ctx: its context
 * @leader: its leader
 *
 * Context: the context's owner, IRQs off.  Also around a change of what the group
 * needs, with kpmu_queue_add() after it.
 */
void kpmu_queue_del(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_group *g = &leader->group;

	if (!g->queued)
		return;
	g->queued = false;
	if (leader->cpu >= 0)
		ctx->nr_bound--;
	if (kpmu_is_pinned(leader)) {
		list_del(&g->pinned_node);
	} else {
		class_del(ctx, leader);
		ctx->nr_flexible--;
		if (g->placed)
			g->served += ctx->time - g->charged;
	}
	kpmu_ctx_changed(ctx);
}

/* The least served of all, so that newcomers start level with it */
static void update_min_served(struct kpmu_ctx *ctx)
{
	struct kpmu_class *c;
	u64 least = U64_MAX;

	list_for_each_entry(c, &ctx->classes, node) {
		struct rb_node *first = rb_first_cached(&c->groups);

		least = min(least, rb_entry(first, struct kpmu_event,
					    group.rb)->group.served);
	}
	if (least != U64_MAX)
		ctx->min_served = max(ctx->min_served, least);
}

/**
 * kpmu_queue_charge() - charge the groups that ran for the time they had
 * @ctx: the context
 * @now: its time in ns
 *
 * Context: the context's owner, IRQs off.  Costs as many steps as groups are
 * placed (at most one per counter), however many wait.
 */
void kpmu_queue_charge(struct kpmu_ctx *ctx, u64 now)
{
	int i;

	for (i = 0; i < ctx->nr_placed; i++) {
		struct kpmu_event *leader = ctx->placed[i];
		struct kpmu_group *g = &leader->group;
		struct kpmu_class *c;

		if (!g->queued || kpmu_is_pinned(leader))
			continue;
		c = find_class(ctx, g->class.key);
		rb_erase_cached(&g->rb, &c->groups);
		g->served += now - g->charged;
		g->charged = now;
		rb_add_cached(&g->rb, &c->groups, less_served);
	}
	update_min_served(ctx);
	kpmu_ctx_changed(ctx);
}
