/* SPDX-License-Identifier: GPL-2.0-only */
/* MSRs, read through /dev/cpu. */
#ifndef MSR_H
#define MSR_H

#include <stdbool.h>
#include <stdint.h>

#define MSR_MAX_CPUS	16

#define MSR_PERF_CAPABILITIES	0x345	/* Intel SDM vol. 3, 20.8: bits 11:8 are the format of PEBS */

/* False if the CPU does not have the MSR, or the kernel no device for it */
bool msr_read(int cpu, uint32_t msr, uint64_t *value);

#endif
