// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gates: an event of the kernel's perf is told of hits only while that is wanted.
 *
 * A tap has an event of the kernel's perf on each CPU.  If that were told of every hit,
 * all tasks would pay for an event on one of them.  So its entry in the CPU's list of
 * events to be told is taken out while no event of ours runs there that counts the
 * hits, and put back when one does: by the add and del operations of the event's PMU,
 * under the lock of the event's context, as the kernel's scheduling of events does it.
 *
 * The kernel's perf knows nothing of that and may itself take the event out at any time
 * (when it schedules the CPU's events anew, at CPU offline, at release).  That unlinks
 * the entry, which so must always be in some list: while it is out of the CPU's it is in
 * a list that is never walked.  Nor does it know when it puts the event back: the first hit
 * that is told then shuts the gate again.
 *
 * A walk of the CPU's list that this interrupts (by an IPI) ends where the entry was.
 */
#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>

#include "gate.h"

static void open_gate(struct kpmu_gate *gate)
{
	struct perf_event *event = READ_ONCE(gate->event);

	/* There is none, or the kernel has put it back itself: a new one is told */
	if (!event || hlist_empty(&gate->aside))
		return;
	raw_spin_lock(&event->ctx->lock);
	hlist_del_rcu(&event->hlist_entry);
	if (WARN_ON_ONCE(event->pmu->add(event, PERF_EF_START)))
		hlist_add_head_rcu(&event->hlist_entry, &gate->aside);
	raw_spin_unlock(&event->ctx->lock);
}

static void shut_gate(struct kpmu_gate *gate)
{
	struct perf_event *event = READ_ONCE(gate->event);

	if (!event || event->state != PERF_EVENT_STATE_ACTIVE ||
	    !hlist_empty(&gate->aside))
		return;
	raw_spin_lock(&event->ctx->lock);
	event->pmu->del(event, 0);
	hlist_add_head_rcu(&event->hlist_entry, &gate->aside);
	raw_spin_unlock(&event->ctx->lock);
}

static void shut_again(struct irq_work *work)
{
	kpmu_gate_settle(container_of(work, struct kpmu_gate, again));
}

/**
 * kpmu_gate_init() - a gate without an event
 * @gate: zeroed
 * kpmu_gate_end() - its event has been released, and no hit is told any more
 *
 * Context: task, may sleep.
 */
void kpmu_gate_init(struct kpmu_gate *gate)
{
	gate->again = IRQ_WORK_INIT_HARD(shut_again);
}

void kpmu_gate_end(struct kpmu_gate *gate)
{
	irq_work_sync(&gate->again);
}

/**
 * kpmu_gate_want() - an event that counts the hits runs on this CPU from now on
 * @gate: the gate of this CPU
 *
 * Context: IRQs off, not NMI.
 */
void kpmu_gate_want(struct kpmu_gate *gate)
{
	if (!gate->wanted++)
		open_gate(gate);
}

/**
 * kpmu_gate_leave() - one does so no more
 * @gate: the gate of this CPU
 *
 * Context: IRQs off, not NMI.
 */
void kpmu_gate_leave(struct kpmu_gate *gate)
{
	if (!--gate->wanted)
		shut_gate(gate);
}

/**
 * kpmu_gate_settle() - a gate has a new event, which is told of everything
 * @gate: the gate of this CPU, a struct kpmu_gate
 *
 * Context: IRQs off, not NMI: for smp_call_function_single().
 */
void kpmu_gate_settle(void *gate)
{
	struct kpmu_gate *g = gate;

	if (!g->wanted)
		shut_gate(g);
}
