// SPDX-License-Identifier: GPL-2.0-only
#include <asm/timer.h>

#include "ksym.h"
#include "tsc.h"

static bool returns_true(enum kpmu_ksym sym)
{
	return kpmu_ksym_has(sym) && (kpmu_ksym_call(sym, 0, 0, 0, 0) & 0xff);
}

/**
 * kpmu_tsc_get() - get the conversion from TSC to local_clock() on this CPU
 * @tsc: filled in
 *
 * Context: preemption off.
 * Return: false if local_clock() is not derived from the TSC alone, or if that
 * is unknown.
 */
bool kpmu_tsc_get(struct kpmu_tsc *tsc)
{
	const u64 *offset = kpmu_ksym_data(KSYM___sched_clock_offset);
	struct cyc2ns_data data;

	if (!offset || !kpmu_ksym_has(KSYM_cyc2ns_read_begin) ||
	    !kpmu_ksym_has(KSYM_cyc2ns_read_end) ||
	    !returns_true(KSYM_using_native_sched_clock) ||
	    !returns_true(KSYM_sched_clock_stable))
		return false;
	kpmu_ksym_call(KSYM_cyc2ns_read_begin, (unsigned long)&data, 0, 0, 0);
	tsc->mult = data.cyc2ns_mul;
	tsc->shift = data.cyc2ns_shift;
	tsc->zero = data.cyc2ns_offset + *offset;
	kpmu_ksym_call(KSYM_cyc2ns_read_end, 0, 0, 0, 0);
	return true;
}
