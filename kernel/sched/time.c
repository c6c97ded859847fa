// SPDX-License-Identifier: GPL-2.0-only
/*
 * time_enabled and time_running.  Both are measured on the context's own
 * clock, which stands while the context is not on a CPU.  So a task switch
 * touches no event's times: they are brought up to date only when the event's
 * own state changes, or by whoever reads them.
 */
#include "sched.h"

/**
 * kpmu_clock_set() - bring an event's times up to now, then go on as told
 * @c: the times
 * @now: the context's time in ns
 * @enabled: time_enabled runs from now on
 * @running: time_running runs from now on
 *
 * Context: the context's owner.
 */
void kpmu_clock_set(struct kpmu_clock *c, u64 now, bool enabled, bool running)
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

/**
 * kpmu_event_clock() - let the times of an event follow its state
 * @e: the event
 * @now: the context's time in ns
 *
 * Context: the context's owner.
 */
void kpmu_event_clock(struct kpmu_event *e, u64 now)
{
	bool on = kpmu_is_enabled(e);

	kpmu_clock_set(&e->clock, now, on, on && e->leader->group.placed);
}

/**
 * kpmu_group_clocks() - let the times of a group follow its state
 * @leader: the group
 * @now: the context's time in ns
 *
 * Call after any change of state, of placement, of membership.
 * Context: the context's owner.
 */
void kpmu_group_clocks(struct kpmu_event *leader, u64 now)
{
	struct kpmu_event *e;

	kpmu_event_clock(leader, now);
	kpmu_for_each_member(e, leader)
		kpmu_event_clock(e, now);
}

/**
 * kpmu_event_time() - the count of an event that counts the time it runs
 * @hw: the event's part of its source, a clock
 *
 * Context: the context's owner.
 * Return: ns.
 */
u64 kpmu_event_time(struct kpmu_hw *hw)
{
	const struct kpmu_event *e = container_of(hw, struct kpmu_event, hw);
	const struct kpmu_clock *c = &e->clock;
	u64 count = c->running + local64_read(&hw->count);

	if (!c->is_running)
		return count;
	return count + kpmu_ctx_now(e->ctx) - c->since;
}
