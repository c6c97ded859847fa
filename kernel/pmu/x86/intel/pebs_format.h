/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of precise events in memory: of formats 2 and 3, and the groups of format 4.  SDM volume 3,
 * "PEBS Record Format", "Adaptive PEBS Record Format".
 */
#ifndef KPMU_INTEL_PEBS_FORMAT_H
#define KPMU_INTEL_PEBS_FORMAT_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <asm/intel_ds.h>

struct gprs {
	u64 flags, ip, ax, cx, dx, bx, sp, bp, si, di, r8, r9, r10, r11, r12, r13, r14, r15;
};

/* Format 2 is the same without @tsc */
struct record_3 {
	u64 flags, ip, ax, bx, cx, dx, si, di, bp, sp, r8, r9, r10, r11, r12, r13, r14, r15;
	u64 counters, address, source, latency, event_ip, tsx, tsc;
};

struct basic_4 {
	u64 format;		/* groups in 31:0, size of the record in 63:48 */
	u64 event_ip;
	u64 counters;
	u64 tsc;
};

struct memory_4 {
	u64 address, source, latency, tsx;
};

#define XMM_SIZE	256

#define SIZE_2		offsetof(struct record_3, tsc)

/* Each record of format 2 can be read as one of format 3 */
static_assert(PEBS_BUFFER_SIZE % SIZE_2 >= sizeof(u64));

static_assert(sizeof(struct record_3) == 200 && sizeof(struct gprs) == 144);

#endif
