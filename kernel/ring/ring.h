/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The buffer that an event's fd can be mapped as: the user page, the ring of
 * records, the AUX area.  Knows no event.  perf_event_open(2), "MMAP layout".
 *
 * Lifetime: references for whoever keeps a pointer, and RCU for whoever
 * writes: a writer that found the ring under rcu_read_lock() (an NMI is as
 * good) may use it until it leaves.
 */
#ifndef KPMU_RING_H
#define KPMU_RING_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "write.h"

struct kpmu_aux;
struct mm_struct;
struct user_struct;
struct vm_area_struct;

/**
 * struct kpmu_ring_charge - whose limits the memory counts against
 * @user: who may have kpmu_sysctl_mlock_kb a CPU
 * @mm: whose RLIMIT_MEMLOCK takes the rest
 * @user_pages: pages charged to @user
 * @mm_pages: pages charged to @mm
 */
struct kpmu_ring_charge {
	struct user_struct *user;
	struct mm_struct *mm;
	unsigned long user_pages;
	unsigned long mm_pages;
};

/**
 * struct kpmu_ring - a buffer
 * @core: what the writer works on
 * @page: the user page, one page of its own
 * @nr_pages: pages of records, a power of two or 0
 * @ref: whoever keeps a pointer
 * @rcu: a writer may still be in it when the last reference goes
 * @polled: EPOLLIN when something came since the last kpmu_ring_poll()
 * @waking: @wake is queued and has not begun
 * @wake: tells the readers, outside of the NMI; holds the ring
 * @lock: guards @readers and @closed
 * @readers: who waits for records, struct kpmu_ring_reader
 * @closed: it has no new readers any more
 * @charge: for the pages
 * @aux: its AUX area, while that is mapped; RCU
 */
struct kpmu_ring {
	struct kpmu_ring_core core;
	struct perf_event_mmap_page *page;
	unsigned long nr_pages;
	refcount_t ref;
	struct rcu_head rcu;
	atomic_t polled;
	atomic_t waking;
	struct irq_work wake;
	spinlock_t lock;
	struct list_head readers;
	bool closed;
	struct kpmu_ring_charge charge;
	struct kpmu_aux __rcu *aux;
};

/**
 * struct kpmu_ring_reader - somebody whom new records concern
 * @wait: who sleeps until they come
 * @node: in the ring's list
 */
struct kpmu_ring_reader {
	wait_queue_head_t *wait;
	struct list_head node;
};

#define KPMU_RING_OVERWRITE	BIT(0)	/* old records give way to new ones */
#define KPMU_RING_BACKWARD	BIT(1)	/* filled from the end down */

/*
 * Writing.
 *
 *	if (kpmu_ring_begin(ring, &h, size, lost_size)) {
 *		if (h.lost)
 *			... kpmu_ring_put() a PERF_RECORD_LOST of lost_size bytes
 *		... kpmu_ring_put() the record, size bytes
 *		kpmu_ring_sample(&h, wakeup_events);	(samples only)
 *		kpmu_ring_commit(ring, &h);
 *	}
 *
 * kpmu_ring_put(), kpmu_ring_span(), kpmu_ring_skip() and kpmu_ring_sample() are
 * in core.h.
 */

/**
 * kpmu_ring_wake() - there is something to read: wake the readers
 * @ring: the ring
 *
 * Context: any, NMI too; the ring held or under RCU.
 */
void kpmu_ring_wake(struct kpmu_ring *ring);

/**
 * kpmu_ring_begin() - take room for a record
 * @ring: the ring, held or under RCU
 * @h: filled in; h->lost says how many records were lost just before
 * @size: bytes of the record with its header and trailer; a multiple of 8, at
 *	most 65528
 * @lost_size: bytes of the PERF_RECORD_LOST that the caller would put first; taken in
 *	addition if h->lost is not 0
 *
 * Records on one ring are written by one CPU at a time: an event's records come
 * from where it counts.  There, a writer may interrupt another.  All bytes asked
 * for must be put.
 *
 * Context: any, NMI too; preemption off from here to kpmu_ring_commit().
 * Return: true; false if the ring is paused, has no room or no data pages.  The
 * record is then counted as lost (the event's own count of lost samples is the
 * caller's), and h is not to be used.
 */
static __always_inline bool
kpmu_ring_begin(struct kpmu_ring *ring, struct kpmu_ring_handle *h, u64 size,
		u64 lost_size)
{
	return kpmu_core_begin(&ring->core, h, size, lost_size);
}

/**
 * kpmu_ring_commit() - the record is complete: show it
 * @ring: the ring
 * @h: from kpmu_ring_begin()
 *
 * Readers are woken by irq_work if a mark was passed.
 *
 * Context: as kpmu_ring_begin().
 * Return: whether a mark was passed.
 */
static __always_inline bool
kpmu_ring_commit(struct kpmu_ring *ring, struct kpmu_ring_handle *h)
{
	bool wake = kpmu_core_commit(h);

	if (unlikely(wake))
		kpmu_ring_wake(ring);
	return wake;
}

/**
 * kpmu_ring_notify() - wake the readers, though there is nothing to read
 * @ring: the ring
 *
 * Context: any, NMI too; the ring held or under RCU.
 */
void kpmu_ring_notify(struct kpmu_ring *ring);

/**
 * kpmu_ring_pause() - drop records from now on, or no more
 * @ring: the ring
 * @pause: a ring without data pages stays paused
 *
 * Context: any.
 */
void kpmu_ring_pause(struct kpmu_ring *ring, bool pause);

/**
 * kpmu_ring_poll() - has something come since the last call?
 * @ring: the ring
 *
 * Context: any.
 * Return: EPOLLIN or 0.
 */
__poll_t kpmu_ring_poll(struct kpmu_ring *ring);

/**
 * kpmu_ring_join() - a reader that is woken from now on
 * @ring: the ring
 * @reader: not in any ring's list
 *
 * Context: task.
 * Return: false if the ring is closed to new readers.
 */
bool kpmu_ring_join(struct kpmu_ring *ring, struct kpmu_ring_reader *reader);

/**
 * kpmu_ring_close() - the ring has no new readers any more
 * @ring: the ring, unmapped
 *
 * Context: task.
 */
void kpmu_ring_close(struct kpmu_ring *ring);

/**
 * kpmu_ring_leave() - it is not woken by this ring any more
 * @ring: the ring
 * @reader: the reader; must stay for an RCU grace period
 *
 * Context: task.
 */
void kpmu_ring_leave(struct kpmu_ring *ring, struct kpmu_ring_reader *reader);

/* Life */

/**
 * kpmu_ring_alloc() - a new ring
 * @nr_pages: pages of records, a power of two or 0
 * @node: the NUMA node, -1 for any
 * @flags: KPMU_RING_*
 * @watermark: bytes after which readers are woken; 0 for half of the ring
 *
 * Context: task, may sleep.
 * Return: the ring with one reference, or NULL.
 */
struct kpmu_ring *kpmu_ring_alloc(unsigned long nr_pages, int node,
				  unsigned int flags, u64 watermark);
void kpmu_ring_get(struct kpmu_ring *ring);
bool kpmu_ring_tryget(struct kpmu_ring *ring);
void kpmu_ring_put_ref(struct kpmu_ring *ring);
void kpmu_rings_exit(void);

/* Mapping: map.c */

/**
 * kpmu_ring_map() - put a ring's pages into a mapping
 * @ring: the ring
 * @vma: of exactly 1 + nr_pages pages
 *
 * All pages are put in at once and read-only; the first write to one ends in
 * kpmu_ring_mkwrite().
 *
 * Context: .mmap of a file, under the mmap lock.
 */
int kpmu_ring_map(struct kpmu_ring *ring, struct vm_area_struct *vma);

/* For vm_operations_struct: only the user page may be written; not split */
vm_fault_t kpmu_ring_mkwrite(struct vm_fault *vmf);
int kpmu_ring_may_split(struct vm_area_struct *vma, unsigned long addr);

/* Memory: charge.c */
extern int kpmu_sysctl_mlock_kb;

/**
 * kpmu_ring_charge() - count pages against the caller's limits
 * @c: filled in
 * @mm: the mm that maps
 * @pages: how many
 * @limited: the limits hold (not so at perf_event_paranoid -1)
 *
 * kpmu_sysctl_mlock_kb a CPU is free for each user, in common with the kernel's
 * own perf; what is more counts against RLIMIT_MEMLOCK unless the caller has
 * CAP_IPC_LOCK.
 *
 * Context: task.
 * Return: 0 or -EPERM.
 */
int kpmu_ring_charge(struct kpmu_ring_charge *c, struct mm_struct *mm,
		     unsigned long pages, bool limited);
void kpmu_ring_uncharge(struct kpmu_ring_charge *c);

#endif
