/* SPDX-License-Identifier: GPL-2.0-only */
/* Breakpoint events. */
#ifndef KPMU_TEST_BREAKPOINT_H
#define KPMU_TEST_BREAKPOINT_H

#include <linux/hw_breakpoint.h>

#include "event.h"

/* Writes to the 8 bytes at @addr, disabled */
static inline struct perf_event_attr bp_at(const volatile void *addr)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_BREAKPOINT, 0);

	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (uintptr_t)addr;
	a.bp_len = HW_BREAKPOINT_LEN_8;
	return a;
}

#endif
