/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 1: read a counter.  Documentation/labs/1.rst */
#ifndef LAB_1_H
#define LAB_1_H

#include "kernel.h"

/**
 * struct pmu_info - what CPUID tells about the PMU
 * @version: of the architectural PMU
 * @counters: number of general counters
 * @width: bits of a general counter
 * @fixed: number of fixed counters
 */
struct pmu_info {
	u32 version;
	u32 counters;
	u32 width;
	u32 fixed;
};

void pmu_identify(struct pmu_info *info);
void counter_setup(u32 n, u8 event, u8 umask, bool user, bool kernel);
u64 counter_read(u32 n);
void fixed_setup(u32 n, bool user, bool kernel);
u64 fixed_read(u32 n);

#endif
