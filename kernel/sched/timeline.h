/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timelines: a CPU writes a record of the counts of a set's events, and of the counters that they
 * have, into a ring when it switches to another task, and when one of the events gets or loses a
 * counter.  User space maps the rings.
 */
#ifndef KPMU_TIMELINE_H
#define KPMU_TIMELINE_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/types.h>

#include <uapi/linux/kpmu.h>

struct irq_work;
struct kpmu_ctx;
struct kpmu_entity;
struct pid_namespace;
struct task_struct;

/**
 * struct kpmu_timeline - the timeline of a set on a CPU
 * @node: entry in the list of the CPU
 * @events: the events; NULL for one that does not exist
 * @nr_events: number of @events
 * @where: for each event its counter in the last record, as in a record
 * @ns: the namespace of the tids that user space sees
 * @kick: to be queued when the ring is half full
 * @ring: head and tail, in memory that user space may write to: only the tail is read from there
 * @slots: room for records, in the same memory
 * @slot_size: size of a record in bytes
 * @nr_slots: number of records that there is room for, a power of two
 * @written: number of records written
 * @lost: number of records that found no room
 *
 * Owned by the owner of the CPU's context.
 */
struct kpmu_timeline {
	struct hlist_node node;
	struct kpmu_entity **events;
	u32 nr_events;
	u8 *where;
	struct pid_namespace *ns;
	struct irq_work *kick;
	struct kpmu_timeline_ring *ring;
	void *slots;
	u32 slot_size;
	u32 nr_slots;
	u64 written;
	u64 lost;
};

/* Limit of events with timelines on a CPU: bounds the work of a switch, with IRQs off */
#define KPMU_TIMELINE_EVENTS	256

/* Enabled while a set with a timeline is open */
DECLARE_STATIC_KEY_FALSE(kpmu_timelines_key);

int kpmu_timeline_add(struct kpmu_ctx *ctx, struct kpmu_timeline *t);
void kpmu_timeline_del(struct kpmu_ctx *ctx, struct kpmu_timeline *t);
void kpmu_timeline_note(struct kpmu_ctx *ctx, struct kpmu_timeline *t, u32 why);
void kpmu_timelines_enter(struct task_struct *next, u32 why);
void kpmu_timelines_compare(void);

/**
 * kpmu_timelines_switch() - record that another task runs from now on
 * @next: the task switched in
 *
 * Context: IRQs off; under the run-queue lock.
 */
static __always_inline void kpmu_timelines_switch(struct task_struct *next)
{
	if (static_branch_unlikely(&kpmu_timelines_key))
		kpmu_timelines_enter(next, KPMU_TIMELINE_SWITCH);
}

/**
 * kpmu_timelines_online() - record that this CPU has come online
 *
 * Context: IRQs off.
 */
static __always_inline void kpmu_timelines_online(void)
{
	if (static_branch_unlikely(&kpmu_timelines_key))
		kpmu_timelines_enter(current, KPMU_TIMELINE_START);
}

/**
 * kpmu_timelines_placed() - record what has changed on the counters of this CPU, if anything has
 *
 * Context: IRQs off.
 */
static __always_inline void kpmu_timelines_placed(void)
{
	if (static_branch_unlikely(&kpmu_timelines_key))
		kpmu_timelines_compare();
}

#endif
