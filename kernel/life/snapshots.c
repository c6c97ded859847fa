// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots of a set: what a read would return, written at a period into memory that user space
 * maps.  The timer only starts the work, which runs in a task: it waits for other CPUs.
 *
 * A slot is valid if its number is the same before and after its values are read; it is 0 while the
 * slot is written.
 */
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include <uapi/linux/kpmu.h>

#include "../compat/compat.h"
#include "set.h"

/**
 * struct kpmu_snapshots - the snapshots of a set
 * @set: the set
 * @timer: starts @work at each @period
 * @work: takes a snapshot
 * @wait: pollers
 * @page: the memory; user space may write to all of it
 * @size: its size in bytes
 * @nr_slots: number of slots
 * @slot_size: size of a slot in bytes
 * @period: in ns
 * @taken: number of snapshots
 * @missed: number of periods without a snapshot
 */
struct kpmu_snapshots {
	struct kpmu_set *set;
	struct hrtimer timer;
	struct work_struct work;
	wait_queue_head_t wait;
	struct kpmu_set_page *page;
	size_t size;
	u32 nr_slots;
	u32 slot_size;
	u64 period;
	u64 taken;
	u64 missed;
};

static u64 *next_slot(const struct kpmu_snapshots *n)
{
	return (void *)n->page + PAGE_SIZE + n->taken % n->nr_slots * n->slot_size;
}

static void take_snapshot(struct work_struct *work)
{
	struct kpmu_snapshots *n = container_of(work, struct kpmu_snapshots, work);
	struct kpmu_set *s = n->set;
	u64 *slot = next_slot(n);

	mutex_lock(&s->set_lock);
	kpmu_set_fill(s);
	WRITE_ONCE(slot[0], 0);
	smp_wmb();	/* a reader that sees a new value sees that the number has changed */
	memcpy(slot + 1, s->words + 1, n->slot_size - sizeof(u64));
	mutex_unlock(&s->set_lock);
	n->taken++;
	smp_store_release(&slot[0], n->taken);	/* after the values */
	WRITE_ONCE(n->page->missed, READ_ONCE(n->missed));
	smp_store_release(&n->page->head, n->taken); /* after the slot is valid */
	wake_up_poll(&n->wait, EPOLLIN | EPOLLRDNORM);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct kpmu_snapshots *n = container_of(timer, struct kpmu_snapshots, timer);
	u64 periods = hrtimer_forward_now(timer, ns_to_ktime(n->period));

	if (queue_work(KPMU_UNBOUND_WQ, &n->work))
		periods--;
	WRITE_ONCE(n->missed, n->missed + periods);
	return HRTIMER_RESTART;
}

/**
 * kpmu_snapshots_start() - take snapshots of a set
 * @s: the set, ready for reads
 * @nr_slots: number of slots, not 0
 * @period: in ns
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOMEM.
 */
int kpmu_snapshots_start(struct kpmu_set *s, u32 nr_slots, u64 period)
{
	struct kpmu_snapshots *n = kzalloc(sizeof(*n), GFP_KERNEL_ACCOUNT);

	if (!n)
		return -ENOMEM;
	n->set = s;
	n->nr_slots = nr_slots;
	n->slot_size = s->nr_words * sizeof(u64);
	n->size = kpmu_snapshots_bytes(nr_slots, s->nr_words);
	n->period = period;
	n->page = kpmu_user_memory(n->size);
	if (!n->page) {
		kfree(n);
		return -ENOMEM;
	}
	n->page->nr_slots = nr_slots;
	n->page->slot_size = n->slot_size;
	n->page->first = PAGE_SIZE;
	init_waitqueue_head(&n->wait);
	INIT_WORK(&n->work, take_snapshot);
	kpmu_hrtimer_setup(&n->timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	s->snapshots = n;
	hrtimer_start(&n->timer, ns_to_ktime(period), HRTIMER_MODE_REL);
	return 0;
}

/**
 * kpmu_snapshots_stop() - take no more snapshots, and free them
 * @s: the set; nothing maps the snapshots
 *
 * Context: task, may sleep.
 */
void kpmu_snapshots_stop(struct kpmu_set *s)
{
	struct kpmu_snapshots *n = s->snapshots;

	if (!n)
		return;
	hrtimer_cancel(&n->timer);
	cancel_work_sync(&n->work);
	vfree(n->page);
	kfree(n);
	s->snapshots = NULL;
}

/**
 * kpmu_snapshots_poll() - poll(2): are there snapshots that user space has not seen?
 * @s: the set
 * @file: its file
 * @wait: the poll table
 *
 * Context: task.
 * Return: EPOLLIN while head and tail of the first page differ; a set without snapshots can always
 * be read.
 */
__poll_t kpmu_snapshots_poll(struct kpmu_set *s, struct file *file,
			     struct poll_table_struct *wait)
{
	struct kpmu_snapshots *n = s->snapshots;

	if (!n)
		return EPOLLIN | EPOLLRDNORM;
	poll_wait(file, &n->wait, wait);
	return READ_ONCE(n->page->tail) == READ_ONCE(n->taken) ? 0 : EPOLLIN | EPOLLRDNORM;
}

/**
 * kpmu_snapshots_mmap() - mmap(2) of the snapshots
 * @s: the set
 * @vma: the mapping
 *
 * Context: .mmap of the set's file.
 * Return: 0; -ENODEV if the set takes none; -EINVAL if it is not a shared mapping of all of them.
 */
int kpmu_snapshots_mmap(struct kpmu_set *s, struct vm_area_struct *vma)
{
	struct kpmu_snapshots *n = s->snapshots;

	if (!n)
		return -ENODEV;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff ||
	    vma->vm_end - vma->vm_start != n->size)
		return -EINVAL;
	return kpmu_user_map(vma, n->page);
}
