// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each tick: resume throttled events, and adjust events that do not overflow because their
 * period has become too long.
 */
#include "../sched/sched.h"
#include "../source/drivers.h"
#include "rate.h"

/* Return: true if the event needs the timer for its frequency */
static bool tick_event(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	if (!s || !s->stopped)
		kpmu_counter_resume(&e->se.hw);
	if (!s)
		return false;
	kpmu_rate_resume(e);
	if (!s->freq)
		return false;
	if (e->se.hw.idx >= 0)
		kpmu_rate_look(e);
	return true;
}

static bool tick_group(struct kpmu_event *leader)
{
	struct kpmu_event *e;
	bool more = tick_event(leader);

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
