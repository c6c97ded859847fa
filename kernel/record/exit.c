// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is told of a task that leaves: EXIT, and READ for inherited events with
 * inherit_stat.  By then its events count no more, so no sample of it follows.
 */
#include <linux/cpumask.h>
#include <linux/smp.h>

#include "../sched/sched.h"
#include "sample.h"
#include "side.h"

static void exit_record(struct kpmu_event *e, void *task)
{
	kpmu_side_task(e, PERF_RECORD_EXIT, task);
}

static void read_record(struct kpmu_event *e, struct task_struct *task)
{
	u64 ids = kpmu_record_ids(e, task);
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, PERF_RECORD_READ, 0,
			       sizeof(ids) + kpmu_values_size(e)))
		return;
	kpmu_record_put(&r, &ids, sizeof(ids));
	kpmu_values_put(&r, e);
	kpmu_record_end(&r);
}

static void read_here(struct kpmu_ctx *ctx, struct kpmu_event *e)
{
	if (e->root && e->flags & KPMU_ATTR_INHERIT_STAT &&
	    e->cpu == smp_processor_id())
		read_record(e, ctx->task);
}

/* The context belongs to whoever has its lock: the task does not run again */
static void reads_here(void *data)
{
	struct kpmu_ctx *ctx = data;
	struct kpmu_event *leader, *e;

	raw_spin_lock(&ctx->lock);
	list_for_each_entry(leader, &ctx->leaders, node) {
		read_here(ctx, leader);
		kpmu_for_each_member(e, leader)
			read_here(ctx, e);
	}
	raw_spin_unlock(&ctx->lock);
}

/* The first CPU after @last whose rings READ records go to, or nr_cpu_ids */
static int next_cpu(struct kpmu_ctx *ctx, int last)
{
	struct kpmu_event *leader;
	int cpu = nr_cpu_ids;

	raw_spin_lock_irq(&ctx->lock);
	/* All of a group are of one CPU */
	list_for_each_entry(leader, &ctx->leaders, node)
		if (leader->root && leader->cpu > last && leader->cpu < cpu)
			cpu = leader->cpu;
	raw_spin_unlock_irq(&ctx->lock);
	return cpu;
}

/**
 * kpmu_side_exit_ctx() - tell a leaving task's own events
 * @ctx: its context, which has retired and is not active
 *
 * A ring is written on one CPU only; so each CPU writes what goes to its own.
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_side_exit_ctx(struct kpmu_ctx *ctx)
{
	unsigned long flags;
	int cpu;

	raw_spin_lock_irqsave(&ctx->lock, flags);
	kpmu_side_tell_ctx(ctx, KPMU_SIDE_TASK, exit_record, ctx->task);
	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	for (cpu = next_cpu(ctx, -1); cpu < nr_cpu_ids; cpu = next_cpu(ctx, cpu))
		smp_call_function_single(cpu, reads_here, ctx, 1);
}

/**
 * kpmu_side_exit_cpu() - tell the events of this CPU that a task leaves
 * @task: current
 *
 * Context: task, may be atomic.
 */
void kpmu_side_exit_cpu(struct task_struct *task)
{
	kpmu_side_tell_cpu(KPMU_SIDE_TASK, exit_record, task);
}
