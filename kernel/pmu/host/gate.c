// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gates: deliver hits to an event of the kernel's perf only while they are needed.
 *
 * A tap has an event of the kernel's perf on each CPU.  If every hit were delivered to it,
 * all tasks would pay for a kpmu event on one of them.  So the event is removed from the
 * CPU's list of active events while no kpmu event that counts the hits runs there, and
 * added back when one does: by the add and del operations of its PMU, under the lock of
 * its context, as when the kernel's perf schedules events.
 *
 * The kernel's perf is not aware of gates and may itself remove the event at any time
 * (when it reschedules the CPU's events, at CPU offline, at release).  That unlinks the
 * event's list entry, which therefore must always be in some list: while the gate is shut,
 * it is in a list that is never walked.  The kernel's perf may also add the event back;
 * then the first hit shuts the gate again.
 *
 * A walk of the CPU's list that is interrupted at the event's entry, by an IPI that shuts
 * the gate, ends there.
 */
#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>

#include "gate.h"

static void open_gate(struct kpmu_gate *gate)
{
	struct perf_event *event = READ_ONCE(gate->event);

	/* No event yet, or the kernel has added it back: then the gate is open already */
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
	kpmu_gate_update(container_of(work, struct kpmu_gate, again));
}

/**
 * kpmu_gate_init() - initialise a gate without an event
 * @gate: the gate, zeroed
 *
 * Context: any.
 */
void kpmu_gate_init(struct kpmu_gate *gate)
{
	gate->again = IRQ_WORK_INIT_HARD(shut_again);
}

/**
 * kpmu_gate_end() - wait until a gate is unused, before it is freed
 * @gate: the gate; its event is released, and no hits are under way
 *
 * Context: task, may sleep.
 */
void kpmu_gate_end(struct kpmu_gate *gate)
{
	irq_work_sync(&gate->again);
}

/**
 * kpmu_gate_want() - an event that counts the hits starts running on this CPU
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
 * kpmu_gate_leave() - an event that counts the hits stops running on this CPU
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
 * kpmu_gate_update() - shut the gate if hits are not needed, e.g. for a new event
 * @gate: the gate of this CPU, a struct kpmu_gate
 *
 * Context: IRQs off, not NMI; can be called by smp_call_function_single().
 */
void kpmu_gate_update(void *gate)
{
	struct kpmu_gate *g = gate;

	if (!g->wanted)
		shut_gate(g);
}
