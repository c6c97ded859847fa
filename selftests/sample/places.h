/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An event that counts kernel instructions overflows a given number of them after it is enabled: for each
 * number from FIRST to LAST, at another instruction of what the kernel does then.
 */
#ifndef KPMU_TEST_PLACES_H
#define KPMU_TEST_PLACES_H

#include "event.h"

#define FIRST	100
#define LAST	6000

static inline struct perf_event_attr kernel_insns(uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.exclude_kernel = 0;
	a.exclude_user = 1;
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP;
	return a;
}

#endif
