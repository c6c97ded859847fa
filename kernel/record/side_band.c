// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delivery of side-band records: to the enabled events of this CPU, of the cgroups
 * active here, and of the active task context.  Each context has a list of its events
 * that request side-band records.
 */
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "../sched/sched.h"
#include "side_band.h"

/**
 * kpmu_side_wants() - does an event get a kind of record on this CPU?
 * @e: the event
 * @flags: KPMU_ATTR_*; the event must have one of them
 *
 * Context: owner of the event's context, IRQs off.
 * Return: true if the event also is enabled, may write on this CPU and has a ring.
 */
bool kpmu_side_wants(const struct kpmu_event *e, u64 flags)
{
	return e->se.flags & flags && e->se.state == KPMU_ON &&
	       (e->se.cpu < 0 || e->se.cpu == smp_processor_id()) &&
	       rcu_access_pointer(kpmu_root_of(e)->ring);
}

static bool any_wants(const struct kpmu_ctx *ctx, u64 flags)
{
	const struct kpmu_sampling *s;

	hlist_for_each_entry(s, &ctx->side, side)
		if (kpmu_side_wants(s->event, flags))
			return true;
	return false;
}

static void write_to_ctx(struct kpmu_ctx *ctx, u64 flags, kpmu_side_fn fn, void *data)
{
	struct kpmu_sampling *s;

	hlist_for_each_entry(s, &ctx->side, side)
		if (kpmu_side_wants(s->event, flags))
			fn(s->event, data);
}

static bool active_here(const struct kpmu_ctx *ctx)
{
	return READ_ONCE(ctx->cpu) == smp_processor_id();
}

/**
 * kpmu_side_wanted() - is there an event that kpmu_side_write() would write to?
 * @flags: KPMU_ATTR_*; an event must have one of them
 *
 * Context: any but NMI.
 * Return: whether there is one.
 */
bool kpmu_side_wanted(u64 flags)
{
	struct kpmu_cpu *kc;
	struct kpmu_ctx *ctx;
	unsigned long irq;
	bool any = false;

	local_irq_save(irq);
	kc = this_cpu_ptr(&kpmu_cpu);
	if (active_here(&kc->ctx))
		kpmu_for_each_cpu_ctx(ctx, kc)
			any = any || any_wants(ctx, flags);
	if (kc->task)
		any = any || any_wants(kc->task, flags);
	local_irq_restore(irq);
	return any;
}

/**
 * kpmu_side_write_cpu() - write a record for events of this CPU and its cgroups
 * @flags: KPMU_ATTR_*; an event must have one of them
 * @fn: writes the record for an event; IRQs off
 * @data: for @fn
 *
 * Context: any but NMI.
 */
void kpmu_side_write_cpu(u64 flags, kpmu_side_fn fn, void *data)
{
	struct kpmu_ctx *ctx;
	struct kpmu_cpu *kc;
	unsigned long irq;

	local_irq_save(irq);
	kc = this_cpu_ptr(&kpmu_cpu);
	if (active_here(&kc->ctx))
		kpmu_for_each_cpu_ctx(ctx, kc)
			write_to_ctx(ctx, flags, fn, data);
	local_irq_restore(irq);
}

/**
 * kpmu_side_write() - write a record for events of this CPU, its cgroups and its task
 * @flags: KPMU_ATTR_*; an event must have one of them
 * @fn: writes the record for an event; IRQs off
 * @data: for @fn
 *
 * Context: any but NMI.
 */
void kpmu_side_write(u64 flags, kpmu_side_fn fn, void *data)
{
	struct kpmu_cpu *kc;
	unsigned long irq;

	local_irq_save(irq);
	kpmu_side_write_cpu(flags, fn, data);
	kc = this_cpu_ptr(&kpmu_cpu);
	if (kc->task)
		write_to_ctx(kc->task, flags, fn, data);
	local_irq_restore(irq);
}
