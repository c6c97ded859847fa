// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan: which groups run now, on which counters.
 *
 * Order of importance: pinned groups of the CPU, pinned groups of the task,
 * flexible groups of the CPU, flexible groups of the task.  Among flexible groups
 * the one served least comes first, and what room is left goes to whatever
 * fits, so no counter idles while something that fits waits.  The last two
 * change places at every other rotation while both have groups waiting, so a
 * busy CPU context cannot starve a task's.
 */
#include "../assign/assign.h"
#include "../trace/kpmu_trace.h"
#include "../trace/stats.h"
#include "sched.h"

static_assert(KPMU_MAX_COUNTERS == KPMU_NR_SLOTS);

/* Work space of one build */
struct build {
	struct kpmu_plan *plan;
	struct kpmu_matching m;
	struct kpmu_hw *hw[KPMU_MAX_COUNTERS];	/* by order of placing */
	u32 alt;		/* placed events that use the other register */
	u8 extra_used;
	u64 extra[4];
	bool exclusive;		/* nothing may come beside what is placed */
	int cpu;
};

/* Field by field: most of it is only written before it is read */
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

/* Registers 1 and 2 do the same, so either will do */
static bool claim_extra(struct build *b, const struct kpmu_hw *hw, bool *alt)
{
	int reg = hw->extra_reg, other = 3 - reg;

	*alt = false;
	if (!reg)
		return true;
	if (!(b->extra_used & 1u << reg) || b->extra[reg] == hw->extra)
		goto claim;
	if (reg > 2 || !(hw->source->extra_regs & 1u << other))
		return false;
	if (b->extra_used & 1u << other && b->extra[other] != hw->extra)
		return false;
	*alt = true;
	reg = other;
claim:
	b->extra_used |= 1u << reg;
	b->extra[reg] = hw->extra;
	return true;
}

/* A group's events that need counters now */
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

/* Place the events or leave everything as it was.  NULL, or why not. */
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

static const char *place_group(struct build *b, struct kpmu_event *leader)
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
	b->plan->groups[b->plan->nr++] = leader;
	return NULL;
}

static void build_pinned(struct build *b, struct kpmu_ctx *ctx)
{
	struct kpmu_event *leader, *tmp;
	const char *why;

	list_for_each_entry_safe(leader, tmp, &ctx->pinned, group.pinned_node) {
		why = place_group(b, leader);
		if (!why || why == why_cpu)
			continue;
		/* It was promised the counters and cannot have them */
		trace_kpmu_reject(leader->id, why);
		kpmu_queue_del(ctx, leader);
		leader->state = KPMU_ERROR;
		kpmu_group_clocks(leader, ctx->time);
	}
}

static struct kpmu_event *candidate(const struct kpmu_class *c)
{
	return rb_entry(c->next, struct kpmu_event, group.rb);
}

static struct kpmu_class *least_served(struct kpmu_ctx *ctx)
{
	struct kpmu_class *c, *best = NULL;

	list_for_each_entry(c, &ctx->classes, node)
		if (c->next && (!best || candidate(c)->group.served <
				candidate(best)->group.served))
			best = c;
	return best;
}

/*
 * Take the least served candidate until every class is used up or does not
 * fit.  Returns how many groups are left waiting.
 */
static u32 build_flexible(struct build *b, struct kpmu_ctx *ctx)
{
	struct kpmu_class *c;
	u32 waits = 0;
	const char *why;

	list_for_each_entry(c, &ctx->classes, node) {
		c->next = NULL;
		if (c->cpu >= 0 && c->cpu != b->cpu)
			continue;
		c->next = rb_first_cached(&c->groups);
		waits += c->nr;
	}
	while ((c = least_served(ctx))) {
		why = place_group(b, candidate(c));
		if (why) {
			trace_kpmu_reject(candidate(c)->id, why);
			c->next = NULL;
			continue;
		}
		waits--;
		c->next = rb_next(c->next);
	}
	return waits;
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

/**
 * kpmu_plan_build() - decide what runs on this CPU
 * @plan: the plan to make
 * @kc: this CPU, with the active task context if there is one
 *
 * Context: IRQs off, on @kc's CPU, the clocks of both contexts up to date.
 */
void kpmu_plan_build(struct kpmu_plan *plan, struct kpmu_cpu *kc)
{
	static DEFINE_PER_CPU(u64, serial);
	struct kpmu_ctx *task = kc->task;
	bool task_first = task && kc->flip;
	struct build b;

	build_init(&b, plan, kc->ctx.home);
	plan->serial = this_cpu_inc_return(serial) * NR_CPUS + b.cpu;
	plan->nr = 0;
	plan->task_waits = 0;

	build_pinned(&b, &kc->ctx);
	if (task) {
		build_pinned(&b, task);
		if (task_first)
			plan->task_waits = build_flexible(&b, task);
	}
	plan->cpu_waits = build_flexible(&b, &kc->ctx);
	if (task && !task_first)
		plan->task_waits = build_flexible(&b, task);

	to_slots(&b);
	plan->cpu_gen = kc->ctx.gen;
	plan->task_gen = task ? task->gen : 0;
	plan->cpu = plan->cpu_gen || (task && task->nr_bound) ? b.cpu : -1;
	kpmu_stat_inc(plans);
	trace_kpmu_plan(task ? task_pid_nr(task->task) : -1, plan->serial,
			plan->slots.mask, plan->nr,
			plan->cpu_waits + plan->task_waits);
}

/**
 * kpmu_plan_fits() - could these events ever run together?
 * @events: a group, as it would be with nothing else on the counters
 * @n: how many
 *
 * Context: any.
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
