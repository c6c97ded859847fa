/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast a multiplexed event counts in its turns on the counters. */
#ifndef KPMU_RATES_H
#define KPMU_RATES_H

#include "event.h"

/**
 * struct kpmu_rates - the rates of an event since it was first asked for them
 * @count: its count at the end of the last turn
 * @running: its time counting then, ns
 * @least: the least rate of a turn, in 2^-32 events a ns
 * @most: the greatest one
 * @turns: how many turns @least and @most are of
 * @reset: the count was reset after the end of the last turn
 */
struct kpmu_rates {
	u64 count;
	u64 running;
	u64 least;
	u64 most;
	u64 turns;
	bool reset;
};

/**
 * kpmu_rates_of() - the rates of an event
 * @e: the event
 *
 * Context: owner of the event's context; or any, to test for NULL.
 * Return: its rates; NULL if it has no counter, or was never asked for them.
 */
static inline struct kpmu_rates *kpmu_rates_of(const struct kpmu_event *e)
{
	return kpmu_has_counter(&e->se) ? READ_ONCE(e->rates) : NULL;
}

/**
 * kpmu_rates_reset() - the count is reset: there is no rate from before to after
 * @e: the event
 *
 * Context: owner of the event's context.
 */
static inline void kpmu_rates_reset(struct kpmu_event *e)
{
	struct kpmu_rates *r = kpmu_rates_of(e);

	if (unlikely(r))
		r->reset = true;
}

struct kpmu_rates *kpmu_rates_new(const struct kpmu_event *e);
void kpmu_rates_start(struct kpmu_event *e, struct kpmu_rates *r, u64 running);
void kpmu_rates_turn(struct kpmu_entity *leader);
void kpmu_rates_span(const struct kpmu_event *e, struct kpmu_times t, u64 count, u64 *low,
		     u64 *high);
void kpmu_rates_free(struct kpmu_event *e);

#endif
