/* SPDX-License-Identifier: GPL-2.0-only */
/* How the kernel makes its clock of the time stamp counter. */
#ifndef KPMU_TSC_H
#define KPMU_TSC_H

#include <linux/types.h>

/**
 * struct kpmu_tsc - local_clock() is (TSC * @mult >> @shift) + @zero
 * @mult: multiplier
 * @shift: bits to shift the product right
 * @zero: what to add, in ns
 */
struct kpmu_tsc {
	u32 mult;
	u32 shift;
	u64 zero;
};

bool kpmu_tsc_get(struct kpmu_tsc *tsc);

#endif
