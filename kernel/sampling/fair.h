/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations that are charged, in get_cycles(); also built in user space, except the last function. */
#ifndef KPMU_FAIR_H
#define KPMU_FAIR_H

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/minmax.h>

#include "../compat/tsc.h"
#else
#include "shim.h"
#endif

/**
 * kpmu_fair() - limit a measured duration to the median of the three before it
 * @before: the last three durations, oldest first; @took is appended
 * @took: the duration, in TSC cycles
 *
 * The TSC keeps counting while a hypervisor has preempted this CPU, but the work of a
 * handler is about the same each time.
 *
 * Context: any, preemption off; @before is per-CPU data.
 * Return: the duration to account, in TSC cycles.
 */
static __always_inline u64 kpmu_fair(u64 before[3], u64 took)
{
	u64 a = before[0], b = before[1], c = before[2];

	before[0] = b;
	before[1] = c;
	before[2] = took;
	return min(took, max(min(a, b), min(max(a, b), c)));
}

/**
 * kpmu_charge() - kpmu_fair() where the work differs each time
 * @before: the last three durations, oldest first; @took is appended
 * @took: the duration, in TSC cycles
 * @limit: maximum time for such work, in TSC cycles
 *
 * A user may choose the order of cheap and expensive work.  Cheap work must not hide the
 * duration of expensive work that follows, so up to a quarter of @limit is accounted in
 * any case.
 *
 * Context: any, preemption off; @before is per-CPU data.
 * Return: the duration to account, in TSC cycles.
 */
static __always_inline u64 kpmu_charge(u64 before[3], u64 took, u64 limit)
{
	return min(took, max(kpmu_fair(before, took), limit / 4));
}

#ifdef __KERNEL__
/**
 * kpmu_tick_cycles() - length of a tick
 *
 * Context: any.
 * Return: TSC cycles; 1 if the rate of the TSC is not known.
 */
static __always_inline u64 kpmu_tick_cycles(void)
{
	return max_t(u64, div_u64((u64)kpmu_cycles_khz() * MSEC_PER_SEC, HZ), 1);
}
#endif

#endif
