/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The period of an event with a frequency, as pure functions: no kernel services, also built and
 * tested in user space.
 */
#ifndef KPMU_IDEAL_H
#define KPMU_IDEAL_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#else
#include "shim.h"
#endif

/* Maximum period that is set for a frequency, in events */
#define KPMU_LONGEST_PERIOD	(S64_MAX / 16)

/**
 * kpmu_ideal_period() - the period that gives a frequency if the event occurs evenly
 * @freq: overflows per second, in Hz, not 0
 * @events: number of events that occurred
 * @ns: time in which they occurred, in ns, not 0 and at most a few ticks
 *
 * Context: any.
 * Return: events from one overflow to the next, rounded down.
 */
static inline u64 kpmu_ideal_period(u32 freq, u64 events, u64 ns)
{
	int shift = fls64(events) > 33 ? fls64(events) - 33 : 0;

	/* The product is less than 2^33 * 2^30: no overflow */
	return div64_u64((events >> shift) * NSEC_PER_SEC, ns * freq) << shift;
}

/**
 * kpmu_next_period() - the period after an interval that was observed with an older one
 * @old: the period so far, in events, at least 1
 * @freq: as kpmu_ideal_period()
 * @events: as kpmu_ideal_period()
 * @ns: as kpmu_ideal_period()
 *
 * The period changes by half of the distance to the ideal, to limit the effect of a single odd
 * interval.  The ideal is first clamped to between half and 8 times the old period.
 *
 * Context: any.
 * Return: the new period, in events, from 1 to KPMU_LONGEST_PERIOD.
 */
static inline u64 kpmu_next_period(u64 old, u32 freq, u64 events, u64 ns)
{
	u64 new = kpmu_ideal_period(freq, events, ns), period;

	new = clamp(new, old / 2, old * 8);
	period = old + (s64)(new - old) / 2;
	/* Halving would stick at period 1 */
	if (period == old && new > old)
		period++;
	return clamp_t(u64, period, 1, KPMU_LONGEST_PERIOD);
}

#endif
