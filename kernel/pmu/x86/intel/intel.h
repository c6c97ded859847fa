/* SPDX-License-Identifier: GPL-2.0-only */
/* The core PMU of Intel CPUs. */
#ifndef KPMU_INTEL_H
#define KPMU_INTEL_H

#include "../x86.h"

extern const struct x86_model *const intel_models[];
extern const struct x86_model intel_generic;
extern const struct kpmu_core intel_core;

int intel_detect(void);
bool intel_msr_holds(u32 msr, u64 bits);
void intel_detect_lbr(u64 caps);
void intel_detect_pebs(u64 caps);
void intel_smi_online(void);
int intel_freeze_on_smi_set(unsigned long val);
int intel_freeze_on_smi_get(void);
void intel_smi_exit(void);

#endif
