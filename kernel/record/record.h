/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all records have in common.  perf_event_open(2), "MMAP layout".
 *
 * A record goes to the ring of its event, that of a child to the ring of its root.  It
 * has a header, its own words, and with sample_id_all a trailer that names task, time,
 * event ids and CPU.
 *
 *	struct kpmu_record r;
 *
 *	if (kpmu_record_begin(&r, e, PERF_RECORD_COMM, 0, sizeof(body))) {
 *		kpmu_record_put(&r, &body, sizeof(body));
 *		kpmu_record_end(&r);
 *	}
 */
#ifndef KPMU_RECORD_H
#define KPMU_RECORD_H

#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>

#include "../compat/tsc.h"
#include "../event/event.h"
#include "../event/sampling.h"
#include "../ring/ring.h"
#include "../sched/sched.h"

/* The largest record: the size field has 16 bits, and sizes are multiples of 8 */
#define KPMU_RECORD_MAX	0xfff8

/**
 * struct kpmu_record - a record being written
 * @h: its place in the ring
 * @ring: the ring
 * @event: the event that it belongs to
 * @task: the task that its trailer names
 */
struct kpmu_record {
	struct kpmu_ring_handle h;
	struct kpmu_ring *ring;
	struct kpmu_event *event;
	struct task_struct *task;
};

bool kpmu_record_begin(struct kpmu_record *r, struct kpmu_event *e, u32 type,
		       u16 misc, u32 size);
bool kpmu_record_begin_of(struct kpmu_record *r, struct kpmu_event *e, u32 type,
			  u16 misc, u32 size, struct task_struct *task);
void kpmu_record_end(struct kpmu_record *r);
void kpmu_record_lost_samples(struct kpmu_event *e, u64 lost);
void kpmu_record_throttle(struct kpmu_event *e, bool on);
void kpmu_record_out(struct kpmu_event *e);
u64 kpmu_record_clock_of(int clockid);
void kpmu_record_lost(struct kpmu_record *r, const struct kpmu_event *root);

/**
 * kpmu_record_clock() - the time by an event's clock
 * @e: the event
 *
 * Context: any; open refuses clocks that do not work where the event overflows.
 * Return: ns.
 */
static __always_inline u64 kpmu_record_clock(const struct kpmu_event *e)
{
	return likely(e->clockid < 0) ? kpmu_local_clock() :
		kpmu_record_clock_of(e->clockid);
}

/**
 * kpmu_record_put() - append bytes to a record
 * @r: from kpmu_record_begin()
 * @data: the bytes
 * @size: number of bytes
 *
 * Context: as kpmu_record_begin().
 */
static inline void kpmu_record_put(struct kpmu_record *r, const void *data,
				   u32 size)
{
	kpmu_ring_put(&r->h, data, size);
}

u32 kpmu_record_id(const struct kpmu_event *e, struct task_struct *task,
		   enum pid_type type);

/**
 * kpmu_record_pid() - a task's process id in the pid namespace of the event's opener
 * @e: the event
 * @task: the task
 *
 * Context: any, including NMI.
 * Return: the id, see kpmu_record_id().
 */
static inline u32 kpmu_record_pid(const struct kpmu_event *e,
				  struct task_struct *task)
{
	return kpmu_record_id(e, task, PIDTYPE_TGID);
}

/**
 * kpmu_record_tid() - a task's thread id in the pid namespace of the event's opener
 * @e: the event
 * @task: the task
 *
 * Context: any, including NMI.
 * Return: the id, see kpmu_record_id().
 */
static inline u32 kpmu_record_tid(const struct kpmu_event *e,
				  struct task_struct *task)
{
	return kpmu_record_id(e, task, PIDTYPE_PID);
}

/**
 * kpmu_root_of() - the root of an event, which has the ring and the pid namespace
 * @e: the event; an inherited event must be attached
 *
 * Context: any.
 * Return: the root; @e itself for a root.
 */
static inline const struct kpmu_event *kpmu_root_of(const struct kpmu_event *e)
{
	return e->root ?: e;
}

/**
 * kpmu_record_ids() - a task's process and thread id, as most records contain them
 * @e: the event; the ids are those in the pid namespace of its opener
 * @task: the task
 *
 * Context: any, including NMI.
 * Return: the process id in bits 31:0, the thread id in bits 63:32; see kpmu_record_id().
 */
static inline u64 kpmu_record_ids(const struct kpmu_event *e,
				  struct task_struct *task)
{
	if (likely(kpmu_root_of(e)->sampling->ns == &init_pid_ns &&
		   pid_alive(task)))
		return (u32)task->tgid | (u64)task->pid << 32;
	return kpmu_record_pid(e, task) |
	       (u64)kpmu_record_tid(e, task) << 32;
}

/**
 * kpmu_task_of() - the task that an event counts now
 * @e: the event
 *
 * For a task event it is not always current: when a task is scheduled in, its events
 * start while current is still the previous task.
 *
 * Context: any, including NMI; on the CPU where the event's context is active.
 * Return: the task.
 */
static inline struct task_struct *kpmu_task_of(const struct kpmu_event *e)
{
	return e->se.ctx->task ?: current;
}

/* PERF_RECORD_LOST, without its trailer */
struct kpmu_lost_record {
	struct perf_event_header header;
	u64 id;
	u64 lost;
};

/**
 * kpmu_record_room() - reserve room for a record
 * @r: filled in; @r->task is the task that the event counts
 * @e: the event that the record belongs to; it has a sampling part
 * @size: bytes of the record with header and trailer, a multiple of 8, at most
 *	KPMU_RECORD_MAX
 *
 * On success exactly @size bytes must be put, then kpmu_record_done() called.
 *
 * Context: any, including NMI; on the CPU that the event's records come from.
 * Preemption is off after success, until kpmu_record_done().
 * Return: true; false if there is no ring or no room.  The latter is counted as lost.
 */
static __always_inline bool
kpmu_record_room(struct kpmu_record *r, struct kpmu_event *e, u32 size)
{
	struct kpmu_event *root = e->root ?: e;

	r->event = e;
	r->task = kpmu_task_of(e);
	/* The ring needs this anyway, and it makes rcu_read_lock() unnecessary */
	preempt_disable_notrace();
	r->ring = rcu_dereference_sched(root->ring);
	if (unlikely(!r->ring))
		goto none;
	/* Children of a task event may run on several CPUs; a ring has one writer CPU */
	if (unlikely(e->root && e->se.cpu < 0))
		goto lost;
	if (unlikely(!kpmu_ring_begin(r->ring, &r->h, size,
				      sizeof(struct kpmu_lost_record) +
				      root->sampling->trailer)))
		goto lost;
	if (unlikely(r->h.lost))
		kpmu_record_lost(r, root);
	return true;
lost:
	if (r->ring->nr_pages)
		atomic64_inc(&root->sampling->lost);
none:
	preempt_enable_notrace();
	return false;
}

/**
 * kpmu_record_room_many() - reserve room for several records at once
 * @r: filled in, see kpmu_record_room()
 * @e: the event that they belong to; it has a sampling part
 * @size: bytes of each record
 * @nr: number of records, at least 1
 *
 * Context: as kpmu_record_room().
 * Return: the number of records to put before kpmu_record_done(); 0 if kpmu_record_room() must be
 * called for each of them.  No record is lost by that.
 */
static inline u32
kpmu_record_room_many(struct kpmu_record *r, struct kpmu_event *e, u32 size, u32 nr)
{
	u32 n = 0;

	r->event = e;
	r->task = kpmu_task_of(e);
	preempt_disable_notrace();
	r->ring = rcu_dereference_sched((e->root ?: e)->ring);
	if (likely(r->ring && !(e->root && e->se.cpu < 0)))
		n = kpmu_ring_begin_many(r->ring, &r->h, size, nr);
	if (unlikely(!n))
		preempt_enable_notrace();
	return n;
}

/**
 * kpmu_record_done() - commit a record
 * @r: from kpmu_record_room()
 *
 * Context: as kpmu_record_room().
 * Return: whether the readers of the ring are woken.
 */
static __always_inline bool kpmu_record_done(struct kpmu_record *r)
{
	bool wake = kpmu_ring_commit(r->ring, &r->h);

	preempt_enable_notrace();
	return wake;
}

#endif
