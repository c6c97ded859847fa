/* SPDX-License-Identifier: GPL-2.0-only */
/* Sources that need no hardware: clocks, switches, faults. */
#ifndef KPMU_SOFT_H
#define KPMU_SOFT_H

#include "../../source/source.h"

struct seq_file;

extern struct kpmu_source kpmu_cpu_clock;
extern struct kpmu_source kpmu_task_clock;
extern const struct kpmu_source kpmu_software;
extern const struct kpmu_source kpmu_fault_trace;

/* caller.c */
void soft_find_caller(struct pt_regs *regs);

/* faults.c */
void kpmu_faults_init(void);
void kpmu_faults_exit(void);
void kpmu_faults_show(struct seq_file *m);
int kpmu_faults_get(struct kpmu_hw *hw, const char **why);
void kpmu_faults_put(struct kpmu_hw *hw);

#endif
