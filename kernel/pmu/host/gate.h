/* SPDX-License-Identifier: GPL-2.0-only */
/* Gates: deliver hits to an event of the kernel's perf only while they are needed. */
#ifndef KPMU_GATE_H
#define KPMU_GATE_H

#include <linux/irq_work.h>
#include <linux/list.h>

struct perf_event;

/**
 * struct kpmu_gate - the event of a tap on one CPU
 * @event: the event of the kernel's perf, NULL if there is none; may be set by another
 *	CPU
 * @aside: holds the event's list entry while the gate is shut
 * @wanted: number of kpmu events that run on this CPU and count the hits
 * @again: shuts the gate if it is found open while @wanted is 0
 */
struct kpmu_gate {
	struct perf_event *event;
	struct hlist_head aside;
	unsigned int wanted;
	struct irq_work again;
};

void kpmu_gate_init(struct kpmu_gate *gate);
void kpmu_gate_end(struct kpmu_gate *gate);

void kpmu_gate_want(struct kpmu_gate *gate);
void kpmu_gate_leave(struct kpmu_gate *gate);
void kpmu_gate_update(void *gate);

/**
 * kpmu_gate_hit() - a hit was delivered; shut the gate if hits are not needed
 * @gate: the gate of this CPU
 *
 * Context: any, including NMI.
 */
static inline void kpmu_gate_hit(struct kpmu_gate *gate)
{
	if (unlikely(!READ_ONCE(gate->wanted)))
		irq_work_queue(&gate->again);
}

#endif
