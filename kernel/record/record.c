// SPDX-License-Identifier: GPL-2.0-only
/* Records: header, trailer, and those that tell of the ring itself. */
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>

#include "record.h"

/* The clocks that somebody asked for by name.  See kpmu_record_clock() */
u64 kpmu_record_clock_of(int clockid)
{
	switch (clockid) {
	case CLOCK_MONOTONIC:
		return ktime_get_mono_fast_ns();
	case CLOCK_MONOTONIC_RAW:
		return ktime_get_raw_fast_ns();
	case CLOCK_REALTIME:
		return ktime_get_real_ns();
	case CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	default:
		return ktime_get_clocktai_ns();
	}
}

/**
 * kpmu_record_id() - a task's id in the pid namespace of an event's opener
 * @e: the event
 * @task: the task
 * @type: of the process or of the thread
 *
 * Context: any, NMI too.
 * Return: the id; 0 for the idle task and for one out of the namespace's sight; -1
 * for one that is gone.
 */
u32 kpmu_record_id(const struct kpmu_event *e, struct task_struct *task,
		   enum pid_type type)
{
	struct pid_namespace *ns = kpmu_root_of(e)->sampling->ns;

	if (!pid_alive(task))
		return -1;
	/* The usual case without a look at struct pid */
	if (likely(ns == &init_pid_ns))
		return type == PIDTYPE_PID ? task->pid : task->tgid;
	return __task_pid_nr_ns(task, type, ns);
}

/* The words that say whose a record is, in the order of a trailer */
static void put_trailer(struct kpmu_record *r, const struct kpmu_event *e)
{
	u64 type = e->sampling->sample_type;
	u64 words[6], *p = words;

	if (type & KPMU_SAMPLE_TID)
		*p++ = kpmu_record_ids(e, r->task);
	if (type & KPMU_SAMPLE_TIME)
		*p++ = kpmu_record_clock(e);
	if (type & KPMU_SAMPLE_ID)
		*p++ = e->id;
	if (type & KPMU_SAMPLE_STREAM_ID)
		*p++ = e->sampling->stream_id;
	if (type & KPMU_SAMPLE_CPU)
		*p++ = raw_smp_processor_id();
	if (type & KPMU_SAMPLE_IDENTIFIER)
		*p++ = e->id;
	kpmu_ring_put(&r->h, words, (p - words) * sizeof(u64));
}

/* What was lost before this record */
noinline void kpmu_record_lost(struct kpmu_record *r,
			       const struct kpmu_event *root)
{
	struct kpmu_lost_record lost = {
		.header = {
			.type = PERF_RECORD_LOST,
			.size = sizeof(lost) + root->sampling->trailer,
		},
		.id = root->id,
		.lost = r->h.lost,
	};

	kpmu_ring_put(&r->h, &lost, sizeof(lost));
	if (root->sampling->trailer)
		put_trailer(r, root);
}

/**
 * kpmu_record_begin_of() - begin a record other than a sample
 * @r: filled in
 * @e: whose it is
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @size: bytes between header and trailer, a multiple of 8
 * @task: the task that the trailer names
 *
 * If it returns true so many bytes must be put, then kpmu_record_end() called.
 *
 * Context: any, NMI too; on the CPU that the event's records come from.
 * Return: false if there is no ring, or no room: it is counted as lost.
 */
bool kpmu_record_begin_of(struct kpmu_record *r, struct kpmu_event *e, u32 type,
			  u16 misc, u32 size, struct task_struct *task)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	size += sizeof(header) + e->sampling->trailer;
	if (size > KPMU_RECORD_MAX || !kpmu_record_room(r, e, size))
		return false;
	r->task = task;
	header.size = size;
	kpmu_ring_put(&r->h, &header, sizeof(header));
	return true;
}

/**
 * kpmu_record_begin() - begin a record that current is the task of
 * @r: filled in
 * @e: whose it is
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @size: bytes between header and trailer, a multiple of 8
 *
 * See kpmu_record_begin_of().
 */
bool kpmu_record_begin(struct kpmu_record *r, struct kpmu_event *e, u32 type,
		       u16 misc, u32 size)
{
	return kpmu_record_begin_of(r, e, type, misc, size, current);
}

/**
 * kpmu_record_end() - a record is complete but for its trailer
 * @r: from kpmu_record_begin()
 *
 * Context: as kpmu_record_begin().
 */
void kpmu_record_end(struct kpmu_record *r)
{
	struct kpmu_event *root;

	if (r->event->sampling->trailer)
		put_trailer(r, r->event);
	root = r->event->root ?: r->event;
	if (kpmu_record_done(r) && root->fasync)
		kpmu_notify(root);
}

/**
 * kpmu_record_throttle() - say that an event is throttled, or is not any more
 * @e: the event; it has a sampling part
 * @on: it is throttled
 *
 * Context: any, NMI too; on the CPU where the event counts.
 */
void kpmu_record_throttle(struct kpmu_event *e, bool on)
{
	struct kpmu_record r;
	u64 body[3];

	if (!kpmu_record_begin_of(&r, e, on ? PERF_RECORD_THROTTLE :
					      PERF_RECORD_UNTHROTTLE,
				  0, sizeof(body), kpmu_task_of(e)))
		return;
	body[0] = kpmu_record_clock(e);
	body[1] = e->id;
	body[2] = e->sampling->stream_id;
	kpmu_record_put(&r, body, sizeof(body));
	kpmu_record_end(&r);
}
