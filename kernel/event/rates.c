// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an event would have counted while it had no counter is not known.  But the rates in the turns that it
 * had say how wrong the estimate may be: as long as the rate between two turns is one that was seen in some
 * turn, the count is between two limits.
 *
 * Rates are noted of the events that KPMU_IOC_EXPLAIN was asked about, from the first time on.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "../sched/sched.h"
#include "rates.h"

#define RATE_SHIFT	32	/* of @least and @most */

/**
 * kpmu_rates_new() - allocate the rates of an event
 * @e: a root event, referenced
 *
 * Context: task, may sleep.
 * Return: what to pass to kpmu_rates_start(); NULL if the event needs none, or without memory.
 */
struct kpmu_rates *kpmu_rates_new(const struct kpmu_event *e)
{
	if (!kpmu_has_counter(&e->se) || kpmu_rates_of(e))
		return NULL;
	if (!static_branch_unlikely(&kpmu_turns_key))
		static_branch_enable(&kpmu_turns_key);
	return kzalloc(sizeof(struct kpmu_rates), GFP_KERNEL_ACCOUNT);
}

/**
 * kpmu_rates_start() - begin to note an event's rates
 * @e: the event, which has a counter and no rates
 * @r: from kpmu_rates_new(), not NULL
 * @running: its time counting, ns
 *
 * Context: owner of the event's context, IRQs off.
 */
void kpmu_rates_start(struct kpmu_event *e, struct kpmu_rates *r, u64 running)
{
	r->count = kpmu_event_count(e);
	r->running = running;
	WRITE_ONCE(e->rates, r);
}

static void note_turn(struct kpmu_event *e)
{
	struct kpmu_rates *r = kpmu_rates_of(e);
	u64 ran, counted, rate;

	if (!r)
		return;
	ran = e->se.clock.running - r->running;
	/* A short turn is joined with the next one: at its ends single events weigh too much */
	if (ran < kpmu_turn() / 2)
		return;
	counted = kpmu_event_count(e) - r->count;
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
 * kpmu_rates_turn() - .turn of struct kpmu_sched_ops: note the rates of a turn
 * @leader: the group's leader
 *
 * Context: see there.
 */
void kpmu_rates_turn(struct kpmu_entity *leader)
{
	struct kpmu_entity *e;

	note_turn(kpmu_event_of(leader));
	kpmu_for_each_in_group(e, leader)
		note_turn(kpmu_event_of(e));
}

/**
 * kpmu_rates_span() - between which limits is the count of all the time that an event was enabled?
 * @e: the event
 * @t: its times, ns
 * @count: its count
 * @low: set to the count if the rate without a counter was the least that was seen in a turn
 * @high: likewise with the greatest rate.  Both are @count if it had a counter all the time, and 0 if
 *	no turn is known
 *
 * Context: owner of the event's context.
 */
void kpmu_rates_span(const struct kpmu_event *e, struct kpmu_times t, u64 count, u64 *low,
		     u64 *high)
{
	const struct kpmu_rates *r = kpmu_rates_of(e);
	u64 gap = t.enabled - t.running;

	*low = gap ? 0 : count;
	*high = *low;
	if (!gap || !r || !r->turns)
		return;
	*low = count + mul_u64_u64_shr(gap, r->least, RATE_SHIFT);
	*high = count + mul_u64_u64_shr(gap, r->most, RATE_SHIFT);
}

/**
 * kpmu_rates_free() - free the rates of an event
 * @e: the event, in no context any more
 *
 * Context: task.
 */
void kpmu_rates_free(struct kpmu_event *e)
{
	kfree(kpmu_rates_of(e));
}
