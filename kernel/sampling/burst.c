// SPDX-License-Identifier: GPL-2.0-only
/*
 * One hit may cause many overflows, of one event or of thousands, and each may have a filter.
 * The time for all but the first is limited, like the time for overflows from interrupts.
 */
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/math64.h>

#include "../sched/sched.h"
#include "fair.h"
#include "rate.h"

/**
 * struct burst - further overflows of hits on one CPU
 * @window: the tick that @spent refers to, in jiffies
 * @spent: TSC cycles spent on them in that tick
 * @after: no such overflows before this tick (jiffies)
 * @filter_took: TSC cycles of each of the last three filters
 * @sample_took: TSC cycles of each of the last three samples after the first ones of a hit
 */
struct burst {
	unsigned long window;
	u64 spent;
	unsigned long after;
	u64 filter_took[3];
	u64 sample_took[3];
};

static DEFINE_PER_CPU(struct burst, burst);

/* Maximum duration of one hit in ticks, whatever perf_event_max_sample_rate allows */
#define LONGEST_BURST	64

/**
 * kpmu_rate_burst() - begin the further overflows of a hit that causes several
 * @e: the event
 *
 * The limit per tick is for each event, and there may be many: all of them together may
 * not take more time than the overflows from interrupts.
 *
 * Context: IRQs off on the CPU where the event counts, or NMI.
 * Return: the time they may take, in TSC cycles; 0 if the event is throttled instead.
 */
u64 kpmu_rate_burst(struct kpmu_event *e)
{
	struct burst *r = this_cpu_ptr(&burst);

	if (likely(time_after_eq(READ_ONCE(jiffies), r->after)))
		return LONGEST_BURST * kpmu_tick_cycles();
	kpmu_rate_exceeded(e);
	kpmu_rate_pause(e, r->after - 1);
	kpmu_counters_update();
	return 0;
}
NOKPROBE_SYMBOL(kpmu_rate_burst);

/**
 * kpmu_rate_burst_took() - account the time of the further overflows of a hit
 * @e: the event
 * @cycles: their duration, in TSC cycles
 *
 * If they took several times their share of a tick, none are allowed for as many ticks.
 *
 * Context: as kpmu_rate_burst().
 */
void kpmu_rate_burst_took(struct kpmu_event *e, u64 cycles)
{
	struct burst *r = this_cpu_ptr(&burst);
	unsigned long now = READ_ONCE(jiffies);
	u64 limit = clamp_t(u64, READ_ONCE(kpmu_rate_share), 1, kpmu_tick_cycles());

	if (r->window != now) {
		r->window = now;
		r->spent = 0;
	}
	r->spent += cycles;
	if (r->spent > limit)
		r->after = now + 1 + div64_u64(r->spent, limit);
	if (!e->sampling->throttled)
		return;
	kpmu_rate_pause(e, time_before(now, r->after) ? r->after - 1 : now);
	kpmu_counters_update();
}
NOKPROBE_SYMBOL(kpmu_rate_burst_took);

/**
 * kpmu_rate_of_filter() - the time to account for a filter
 * @cycles: TSC cycles measured, which include time that the host took from the CPU
 *
 * Context: IRQs off, or NMI.
 * Return: TSC cycles.
 */
u64 kpmu_rate_of_filter(u64 cycles)
{
	return kpmu_charge(this_cpu_ptr(&burst)->filter_took, cycles, kpmu_tick_cycles() / 4);
}
NOKPROBE_SYMBOL(kpmu_rate_of_filter);

/**
 * kpmu_rate_sample_took() - account the time of a sample after the first ones of a hit
 * @e: the event
 * @cycles: TSC cycles measured, which include time that the host took from the CPU
 *
 * Context: as kpmu_rate_burst().
 */
void kpmu_rate_sample_took(struct kpmu_event *e, u64 cycles)
{
	struct burst *r = this_cpu_ptr(&burst);

	kpmu_rate_burst_took(e, kpmu_charge(r->sample_took, cycles,
				       min(READ_ONCE(kpmu_rate_share), kpmu_tick_cycles())));
}
NOKPROBE_SYMBOL(kpmu_rate_sample_took);
