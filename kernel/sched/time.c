// SPDX-License-Identifier: GPL-2.0-only
/*
 * time_enabled and time_running.  Both are measured on the context's clock, which
 * is stopped while the context is not active.  So a task switch updates no
 * event's times: that happens only when the event's own state changes, and a
 * reader adds the time since then.
 */
#include "sched.h"

/* Bring an event's times up to date, then set which of them run; @now: the context's time, ns */
static void set_times(struct kpmu_clock *c, u64 now, bool enabled, bool running)
{
	u64 passed = now - c->since;

	if (c->is_enabled)
		c->enabled += passed;
	if (c->is_running)
		c->running += passed;
	c->since = now;
	c->is_enabled = enabled;
	c->is_running = running;
}

static __always_inline void update_clock(struct kpmu_entity *e, u64 now)
{
	bool on = kpmu_is_enabled(e);

	set_times(&e->clock, now, on, on && e->leader->group.placed);
}

/**
 * kpmu_entity_clock() - update the times of an event for its new state
 * @e: the event
 * @now: the context's time in ns
 *
 * Context: the context's owner.
 */
void kpmu_entity_clock(struct kpmu_entity *e, u64 now)
{
	update_clock(e, now);
}

/**
 * kpmu_group_clocks() - update the times of a group for its new state
 * @leader: its leader
 * @now: the context's time in ns
 *
 * Needed after any change of state, placement or membership.
 *
 * Context: the context's owner.
 */
void kpmu_group_clocks(struct kpmu_entity *leader, u64 now)
{
	struct kpmu_entity *e;

	update_clock(leader, now);
	kpmu_for_each_in_group(e, leader)
		update_clock(e, now);
}

/**
 * kpmu_entity_time() - the count of a clock event: the time it has run
 * @hw: the hw part of the event
 *
 * Context: the context's owner.
 * Return: ns since the last reset.
 */
u64 kpmu_entity_time(struct kpmu_hw *hw)
{
	const struct kpmu_entity *e = container_of(hw, struct kpmu_entity, hw);
	const struct kpmu_clock *c = &e->clock;
	u64 count = c->running + local64_read(&hw->count);

	if (!c->is_running)
		return count;
	return count + kpmu_ctx_now(e->ctx) - c->since;
}
