/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations that are charged, in cycles of the TSC. */
#ifndef KPMU_FAIR_H
#define KPMU_FAIR_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <asm/tsc.h>

/*
 * The TSC keeps counting while a hypervisor has preempted this CPU.  As the work of a handler
 * is about the same each time, limit a duration to the median of the three before it.
 */
static __always_inline u64 kpmu_fair(u64 before[3], u64 took)
{
	u64 a = before[0], b = before[1], c = before[2];

	before[0] = b;
	before[1] = c;
	before[2] = took;
	return min(took, max(min(a, b), min(max(a, b), c)));
}

/*
 * The same where the work differs each time, and a user may choose its order: a cheap one before
 * must not hide what an expensive one took, so up to a quarter of @limit is charged.
 */
static __always_inline u64 kpmu_charge(u64 before[3], u64 took, u64 limit)
{
	return min(took, max(kpmu_fair(before, took), limit / 4));
}

/* The length of a tick, at least 1 */
static __always_inline u64 kpmu_tick_cycles(void)
{
	return max_t(u64, div_u64((u64)tsc_khz * MSEC_PER_SEC, HZ), 1);
}

#endif
