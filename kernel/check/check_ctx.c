// SPDX-License-Identifier: GPL-2.0-only
/* Rules of a context: its events, groups, queue and lists agree. */
#include <linux/list.h>

#include "check.h"

/* Rules for contexts of any size */

static bool gen_follows_queue(struct check_state *l)
{
	const struct kpmu_ctx *ctx = l->ctx;

	return !!ctx->gen == !!(ctx->nr_flexible | ctx->nr_pinned | ctx->reserved);
}

/* Not compared with the plan: an idle context may have changed since it was built */
static bool placed_is_placed(struct check_state *l)
{
	const struct kpmu_ctx *ctx = l->ctx;
	int i, k;

	if (ctx->nr_placed > KPMU_NR_SLOTS)
		return false;
	for (i = 0; i < ctx->nr_placed; i++) {
		const struct kpmu_entity *leader = ctx->placed[i];

		if (leader->ctx != ctx || !leader->attached ||
		    !kpmu_is_leader(leader) || !leader->group.placed)
			return false;
		for (k = 0; k < i; k++)
			if (ctx->placed[k] == leader)
				return false;
	}
	return true;
}

/* kpmu_plan_enforce() relies on this.  Events of the CPU in an old plan may not exist any more. */
static bool plan_is_placed(struct check_state *l)
{
	const struct kpmu_ctx *ctx = l->ctx;
	const struct kpmu_plan *plan = &ctx->plan;
	int i;

	if (ctx->home >= 0 || !ctx->gen || plan->task_gen != ctx->gen || plan->nr_cpu)
		return true;
	for (i = 0; i < plan->nr; i++)
		if (plan->groups[i] != ctx->placed[i])
			return false;
	return plan->nr == ctx->nr_placed;
}

static bool strict_are_listed(struct check_state *l)
{
	const struct kpmu_ctx *ctx = l->ctx;
	const struct kpmu_entity *leader;
	u32 n = 0, firm = 0;

	list_for_each_entry(leader, &ctx->strict, group.strict_node) {
		if (leader->ctx != ctx || !leader->attached || !kpmu_is_leader(leader) ||
		    !kpmu_is_pinned(leader) || !(leader->flags & KPMU_ATTR_STRICT))
			return false;
		firm += !!(leader->flags & KPMU_ATTR_FIRM);
		if (++n == CHECK_EVENTS)
			return true;
	}
	return n == ctx->nr_strict && firm == ctx->nr_firm;
}

static bool parked_is_off(struct check_state *l)
{
	const struct kpmu_entity *leader = l->ctx->parked;

	return !leader || (leader->ctx == l->ctx && leader->attached &&
			   leader->group.queued && !leader->group.free &&
			   leader->state != KPMU_ON);
}

static bool followers_follow(struct check_state *l)
{
	const struct kpmu_ctx *ctx = l->ctx;

	return ctx->follow == KPMU_FOLLOW_ALWAYS ||
	       (!ctx->mapped.first && !ctx->timed.first && !ctx->nr_gated &&
		(!ctx->nr_freq || ctx->follow == KPMU_FOLLOW_ACTIVE));
}

static bool is_in_its_lists(struct check_state *l)
{
	const struct kpmu_ctx *ctx = l->ctx;

	return refcount_read(&ctx->ref) &&
	       (l->kc ? ctx->cpu == l->kc->ctx.home && !ctx->retired :
			ctx->cpu < 0 || ctx->cpu == smp_processor_id());
}

static bool order_is_served(const struct kpmu_ctx *ctx, const struct kpmu_class *c)
{
	struct rb_node *n;
	u64 order = 0;
	u32 nr = 0;

	for (n = rb_first_cached(&c->groups); n; n = rb_next(n)) {
		const struct kpmu_entity *leader =
			rb_entry(n, struct kpmu_entity, group.rb);

		if (leader->ctx != ctx || leader->group.class.key != c->key ||
		    leader->group.order < order)
			return false;
		order = leader->group.order;
		if (++nr == CHECK_EVENTS)
			return true;
	}
	return nr == c->nr;
}

static bool classes_are_in_order(struct check_state *l)
{
	const struct kpmu_class *c;
	int n = 0;

	list_for_each_entry(c, &l->ctx->classes, node) {
		if (!c->nr || !order_is_served(l->ctx, c))
			return false;
		if (++n == CHECK_EVENTS)
			break;
	}
	return true;
}

struct check_rule check_ctx_rules[] = {
	{ "ctx-owner", is_in_its_lists },
	{ "ctx-gen", gen_follows_queue },
	{ "ctx-placed", placed_is_placed },
	{ "ctx-plan", plan_is_placed },
	{ "ctx-strict", strict_are_listed },
	{ "ctx-parked", parked_is_off },
	{ "ctx-follow", followers_follow },
	{ "queue-order", classes_are_in_order },
	{ }
};

/* Rules that need a walk over the whole context */

static u32 count_nodes(const struct hlist_head *list)
{
	const struct hlist_node *n;
	u32 nr = 0;

	for (n = list->first; n && nr <= CHECK_EVENTS; n = n->next)
		nr++;
	return nr;
}

static u32 list_length(const struct list_head *list)
{
	const struct list_head *n;
	u32 nr = 0;

	for (n = list->next; n != list && nr <= CHECK_EVENTS; n = n->next)
		nr++;
	return nr;
}

static bool events_are_counted(struct check_state *l)
{
	const struct check_tally *t = &l->tally;
	const struct kpmu_ctx *ctx = l->ctx;

	return t->events == ctx->nr_events && t->inherit == ctx->nr_inherit &&
	       t->sampling == ctx->nr_sampling && t->freq == ctx->nr_freq;
}

static bool queue_is_counted(struct check_state *l)
{
	const struct check_tally *t = &l->tally;
	const struct kpmu_ctx *ctx = l->ctx;

	return t->pinned == ctx->nr_pinned && t->flexible == ctx->nr_flexible &&
	       t->bound == ctx->nr_bound;
}

/* A parked group is in the queue but not counted */
static bool queue_has_groups(struct check_state *l)
{
	const struct kpmu_ctx *ctx = l->ctx;
	u32 pinned = ctx->nr_pinned, flexible = ctx->nr_flexible;
	const struct kpmu_class *c;
	u32 classes = 0;

	if (ctx->parked && kpmu_is_pinned(ctx->parked))
		pinned++;
	else if (ctx->parked)
		flexible++;
	list_for_each_entry(c, &ctx->classes, node) {
		flexible -= c->nr;
		classes++;
	}
	return !flexible && classes == ctx->nr_classes && list_length(&ctx->pinned) == pinned &&
	       list_length(&ctx->bound) == l->tally.free_bound;
}

static bool placed_are_counted(struct check_state *l)
{
	return l->tally.placed == l->ctx->nr_placed;
}

static bool lists_have_events(struct check_state *l)
{
	const struct check_tally *t = &l->tally;
	const struct kpmu_ctx *ctx = l->ctx;

	return count_nodes(&ctx->side) == t->side && count_nodes(&ctx->hits) == t->hits &&
	       count_nodes(&ctx->timed) == t->timed && ctx->nr_gated == t->gated;
}

/* An event that remove_on_exec has removed stays mapped */
static bool mapped_are_listed(struct check_state *l)
{
	const struct kpmu_event *e;
	u32 n = 0, all = 0;

	hlist_for_each_entry(e, &l->ctx->mapped, mapped_node) {
		if (!e->se.hw.page || e->se.ctx != l->ctx)
			return false;
		n += e->se.attached;
		if (++all > CHECK_EVENTS)
			return true;
	}
	return n == l->tally.mapped;
}

static bool scan_is_here(struct check_state *l)
{
	return !l->ctx->scan || l->tally.scan;
}

struct check_rule check_sum_rules[] = {
	{ "ctx-events", events_are_counted },
	{ "queue-numbers", queue_is_counted },
	{ "queue-lists", queue_has_groups },
	{ "ctx-placed-all", placed_are_counted },
	{ "ctx-lists", lists_have_events },
	{ "ctx-mapped", mapped_are_listed },
	{ "ctx-scan", scan_is_here },
	{ }
};
