// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frequencies: the period of an event with a frequency is adjusted at each overflow, and by a
 * timer while its period is too long to overflow.  perf_event_open(2), sample_freq.
 */
#include <linux/jiffies.h>
#include <linux/kprobes.h>

#include "../sched/sched.h"
#include "../source/period.h"
#include "ideal.h"
#include "rate.h"

static void adjust_period(struct kpmu_event *e, u64 events, u64 ns)
{
	kpmu_period_change(&e->se.hw, kpmu_next_period(e->se.hw.period, e->sampling->freq,
						       events, ns));
}

/* A period shorter than this may be over within one interrupt, in events */
#define TINY	1024

/*
 * Most of the time since the previous overflow was spent on handling it.  A shorter period
 * would not give more overflows, but leave less time for everything else.
 */
static bool is_crowded(const struct kpmu_event *e, u64 period, u64 ns)
{
	return e->se.hw.source->nmi && period < TINY &&
	       ns < 2 * kpmu_rate_handler_ns();
}

/**
 * kpmu_rate_adjust() - adjust an event's period to its frequency after an overflow
 * @e: the event, with a frequency
 * @events: number of events since the previous overflow
 *
 * Uses the time of the event's context, so the sleep of a task does not count.
 *
 * Context: NMI, or IRQs off on the CPU where the event counts.
 */
void kpmu_rate_adjust(struct kpmu_event *e, u64 events)
{
	struct kpmu_sampling *s = e->sampling;
	u64 now = kpmu_ctx_now(e->se.ctx), ns = now - s->seen, old = e->se.hw.period;

	s->seen = now;
	/* A long interval says nothing about the rate; the timer adjusts such events */
	if (ns && ns < 2 * TICK_NSEC)
		adjust_period(e, events, ns);
	if (unlikely(is_crowded(e, old, ns)))
		kpmu_period_change(&e->se.hw, clamp_t(u64, 2 * old, e->se.hw.period,
						      KPMU_LONGEST_PERIOD));
}
NOKPROBE_SYMBOL(kpmu_rate_adjust);

/**
 * kpmu_rate_look() - adjust the period of an event that has counted for a tick without an overflow
 * @e: the event, with a frequency and a counter
 *
 * Context: hard IRQ, on the CPU where the event counts.
 */
void kpmu_rate_look(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;
	u64 now = kpmu_ctx_now(e->se.ctx), ns = now - s->examined;
	u64 count = kpmu_event_count(e), events = count - s->counted;

	s->examined = now;
	s->counted = count;
	if (now - s->seen < TICK_NSEC || !events || !ns || ns > 8 * TICK_NSEC)
		return;
	adjust_period(e, events, ns);
	if ((s64)(e->se.hw.next - count) > 2 * (s64)e->se.hw.period)
		e->se.hw.source->set_period(&e->se.hw, e->se.hw.period);
}
