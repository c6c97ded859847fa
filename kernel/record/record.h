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
#include <linux/sched.h>

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

bool kpmu_record_room(struct kpmu_record *r, struct kpmu_event *e, u32 size);
bool kpmu_record_done(struct kpmu_record *r);
bool kpmu_record_begin(struct kpmu_record *r, struct kpmu_event *e, u32 type,
		       u16 misc, u32 size);
bool kpmu_record_begin_of(struct kpmu_record *r, struct kpmu_event *e, u32 type,
			  u16 misc, u32 size, struct task_struct *task);
void kpmu_record_end(struct kpmu_record *r);
void kpmu_record_throttle(struct kpmu_event *e, bool on);
u64 kpmu_record_clock(const struct kpmu_event *e);

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

/* Process and thread as the one word that they are in most records */
static inline u64 kpmu_record_ids(const struct kpmu_event *e,
				  struct task_struct *task)
{
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

static inline const struct kpmu_event *kpmu_root_of(const struct kpmu_event *e)
{
	return e->root ?: e;
}

#endif
