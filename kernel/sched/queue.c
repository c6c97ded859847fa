// SPDX-License-Identifier: GPL-2.0-only
/*
 * Candidates for counters.  Enabled pinned groups of a context are in a list, in
 * the order in which they were enabled.  Its enabled flexible groups are in classes: groups
 * of a class need the same counters, so if one of them does not fit together with the
 * groups already placed, none does.  So the build of a plan visits each class once, however
 * many groups wait.  A class is sorted by service, the least served group first.
 *
 * A plan is built with IRQs off, so the number of classes in a context is limited.  Further
 * groups share one class, the rest, whatever they need.
 */
#include <linux/math64.h>
#include <linux/rbtree_augmented.h>
#include <linux/smp.h>

#include "first.h"
#include "sched.h"

/* Limit of classes per context, not counting the rest class */
#define MAX_CLASSES	128

static bool less_served(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct kpmu_entity, group.rb)->group.order <
	       rb_entry(b, struct kpmu_entity, group.rb)->group.order;
}

/* The keys of a group are added up, so the order of its members does not matter */
static __always_inline u64 event_key(const struct kpmu_entity *e)
{
	u64 key;

	if (!kpmu_has_counter(e) || e->state != KPMU_ON)
		return 0;
	key = kpmu_mix(e->hw.allowed, e->hw.extra_reg) + kpmu_hw_kind(&e->hw);
	if (unlikely(e->hw.extra_reg))
		key = kpmu_mix(key, e->hw.extra);
	/* The upper half of a filter needs no hardware */
	if (e->hw.branches)
		key = kpmu_mix(key, 1ULL << 32 | (u32)e->hw.branch_filter);
	return unlikely(e->flags & KPMU_ATTR_RESERVED) ?
	       kpmu_mix(key, e->flags & KPMU_ATTR_RESERVED) : key;
}

static bool is_plain(const struct kpmu_entity *leader)
{
	return !leader->hw.extra_reg && !leader->hw.branches &&
	       !(leader->flags & (KPMU_ATTR_EXCLUSIVE | KPMU_ATTR_RESERVED));
}

static u64 plain_key(const struct kpmu_entity *leader)
{
	return (u64)leader->cpu << 32 ^ leader->hw.allowed ^ (u64)kpmu_hw_kind(&leader->hw) << 62;
}

static u64 group_key(const struct kpmu_entity *leader)
{
	const struct kpmu_entity *e;
	u64 key = event_key(leader);

	kpmu_for_each_in_group(e, leader)
		key += event_key(e);
	key = kpmu_mix(key, leader->cpu);
	return kpmu_mix(key, leader->flags & KPMU_ATTR_EXCLUSIVE);
}

static __always_inline u64 class_key(const struct kpmu_entity *leader)
{
	/* Most groups are one plain event, whose key is cheap to compute */
	if (list_empty(&leader->group.members) && is_plain(leader))
		return plain_key(leader);
	return group_key(leader);
}

/**
 * kpmu_queue_knows() - test whether a flexible group is in a class that fits its needs
 * @leader: its leader, queued
 *
 * If only the leader needs a counter, the class may be that of single events or another: the
 * group is not requeued when members that need none join or leave.
 *
 * Context: the context's owner.
 * Return: true if it is.
 */
bool kpmu_queue_knows(const struct kpmu_entity *leader)
{
	const struct kpmu_entity *e;
	u64 key = leader->group.class.key;

	if (key == group_key(leader) || key == KPMU_KEY_REST)
		return true;
	kpmu_for_each_in_group(e, leader)
		if (event_key(e))
			return false;
	return is_plain(leader) && key == plain_key(leader);
}

/* The kind of CPUs on which a group can count.  All its events with counters are of one PMU. */
static noinline u8 group_kind(const struct kpmu_entity *leader)
{
	const struct kpmu_entity *e;

	if (kpmu_has_counter(leader))
		return leader->hw.source->kind;
	kpmu_for_each_in_group(e, leader)
		if (kpmu_has_counter(e) && e->state == KPMU_ON)
			return e->hw.source->kind;
	return 0;
}

static void set_kind(struct kpmu_entity *leader)
{
	if (static_branch_unlikely(&kpmu_kinds_key))
		leader->group.kind = group_kind(leader);
}

static int class_cpu(const struct kpmu_entity *leader)
{
	return leader->cpu >= 0 ? leader->cpu : -1 - leader->group.kind;
}

static struct kpmu_class *find_class(struct kpmu_ctx *ctx, u64 key)
{
	struct kpmu_class *c;

	list_for_each_entry(c, &ctx->classes, node)
		if (c->key == key)
			return c;
	return NULL;
}

/* As rb_add_cached() to an empty tree */
static void start_tree(struct rb_root_cached *tree, struct rb_node *first)
{
	rb_link_node(first, NULL, &tree->rb_root.rb_node);
	rb_set_parent_color(first, NULL, RB_BLACK);
	tree->rb_leftmost = first;
}

static void class_add(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	u64 key = class_key(leader);
	struct kpmu_class *c = find_class(ctx, key);

	if (!c && unlikely(ctx->nr_classes >= MAX_CLASSES)) {
		key = KPMU_KEY_REST;
		c = find_class(ctx, key);
	}
	if (!c) {
		c = &leader->group.class;
		start_tree(&c->groups, &leader->group.rb);
		c->nr = 1;
		c->cpu = key == KPMU_KEY_REST ? -1 : class_cpu(leader);
		kpmu_list_add(&c->node, &ctx->classes);
		ctx->nr_classes++;
	} else {
		rb_add_cached(&leader->group.rb, &c->groups, less_served);
		c->nr++;
	}
	/* Record which class the group is in, for class_del() */
	leader->group.class.key = key;
}

static void class_del(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	struct kpmu_class *c = find_class(ctx, leader->group.class.key);
	struct kpmu_class *heir;

	c->nr--;
	if (!c->nr) {
		kpmu_list_del(&c->node, &ctx->classes);
		ctx->nr_classes--;
		return;
	}
	rb_erase_cached(&leader->group.rb, &c->groups);
	if (c != &leader->group.class)
		return;
	/* The class is stored in the group that leaves: move it to another one */
	heir = &rb_entry(rb_first_cached(&c->groups), struct kpmu_entity,
			 group.rb)->group.class;
	*heir = *c;
	list_replace(&c->node, &heir->node);
}

/* A group becomes (@by is 1) or ceases to be (@by is -1) a candidate */
static void count_group(struct kpmu_ctx *ctx, struct kpmu_entity *leader, int by)
{
	if (leader->cpu >= 0 || leader->group.kind)
		ctx->nr_bound += by;
	if (kpmu_is_pinned(leader))
		ctx->nr_pinned += by;
	else
		ctx->nr_flexible += by;
	kpmu_ctx_changed(ctx);
}

static __always_inline void take_out_group(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	if (kpmu_is_pinned(leader))
		list_del(&leader->group.pinned_node);
	else
		class_del(ctx, leader);
	leader->group.queued = false;
}

static void unpark_groups(struct kpmu_ctx *ctx)
{
	struct kpmu_entity *leader = ctx->parked;

	ctx->parked = NULL;
	take_out_group(ctx, leader);
}

/* A group that joins starts level with those that run, without credit for earlier time */
static void join_served(struct kpmu_ctx *ctx, struct kpmu_group *g)
{
	if (ctx->nr_placed)
		kpmu_queue_charge(ctx);
	if (g->order < ctx->min_served) {
		g->order = ctx->min_served;
		g->served = ctx->min_served;
	}
	g->charged = ctx->time;
}

static noinline void add_free(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	if (ctx->parked == leader)
		unpark_groups(ctx);
	if (!leader->group.free)
		kpmu_ctx_unplace(ctx, leader);
	kpmu_free_add(ctx, leader);
}

/* May a parked group return to its place? */
static bool may_return(const struct kpmu_ctx *ctx,
		       const struct kpmu_entity *leader)
{
	const struct kpmu_group *g = &leader->group;

	if (ctx->parked != leader)
		return false;
	return kpmu_is_pinned(leader) ||
	       (g->order >= ctx->min_served && g->class.key == class_key(leader));
}

static noinline void add_group_to_queue(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	struct kpmu_group *g = &leader->group;

	if (ctx->parked == leader)
		unpark_groups(ctx);
	if (g->queued)
		return;
	set_kind(leader);
	if (kpmu_is_pinned(leader)) {
		list_add_tail(&g->pinned_node, &ctx->pinned);
	} else {
		join_served(ctx, g);
		class_add(ctx, leader);
	}
	g->queued = true;	/* after join_served(), which charges queued groups */
	count_group(ctx, leader, 1);
}

/**
 * kpmu_queue_add() - make a group a candidate
 * @ctx: its context
 * @leader: its leader, enabled
 *
 * Context: the context's owner, IRQs off, its clock up to date.
 */
void kpmu_queue_add(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	kpmu_ctx_assert_owned(ctx);
	if (unlikely(!kpmu_has_counter(leader) && kpmu_group_is_free(leader))) {
		add_free(ctx, leader);
	} else if (may_return(ctx, leader)) {
		ctx->parked = NULL;
		leader->group.charged = ctx->time;
		set_kind(leader);
		count_group(ctx, leader, 1);
	} else {
		add_group_to_queue(ctx, leader);
	}
}

static void leave_queue(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	struct kpmu_group *g = &leader->group;

	if (g->placed)
		g->served += ctx->time - g->charged;
	count_group(ctx, leader, -1);
}

/**
 * kpmu_queue_del() - remove a group from the candidates
 * @ctx: its context
 * @leader: its leader
 *
 * Also needed before a change of the group's needs, with kpmu_queue_add() after it.
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_queue_del(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	kpmu_ctx_assert_owned(ctx);
	if (ctx->parked == leader) {
		unpark_groups(ctx);
		return;
	}
	if (!leader->group.queued)
		return;
	if (leader->group.free) {
		kpmu_free_del(leader);
		return;
	}
	take_out_group(ctx, leader);
	leave_queue(ctx, leader);
}

/**
 * kpmu_queue_park() - as kpmu_queue_del(), for a group that may soon be enabled again
 * @ctx: its context
 * @leader: its leader
 *
 * The group stays in its place, and plans skip it.  Each context parks one group at a
 * time: programs disable and enable the same event around the code they measure.
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_queue_park(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	kpmu_ctx_assert_owned(ctx);
	if (!leader->group.queued || ctx->parked == leader)
		return;
	if (leader->group.free) {
		kpmu_free_del(leader);
		return;
	}
	if (ctx->parked)
		unpark_groups(ctx);
	ctx->parked = leader;
	leave_queue(ctx, leader);
}

/**
 * kpmu_queue_first() - the least served group of a class
 * @ctx: the context
 * @c: one of its classes
 *
 * Context: the context's owner.
 * Return: its leader; NULL if the only group is parked.
 */
struct kpmu_entity *kpmu_queue_first(struct kpmu_ctx *ctx, struct kpmu_class *c)
{
	struct rb_node *n = rb_first_cached(&c->groups);

	if (ctx->parked && n == &ctx->parked->group.rb)
		n = rb_next(n);
	return n ? rb_entry(n, struct kpmu_entity, group.rb) : NULL;
}

/**
 * kpmu_queue_next() - the group that follows another in its class
 * @ctx: the context
 * @leader: leader of the other
 *
 * Context: the context's owner.
 * Return: its leader; NULL after the last.
 */
struct kpmu_entity *kpmu_queue_next(struct kpmu_ctx *ctx,
				   struct kpmu_entity *leader)
{
	struct rb_node *n = rb_next(&leader->group.rb);

	if (n && ctx->parked && n == &ctx->parked->group.rb)
		n = rb_next(n);
	return n ? rb_entry(n, struct kpmu_entity, group.rb) : NULL;
}

/*
 * The order of groups follows their running time in steps of a turn.  Turns differ by some
 * microseconds.  Sorting by these would shuffle equal groups, and each would
 * occasionally be a whole turn ahead of the others.  The remainder stays in @served: a
 * step is due when it adds up to half a turn.
 */
static bool reorder_group(struct kpmu_group *g)
{
	u64 turn = kpmu_turn();
	s64 off = g->served - g->order;

	if (off < (s64)turn / 2)
		return false;
	g->order += div64_u64(off + turn / 2, turn) * turn;
	return true;
}

/* Charge a group; the tree changes only if the group's order does */
static void charge_group(struct kpmu_ctx *ctx, struct kpmu_entity *leader)
{
	struct kpmu_group *g = &leader->group;
	struct kpmu_class *c;

	g->served += ctx->time - g->charged;
	g->charged = ctx->time;
	if (!reorder_group(g))
		return;
	c = find_class(ctx, g->class.key);
	rb_erase_cached(&g->rb, &c->groups);
	rb_add_cached(&g->rb, &c->groups, less_served);
}

/**
 * kpmu_queue_charge() - charge the placed groups for the time they have run
 * @ctx: the context, its clock up to date
 *
 * The cost depends on the groups placed (at most one per counter), not on those
 * that wait.
 *
 * Context: the context's owner, IRQs off.
 * Return: the time charged to all flexible groups together, ns.
 */
u64 kpmu_queue_charge(struct kpmu_ctx *ctx)
{
	u64 least = U64_MAX, sum = 0;
	int i;

	for (i = 0; i < ctx->nr_placed; i++) {
		struct kpmu_entity *leader = ctx->placed[i];
		struct kpmu_group *g = &leader->group;

		if (!g->queued || ctx->parked == leader || kpmu_is_pinned(leader))
			continue;
		sum += ctx->time - g->charged;
		charge_group(ctx, leader);
		least = min(least, g->order);
	}
	if (least != U64_MAX)
		ctx->min_served = max(ctx->min_served, least);
	return sum;
}
