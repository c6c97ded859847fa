/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recent lookups of tasks' contexts.  A CPU often switches between the same tasks, so it keeps
 * the results of its last lookups.
 */
#ifndef KPMU_RECENT_H
#define KPMU_RECENT_H

#include <linux/atomic.h>
#include <linux/rhashtable-types.h>

#include "sched.h"

/* Changes whenever a task gets a context, or a context leaves the hash */
extern atomic_long_t kpmu_ctx_epoch;
extern atomic_t kpmu_nr_contexts;
extern struct rhashtable kpmu_contexts;

/* find.c */
int kpmu_walk_begin(void);
bool kpmu_walk_end(int ended);

struct kpmu_ctx *kpmu_ctx_look_up(struct kpmu_cpu *kc, struct task_struct *task);

/**
 * kpmu_recent_of() - where a CPU keeps the lookup of a task's context
 * @kc: the CPU
 * @task: the task
 *
 * Context: any.
 * Return: the place, which may have the lookup of another task.
 */
static inline struct kpmu_recent *kpmu_recent_of(struct kpmu_cpu *kc,
						 const struct task_struct *task)
{
	return &kc->recent[hash_long((unsigned long)task, KPMU_RECENT_SHIFT)];
}

/**
 * kpmu_ctx_of_next() - the context of the next task at a switch: usually without a lookup
 * @kc: this CPU
 * @task: the task
 *
 * A context that is valid here cannot be freed before IRQs are on again: it leaves the hash
 * and changes the epoch first, and a grace period passes between.
 *
 * Context: IRQs off, which bounds the lifetime of the result.
 * Return: the context, or NULL.
 */
static __always_inline struct kpmu_ctx *kpmu_ctx_of_next(struct kpmu_cpu *kc,
							 struct task_struct *task)
{
	const struct kpmu_recent *r = kpmu_recent_of(kc, task);

	if (likely(r->task == task && r->epoch == atomic_long_read(&kpmu_ctx_epoch)))
		return r->ctx;
	return kpmu_ctx_look_up(kc, task);
}

/**
 * kpmu_switch_matters() - may a task switch on this CPU concern a context?
 *
 * Inline, for the hook of the task switch: with events of CPUs only, no switch does.  A context of
 * a task is counted before its creator looks where the task runs, and the barrier of the switch
 * pairs with that of ctxs_changed(): one of both sees the other.
 *
 * Context: IRQs off.
 * Return: false if no task or cgroup has a context, and none is active here: kpmu_switch() would
 * do nothing.
 */
static __always_inline bool kpmu_switch_matters(void)
{
	return atomic_read(&kpmu_nr_contexts) || this_cpu_read(kpmu_cpu.task) ||
		this_cpu_read(kpmu_cpu.watch) ||
		static_branch_unlikely(&kpmu_branches_key.key);
}

#endif
