/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records: what every one of them has.  perf_event_open(2), "MMAP layout".
 *
 * A record goes to the ring of its event, a child's to that of its root.  It
 * has a header, its own words, and with sample_id_all a trailer that says
 * whose it is.
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
#include <linux/sched/clock.h>

#include "../event/event.h"
#include "../event/sampling.h"
#include "../ring/ring.h"
#include "../sched/sched.h"

/* The largest record: its size is 16 bits, and a multiple of 8 */
#define KPMU_RECORD_MAX	0xfff8

/**
 * struct kpmu_record - a record on its way
 * @h: where it goes
 * @ring: likewise
 * @event: whose it is
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
void kpmu_record_throttle(struct kpmu_event *e, bool on);
u64 kpmu_record_clock_of(int clockid);
void kpmu_record_lost(struct kpmu_record *r, const struct kpmu_event *root);

/**
 * kpmu_record_clock() - the time, by an event's clock
 * @e: the event
 *
 * Context: any, NMI too for the clocks that such events may have.
 */
static __always_inline u64 kpmu_record_clock(const struct kpmu_event *e)
{
	return likely(e->clockid < 0) ? local_clock() :
		kpmu_record_clock_of(e->clockid);
}

/**
 * kpmu_record_put() - the next bytes of a record
 * @r: from kpmu_record_begin()
 * @data: the bytes
 * @size: how many
 *
 * Context: as kpmu_record_begin().
 */
static inline void kpmu_record_put(struct kpmu_record *r, const void *data,
				   u32 size)
{
	kpmu_ring_put(&r->h, data, size);
}

/* Ids of a task as the program that opened the event sees them */
u32 kpmu_record_id(const struct kpmu_event *e, struct task_struct *task,
		   enum pid_type type);

static inline u32 kpmu_record_pid(const struct kpmu_event *e,
				  struct task_struct *task)
{
	return kpmu_record_id(e, task, PIDTYPE_TGID);
}

static inline u32 kpmu_record_tid(const struct kpmu_event *e,
				  struct task_struct *task)
{
	return kpmu_record_id(e, task, PIDTYPE_PID);
}

static inline const struct kpmu_event *kpmu_root_of(const struct kpmu_event *e)
{
	return e->root ?: e;
}

/* Process and thread as the one word that they are in most records */
static inline u64 kpmu_record_ids(const struct kpmu_event *e,
				  struct task_struct *task)
{
	if (likely(kpmu_root_of(e)->sampling->ns == &init_pid_ns &&
		   pid_alive(task)))
		return (u32)task->tgid | (u64)task->pid << 32;
	return kpmu_record_pid(e, task) |
	       (u64)kpmu_record_tid(e, task) << 32;
}

/*
 * Whom an event watches now.  Not always current: the events of a task begin to
 * count on its way in, when the one before is still to be left.
 */
static inline struct task_struct *kpmu_task_of(const struct kpmu_event *e)
{
	return e->ctx->task ?: current;
}

/* PERF_RECORD_LOST, without its trailer */
struct kpmu_lost_record {
	struct perf_event_header header;
	u64 id;
	u64 lost;
};

/**
 * kpmu_record_room() - take room for a record
 * @r: filled in, but for its task
 * @e: whose it is; it has a sampling part
 * @size: bytes of it, with header and trailer, a multiple of 8, at most
 *	KPMU_RECORD_MAX
 *
 * All of it must be put, then kpmu_record_done() called.
 *
 * Context: any, NMI too; on the CPU that the event's records come from.
 * Return: false if it has no ring, or that has no room: it is counted as lost.
 */
static __always_inline bool
kpmu_record_room(struct kpmu_record *r, struct kpmu_event *e, u32 size)
{
	struct kpmu_event *root = e->root ?: e;

	r->event = e;
	r->task = kpmu_task_of(e);
	/* As good as rcu_read_lock(), and it has to be off for the ring anyway */
	preempt_disable_notrace();
	r->ring = rcu_dereference_sched(root->ring);
	if (unlikely(!r->ring))
		goto none;
	/* Children of a task's event may run on several CPUs, a ring is of one */
	if (unlikely(e->root && e->cpu < 0))
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
 * kpmu_record_done() - a record is complete
 * @r: from kpmu_record_room()
 *
 * Context: as kpmu_record_room().
 * Return: whether it passed the ring's mark.
 */
static __always_inline bool kpmu_record_done(struct kpmu_record *r)
{
	bool wake = kpmu_ring_commit(r->ring, &r->h);

	preempt_enable_notrace();
	return wake;
}

#endif
