// SPDX-License-Identifier: GPL-2.0-only
/* Rules of groups and of their events. */
#include "check.h"

static bool is_candidate(const struct kpmu_entity *leader)
{
	return leader->group.queued && leader->ctx->parked != leader;
}

static bool size_is_right(struct check_state *l)
{
	return l->members == U32_MAX || l->leader->se.group.nr == l->members + 1;
}

static bool size_is_bounded(struct check_state *l)
{
	const struct kpmu_group *g = &l->leader->se.group;

	return g->nr && g->nr <= g->max && g->max <= KPMU_GROUP_MAX;
}

static bool is_queued_if_on(struct check_state *l)
{
	const struct kpmu_entity *leader = &l->leader->se;
	bool on = leader->attached && leader->state == KPMU_ON;

	return is_candidate(leader) == on;
}

static bool needs_are_known(struct check_state *l)
{
	struct kpmu_entity *leader = &l->leader->se;

	if (!is_candidate(leader) || leader->group.nr > CHECK_EVENTS)
		return true;
	if (leader->group.free != kpmu_group_is_free(leader))
		return false;
	return leader->group.free || kpmu_is_pinned(leader) ||
	       kpmu_queue_knows(leader);
}

static bool free_is_placed(struct check_state *l)
{
	const struct kpmu_entity *leader = &l->leader->se;
	const struct kpmu_ctx *ctx = l->ctx;

	if (!leader->group.free)
		return true;
	if (ctx->home >= 0 || leader->cpu < 0)
		return leader->group.placed;
	return leader->group.placed == (leader->cpu == ctx->last_cpu);
}

struct check_rule check_group_rules[] = {
	{ "group-size", size_is_right },
	{ "group-max", size_is_bounded },
	{ "queue-on", is_queued_if_on },
	{ "queue-key", needs_are_known },
	{ "free-placed", free_is_placed },
	{ }
};

static bool is_of_ctx(struct check_state *l)
{
	const struct kpmu_entity *e = &l->e->se;

	return e->ctx == l->ctx && e->leader == &l->leader->se &&
	       refcount_read(&l->e->ref) && (!e->attached || l->leader->se.attached) &&
	       (l->e == l->leader || (!e->group.queued && !e->group.placed &&
				   e->group.nr == 1));
}

static bool is_on(const struct check_state *l)
{
	const struct kpmu_entity *e = &l->e->se;

	return l->kc && kpmu_has_counter(e) && kpmu_is_enabled(e) &&
	       l->leader->se.group.placed;
}

/* The event is on a counter only if it should be, and on the one that the plan assigns to it */
static bool idx_is_of_plan(struct check_state *l)
{
	const struct kpmu_hw *hw = &l->e->se.hw;
	const struct kpmu_slots *slots;

	if (!is_on(l))
		return hw->idx < 0;
	slots = &l->kc->applied->slots;
	return hw->idx >= 0 && kpmu_slots_used(slots) & 1u << hw->idx &&
	       slots->hw[hw->idx] == hw;
}

static bool timer_follows(struct check_state *l)
{
	const struct kpmu_event *e = l->e;

	if (!kpmu_has_timer(e) || !e->se.attached)
		return true;
	return !e->sampling->timer.on ||
	       (l->kc && e->se.clock.is_running);
}

/* Hits are reported only while the event runs: the reports cost other tasks time */
static bool gate_follows(struct check_state *l)
{
	const struct kpmu_entity *e = &l->e->se;

	return e->hw.listens == (e->hw.gated && l->kc && e->attached &&
				 e->clock.is_running);
}

/*
 * .start and .stop of a source are called exactly when the event starts and stops.  For those with
 * counters kpmu_drivers_check() is precise.
 */
static bool source_follows(struct check_state *l)
{
	const struct kpmu_entity *e = &l->e->se;

	if (kpmu_has_counter(e))
		return !e->hw.runs || e->hw.idx >= 0;
	return e->hw.runs == (e->hw.source->start && l->kc && e->attached &&
			      e->clock.is_running);
}

/* More than any counter counts in a ns, and in the time that its context has not yet noted */
#define MOST_PER_NS	64
#define MOST_AT_ONCE	BIT_ULL(33)

/* A fold of a counter that was half set adds or subtracts the range of the counter */
static bool count_is_possible(struct check_state *l)
{
	const struct kpmu_entity *e = &l->e->se;
	u64 running = kpmu_times_at(&e->clock, l->ctx->time).running;

	return !kpmu_has_counter(e) || e->hw.source->start ||
	       (u64)local64_read(&e->hw.count) / MOST_PER_NS <= running + MOST_AT_ONCE;
}

struct check_rule check_event_rules[] = {
	{ "event-ctx", is_of_ctx },
	{ "event-idx", idx_is_of_plan },
	{ "event-timer", timer_follows },
	{ "event-gate", gate_follows },
	{ "event-source", source_follows },
	{ "event-count", count_is_possible },
	{ }
};
