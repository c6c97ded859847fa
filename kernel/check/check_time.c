// SPDX-License-Identifier: GPL-2.0-only
/* Rules of time_enabled and time_running. */
#include <linux/hash.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>

#include "check.h"

/* An event's times at the last check; a hash slot, so another event may replace them */
struct seen {
	raw_spinlock_t seen_lock;
	const struct kpmu_event *event;
	u64 enabled;
	u64 running;
};

#define SEEN_BITS	9

static struct seen seen[1 << SEEN_BITS];

static struct seen *seen_of(const struct kpmu_event *e)
{
	return &seen[hash_ptr(e, SEEN_BITS)];
}

/**
 * check_times_forget() - forget the times of an event that leaves its context
 * @e: the event
 *
 * They must not be compared with those of a later event at the same address.
 *
 * Context: IRQs off, the context's owner.
 */
void check_times_forget(const struct kpmu_event *e)
{
	struct seen *s = seen_of(e);

	raw_spin_lock(&s->seen_lock);
	if (s->event == e)
		s->event = NULL;
	raw_spin_unlock(&s->seen_lock);
}

/**
 * check_times_init() - initialise the locks
 *
 * Context: module init.
 */
void __init check_times_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(seen); i++)
		raw_spin_lock_init(&seen[i].seen_lock);
}

static bool running_within_enabled(struct check_state *l)
{
	const struct kpmu_clock *c = &l->e->se.clock;

	return c->running <= c->enabled && (c->is_enabled || !c->is_running);
}

static bool since_is_past(struct check_state *l)
{
	return l->e->se.clock.since <= l->ctx->time;
}

static bool follows_state(struct check_state *l)
{
	const struct kpmu_clock *c = &l->e->se.clock;
	bool on = kpmu_is_enabled(&l->e->se);

	return c->is_enabled == on &&
	       c->is_running == (on && l->leader->se.group.placed);
}

static bool times_increase(struct check_state *l)
{
	const struct kpmu_clock *c = &l->e->se.clock;
	struct kpmu_times t = kpmu_times_at(c, l->ctx->time);
	struct seen *s = seen_of(l->e);
	bool ok = true;

	if (!l->e->se.attached)
		return true;
	raw_spin_lock(&s->seen_lock);
	if (s->event == l->e)
		ok = t.enabled >= s->enabled && t.running >= s->running;
	s->event = l->e;
	s->enabled = t.enabled;
	s->running = t.running;
	raw_spin_unlock(&s->seen_lock);
	return ok;
}

struct check_rule check_time_rules[] = {
	{ "time-order", running_within_enabled },
	{ "time-since", since_is_past },
	{ "time-state", follows_state },
	{ "time-back", times_increase },
	{ }
};
