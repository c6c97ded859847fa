/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Precise events of Intel CPUs (PEBS).  SDM volume 3, "Processor Event Based Sampling (PEBS)
 * Facility", "Adaptive PEBS" and "Debug Store (DS) Mechanism".
 */
#ifndef KPMU_INTEL_PEBS_H
#define KPMU_INTEL_PEBS_H

#include <asm/intel_ds.h>

#include "../precise.h"

/* Groups of a record of format 4, as in PEBS_DATA_CFG.  With format 3: what an event needs */
#define PEBS_MEMORY		BIT(0)
#define PEBS_GPRS		BIT(1)
#define PEBS_XMM		BIT(2)
#define PEBS_BRANCHES		BIT(3)
#define PEBS_DEPTH_SHIFT	24

/* pebs_lost.c */
void intel_pebs_drain_vague(struct x86_cpu *c, struct pt_regs *regs);

/* pebs_record.c */
void intel_pebs_aim(struct kpmu_hw *hw, int idx, bool due);
struct debug_store *intel_ds(void);
u32 intel_pebs_size(u32 groups);
void intel_pebs_sync_clock(void);
bool intel_pebs_pending(void);
void intel_pebs_drain(struct x86_cpu *c, struct pt_regs *regs);

/* data_source.c */
u64 intel_data_source(enum x86_mem mem, u64 raw);
void intel_weights(struct kpmu_precise *to, enum x86_mem mem, u64 latency, u64 tsx);

#endif
