/* SPDX-License-Identifier: GPL-2.0-only */
/* The default events of perf stat, which bench programs open with inherit. */
#ifndef KPMU_BENCH_SET_H
#define KPMU_BENCH_SET_H

#include <stdint.h>
#include <unistd.h>

#include "event.h"
#include "ops.h"

/* In the order in which perf stat opens them: software events first */
static const struct {
	uint32_t type;
	uint64_t config;
} defaults[] = {
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
};

#define SET_NR	((int)ARRAY_SIZE(defaults))
#define NR_SW	4

static int fds[ARRAY_SIZE(defaults)];

/* The events from @first on: all with 0, only the hardware events with NR_SW */
static inline void open_set(int first)
{
	int i;

	for (i = first; i < SET_NR; i++) {
		struct perf_event_attr attr = counting(defaults[i].type,
						       defaults[i].config);

		attr.inherit = 1;
		attr.read_format = FORMAT_TIMES;
		fds[i] = ev_must(&attr, 0, -1, -1, 0);
	}
}

static inline void close_set(int first)
{
	int i;

	for (i = first; i < SET_NR; i++)
		close(fds[i]);
}

#endif
