// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan: which groups run now, on which counters.
 *
 * Groups are placed in this order: firm groups (strict.c) of the CPU, of cgroups, of the task;
 * then likewise the other pinned groups; then the flexible groups.  Among the
 * flexible groups of a context the least served is placed first.  A group that does
 * not fit is skipped, so no counter is idle while a group that fits waits.
 *
 * The context whose groups ran less than those of the others, on average, places
 * its flexible groups first, so no context starves another.
 */
#include "../source/drivers.h"
#include "../trace/kpmu_trace.h"
#include "../trace/stats.h"
#include "place.h"

static const char *place_group(struct kpmu_build *b, struct kpmu_entity *leader)
{
	const char *why = kpmu_place(b, leader);

	if (why)
		return why;
	b->plan->groups[b->plan->nr++] = leader;
	if (leader->ctx->home >= 0)
		b->plan->nr_cpu++;
	return NULL;
}

/* Those pinned groups whose flags in @mask are @flags */
static void build_pinned(struct kpmu_build *b, struct kpmu_ctx *ctx, u64 mask, u64 flags)
{
	struct kpmu_entity *leader, *tmp;
	const char *why;

	list_for_each_entry_safe(leader, tmp, &ctx->pinned, group.pinned_node) {
		if (leader == ctx->parked || (leader->flags & mask) != flags)
			continue;
		why = place_group(b, leader);
		if (!why || why == kpmu_place_elsewhere || why == kpmu_place_other_kind)
			continue;
		/* A pinned group that does not fit enters error state */
		trace_kpmu_reject(leader->id, why);
		kpmu_queue_del(ctx, leader);
		leader->state = KPMU_ERROR;
		kpmu_group_clocks(leader, ctx->time);
		if (leader->flags & KPMU_ATTR_STRICT)
			kpmu_sched_events->lost(leader);
	}
}

static void build_all_pinned(struct kpmu_build *b, struct kpmu_cpu *kc, u64 mask, u64 flags)
{
	struct kpmu_ctx *ctx;

	kpmu_for_each_cpu_ctx(ctx, kc)
		build_pinned(b, ctx, mask, flags);
	if (kc->task)
		build_pinned(b, kc->task, mask, flags);
}

static struct kpmu_class *least_served(struct kpmu_ctx *ctx)
{
	struct kpmu_class *c, *best = NULL;

	list_for_each_entry(c, &ctx->classes, node)
		if (c->next && (!best || c->next->group.order <
				best->next->group.order))
			best = c;
	return best;
}

/* Limit of failed placements in the rest class, whose groups have different needs */
#define MAX_REST	64

/* If one group of a class does not fit, none does; in the rest class the next may */
static struct kpmu_entity *after_reject(struct kpmu_ctx *ctx, struct kpmu_class *c,
				       int *rest)
{
	if (likely(c->key != KPMU_KEY_REST) || !--*rest)
		return NULL;
	return kpmu_queue_next(ctx, c->next);
}

/* Are the groups of a class, which are bound to something, candidates on this CPU? */
static bool is_here(const struct kpmu_build *b, const struct kpmu_class *c)
{
	return c->cpu >= 0 ? c->cpu == b->cpu : c->cpu == -1 - b->kind;
}

/*
 * Place the least served candidate until every class is exhausted or does not
 * fit.  Returns the number of groups that wait.
 */
static u32 build_flexible(struct kpmu_build *b, struct kpmu_ctx *ctx)
{
	struct kpmu_class *c;
	int rest = MAX_REST;
	u32 waits = 0;
	const char *why;

	list_for_each_entry(c, &ctx->classes, node) {
		c->next = NULL;
		if (c->cpu != -1 && !is_here(b, c))
			continue;
		c->next = kpmu_queue_first(ctx, c);
		waits += c->nr;
		if (ctx->parked && ctx->parked->group.class.key == c->key &&
		    !kpmu_is_pinned(ctx->parked))
			waits--;
	}
	while ((c = least_served(ctx))) {
		why = place_group(b, c->next);
		if (why) {
			trace_kpmu_reject(c->next->id, why);
			c->next = after_reject(ctx, c, &rest);
			continue;
		}
		waits--;
		c->next = kpmu_queue_next(ctx, c->next);
	}
	return waits;
}

static void build_turn(struct kpmu_build *b, struct kpmu_ctx *ctx)
{
	u32 waits = build_flexible(b, ctx);

	if (ctx->home >= 0)
		b->plan->cpu_waits += waits;
	else
		b->plan->task_waits += waits;
}

/*
 * Find the context whose flexible groups are placed first.  Returns its index among the active
 * contexts: 0 is the CPU context, then the contexts of cgroups, then that of the task.
 */
static int first_turn(struct kpmu_cpu *kc)
{
	/* Tolerance: the lengths of turns always differ slightly */
	s64 least = -(s64)kpmu_turn() / 6;
	struct kpmu_ctx *ctx;
	int turn = 0, first = 0;

	for (ctx = kc->ctx.up; ctx; ctx = ctx->up) {
		turn++;
		if (ctx->ahead < least) {
			least = ctx->ahead;
			first = turn;
		}
	}
	return kc->task && kc->task->ahead < least ? turn + 1 : first;
}

/* Place the flexible groups of all contexts, beginning with the context of first_turn() */
static void build_turns(struct kpmu_build *b, struct kpmu_cpu *kc)
{
	int pass, turn, first = first_turn(kc);
	struct kpmu_ctx *ctx;

	for (pass = 0; pass < 2; pass++) {
		turn = 0;
		kpmu_for_each_cpu_ctx(ctx, kc) {
			if (pass ? turn < first : turn >= first)
				build_turn(b, ctx);
			turn++;
		}
		if (kc->task && (pass ? turn < first : turn >= first))
			build_turn(b, kc->task);
	}
}

static void to_slots(struct kpmu_build *b)
{
	struct kpmu_slots *slots = &b->plan->slots;
	int i;

	b->plan->upper = b->m.upper;
	slots->like = 0;
	slots->mask = b->m.used & kpmu_own_slots & ~b->m.upper;
	slots->driven = b->m.used & ~kpmu_own_slots;
	slots->alt = 0;
	for (i = 0; i < b->m.nr; i++) {
		int counter = b->m.counter[i];

		slots->hw[counter] = b->hw[i];
		if (b->alt & 1u << i)
			slots->alt |= 1u << counter;
		trace_kpmu_assign(container_of(b->hw[i], struct kpmu_entity, hw)->id,
				  counter, b->hw[i]->allowed);
	}
}

/**
 * kpmu_plan_build() - choose the groups that run on this CPU
 * @plan: the plan to fill in
 * @kc: this CPU, with the active task context if there is one
 *
 * Context: IRQs off, on @kc's CPU, the clocks of all active contexts up to date.
 */
void kpmu_plan_build(struct kpmu_plan *plan, struct kpmu_cpu *kc)
{
	static DEFINE_PER_CPU(u64, serial);
	struct kpmu_ctx *task = kc->task;
	struct kpmu_build b;
	u64 firm = 0;

	kpmu_build_init(&b, plan, kc->ctx.home);
	plan->serial = this_cpu_inc_return(serial) * nr_cpu_ids + b.cpu;
	plan->nr = 0;
	plan->nr_cpu = 0;
	plan->cpu_waits = 0;
	plan->task_waits = 0;

	if (static_branch_unlikely(&kpmu_firm_key.key)) {
		firm = KPMU_ATTR_FIRM;
		build_all_pinned(&b, kc, firm, firm);
	}
	build_all_pinned(&b, kc, firm, 0);
	build_turns(&b, kc);
	to_slots(&b);
	plan->exclusive = b.exclusive;
	kpmu_plan_stamp(plan, kc);
	kpmu_stat_inc(plans);
	trace_kpmu_plan(task ? task_pid_nr(task->task) : -1, plan->serial,
			kpmu_slots_used(&plan->slots), plan->nr,
			plan->cpu_waits + plan->task_waits);
}
