/* SPDX-License-Identifier: GPL-2.0-only */
/* Breakpoints in the debug registers, without an event in a context of the kernel's perf. */
#ifndef KPMU_WATCH_H
#define KPMU_WATCH_H

#include <linux/perf_event.h>
#include <linux/types.h>

struct kpmu_watch;
struct task_struct;

bool kpmu_watch_possible(void);
struct kpmu_watch *kpmu_watch_new(const struct perf_event_attr *attr, struct task_struct *task, int cpu,
				  perf_overflow_handler_t hit, void *arg);
void kpmu_watch_free(struct kpmu_watch *w);
void kpmu_watch_arm(struct kpmu_watch *w);
void kpmu_watch_disarm(struct kpmu_watch *w);
int kpmu_watch_move(struct kpmu_watch *w, u64 addr, u32 type, u64 len);

#endif
