/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The buffer that mmap(2) of an event's fd maps: the user page, the ring of records, the
 * AUX area.  This code does not access events.  perf_event_open(2), "MMAP layout".
 *
 * Lifetime: a stored pointer holds a reference.  Writers use RCU instead: a ring found
 * under rcu_read_lock(), with preemption off or in an NMI is valid until that ends.
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
 * struct kpmu_ring_charged - accounting of the memory as locked memory
 * @user: charged up to kpmu_sysctl_mlock_kb per CPU
 * @mm: charged for the rest, limited by RLIMIT_MEMLOCK
 * @user_pages: pages charged to @user
 * @mm_pages: pages charged to @mm
 */
struct kpmu_ring_charged {
	struct user_struct *user;
	struct mm_struct *mm;
	unsigned long user_pages;
	unsigned long mm_pages;
};

/**
 * struct kpmu_ring - a buffer
 * @core: the state of the writer
 * @page: the user page, one page of its own
 * @nr_pages: pages of records, a power of two or 0
 * @ref: references
 * @rcu: for freeing: a writer may still use the ring after the last reference
 * @polled: EPOLLIN | EPOLLRDNORM if there was a wakeup for data since the last
 *	kpmu_ring_poll()
 * @waking: @wake is queued and has not begun
 * @wake: wakes the readers outside of NMIs; holds a reference while queued
 * @readers_lock: guards @readers and @closed
 * @readers: waiters for records, struct kpmu_ring_reader
 * @closed: no reader may join any more
 * @charge: accounting of the pages
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
	spinlock_t readers_lock;
	struct list_head readers;
	bool closed;
	struct kpmu_ring_charged charge;
	struct kpmu_aux __rcu *aux;
};

/**
 * struct kpmu_ring_reader - an entry in a ring's list of readers
 * @wait: the waiters to wake up
 * @node: in the ring's list
 */
struct kpmu_ring_reader {
	wait_queue_head_t *wait;
	struct list_head node;
};

#define KPMU_RING_OVERWRITE	BIT(0)	/* new records overwrite old ones */
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
 * kpmu_ring_wake() - make a ring readable for poll(2) and wake the readers
 * @ring: the ring
 *
 * Context: any, including NMI; the ring held or under RCU.
 */
void kpmu_ring_wake(struct kpmu_ring *ring);

/**
 * kpmu_ring_begin() - reserve room for a record
 * @ring: the ring, held or under RCU
 * @h: filled in; h->lost is the number of records lost just before
 * @size: bytes of the record with its header and trailer; a multiple of 8, at
 *	most 65528
 * @lost_size: bytes of the PERF_RECORD_LOST that the caller would put first; reserved in
 *	addition if h->lost is not 0
 *
 * One CPU at a time writes to a ring, that on which the ring's events are active.
 * There, a writer may interrupt another.  All bytes reserved must be put.
 *
 * Context: any, including NMI; preemption off from here to kpmu_ring_commit().
 * Return: true; false if the ring is paused, or has no room or no data pages.  Then @h
 * must not be used.  A ring with data pages counts the record as lost; the event's own
 * count of lost records is up to the caller.
 */
static __always_inline bool
kpmu_ring_begin(struct kpmu_ring *ring, struct kpmu_ring_handle *h, u64 size,
		u64 lost_size)
{
	if (likely(kpmu_core_begin(&ring->core, h, size, lost_size)))
		return true;
	if (unlikely(h->wake))
		kpmu_ring_wake(ring);
	return false;
}

/**
 * kpmu_ring_begin_many() - reserve room for several records, if that is as reserving one by one
 * @ring: the ring, held or under RCU
 * @h: filled in
 * @size: bytes of each record, see kpmu_ring_begin()
 * @nr: number of records, at least 1
 *
 * Context: as kpmu_ring_begin().
 * Return: the number of records that room was reserved for; 0 if kpmu_ring_begin() must be called
 * for each.
 */
static inline u32
kpmu_ring_begin_many(struct kpmu_ring *ring, struct kpmu_ring_handle *h, u64 size, u32 nr)
{
	u32 n = kpmu_core_begin_many(&ring->core, h, size, nr);

	if (unlikely(h->wake))
		kpmu_ring_wake(ring);
	return n;
}

/**
 * kpmu_ring_commit() - publish a complete record
 * @ring: the ring
 * @h: from kpmu_ring_begin()
 *
 * If a wakeup is due, by watermark or wakeup_events, irq_work wakes the readers.
 *
 * Context: as kpmu_ring_begin().
 * Return: whether a wakeup was due.
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
 * kpmu_ring_notify() - wake the readers without making the ring readable for poll(2)
 * @ring: the ring
 *
 * Context: any, including NMI; the ring held or under RCU.
 */
void kpmu_ring_notify(struct kpmu_ring *ring);

/**
 * kpmu_ring_pause() - start or stop dropping records
 * @ring: the ring
 * @pause: whether to drop; a ring without data pages stays paused
 *
 * Context: any.
 */
void kpmu_ring_pause(struct kpmu_ring *ring, bool pause);

/**
 * kpmu_ring_poll() - has the ring become readable since the last call?
 * @ring: the ring
 *
 * Context: any.
 * Return: EPOLLIN | EPOLLRDNORM, or 0.
 */
__poll_t kpmu_ring_poll(struct kpmu_ring *ring);

/**
 * kpmu_ring_join() - add a reader to be woken
 * @ring: the ring
 * @reader: not in any ring's list
 *
 * Context: task.
 * Return: false if the ring is closed to new readers.
 */
bool kpmu_ring_join(struct kpmu_ring *ring, struct kpmu_ring_reader *reader);

/**
 * kpmu_ring_close() - close a ring to new readers
 * @ring: the ring, unmapped
 *
 * Context: task.
 */
void kpmu_ring_close(struct kpmu_ring *ring);

/**
 * kpmu_ring_leave() - remove a reader
 * @ring: the ring
 * @reader: the reader; to be freed only after an RCU grace period
 *
 * Context: task.
 */
void kpmu_ring_leave(struct kpmu_ring *ring, struct kpmu_ring_reader *reader);

/* Allocation and references */

/**
 * kpmu_ring_alloc() - allocate a ring
 * @nr_pages: pages of records, a power of two or 0
 * @node: the NUMA node, -1 for any
 * @flags: KPMU_RING_*
 * @watermark: readers are woken after more than this number of bytes; 0 for half of
 *	the ring
 *
 * Context: task, may sleep.
 * Return: the ring with one reference, or NULL.
 */
struct kpmu_ring *kpmu_ring_alloc(unsigned long nr_pages, int node,
				  unsigned int flags, u64 watermark);
void kpmu_ring_get(struct kpmu_ring *ring);
void kpmu_ring_put_ref(struct kpmu_ring *ring);
void kpmu_rings_exit(void);

/* Mapping: map.c */

/**
 * kpmu_ring_map() - map the pages of a ring
 * @ring: the ring
 * @vma: of exactly 1 + nr_pages pages
 *
 * All pages are mapped at once and read-only; the first write to one calls
 * kpmu_ring_mkwrite().
 *
 * Context: .mmap of a file, under the mmap lock.
 * Return: 0 or a negative error code.
 */
int kpmu_ring_map(struct kpmu_ring *ring, struct vm_area_struct *vma);

/* For vm_operations_struct: only the user page is writable; no splits */
vm_fault_t kpmu_ring_mkwrite(struct vm_fault *vmf);
int kpmu_ring_may_split(struct vm_area_struct *vma, unsigned long addr);

/* user_memory.c */
void *kpmu_user_memory(size_t size);
int kpmu_user_map(struct vm_area_struct *vma, void *memory);

/* Memory: charge.c */
extern int kpmu_sysctl_mlock_kb;

/**
 * kpmu_ring_charge() - charge pages to the caller's limits
 * @c: filled in on success
 * @mm: the mm that maps the pages
 * @pages: number of pages
 * @limited: enforce the limits (false at perf_event_paranoid -1)
 *
 * Each user may have kpmu_sysctl_mlock_kb per online CPU, shared with the kernel's own
 * perf.  More pages count against RLIMIT_MEMLOCK, unless the caller has CAP_IPC_LOCK.
 *
 * Context: task.
 * Return: 0 or -EPERM.
 */
int kpmu_ring_charge(struct kpmu_ring_charged *c, struct mm_struct *mm,
		     unsigned long pages, bool limited);
void kpmu_ring_uncharge(struct kpmu_ring_charged *c);

#endif
