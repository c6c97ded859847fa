// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invariants.  The checks are called through trace/checker.h at the end of every section that
 * owned a context, and after each commit; they check what the section may have changed.
 *
 * The cost of a check is bounded: in a context with many events each check walks some of
 * them, and the next one continues with the group after them.
 */
#include <linux/hash.h>
#include <linux/module.h>

#include "../trace/checker.h"
#include "../trace/stats.h"
#include "check.h"

static bool check;
module_param(check, bool, 0444);
MODULE_PARM_DESC(check, "check the invariants all the time (slow)");

/* Next group to check in a large context; a hash slot, so another context may replace it */
struct cursor {
	raw_spinlock_t cursor_lock;
	const struct kpmu_ctx *ctx;
	struct kpmu_event *leader;
};

#define CURSOR_BITS	6

static struct cursor cursors[1 << CURSOR_BITS];

static struct cursor *cursor_of(const struct kpmu_ctx *ctx)
{
	return &cursors[hash_ptr(ctx, CURSOR_BITS)];
}

static struct kpmu_event *cursor_get(struct kpmu_ctx *ctx)
{
	struct cursor *c = cursor_of(ctx);
	struct kpmu_event *leader;

	raw_spin_lock(&c->cursor_lock);
	leader = c->ctx == ctx ? c->leader : NULL;
	raw_spin_unlock(&c->cursor_lock);
	return leader ?: list_first_entry_or_null(&ctx->leaders, struct kpmu_event,
						  se.node);
}

static void cursor_set(const struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct cursor *c = cursor_of(ctx);

	raw_spin_lock(&c->cursor_lock);
	c->ctx = ctx;
	c->leader = leader;
	raw_spin_unlock(&c->cursor_lock);
}

static void check_gone(struct kpmu_entity *se)
{
	struct kpmu_event *e = kpmu_event_of(se);
	struct cursor *c = cursor_of(se->ctx);

	raw_spin_lock(&c->cursor_lock);
	if (c->leader == e)
		c->leader = NULL;
	raw_spin_unlock(&c->cursor_lock);
	check_times_forget(e);
}

/**
 * check_rules() - check the rules of a table
 * @rules: the table
 * @l: what to check
 *
 * Ends at the first rule that does not hold, as later ones rely on it.
 *
 * Context: IRQs off, the owner of what is in @l; or NMI.
 */
void check_rules(struct check_rule *rules, struct check_state *l)
{
	for (; rules->name; rules++) {
		l->detail = NULL;
		if (likely(rules->holds(l)))
			continue;
		if (!xchg(&rules->told, true))
			check_breach(rules->name, l);
		return;
	}
}

static void tally_group(struct check_state *l)
{
	const struct kpmu_event *leader = l->leader;
	const struct kpmu_group *g = &leader->se.group;
	struct check_tally *t = &l->tally;

	t->placed += g->placed && !g->free;
	if (!g->queued || l->ctx->parked == &leader->se)
		return;
	if (g->free) {
		t->free_bound += l->ctx->home < 0 && leader->se.cpu >= 0;
		return;
	}
	t->bound += leader->se.cpu >= 0 || leader->se.group.kind;
	if (kpmu_is_pinned(&leader->se))
		t->pinned++;
	else
		t->flexible++;
}

static void tally_event(struct check_state *l)
{
	const struct kpmu_event *e = l->e;
	struct check_tally *t = &l->tally;

	t->scan |= l->ctx->scan == &e->se;
	if (!e->se.attached)
		return;
	t->events++;
	t->inherit += !!e->family;
	t->sampling += !!e->sampling;
	t->freq += e->sampling && e->sampling->freq;
	t->side += !!(e->se.flags & KPMU_ATTR_SIDE);
	t->mapped += !!e->se.hw.page;
	t->gated += e->se.hw.gated;
	if (kpmu_counts_hits(&e->se))
		t->hits++;
	else
		t->timed += kpmu_is_followed(e);
}

static void check_event(struct check_state *l, struct kpmu_event *e)
{
	l->e = e;
	tally_event(l);
	check_rules(check_event_rules, l);
	check_rules(check_time_rules, l);
}

/* Return: events walked */
static u32 check_group(struct check_state *l, struct kpmu_event *leader)
{
	struct kpmu_event *e;
	u32 n = 0;

	l->leader = leader;
	check_event(l, leader);
	kpmu_for_each_member(e, leader) {
		if (n == CHECK_EVENTS)
			break;
		check_event(l, e);
		n++;
	}
	l->e = leader;
	l->members = list_entry_is_head(e, &leader->se.group.members, se.node) ? n : U32_MAX;
	tally_group(l);
	check_rules(check_group_rules, l);
	l->e = NULL;
	return n + 1;
}

/* Return: the group to continue with; NULL at the end, -E2BIG if some members were skipped */
static struct kpmu_event *walk_group(struct check_state *l, struct kpmu_event *leader)
{
	u32 n = 0;

	list_for_each_entry_from(leader, &l->ctx->leaders, se.node) {
		if (n >= CHECK_EVENTS)
			return leader;
		n += check_group(l, leader);
		if (l->members == U32_MAX)
			n = U32_MAX / 2;
	}
	return n >= U32_MAX / 2 ? ERR_PTR(-E2BIG) : NULL;
}

static void check_queue_of(struct kpmu_cpu *kc, struct kpmu_ctx *ctx)
{
	struct check_state l = { .kc = kc, .ctx = ctx };
	struct kpmu_event *first, *leader;

	check_rules(check_ctx_rules, &l);
	if (ctx->retired)
		return;
	first = ctx->nr_events > CHECK_EVENTS ? cursor_get(ctx) :
		list_first_entry_or_null(&ctx->leaders, struct kpmu_event, se.node);
	leader = first ? walk_group(&l, first) : NULL;
	if (ctx->nr_events > CHECK_EVENTS)
		cursor_set(ctx, IS_ERR(leader) ? NULL : leader);
	else if (!IS_ERR(leader))
		check_rules(check_sum_rules, &l);
}

static void check_ctx(struct kpmu_ctx *ctx)
{
	check_queue_of(NULL, ctx);
}

static void check_cpu(struct kpmu_cpu *kc)
{
	struct check_state l = { .kc = kc, .ctx = kc->task ?: &kc->ctx };
	struct kpmu_ctx *ctx;

	lockdep_assert_irqs_disabled();
	if (!kc->applied)
		return;
	check_rules(check_cpu_rules, &l);
	check_rules(check_bucket_rules, &l);
	kpmu_for_each_cpu_ctx(ctx, kc)
		check_queue_of(kc, ctx);
	if (kc->task)
		check_queue_of(kc, kc->task);
}

static void check_family(struct kpmu_family *f)
{
	struct check_state l = { .family = f };

	lockdep_assert_held(&f->top->family_lock);
	check_rules(check_family_rules, &l);
}

static void check_pmi(void)
{
	struct check_state l = { };

	check_rules(check_pmi_rules, &l);
}

static const struct kpmu_checker checker = {
	.cpu = check_cpu,
	.ctx = check_ctx,
	.gone = check_gone,
	.family = check_family,
	.pmi = check_pmi,
};

/**
 * kpmu_checks_init() - enable the checks if the module parameter "check" is set
 *
 * Context: module init; before anything that is checked exists.
 */
void __init kpmu_checks_init(void)
{
	int i;

	if (!check)
		return;
	for (i = 0; i < ARRAY_SIZE(cursors); i++)
		raw_spin_lock_init(&cursors[i].cursor_lock);
	check_times_init();
	kpmu_checker_enable(&checker);
}

/**
 * kpmu_checks_exit() - check that all resources of events have been released
 *
 * Context: module exit; no event is left.
 */
void kpmu_checks_exit(void)
{
	u64 opens = 0, closes = 0;
	int cpu;

	if (!check)
		return;
	for_each_possible_cpu(cpu) {
		opens += per_cpu(kpmu_stats, cpu).opens;
		closes += per_cpu(kpmu_stats, cpu).closes;
		WARN(per_cpu(kpmu_cpu, cpu).ctx.nr_events,
		     "kpmu: breach of rule exit-ctx\n");
	}
	WARN(opens != closes, "kpmu: breach of rule exit-events: %llu opened, %llu closed\n",
	     opens, closes);
	WARN(!kpmu_taps_idle(), "kpmu: breach of rule exit-taps\n");
	check_breaches_exit();
}
