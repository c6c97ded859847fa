// SPDX-License-Identifier: GPL-2.0-only
/*
 * Placement of a group: each of its enabled events that need a counter gets one that the
 * groups placed before do not use, or none does.
 */
#include "place.h"

static_assert(KPMU_MAX_COUNTERS == KPMU_NR_SLOTS);

static const char why_exclusive[] = "an exclusive group runs";
static const char why_not_alone[] = "exclusive, but other groups run";
static const char why_counters[] = "no usable counter is free";
static const char why_reserved[] = "its counters are reserved";
static const char why_extra[] = "an extra register is in use with another value";
static const char why_branches[] = "branches are recorded with another filter";
const char *const kpmu_place_elsewhere = "bound to another CPU";
const char *const kpmu_place_other_kind = "of a PMU that this CPU does not have";

/*
 * Claim an extra register.  Where another one is equivalent, one that holds
 * the value already is shared, else the event's own register is preferred.
 */
static bool claim_extra(struct kpmu_build *b, const struct kpmu_hw *hw, bool *alt)
{
	int reg = hw->extra_reg, other = hw->extra_alt ?: reg;
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

/* Claim the branch records, which have one filter */
static bool claim_branches(struct kpmu_build *b, const struct kpmu_hw *hw)
{
	if (!hw->branches)
		return true;
	if (b->branches)
		return b->branch_filter == (u32)hw->branch_filter;
	b->branches = true;
	b->branch_filter = hw->branch_filter;
	return true;
}

/* Enabled events of a group that need counters */
struct needs {
	int n;
	struct kpmu_hw *hw[KPMU_MAX_COUNTERS];
	u32 allowed[KPMU_MAX_COUNTERS];
	s8 hint[KPMU_MAX_COUNTERS];
	u32 wide;
};

/* Claim what events have in common beside counters; NULL, or the reason why it is not free */
static const char *claim_shared(struct kpmu_build *b, const struct needs *n, u32 *alts)
{
	bool alt;
	int i;

	for (i = 0; i < n->n; i++) {
		if (likely(!n->hw[i]->rare))
			continue;
		if (!claim_branches(b, n->hw[i]))
			return why_branches;
		if (!claim_extra(b, n->hw[i], &alt))
			return why_extra;
		if (alt)
			*alts |= 1u << i;
	}
	return NULL;
}

/* Whether groups fit does not depend on hints */
static int hint_of(const struct kpmu_build *b, const struct kpmu_hw *hw)
{
	return b->plan ? kpmu_hint(hw) : -1;
}

/* Returns NULL, or the reason why the event cannot be placed */
static const char *add_need(struct needs *n, struct kpmu_entity *e, const struct kpmu_build *b)
{
	u8 kind;

	if (!kpmu_has_counter(e) || e->state != KPMU_ON)
		return NULL;
	kind = kpmu_hw_kind(&e->hw);
	if (kind && b->kind && kind != b->kind)
		return kpmu_place_other_kind;
	if (n->n == KPMU_MAX_COUNTERS)
		return why_counters;
	n->hw[n->n] = &e->hw;
	n->allowed[n->n] = kpmu_usable(e, b->cpu);
	n->wide |= (u32)e->hw.wide << n->n;
	n->hint[n->n] = hint_of(b, &e->hw);
	return n->allowed[n->n++] ? NULL : why_reserved;
}

/* Place all events or none.  Returns NULL, or the reason for failure. */
static const char *place_needs(struct kpmu_build *b, const struct needs *n)
{
	bool branches = b->branches;
	u8 used = b->extra_used;
	u64 saved[5];
	int i, first = b->m.nr;
	const char *why;
	u32 alts = 0;

	memcpy(saved, b->extra, sizeof(saved));
	why = claim_shared(b, n, &alts);
	if (!why && !kpmu_assign_group(&b->m, n->allowed, n->hint, n->wide, n->n))
		why = why_counters;
	if (why) {
		b->branches = branches;
		b->extra_used = used;
		memcpy(b->extra, saved, sizeof(saved));
		return why;
	}
	for (i = 0; i < n->n; i++)
		b->hw[first + i] = n->hw[i];
	b->alt |= alts << first;
	return NULL;
}

/* The most common group: one event, which shares nothing */
static const char *place_single(struct kpmu_build *b, struct kpmu_entity *e)
{
	u8 kind = kpmu_hw_kind(&e->hw);
	u32 allowed;

	if (kind && b->kind && kind != b->kind)
		return kpmu_place_other_kind;
	allowed = kpmu_usable(e, b->cpu);
	if (!allowed)
		return why_reserved;
	if (!kpmu_assign(&b->m, allowed, hint_of(b, &e->hw)))
		return why_counters;
	b->hw[b->m.nr - 1] = &e->hw;
	return NULL;
}

static const char *place_all(struct kpmu_build *b, struct kpmu_entity *leader)
{
	struct kpmu_entity *e;
	struct needs n;
	const char *why;

	n.n = 0;
	n.wide = 0;
	why = add_need(&n, leader, b);
	if (why)
		return why;
	kpmu_for_each_in_group(e, leader) {
		why = add_need(&n, e, b);
		if (why)
			return why;
	}
	return place_needs(b, &n);
}

/**
 * kpmu_place() - place a group together with those already placed
 * @b: the build
 * @leader: the group's leader
 *
 * Context: as kpmu_plan_build().
 * Return: NULL; or the reason why it cannot be placed, kpmu_place_elsewhere if it is bound to
 * another CPU, kpmu_place_other_kind if it is of a PMU of other CPUs.
 */
const char *kpmu_place(struct kpmu_build *b, struct kpmu_entity *leader)
{
	bool alone = leader->flags & KPMU_ATTR_EXCLUSIVE;
	const char *why;

	if (leader->cpu >= 0 && leader->cpu != b->cpu)
		return kpmu_place_elsewhere;
	if (b->exclusive)
		return why_exclusive;
	if (alone && b->m.nr)
		return why_not_alone;
	if (list_empty(&leader->group.members) && kpmu_has_counter(leader) && !leader->hw.rare &&
	    leader->state == KPMU_ON)
		why = place_single(b, leader);
	else
		why = place_all(b, leader);
	if (why)
		return why;
	b->exclusive = alone;
	return NULL;
}

/**
 * kpmu_plan_fits() - test whether events can run together
 * @events: the events of a group
 * @n: number of @events
 *
 * Context: any.
 * Return: true if they fit on counters that nothing else uses.
 */
bool kpmu_plan_fits(struct kpmu_entity *const *events, int n)
{
	struct needs needs;
	struct kpmu_build b;
	int i;

	kpmu_build_init(&b, NULL, -1);
	needs.n = 0;
	needs.wide = 0;
	for (i = 0; i < n; i++) {
		struct kpmu_hw *hw = &events[i]->hw;

		if (!hw->allowed)
			continue;
		if (needs.n == KPMU_MAX_COUNTERS)
			return false;
		needs.hw[needs.n] = hw;
		needs.allowed[needs.n] = hw->allowed;
		needs.wide |= (u32)hw->wide << needs.n;
		needs.hint[needs.n++] = -1;
	}
	return !place_needs(&b, &needs);
}

/**
 * kpmu_off_why() - find out why an event is off
 * @e: the event
 *
 * Context: owner of its context.
 * Return: the reason; NULL if it is enabled.
 */
const char *kpmu_off_why(const struct kpmu_entity *e)
{
	if (!e->attached)
		return "removed: its task has exited, or has executed a program";
	if (e->leader->state == KPMU_ERROR)
		return "in error: pinned, and no counter was free";
	return kpmu_is_enabled(e) ? NULL : "off";
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
const char *kpmu_plan_why(struct kpmu_cpu *kc, struct kpmu_entity *leader)
{
	const struct kpmu_plan *plan = kc->applied;
	const char *why;
	struct kpmu_build b;
	int i;

	if (leader->group.placed)
		return NULL;
	why = kpmu_off_why(leader);
	if (why)
		return why;
	if (!plan)
		return "the CPU is offline";
	kpmu_build_init(&b, NULL, kc->ctx.home);
	for (i = 0; i < plan->nr; i++)
		kpmu_place(&b, plan->groups[i]);
	why = kpmu_place(&b, leader);
	return why ?: "waits for the next rotation";
}
