// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timeline of a set: rings of records in memory that user space maps, one for each CPU.  The CPU
 * writes them (sched/timeline.h); a timer starts a work item that has all CPUs write one at a period.
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include <uapi/linux/kpmu.h>

#include "../compat/compat.h"
#include "../sched/timeline.h"
#include "set.h"

/**
 * struct kpmu_timelines - the timeline of a set
 * @set: the set
 * @ns: the pid namespace of the opener
 * @page: the memory; user space may write to all of it
 * @size: its size in bytes
 * @each: the timelines of the CPUs, one for each target
 * @wait: pollers
 * @kick: wakes @wait
 * @timer: starts @work at each @period
 * @work: has all CPUs write a record
 * @period: in ns, 0 for none
 */
struct kpmu_timelines {
	struct kpmu_set *set;
	struct pid_namespace *ns;
	struct kpmu_timeline_page *page;
	size_t size;
	struct kpmu_timeline *each;
	wait_queue_head_t wait;
	struct irq_work kick;
	struct hrtimer timer;
	struct work_struct work;
	u64 period;
};

static_assert(sizeof(struct kpmu_timeline_page) == 64);
static_assert(sizeof(struct kpmu_timeline_ring) == 64);

/* ---- memory --------------------------------------------------------------------- */

static u32 record_bytes(u32 nr_events)
{
	return ALIGN(sizeof(struct kpmu_timeline_record) + nr_events * (sizeof(u64) + 1),
		     sizeof(u64));
}

static size_t head_bytes(u32 nr_cpus)
{
	return ALIGN(sizeof(struct kpmu_timeline_page) +
		     nr_cpus * sizeof(struct kpmu_timeline_ring), PAGE_SIZE);
}

/**
 * kpmu_timelines_bytes() - memory for a timeline
 * @nr_cpus: number of CPUs
 * @nr_slots: number of records of each
 * @nr_events: number of events on each
 *
 * Context: any.
 * Return: bytes, whole pages.
 */
size_t kpmu_timelines_bytes(u32 nr_cpus, u32 nr_slots, u32 nr_events)
{
	return PAGE_ALIGN(head_bytes(nr_cpus) +
			  (size_t)nr_cpus * nr_slots * record_bytes(nr_events));
}

static void free_timelines(struct kpmu_timelines *l)
{
	u32 i;

	for (i = 0; l->each && i < l->set->nr_targets; i++) {
		kfree(l->each[i].events);
		kfree(l->each[i].where);
	}
	kvfree(l->each);
	vfree(l->page);
	put_pid_ns(l->ns);
	kfree(l);
}

static int alloc_each(struct kpmu_timelines *l, const s32 *cpus, u32 nr_slots)
{
	struct kpmu_timeline_ring *rings = (void *)(l->page + 1);
	u32 i, n = l->set->nr_targets, nr_events = l->set->nr_events;

	l->each = kvcalloc(n, sizeof(*l->each), GFP_KERNEL_ACCOUNT);
	if (!l->each)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		struct kpmu_timeline *t = &l->each[i];

		t->events = kcalloc(nr_events, sizeof(*t->events), GFP_KERNEL_ACCOUNT);
		t->where = kzalloc(nr_events, GFP_KERNEL_ACCOUNT);
		if (!t->events || !t->where)
			return -ENOMEM;
		t->nr_events = nr_events;
		t->ns = l->ns;
		t->kick = &l->kick;
		t->nr_slots = nr_slots;
		t->slot_size = record_bytes(nr_events);
		t->ring = &rings[i];
		t->ring->cpu = cpus[i];
		t->slots = (void *)l->page + head_bytes(n) + (size_t)i * nr_slots * t->slot_size;
	}
	return 0;
}

static int alloc_page_of(struct kpmu_timelines *l, u32 nr_slots)
{
	u32 n = l->set->nr_targets, nr_events = l->set->nr_events;

	l->size = kpmu_timelines_bytes(n, nr_slots, nr_events);
	l->page = kpmu_user_memory(l->size);
	if (!l->page)
		return -ENOMEM;
	*l->page = (struct kpmu_timeline_page){
		.nr_rings = n,
		.nr_slots = nr_slots,
		.slot_size = record_bytes(nr_events),
		.nr_events = nr_events,
		.size = l->size,
		.first = head_bytes(n),
	};
	return 0;
}

/* ---- the period, and pollers ---------------------------------------------------- */

static int note_unit(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_timeline *t = ((const struct kpmu_set_unit *)data)->timeline;

	if (t && !hlist_unhashed(&t->node))
		kpmu_timeline_note(ctx, t, KPMU_TIMELINE_PERIOD);
	return 0;
}

static void note_all(struct work_struct *work)
{
	struct kpmu_timelines *l = container_of(work, struct kpmu_timelines, work);

	mutex_lock(&l->set->set_lock);
	kpmu_set_call(l->set, note_unit, false);
	mutex_unlock(&l->set->set_lock);
}

static enum hrtimer_restart start_work(struct hrtimer *timer)
{
	struct kpmu_timelines *l = container_of(timer, struct kpmu_timelines, timer);

	hrtimer_forward_now(timer, ns_to_ktime(l->period));
	queue_work(KPMU_UNBOUND_WQ, &l->work);
	return HRTIMER_RESTART;
}

static void wake_pollers(struct irq_work *kick)
{
	wake_up_poll(&container_of(kick, struct kpmu_timelines, kick)->wait,
		     EPOLLIN | EPOLLRDNORM);
}

/**
 * kpmu_timelines_poll() - poll(2): is a ring half full?
 * @s: the set, which has a timeline
 * @file: its file
 * @wait: the poll table
 *
 * Context: task.
 * Return: EPOLLIN if one is.
 */
__poll_t kpmu_timelines_poll(struct kpmu_set *s, struct file *file,
			     struct poll_table_struct *wait)
{
	struct kpmu_timelines *l = s->timelines;
	u32 i;

	poll_wait(file, &l->wait, wait);
	for (i = 0; i < s->nr_targets; i++) {
		struct kpmu_timeline *t = &l->each[i];

		if (READ_ONCE(t->written) - READ_ONCE(t->ring->tail) >= t->nr_slots / 2)
			return EPOLLIN | EPOLLRDNORM;
	}
	return 0;
}

/**
 * kpmu_timelines_mmap() - mmap(2) of the records
 * @s: the set, which has a timeline
 * @vma: the mapping
 *
 * Context: .mmap of the set's file.
 * Return: 0; -EINVAL if it is not a shared mapping from the beginning, or too long.
 */
int kpmu_timelines_mmap(struct kpmu_set *s, struct vm_area_struct *vma)
{
	struct kpmu_timelines *l = s->timelines;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff ||
	    vma->vm_end - vma->vm_start > l->size)
		return -EINVAL;
	return kpmu_user_map(vma, l->page);
}

/* ---- start and stop ------------------------------------------------------------- */

static int begin_unit(struct kpmu_ctx *ctx, void *data)
{
	return kpmu_timeline_add(ctx, data);
}

static int end_unit(struct kpmu_ctx *ctx, void *data)
{
	kpmu_timeline_del(ctx, data);
	return 0;
}

/* Only the first of its events exists for sure */
static int begin_timeline(struct kpmu_set *s, struct kpmu_set_unit *u)
{
	struct kpmu_event **at = s->events + u->first;
	struct kpmu_timeline *t = &s->timelines->each[u->first / s->nr_events];
	u32 i, first = u->first % s->nr_events;

	if (first + u->n > s->nr_events)
		return -EINVAL;		/* the same CPU twice */
	for (i = 0; i < u->n; i++)
		t->events[first + i] = at[i] ? &at[i]->se : NULL;
	u->timeline = t;
	return kpmu_ctx_call((*at)->se.ctx, begin_unit, t);
}

/**
 * kpmu_timelines_start() - begin a timeline
 * @s: the set, ready for reads, of events on CPUs
 * @cpus: the CPUs of its targets
 * @nr_slots: number of records of each, a power of two
 * @period: of additional records in ns, 0 for none
 *
 * kpmu_timelines_stop() must follow, also after an error.
 *
 * Context: task, may sleep; switches of tasks are hooked.
 * Return: 0; -ENOMEM; -EINVAL if a CPU is in it twice; -ENOSPC if a CPU has too many events with
 * timelines.
 */
int kpmu_timelines_start(struct kpmu_set *s, const s32 *cpus, u32 nr_slots, u64 period)
{
	struct kpmu_timelines *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	int err;
	u32 i;

	if (!l)
		return -ENOMEM;
	l->set = s;
	l->ns = get_pid_ns(task_active_pid_ns(current));
	l->period = period;
	init_waitqueue_head(&l->wait);
	init_irq_work(&l->kick, wake_pollers);
	INIT_WORK(&l->work, note_all);
	kpmu_hrtimer_setup(&l->timer, start_work, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	err = alloc_page_of(l, nr_slots) ?: alloc_each(l, cpus, nr_slots);
	if (err) {
		free_timelines(l);
		return err;
	}
	s->timelines = l;
	static_branch_inc(&kpmu_timelines_key);
	static_branch_inc(&kpmu_extras_key);
	mutex_lock(&s->set_lock);
	for (i = 0; i < s->nr_units && !err; i++)
		err = begin_timeline(s, &s->units[i]);
	mutex_unlock(&s->set_lock);
	if (!err && period)
		hrtimer_start(&l->timer, ns_to_ktime(period), HRTIMER_MODE_REL);
	return err;
}

/**
 * kpmu_timelines_stop() - end the timeline of a set, and free it
 * @s: the set; its events still exist, and nothing maps the records
 *
 * Context: task, may sleep.
 */
void kpmu_timelines_stop(struct kpmu_set *s)
{
	struct kpmu_timelines *l = s->timelines;
	struct kpmu_timeline *t;
	u32 i;

	if (!l)
		return;
	hrtimer_cancel(&l->timer);
	cancel_work_sync(&l->work);
	for (i = 0; i < s->nr_units; i++) {
		t = s->units[i].timeline;
		if (t && !hlist_unhashed(&t->node))
			kpmu_ctx_call(s->calls[i].ctx, end_unit, t);
	}
	static_branch_dec(&kpmu_extras_key);
	static_branch_dec(&kpmu_timelines_key);
	irq_work_sync(&l->kick);
	free_timelines(l);
	s->timelines = NULL;
}
