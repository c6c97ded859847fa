// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of an exiting task: EXIT, and READ for inherited events with inherit_stat.
 * The task's events have stopped counting before, so none of their samples follows.
 */
#include <linux/cpumask.h>
#include <linux/smp.h>

#include "../sched/sched.h"
#include "sample.h"
#include "side_band.h"

static void exit_record(struct kpmu_event *e, void *task)
{
	kpmu_side_task(e, PERF_RECORD_EXIT, task);
}

/* Return: how many events were visited */
static u32 read_record(struct kpmu_event *e, struct task_struct *task)
{
	u64 ids = kpmu_record_ids(e, task);
	struct kpmu_record r;

	/* Not kpmu_record_begin(): on another CPU, current is not the exiting task */
	if (kpmu_record_begin_of(&r, e, PERF_RECORD_READ, 0,
				 sizeof(ids) + kpmu_values_size(e), task)) {
		kpmu_record_put(&r, &ids, sizeof(ids));
		kpmu_values_put(&r, e);
		kpmu_record_end(&r);
	}
	return e->read_format & KPMU_FORMAT_GROUP ? e->se.leader->group.nr : 1;
}

/**
 * struct pass - one pass over the events of a context, in batches
 * @ctx: the context
 * @cpu: write READ records of events bound to this CPU; -1: EXIT records instead
 * @next: lowest CPU above @cpu that READ records are for, or nr_cpu_ids
 * @more: the pass is not complete
 */
struct pass {
	struct kpmu_ctx *ctx;
	int cpu;
	int next;
	bool more;
};

/* Return: the amount of work, in events */
static u32 write_event_records(struct pass *p, struct kpmu_event *e)
{
	if (p->cpu < 0 && kpmu_side_wants(e, KPMU_SIDE_TASK))
		exit_record(e, p->ctx->task);
	if (!e->root || !(e->se.flags & KPMU_ATTR_INHERIT_STAT))
		return 1;
	if (e->se.cpu > p->cpu)
		p->next = min(p->next, e->se.cpu);
	else if (e->se.cpu == p->cpu && e->se.cpu == smp_processor_id())
		return read_record(e, p->ctx->task);
	return 1;
}

/* The context stays inactive, so the holder of its lock owns it.  IRQs off. */
static void write_batch(void *data)
{
	struct pass *p = data;
	struct kpmu_entity *e;
	u32 n = 0;

	raw_spin_lock(&p->ctx->ctx_lock);
	while (n < KPMU_BATCH && (e = kpmu_scan_next(p->ctx)))
		n += write_event_records(p, kpmu_event_of(e));
	p->more = p->ctx->scan;
	raw_spin_unlock(&p->ctx->ctx_lock);
}

static void write_batch_here(struct pass *p)
{
	unsigned long flags;

	local_irq_save(flags);
	write_batch(p);
	local_irq_restore(flags);
}

/* Return: the CPU of the next pass, or nr_cpu_ids */
static int write_pass(struct kpmu_ctx *ctx, int cpu)
{
	struct pass p = { .ctx = ctx, .cpu = cpu, .next = nr_cpu_ids };
	unsigned long flags;

	raw_spin_lock_irqsave(&ctx->ctx_lock, flags);
	kpmu_scan_begin(ctx);
	raw_spin_unlock_irqrestore(&ctx->ctx_lock, flags);
	do {
		/* For an offline CPU nothing is written, but the next CPU is found */
		if (cpu < 0 || smp_call_function_single(cpu, write_batch, &p, 1))
			write_batch_here(&p);
	} while (p.more);
	return p.next;
}

/**
 * kpmu_side_exit_ctx() - write the records of an exiting task for its own events
 * @ctx: the task's context, retired and not active
 *
 * The ring of an event bound to a CPU is written on that CPU only.  So READ records are
 * written there, in batches of events.
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_side_exit_ctx(struct kpmu_ctx *ctx)
{
	int cpu = -1;

	do {
		cpu = write_pass(ctx, cpu);
	} while (cpu < nr_cpu_ids);
}

/**
 * kpmu_side_exit_cpu() - write EXIT records for the events of this CPU
 * @task: the exiting task, current
 *
 * Context: task, may be atomic.
 */
void kpmu_side_exit_cpu(struct task_struct *task)
{
	kpmu_side_write_cpu(KPMU_SIDE_TASK, exit_record, task);
}
