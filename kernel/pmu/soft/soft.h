/* SPDX-License-Identifier: GPL-2.0-only */
/* Sources that need no hardware: clocks, switches, faults. */
#ifndef KPMU_SOFT_H
#define KPMU_SOFT_H

#include <linux/percpu-defs.h>

#include "../../source/source.h"

struct seq_file;

extern struct kpmu_source kpmu_cpu_clock;
extern struct kpmu_source kpmu_task_clock;
extern const struct kpmu_source kpmu_software;
extern const struct kpmu_source kpmu_fault_trace;

/* switches.c */

/* Task switches of each CPU since the hook was attached; written by the hook */
DECLARE_PER_CPU(u64, kpmu_nr_switches);

/* Number of events that are told of each switch; if 0, kpmu_software_switch() need not be called */
extern atomic_t kpmu_software_switches;

void kpmu_switches_init(struct kpmu_hw *hw, u64 config);
void kpmu_switches_get(struct kpmu_hw *hw, const struct kpmu_target *target);
void kpmu_switches_put(struct kpmu_hw *hw);

/**
 * kpmu_software_switch() - report a task switch to the events that count switches
 * @prev: the outgoing task, whose events are still active
 * @next: the incoming task
 *
 * Context: under the run-queue lock, IRQs off.
 */
void kpmu_software_switch(struct task_struct *prev, struct task_struct *next);

/* caller.c */

/**
 * kpmu_software_told_by() - set the tracepoint iterator that calls kpmu at a switch
 * @iterator: the tracepoint's function that calls several probes in turn; the scheduler
 *	calls a single probe directly
 *
 * Context: module init, before the first event.
 */
void kpmu_software_told_by(const void *iterator);
void soft_find_caller(struct pt_regs *regs);

/* faults.c */
void kpmu_faults_init(void);
void kpmu_faults_exit(void);
void kpmu_faults_show(struct seq_file *m);
int kpmu_faults_get(struct kpmu_hw *hw, const char **why);
void kpmu_faults_put(struct kpmu_hw *hw);

#endif
