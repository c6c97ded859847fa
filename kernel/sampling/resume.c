// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each tick, or earlier: resume throttled events.  Each tick: adjust events that do not overflow
 * because their period has become too long.
 */
#include "../sched/sched.h"
#include "../source/drivers.h"
#include "rate.h"

static void resume_counter(struct kpmu_event *e)
{
	if (!e->sampling || !e->sampling->stopped)
		kpmu_counter_resume(&e->se.hw);
}

static void resume_events(struct kpmu_event *leader)
{
	struct kpmu_event *e;

	kpmu_rate_resume(leader);
	kpmu_for_each_member(e, leader)
		kpmu_rate_resume(e);
}

/**
 * kpmu_rate_resume_group() - resume a group that is throttled
 * @leader: its leader; see kpmu_rate_is_halted()
 *
 * The counters restart together, after the records are written: the counts of the group cover the
 * same time, and no overflow of one event throttles the group before the others have resumed.  (One that
 * was enabled meanwhile, and counts, may do so: then the group counts until its next overflow.)
 *
 * Context: IRQs off on the CPU where the group counts.
 */
void kpmu_rate_resume_group(struct kpmu_event *leader)
{
	struct kpmu_event *e;

	resume_events(leader);
	resume_counter(leader);
	kpmu_for_each_member(e, leader)
		resume_counter(e);
	kpmu_counters_restart();
}

/* Return: true if the event needs the timer for its frequency */
static bool tick_event(struct kpmu_event *e)
{
	if (!e->sampling || !e->sampling->freq)
		return false;
	if (e->se.hw.idx >= 0)
		kpmu_rate_look(e);
	return true;
}

static bool tick_group(struct kpmu_event *leader)
{
	struct kpmu_event *e;
	bool more;

	if (unlikely(kpmu_rate_is_halted(leader)))
		kpmu_rate_resume_group(leader);
	else	/* one that was throttled when it left its counters */
		resume_events(leader);
	more = tick_event(leader);
	kpmu_for_each_member(e, leader)
		more |= tick_event(e);
	return more;
}

static bool tick_all(void)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	bool more = false;
	int i;

	if (!kc->applied)
		return false;
	for (i = 0; i < kc->applied->nr; i++)
		more |= tick_group(kpmu_event_of(kc->applied->groups[i]));
	return more;
}

/**
 * kpmu_rates_init() - initialize the timers and limits
 *
 * Context: module init.
 */
void __init kpmu_rates_init(void)
{
	kpmu_tickers_init(tick_all);
	kpmu_rate_limits();
}

/**
 * kpmu_rates_exit() - stop the timers
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_rates_exit(void)
{
	kpmu_tickers_exit();
}
