/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AMD's instruction-based sampling.  The samplers count the kernel, too, so how many samples a
 * piece of code gets depends on the kernel.  What each of them says does not.
 */
#ifndef KPMU_TEST_IBS_H
#define KPMU_TEST_IBS_H

#include "precise.h"

#define CNT_CTL		(1ULL << 19)	/* count ops, not cycles */
#define SWFILT		1		/* config2 */
/* Period: a multiple of 16, and more than the way back from the interrupt, which counts, too */
#define OPS		1600

static inline uint32_t ibs_type(const char *pmu)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/%s/type",
		 route_is_native() ? "event_source" : "kpmu", pmu);
	return access(path, R_OK) ? 0 : read_long(path);
}

/* Does the PMU have a file in sysfs, e.g. "format/swfilt"? */
static inline bool ibs_has(const char *pmu, const char *file)
{
	char path[120];

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/%s/%s",
		 route_is_native() ? "event_source" : "kpmu", pmu, file);
	return !access(path, R_OK);
}

static inline struct perf_event_attr ibs_attr(const char *pmu, uint64_t config, uint64_t period)
{
	struct perf_event_attr a = ev_attr(ibs_type(pmu), config);

	no_throttle();
	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP;
	return a;
}

/* Kernels before 6.2 count for CPUs only; kpmu is as newer ones */
static inline bool ibs_for_tasks(void)
{
	struct perf_event_attr a = ibs_attr("ibs_op", CNT_CTL, OPS);

	return !ev_errno(&a, 0, -1, -1, 0);
}

#define MUST_HAVE_IBS		must_have(0x80000001, 1U << 10, 0)

#define NEED_IBS() do {							\
	if (MUST_HAVE_IBS)						\
		break;							\
	if (!ibs_type("ibs_op"))					\
		SKIP(return, "this CPU has no instruction-based sampling"); \
	if (!ibs_for_tasks())						\
		SKIP(return, "this kernel has no such events of tasks");	\
} while (0)

static inline bool in_row(uint64_t ip)
{
	return ip >= nth_inc(1) && ip < nth_inc(N + 1);
}

#endif
