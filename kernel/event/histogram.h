/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of an event whose samples are counted instead of written to a ring. */
#ifndef KPMU_EVENT_HISTOGRAM_H
#define KPMU_EVENT_HISTOGRAM_H

#include <linux/atomic.h>
#include <linux/refcount.h>

#include <uapi/linux/kpmu.h>

#include "../ring/ring.h"
#include "sampling.h"

struct vm_area_struct;

/* struct kpmu_histogram_page, as the kernel writes it */
struct kpmu_histogram_head {
	atomic64_t samples;
	atomic64_t overflows;
	u32 by;
	u32 order;
	u32 first;
	u32 entry_size;
};

/* struct kpmu_histogram_entry, likewise */
struct kpmu_histogram_slot {
	atomic64_t key;
	atomic64_t samples;
	atomic64_t events;
	u64 reserved;
};

/**
 * struct kpmu_histogram - a table
 * @ref: references of the event and of the fd
 * @by: KPMU_HISTOGRAM_*
 * @order: there are 2^@order slots
 * @closed: the fd is closed: no more samples
 * @size: size of the memory in bytes
 * @head: the memory, which user space can only read
 * @slots: in it
 * @charge: accounting of the memory
 */
struct kpmu_histogram {
	refcount_t ref;
	u32 by;
	u32 order;
	bool closed;
	size_t size;
	struct kpmu_histogram_head *head;
	struct kpmu_histogram_slot *slots;
	struct kpmu_ring_charged charge;
};

/**
 * kpmu_histogram_of() - the table in which the samples of an event are counted
 * @e: the event, a root
 *
 * Context: any.
 * Return: the table; NULL if there is none, or if its fd is closed.
 */
static inline struct kpmu_histogram *kpmu_histogram_of(const struct kpmu_event *e)
{
	/* Pairs with kpmu_output_count() */
	struct kpmu_histogram *h = e->sampling ? smp_load_acquire(&e->sampling->histogram) : NULL;

	return h && !READ_ONCE(h->closed) ? h : NULL;
}

struct kpmu_histogram *kpmu_histogram_new(u32 by, u32 order);
void kpmu_histogram_put(struct kpmu_histogram *h);
int kpmu_output_count(struct kpmu_event *e, struct kpmu_histogram *h);	/* output.c */
int kpmu_histogram_mmap(struct kpmu_histogram *h, struct vm_area_struct *vma);

#endif
