// SPDX-License-Identifier: GPL-2.0-only
/* Header and trailer of all records, and the records LOST, THROTTLE and UNTHROTTLE. */
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>

#include <uapi/linux/kpmu.h>

#include "record.h"

/**
 * kpmu_record_clock_of() - the time by a clock selected in the attr
 * @clockid: CLOCK_*
 *
 * Context: any; in an NMI only for CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW.
 * Return: ns.
 */
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
 * @type: PIDTYPE_TGID for the process, PIDTYPE_PID for the thread
 *
 * Context: any, including NMI.
 * Return: the id; 0 for the idle task and for a task that is not visible in the
 * namespace; -1 for a task that has been reaped.
 */
u32 kpmu_record_id(const struct kpmu_event *e, struct task_struct *task,
		   enum pid_type type)
{
	struct pid_namespace *ns = kpmu_root_of(e)->sampling->ns;

	if (!pid_alive(task))
		return -1;
	/* Fast path for the usual case, without struct pid */
	if (likely(ns == &init_pid_ns))
		return type == PIDTYPE_PID ? task->pid : task->tgid;
	return __task_pid_nr_ns(task, type, ns);
}

/* The trailer: the words of sample_type for task, time, event ids and CPU */
static void put_trailer(struct kpmu_record *r, const struct kpmu_event *e)
{
	u64 type = e->sampling->sample_type;
	u64 words[6], *p = words;

	if (type & KPMU_SAMPLE_TID)
		*p++ = kpmu_record_ids(e, r->task);
	if (type & KPMU_SAMPLE_TIME)
		*p++ = kpmu_record_clock(e);
	if (type & KPMU_SAMPLE_ID)
		*p++ = e->se.id;
	if (type & KPMU_SAMPLE_STREAM_ID)
		*p++ = e->sampling->stream_id;
	if (type & KPMU_SAMPLE_CPU)
		*p++ = raw_smp_processor_id();
	if (type & KPMU_SAMPLE_IDENTIFIER)
		*p++ = e->se.id;
	kpmu_ring_put(&r->h, words, (p - words) * sizeof(u64));
}

/**
 * kpmu_record_lost() - write a LOST record in front of another record
 * @r: the other record; r->h.lost is the number of lost records
 * @root: the root event of @r, named in the LOST record
 *
 * Context: as kpmu_record_room().
 */
noinline void kpmu_record_lost(struct kpmu_record *r,
			       const struct kpmu_event *root)
{
	struct kpmu_lost_record lost = {
		.header = {
			.type = PERF_RECORD_LOST,
			.size = sizeof(lost) + root->sampling->trailer,
		},
		.id = root->se.id,
		.lost = r->h.lost,
	};

	kpmu_ring_put(&r->h, &lost, sizeof(lost));
	if (root->sampling->trailer)
		put_trailer(r, root);
}

/**
 * kpmu_record_begin_of() - begin a record other than a sample
 * @r: filled in
 * @e: the event that the record belongs to
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @size: bytes between header and trailer, a multiple of 8
 * @task: the task that the trailer names
 *
 * On success exactly @size bytes must be put, then kpmu_record_end() called.
 *
 * Context: any, including NMI; on the CPU that the event's records come from.
 * Return: true; false if there is no ring, if the record is too large, or if there is
 * no room.  Only the last is counted as lost.
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
 * kpmu_record_begin() - begin a record whose trailer names current
 * @r: filled in
 * @e: the event that the record belongs to
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @size: bytes between header and trailer, a multiple of 8
 *
 * Context: as kpmu_record_begin_of().
 * Return: as kpmu_record_begin_of().
 */
bool kpmu_record_begin(struct kpmu_record *r, struct kpmu_event *e, u32 type,
		       u16 misc, u32 size)
{
	return kpmu_record_begin_of(r, e, type, misc, size, current);
}

/**
 * kpmu_record_end() - add the trailer and commit a record
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
 * kpmu_record_lost_samples() - write a LOST_SAMPLES record
 * @e: the event; it has a sampling part
 * @lost: number of samples that the hardware lost
 *
 * Context: any, including NMI; on the CPU where the event is active.
 */
void kpmu_record_lost_samples(struct kpmu_event *e, u64 lost)
{
	struct kpmu_record r;

	if (!kpmu_record_begin_of(&r, e, PERF_RECORD_LOST_SAMPLES, 0, sizeof(lost),
				  kpmu_task_of(e)))
		return;
	kpmu_record_put(&r, &lost, sizeof(lost));
	kpmu_record_end(&r);
}

static void record_stop(struct kpmu_event *e, u32 type, u16 misc)
{
	struct kpmu_record r;
	u64 body[3];

	if (!kpmu_record_begin_of(&r, e, type, misc, sizeof(body), kpmu_task_of(e)))
		return;
	body[0] = kpmu_record_clock(e);
	body[1] = e->se.id;
	body[2] = e->sampling->stream_id;
	kpmu_record_put(&r, body, sizeof(body));
	kpmu_record_end(&r);
}

/**
 * kpmu_record_throttle() - write a THROTTLE or UNTHROTTLE record
 * @e: the event; it has a sampling part
 * @on: true for THROTTLE
 *
 * Context: any, including NMI; on the CPU where the event is active.
 */
void kpmu_record_throttle(struct kpmu_event *e, bool on)
{
	record_stop(e, on ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0);
}

/**
 * kpmu_record_out() - write a THROTTLE record of a strict event that has lost its counter
 * @e: the event; it has a sampling part
 *
 * Context: as kpmu_record_throttle().
 */
void kpmu_record_out(struct kpmu_event *e)
{
	record_stop(e, PERF_RECORD_THROTTLE, KPMU_RECORD_MISC_OUT);
}
