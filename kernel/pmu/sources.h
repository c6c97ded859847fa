/* SPDX-License-Identifier: GPL-2.0-only */
/* The sources beside the counters, and what their files share. */
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

/* Who counts hits; set at init */
extern kpmu_hit_fn kpmu_source_hit;

/* faults.c */
void kpmu_faults_init(void);
int kpmu_faults_get(struct kpmu_hw *hw, const char **why);
void kpmu_faults_put(struct kpmu_hw *hw);

/* What no source without counters can do */
int kpmu_source_refuse(const struct kpmu_attr *attr, const char **why);

#endif
