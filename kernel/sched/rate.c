// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast multiplexed events count.  What an event would have counted while it had no counter is not
 * known.  But the rates in the turns that it had say how much the estimate may be wrong: as long as the rate
 * between two turns is one that was seen in some turn, the count is between two limits.
 */
#include <linux/math64.h>

#include "sched.h"

#define RATE_SHIFT	32	/* see struct kpmu_rates */

/* At the end of a turn, the event's times up to date, its counter not yet in other hands */
static void note_rate(struct kpmu_entity *e)
{
	struct kpmu_rates *r = &e->rates;
	u64 ran = e->clock.running - r->running, counted, rate;

	/* A short turn is joined with the next one: at its ends single events weigh too much */
	if (!kpmu_has_counter(e) || ran < kpmu_turn() / 2)
		return;
	counted = e->hw.source->read(&e->hw) - r->count;
	r->count += counted;
	r->running += ran;
	if (r->reset) {
		r->reset = false;
		return;
	}
	/* No hardware counts so fast; the quotient below would not fit */
	if (counted >> (63 - RATE_SHIFT) >= ran)
		return;
	rate = mul_u64_u64_div_u64(counted, 1ULL << RATE_SHIFT, ran);
	r->least = r->turns ? min(r->least, rate) : rate;
	r->most = r->turns ? max(r->most, rate) : rate;
	r->turns++;
}

/**
 * kpmu_group_rates() - note how fast the events of a group counted in the turn that ends
 * @leader: its leader, no longer placed; its times are up to date
 *
 * Context: the context's owner, IRQs off; before the commit that takes its counters.
 */
void kpmu_group_rates(struct kpmu_entity *leader)
{
	struct kpmu_entity *e;

	note_rate(leader);
	kpmu_for_each_in_group(e, leader)
		note_rate(e);
}

/**
 * kpmu_rates_span() - between which limits is the count of all the time that an event was enabled?
 * @e: the event
 * @t: its times, ns
 * @count: its count
 * @low: set to the count if the rate without a counter was the least that was seen in a turn
 * @high: likewise with the greatest rate.  Both are @count if it had a counter all the time, and 0 if
 *	no turn has ended
 *
 * Context: owner of the event's context.
 */
void kpmu_rates_span(const struct kpmu_entity *e, struct kpmu_times t, u64 count, u64 *low,
		     u64 *high)
{
	u64 gap = t.enabled - t.running;
	bool known = !gap || e->rates.turns;

	*low = known ? count + mul_u64_u64_shr(gap, e->rates.least, RATE_SHIFT) : 0;
	*high = known ? count + mul_u64_u64_shr(gap, e->rates.most, RATE_SHIFT) : 0;
}
