/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For test programs that use only perf_event_open(2), like existing programs, and contain nothing
 * specific to kpmu.  They print their counts.
 */
#ifndef KPMU_CLIENT_H
#define KPMU_CLIENT_H

#include <linux/perf_event.h>
#include <stdint.h>

/* See lib/event.h */
void work_counted(int fd, uint64_t n, unsigned long flag);

/* Defined by the linker: address at which the start of the file is mapped */
extern char __executable_start[];

static inline struct perf_event_attr client_attr(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr) {
		.type = type, .size = sizeof(struct perf_event_attr),
		.config = config, .disabled = 1, .exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

#endif
