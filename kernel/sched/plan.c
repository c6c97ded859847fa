// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan: which groups run now, on which counters.
 *
 * Groups are placed in this order: pinned groups of the CPU, of cgroups, of the
 * task; then flexible groups of the CPU, of cgroups, of the task.  Among the
 * flexible groups of a context the one served least comes first.  A group that does
 * not fit is skipped, so no counter is idle while a group that fits waits.
 *
 * The context whose groups ran less than those of the others, on average, places
 * its flexible groups first, so no context starves another.
 */
#include "../assign/assign.h"
#include "../trace/kpmu_trace.h"
#include "../trace/stats.h"
#include "sched.h"

static_assert(KPMU_MAX_COUNTERS == KPMU_NR_SLOTS);

/* State of one build */
struct build {
	struct kpmu_plan *plan;
	struct kpmu_matching m;
	struct kpmu_hw *hw[KPMU_MAX_COUNTERS];	/* in order of placement */
	u32 alt;		/* placed events that use the alternative register */
	u8 extra_used;
	u64 extra[4];
	bool exclusive;		/* the placed group is exclusive */
	int cpu;
};

/* Set single fields: the arrays are large, and written before they are read */
static void build_init(struct build *b, struct kpmu_plan *plan, int cpu)
{
	b->plan = plan;
	kpmu_matching_init(&b->m);
	b->alt = 0;
	b->extra_used = 0;
	b->exclusive = false;
	b->cpu = cpu;
}

static const char why_exclusive[] = "an exclusive group runs";
static const char why_not_alone[] = "exclusive, and others run";
static const char why_counters[] = "no free counter that it may use";
static const char why_extra[] = "an extra register is in use with another value";
static const char why_cpu[] = "bound to another CPU";

/*
 * Claim an extra register.  Where registers 1 and 2 are equivalent, one that holds
 * the value already is shared, else the event's own register is preferred.
 */
static bool claim_extra(struct build *b, const struct kpmu_hw *hw, bool *alt)
{
	int reg = hw->extra_reg, other = hw->extra_alt ? 3 - reg : reg;
	u32 own_bit = 1u << reg, other_bit = 1u << other;

	*alt = false;
	if (!reg || (b->extra_used & own_bit && b->extra[reg] == hw->extra))
		return true;
	if (b->extra_used & other_bit && b->extra[other] == hw->extra) {
		*alt = true;
		return true;
	}
	if (b->extra_used & own_bit) {
		if (b->extra_used & other_bit)
			return false;
		*alt = true;
		reg = other;
	}
	b->extra_used |= 1u << reg;
	b->extra[reg] = hw->extra;
	return true;
}

/* Enabled events of a group that need counters */
struct needs {
	int n;
	struct kpmu_hw *hw[KPMU_MAX_COUNTERS];
	u32 allowed[KPMU_MAX_COUNTERS];
	s8 hint[KPMU_MAX_COUNTERS];
};

static bool need(struct needs *n, struct kpmu_event *e)
{
	if (!kpmu_has_counter(e) || e->state != KPMU_ON)
		return true;
	if (n->n == KPMU_MAX_COUNTERS)
		return false;
	n->hw[n->n] = &e->hw;
	n->allowed[n->n] = e->hw.allowed;
	n->hint[n->n] = e->hw.hint;
	n->n++;
	return true;
}

/* Place all events or none.  Returns NULL, or the reason for failure. */
static const char *place(struct build *b, const struct needs *n)
{
	u8 used = b->extra_used;
	u64 saved[4];
	int i, first = b->m.nr;
	u32 alts = 0;
	bool alt;

	memcpy(saved, b->extra, sizeof(saved));
	for (i = 0; i < n->n; i++) {
		if (!claim_extra(b, n->hw[i], &alt)) {
			b->extra_used = used;
			memcpy(b->extra, saved, sizeof(saved));
			return why_extra;
		}
		if (alt)
			alts |= 1u << i;
	}
	if (!kpmu_assign_group(&b->m, n->allowed, n->hint, n->n)) {
		b->extra_used = used;
		memcpy(b->extra, saved, sizeof(saved));
		return why_counters;
	}
	for (i = 0; i < n->n; i++)
		b->hw[first + i] = n->hw[i];
	b->alt |= alts << first;
	return NULL;
}

/* Place a group beside the placed ones; returns NULL, or the reason for failure */
static const char *try_group(struct build *b, struct kpmu_event *leader)
{
	bool alone = leader->flags & KPMU_ATTR_EXCLUSIVE;
	struct kpmu_event *e;
	struct needs n;
	const char *why;

	if (leader->cpu >= 0 && leader->cpu != b->cpu)
		return why_cpu;
	if (b->exclusive)
		return why_exclusive;
	if (alone && b->m.nr)
		return why_not_alone;
	n.n = 0;
	if (!need(&n, leader))
		return why_counters;
	kpmu_for_each_member(e, leader)
		if (!need(&n, e))
			return why_counters;
	why = place(b, &n);
	if (why)
		return why;
	b->exclusive = alone;
	return NULL;
}

static const char *place_group(struct build *b, struct kpmu_event *leader)
{
	const char *why = try_group(b, leader);

	if (why)
		return why;
	b->plan->groups[b->plan->nr++] = leader;
	if (leader->ctx->home >= 0)
		b->plan->nr_cpu++;
	return NULL;
}

static void build_pinned(struct build *b, struct kpmu_ctx *ctx)
{
	struct kpmu_event *leader, *tmp;
	const char *why;

	list_for_each_entry_safe(leader, tmp, &ctx->pinned, group.pinned_node) {
		if (leader == ctx->parked)
			continue;
		why = place_group(b, leader);
		if (!why || why == why_cpu)
			continue;
		/* A pinned group that does not fit enters error state */
		trace_kpmu_reject(leader->id, why);
		kpmu_queue_del(ctx, leader);
		leader->state = KPMU_ERROR;
		kpmu_group_clocks(leader, ctx->time);
	}
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
static struct kpmu_event *after_reject(struct kpmu_ctx *ctx, struct kpmu_class *c,
				       int *rest)
{
	if (likely(c->key != KPMU_KEY_REST) || !--*rest)
		return NULL;
	return kpmu_queue_next(ctx, c->next);
}

/*
 * Place the least served candidate until every class is exhausted or does not
 * fit.  Returns the number of groups that wait.
 */
static u32 build_flexible(struct build *b, struct kpmu_ctx *ctx)
{
	struct kpmu_class *c;
	int rest = MAX_REST;
	u32 waits = 0;
	const char *why;

	list_for_each_entry(c, &ctx->classes, node) {
		c->next = NULL;
		if (c->cpu >= 0 && c->cpu != b->cpu)
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

static void build_turn(struct build *b, struct kpmu_ctx *ctx)
{
	u32 waits = build_flexible(b, ctx);

	if (ctx->home >= 0)
		b->plan->cpu_waits += waits;
	else
		b->plan->task_waits += waits;
}

/* The flexible groups of all contexts, starting with the context that goes first */
static void build_turns(struct build *b, struct kpmu_cpu *kc)
{
	int pass, turn, first = kpmu_rotate_first(kc);
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

static void to_slots(struct build *b)
{
	struct kpmu_slots *slots = &b->plan->slots;
	int i;

	slots->mask = b->m.used;
	slots->alt = 0;
	for (i = 0; i < b->m.nr; i++) {
		int counter = b->m.counter[i];

		slots->hw[counter] = b->hw[i];
		if (b->alt & 1u << i)
			slots->alt |= 1u << counter;
		trace_kpmu_assign(container_of(b->hw[i], struct kpmu_event, hw)->id,
				  counter, b->hw[i]->allowed);
	}
}

/* Record that the plan matches the current state of the contexts */
static __always_inline void stamp(struct kpmu_plan *plan, struct kpmu_cpu *kc)
{
	const struct kpmu_ctx *task = kc->task;

	kc->stale = false;
	plan->cpu_gen = kpmu_cpu_gen(kc);
	plan->task_gen = task ? task->gen : 0;
	plan->cpu = plan->cpu_gen || (task && task->nr_bound) ? kc->ctx.home : -1;
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
	struct kpmu_ctx *task = kc->task, *ctx;
	struct build b;

	build_init(&b, plan, kc->ctx.home);
	plan->serial = this_cpu_inc_return(serial) * nr_cpu_ids + b.cpu;
	plan->nr = 0;
	plan->nr_cpu = 0;
	plan->cpu_waits = 0;
	plan->task_waits = 0;

	kpmu_for_each_cpu_ctx(ctx, kc)
		build_pinned(&b, ctx);
	if (task)
		build_pinned(&b, task);
	build_turns(&b, kc);
	to_slots(&b);
	plan->exclusive = b.exclusive;
	stamp(plan, kc);
	kpmu_stat_inc(plans);
	trace_kpmu_plan(task ? task_pid_nr(task->task) : -1, plan->serial,
			plan->slots.mask, plan->nr,
			plan->cpu_waits + plan->task_waits);
}

/**
 * kpmu_plan_fits() - test whether events can run together
 * @events: the events of a group
 * @n: number of @events
 *
 * Context: any.
 * Return: true if they fit on counters that nothing else uses.
 */
bool kpmu_plan_fits(struct kpmu_event *const *events, int n)
{
	struct needs needs;
	struct build b;
	int i;

	build_init(&b, NULL, -1);
	needs.n = 0;
	for (i = 0; i < n; i++) {
		struct kpmu_hw *hw = &events[i]->hw;

		if (!hw->allowed)
			continue;
		if (needs.n == KPMU_MAX_COUNTERS)
			return false;
		needs.hw[needs.n] = hw;
		needs.allowed[needs.n] = hw->allowed;
		needs.hint[needs.n++] = -1;
	}
	return !place(&b, &needs);
}

/**
 * kpmu_plan_why() - find out why a group does not run
 * @kc: this CPU
 * @leader: the group's leader, of a context that is active here
 *
 * The reason is not stored but computed by a trial placement.
 *
 * Context: IRQs off, on @kc's CPU.
 * Return: the reason; NULL if the group runs.
 */
const char *kpmu_plan_why(struct kpmu_cpu *kc, struct kpmu_event *leader)
{
	const struct kpmu_plan *plan = kc->applied;
	const char *why;
	struct build b;
	int i;

	if (leader->group.placed)
		return NULL;
	if (leader->state == KPMU_ERROR)
		return "in error: pinned, and there was no room";
	if (!kpmu_is_enabled(leader))
		return "off";
	if (!plan)
		return "the CPU is offline";
	build_init(&b, NULL, kc->ctx.home);
	for (i = 0; i < plan->nr; i++)
		try_group(&b, plan->groups[i]);
	why = try_group(&b, leader);
	return why ?: "it has its turn with the next rotation";
}

/*
 * Edits of the plan in force.  While nothing waits, removing a group frees counters that
 * no other group needs, and adding one only needs free counters; the other groups
 * stay where they are.  Otherwise a new plan is built.
 */

static void drop(struct kpmu_event **array, u8 *nr, struct kpmu_event *leader)
{
	int i = 0;

	while (array[i] != leader)
		i++;
	for (--*nr; i < *nr; i++)
		array[i] = array[i + 1];
}

/**
 * kpmu_ctx_unplace() - remove a group from the placed groups of its context
 * @ctx: the context
 * @leader: the group's leader, out of the queue, so the next plan does not contain
 *	the group; its counters are released with that plan
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_ctx_unplace(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	if (!leader->group.placed)
		return;
	leader->group.placed = false;
	drop(ctx->placed, &ctx->nr_placed, leader);
}

/*
 * The counters that a plan holds for a group, according to its slots: an event that
 * was inserted has no counter before the commit, and hw.idx may be the counter
 * of an earlier plan.  A plan has each event once, so for a group of one event a match
 * at hw.idx is the result.
 */
static u32 counters_of(const struct kpmu_slots *slots, struct kpmu_event *leader)
{
	int i = leader->hw.idx;
	u32 m, mask = 0;

	if (list_empty(&leader->group.members) && i >= 0 &&
	    slots->mask & 1u << i && slots->hw[i] == &leader->hw)
		return 1u << i;
	for (m = slots->mask; m; m &= m - 1) {
		i = __ffs(m);
		if (container_of(slots->hw[i], struct kpmu_event, hw)->leader ==
		    leader)
			mask |= 1u << i;
	}
	return mask;
}

/**
 * kpmu_plan_remove() - remove a group from the plan in force
 * @kc: from kpmu_plan_live(); with NULL nothing is done
 * @leader: the group's leader; e->leader of its events in the plan must still be set
 *	to it
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_plan_remove(struct kpmu_cpu *kc, struct kpmu_event *leader)
{
	struct kpmu_ctx *ctx = leader->ctx;
	struct kpmu_plan *plan;

	if (!kc || !leader->group.placed || leader->group.free)
		return;
	plan = kc->applied;
	plan->slots.mask &= ~counters_of(&plan->slots, leader);
	plan->slots.alt &= plan->slots.mask;
	drop(plan->groups, &plan->nr, leader);
	drop(ctx->placed, &ctx->nr_placed, leader);
	if (ctx->home >= 0)
		plan->nr_cpu--;
	leader->group.placed = false;
	stamp(plan, kc);
}

/* A counter for the event outside @mask, or -1 */
static int free_counter(const struct kpmu_event *e, u32 mask)
{
	u32 free = e->hw.allowed & ~mask;

	if (e->hw.hint >= 0 && free & 1u << e->hw.hint)
		return e->hw.hint;
	return free ? 31 - __builtin_clz(free) : -1;
}

static __always_inline bool add(struct kpmu_slots *slots, struct kpmu_event *e)
{
	int counter;

	if (!kpmu_has_counter(e) || e->state != KPMU_ON)
		return true;
	counter = free_counter(e, slots->mask);
	if (counter < 0 || e->hw.extra_reg)
		return false;
	slots->mask |= 1u << counter;
	slots->hw[counter] = &e->hw;
	trace_kpmu_assign(e->id, counter, e->hw.allowed);
	return true;
}

/* Add all events of the group, or none */
static noinline bool add_all(struct kpmu_slots *slots, struct kpmu_event *leader)
{
	u32 mask = slots->mask;
	struct kpmu_event *e;
	bool ok = add(slots, leader);

	kpmu_for_each_member(e, leader)
		ok = ok && add(slots, e);
	if (!ok)
		slots->mask = mask;
	return ok;
}

static bool add_group(struct kpmu_slots *slots, struct kpmu_event *leader)
{
	return list_empty(&leader->group.members) ? add(slots, leader) :
						    add_all(slots, leader);
}

/**
 * kpmu_plan_insert() - add a group to the plan in force
 * @kc: from kpmu_plan_live(); with NULL nothing is done
 * @leader: the group's leader, queued
 *
 * If that is not possible, the plan stays stale: the next kpmu_resched() builds a new
 * one, and kpmu_plan_live() returns NULL until then: call it for each change.
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_plan_insert(struct kpmu_cpu *kc, struct kpmu_event *leader)
{
	struct kpmu_ctx *ctx = leader->ctx;
	struct kpmu_plan *plan;

	if (!kc || leader->group.free || leader->cpu >= 0 ||
	    leader->flags & KPMU_ATTR_EXCLUSIVE)
		return;
	plan = kc->applied;
	if (plan->nr == KPMU_NR_SLOTS || !add_group(&plan->slots, leader))
		return;
	plan->groups[plan->nr++] = leader;
	ctx->placed[ctx->nr_placed++] = leader;
	if (ctx->home >= 0)
		plan->nr_cpu++;
	leader->group.placed = true;
	leader->group.charged = ctx->time;
	stamp(plan, kc);
}
