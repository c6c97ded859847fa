// SPDX-License-Identifier: GPL-2.0-only
/* Rules of a CPU: its plan, its counters and its registers agree. */
#include <linux/bitops.h>

#include "../sched/recent.h"
#include "../source/drivers.h"
#include "check.h"

static struct kpmu_entity *in_slot(const struct kpmu_slots *slots, int i)
{
	return container_of(slots->hw[i], struct kpmu_entity, hw);
}

static bool plan_is_good(struct check_state *l)
{
	const struct kpmu_plan *plan = kpmu_plan_of(l->kc);

	return l->kc->applied == plan && !l->kc->stale &&
	       kpmu_plan_is_good(plan, l->kc);
}

static bool is_active(const struct kpmu_cpu *kc, const struct kpmu_ctx *of)
{
	const struct kpmu_ctx *ctx;

	if (of == kc->task)
		return true;
	kpmu_for_each_cpu_ctx(ctx, kc)
		if (ctx == of)
			return true;
	return false;
}

static bool may_run(const struct kpmu_cpu *kc, const struct kpmu_entity *leader)
{
	const struct kpmu_group *g = &leader->group;

	return leader->ctx->parked != leader && g->queued && g->placed && !g->free &&
	       kpmu_is_leader(leader) && kpmu_is_enabled(leader) &&
	       (leader->cpu < 0 || leader->cpu == kc->ctx.home);
}

static bool groups_may_run(struct check_state *l)
{
	const struct kpmu_plan *plan = l->kc->applied;
	int i, k, nr_cpu = 0;

	if (plan->nr > KPMU_NR_SLOTS || (plan->exclusive && plan->nr != 1))
		return false;
	for (i = 0; i < plan->nr; i++) {
		if (!is_active(l->kc, plan->groups[i]->ctx) ||
		    !may_run(l->kc, plan->groups[i]))
			return false;
		for (k = 0; k < i; k++)
			if (plan->groups[k] == plan->groups[i])
				return false;
		nr_cpu += plan->groups[i]->ctx->home >= 0;
	}
	return nr_cpu == plan->nr_cpu;
}

static bool is_placed(const struct kpmu_plan *plan, const struct kpmu_ctx *ctx)
{
	int i, n = 0;

	for (i = 0; i < plan->nr; i++)
		if (plan->groups[i]->ctx == ctx &&
		    (n == ctx->nr_placed || ctx->placed[n++] != plan->groups[i]))
			return false;
	return n == ctx->nr_placed;
}

static bool contexts_follow(struct check_state *l)
{
	struct kpmu_ctx *ctx;

	kpmu_for_each_cpu_ctx(ctx, l->kc)
		if (!is_placed(l->kc->applied, ctx))
			return false;
	return !l->kc->task || is_placed(l->kc->applied, l->kc->task);
}

static bool is_candidate_now(const struct kpmu_entity *e)
{
	return kpmu_has_counter(e) && e->state == KPMU_ON;
}

/* Number of events that need a counter */
static u32 demand_of_group(const struct kpmu_entity *leader)
{
	const struct kpmu_entity *e;
	u32 n = is_candidate_now(leader);

	kpmu_for_each_in_group(e, leader)
		n += is_candidate_now(e);
	return n;
}

static bool slots_are_of_groups(struct check_state *l)
{
	const struct kpmu_plan *plan = l->kc->applied;
	const struct kpmu_slots *slots = &plan->slots;
	u32 m, n = 0;
	int i;

	if (slots->mask & slots->driven)
		return false;
	for (m = kpmu_slots_used(slots); m; m &= m - 1) {
		const struct kpmu_entity *e = in_slot(slots, __ffs(m));

		if (!e->attached || !is_candidate_now(e) || !e->leader->group.placed ||
		    !is_active(l->kc, e->ctx) ||
		    !(kpmu_usable(e, l->kc->ctx.home) & 1u << __ffs(m)) ||
		    kpmu_hw_is_driven(&e->hw) != !!(slots->driven & 1u << __ffs(m)) ||
		    e->hw.wide != !!(plan->upper & 2u << __ffs(m)))
			return false;
	}
	if (slots->alt & ~slots->mask || plan->upper & ~(slots->mask << 1) || plan->upper & slots->mask)
		return false;
	/* The walk over a large group would cost too much */
	for (i = 0; i < plan->nr; i++) {
		if (plan->groups[i]->group.nr > CHECK_EVENTS)
			return true;
		n += demand_of_group(plan->groups[i]);
	}
	return n == hweight32(kpmu_slots_used(slots));
}

static bool slots_have_one_event(struct check_state *l)
{
	const struct kpmu_slots *slots = &l->kc->applied->slots;
	u32 m;

	for (m = kpmu_slots_used(slots); m; m &= m - 1)
		if (slots->hw[__ffs(m)]->idx != __ffs(m))
			return false;
	return true;
}

/* Flexible groups without a counter; -1 if unknown, as some are bound to a CPU */
static s64 count_waiting(const struct kpmu_ctx *ctx)
{
	s64 n = ctx->nr_flexible;
	int i;

	if (ctx->home < 0 && ctx->nr_bound)
		return -1;
	for (i = 0; i < ctx->nr_placed; i++)
		n -= !kpmu_is_pinned(ctx->placed[i]);
	return n;
}

static bool waits_are_counted(struct check_state *l)
{
	const struct kpmu_plan *plan = l->kc->applied;
	s64 n = l->kc->task ? count_waiting(l->kc->task) : 0;
	struct kpmu_ctx *ctx;

	if (n >= 0 && n != plan->task_waits)
		return false;
	n = 0;
	kpmu_for_each_cpu_ctx(ctx, l->kc)
		n += count_waiting(ctx);
	return n == plan->cpu_waits;
}

static bool rotation_is_armed(struct check_state *l)
{
	const struct kpmu_plan *plan = l->kc->applied;

	return l->kc->armed || !(plan->cpu_waits | plan->task_waits);
}

static bool registers_agree(struct check_state *l)
{
	const struct kpmu_slots *slots = &l->kc->applied->slots;

	l->detail = kpmu_counters_check(slots) ?: kpmu_drivers_check(slots);
	return !l->detail;
}

/* Contexts that this CPU has looked up and may use again */
static bool recent_are_right(struct check_state *l)
{
	unsigned long epoch = atomic_long_read(&kpmu_ctx_epoch);
	int i;

	for (i = 0; i < KPMU_NR_RECENT; i++) {
		const struct kpmu_recent *r = &l->kc->recent[i];

		if (r->epoch == epoch && r->ctx && r->ctx->task != r->task)
			return false;
	}
	return true;
}

/* Firm groups that are enabled wait for nothing but their CPU */
static bool has_firm_groups(const struct kpmu_cpu *kc, const struct kpmu_ctx *ctx)
{
	const struct kpmu_entity *leader;
	int n = 0;

	list_for_each_entry(leader, &ctx->strict, group.strict_node) {
		if (++n > CHECK_EVENTS)
			break;
		if (leader->flags & KPMU_ATTR_FIRM && kpmu_is_enabled(leader) &&
		    !leader->group.placed && (leader->cpu < 0 || leader->cpu == kc->ctx.home) &&
		    (!leader->group.kind || leader->group.kind == kpmu_kind_of_cpu(kc->ctx.home)))
			return false;
	}
	return true;
}

static bool firm_groups_run(struct check_state *l)
{
	const struct kpmu_ctx *ctx;

	kpmu_for_each_cpu_ctx(ctx, l->kc)
		if (!has_firm_groups(l->kc, ctx))
			return false;
	return !l->kc->task || has_firm_groups(l->kc, l->kc->task);
}

/* plan-good is first: without it the others would check a plan that is not in force */
struct check_rule check_cpu_rules[] = {
	{ "plan-good", plan_is_good },
	{ "plan-groups", groups_may_run },
	{ "plan-placed", contexts_follow },
	{ "plan-slots", slots_are_of_groups },
	{ "plan-firm", firm_groups_run },
	{ "plan-idx", slots_have_one_event },
	{ "plan-waits", waits_are_counted },
	{ "plan-rotates", rotation_is_armed },
	{ "registers", registers_agree },
	{ "cpu-recent", recent_are_right },
	{ }
};

static bool kernel_is_not_counted(struct check_state *l)
{
	return kpmu_counters_check_pmi();
}

struct check_rule check_pmi_rules[] = {
	{ "pmi-kernel", kernel_is_not_counted },
	{ }
};
