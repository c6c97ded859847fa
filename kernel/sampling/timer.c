// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers of cpu-clock and task-clock events that sample, and of events that are polled.  The timer
 * of an event runs while the event does, and continues an unfinished period when the event is
 * scheduled in again.
 *
 * The timer belongs to the CPU on which the event's context is active.  It is started and
 * stopped there with IRQs off, so its handler never runs at the same time.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <asm/irq_regs.h>
#include <linux/timex.h>

#include "../compat/compat.h"
#include "../sched/sched.h"
#include "../source/drivers.h"
#include "../source/period.h"
#include "follow.h"
#include "rate.h"

/* Shortest period in ns: a shorter one might leave no CPU time for anything else */
#define SHORTEST	10000

/* Time until the next expiry, in ns */
static u64 timer_period(struct kpmu_event *e)
{
	const struct kpmu_source *source = e->se.hw.source;

	if (source->ahead)
		return clamp_t(u64, source->ahead(&e->se.hw), SHORTEST, NSEC_PER_SEC);
	return max_t(u64, e->se.hw.period, SHORTEST);
}

static bool report_expiry(struct kpmu_event *e, struct kpmu_hit *hit)
{
	if (!hit->regs || kpmu_hit_excluded(e, hit->regs))
		return false;
	if (e->se.flags & KPMU_ATTR_EXCLUDE_IDLE && is_idle_task(current))
		return false;
	return kpmu_overflow(&e->se.hw, hit);
}

/* An event that is polled.  If several periods have passed, they are one overflow */
static noinline bool poll_event(struct kpmu_event *e, struct kpmu_hit *hit)
{
	struct kpmu_hw *hw = &e->se.hw;
	u64 count = hw->source->read(hw);
	bool halt;

	if (kpmu_period_left(hw, count) > 0)
		return false;
	hit->period = hw->period + kpmu_period_skip(hw, count);
	halt = report_expiry(e, hit);
	kpmu_period_due(hw, hw->next + hw->period);
	return halt;
}

/* Return: true if the event has to be halted */
static bool overflow_by_timer(struct kpmu_event *e)
{
	struct kpmu_hit hit = { .regs = get_irq_regs(), .period = e->se.hw.period };

	if (unlikely(e->se.hw.source->ahead))
		return poll_event(e, &hit);
	return report_expiry(e, &hit);
}

/* Maximum number of late expiries in a row */
#define MAX_LATE	8

/*
 * Set the next expiry.  If the period is shorter than a timer interrupt takes here, there
 * would be no forward progress: after MAX_LATE late expiries the next one is a tick later.
 */
static void forward_timer(struct kpmu_timer *t, u64 ns)
{
	if (hrtimer_forward_now(&t->timer, ns_to_ktime(ns)) < 2) {
		t->late = 0;
	} else if (++t->late == MAX_LATE) {
		t->late = 0;
		hrtimer_set_expires(&t->timer, ktime_add_ns(ktime_get(), TICK_NSEC));
	}
}

static enum hrtimer_restart timer_expired(struct hrtimer *timer)
{
	struct kpmu_timer *t = container_of(timer, struct kpmu_timer, timer);
	struct kpmu_event *e = t->event;
	u64 began = get_cycles();
	u32 pause = kpmu_rate_spent(e);
	bool halted = pause || overflow_by_timer(e);

	/* Account excluded overflows too: they take CPU time just the same */
	if (!pause)
		halted |= kpmu_rate_took_timer(e, began);
	if (halted && kpmu_hw_is_driven(&e->se.hw))
		kpmu_drivers_halt(&e->se.hw);
	if (halted)
		kpmu_counters_update();
	/* REFRESH has run out: the next REFRESH starts the timer again */
	if (e->sampling->stopped) {
		t->on = false;
		return HRTIMER_NORESTART;
	}
	forward_timer(t, halted ? max(pause, 1U) * TICK_NSEC : timer_period(e));
	return HRTIMER_RESTART;
}

/**
 * kpmu_timer_init() - initialize the timer of a clock event or polled event that samples
 * @e: the event
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_timer_init(struct kpmu_event *e)
{
	struct kpmu_timer *t = &e->sampling->timer;

	t->event = e;
	kpmu_hrtimer_setup(&t->timer, timer_expired, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_PINNED_HARD);
}

static void start_timer(struct kpmu_event *e)
{
	struct kpmu_timer *t = &e->sampling->timer;

	hrtimer_start(&t->timer, ns_to_ktime(t->left ?: timer_period(e)),
		      HRTIMER_MODE_REL_PINNED_HARD);
	t->left = 0;
	t->on = true;
}

static void stop_timer(struct kpmu_event *e)
{
	struct kpmu_timer *t = &e->sampling->timer;
	s64 left = ktime_to_ns(hrtimer_get_remaining(&t->timer));

	hrtimer_try_to_cancel(&t->timer);
	t->left = 0;
	if (!e->se.hw.source->ahead)
		t->left = left > 0 ? left : SHORTEST;
	t->on = false;
}

/**
 * kpmu_timer_run() - start or stop the timer of an event
 * @e: the event
 * @run: the event counts from now on, and has not used up its REFRESH
 *
 * Context: the context's owner, on the CPU where it is active, IRQs off.
 */
void kpmu_timer_run(struct kpmu_event *e, bool run)
{
	if (run == e->sampling->timer.on)
		return;
	if (run)
		start_timer(e);
	else
		stop_timer(e);
}

/**
 * kpmu_timer_reset() - begin a new period after a change of the period
 * @e: the event
 *
 * Context: the context's owner, IRQs off; call kpmu_ctx_follow() afterwards.
 */
void kpmu_timer_reset(struct kpmu_event *e)
{
	if (e->sampling->timer.on)
		stop_timer(e);
	e->sampling->timer.left = 0;
}
