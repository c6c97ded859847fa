/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's conversion of the time stamp counter to local_clock(). */
#ifndef KPMU_TSC_H
#define KPMU_TSC_H

#include <linux/types.h>
#include <asm/tsc.h>

/**
 * struct kpmu_tsc - conversion: local_clock() is (TSC * @mult >> @shift) + @zero
 * @mult: multiplier
 * @shift: bits to shift the product right
 * @zero: offset, ns
 */
struct kpmu_tsc {
	u32 mult;
	u32 shift;
	u64 zero;
};

const struct kpmu_tsc *kpmu_tsc_get(void);
void kpmu_tsc_forget(void);

/**
 * kpmu_cycles_khz() - rate of get_cycles()
 *
 * Context: any.
 * Return: the rate in kHz, 0 if it is not known.
 */
static __always_inline u32 kpmu_cycles_khz(void)
{
	return tsc_khz;
}

#endif
