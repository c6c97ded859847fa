/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations shared by the sources other than the CPU's counters. */
#ifndef KPMU_SOURCES_H
#define KPMU_SOURCES_H

#include "source.h"

extern struct kpmu_source kpmu_cpu_clock;
extern struct kpmu_source kpmu_task_clock;
extern const struct kpmu_source kpmu_software;
extern const struct kpmu_source kpmu_tracepoint;
extern const struct kpmu_source kpmu_kprobe;
extern const struct kpmu_source kpmu_uprobe;
extern const struct kpmu_source kpmu_breakpoint;
extern const struct kpmu_source kpmu_fault_trace;

/* Callback that counts hits; set at init */
extern kpmu_hit_fn kpmu_source_hit;

/* faults.c */
void kpmu_faults_init(void);
int kpmu_faults_get(struct kpmu_hw *hw, const char **why);
void kpmu_faults_put(struct kpmu_hw *hw);

/* source.c */
int kpmu_source_refuse(const struct kpmu_attr *attr, const char **why);

#endif
