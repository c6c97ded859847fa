// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of events whose samples are counted by address, cgroup or task: their memory, and which
 * event has one.  record/count_sample.c counts.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "event.h"
#include "histogram.h"

static_assert(sizeof(struct kpmu_histogram_head) == sizeof(struct kpmu_histogram_page));
static_assert(offsetof(struct kpmu_histogram_head, entry_size) ==
	      offsetof(struct kpmu_histogram_page, entry_size));
static_assert(sizeof(struct kpmu_histogram_slot) == sizeof(struct kpmu_histogram_entry));
static_assert(offsetof(struct kpmu_histogram_slot, events) ==
	      offsetof(struct kpmu_histogram_entry, events));

static int alloc_memory(struct kpmu_histogram *h)
{
	u32 i, n = 1u << h->order;

	h->head = kpmu_user_memory(h->size);
	if (!h->head)
		return -ENOMEM;
	h->slots = (void *)h->head + PAGE_SIZE;
	h->head->by = h->by;
	h->head->order = h->order;
	h->head->first = PAGE_SIZE;
	h->head->entry_size = sizeof(*h->slots);
	for (i = 0; i < n; i++) {
		atomic64_set(&h->slots[i].key, KPMU_HISTOGRAM_FREE);
		if (!(i & 0xffff))
			cond_resched();
	}
	return 0;
}

/**
 * kpmu_histogram_new() - make a table
 * @by: KPMU_HISTOGRAM_*
 * @order: of 2^@order entries
 *
 * Context: task, may sleep.
 * Return: the table, with one reference; -ENOMEM; -EPERM if the caller has too much locked memory.
 */
struct kpmu_histogram *kpmu_histogram_new(u32 by, u32 order)
{
	struct kpmu_histogram *h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	int err;

	if (!h)
		return ERR_PTR(-ENOMEM);
	refcount_set(&h->ref, 1);
	h->by = by;
	h->order = order;
	h->size = PAGE_ALIGN(PAGE_SIZE + (sizeof(*h->slots) << order));
	err = kpmu_ring_charge(&h->charge, current->mm, h->size >> PAGE_SHIFT,
			       kpmu_paranoid() > -1);
	if (!err)
		err = alloc_memory(h);
	if (!err)
		return h;
	kpmu_histogram_put(h);
	return ERR_PTR(err);
}

/**
 * kpmu_histogram_put() - drop a reference
 * @h: the table, or NULL
 *
 * An event drops its own after a grace period, so no overflow uses the table any more.
 *
 * Context: task, may sleep.
 */
void kpmu_histogram_put(struct kpmu_histogram *h)
{
	if (!h || !refcount_dec_and_test(&h->ref))
		return;
	vfree(h->head);
	if (h->charge.user)
		kpmu_ring_uncharge(&h->charge);
	kfree(h);
}

/**
 * kpmu_histogram_mmap() - mmap(2) of a table
 * @h: the table
 * @vma: the mapping
 *
 * Its file cannot be written to, so neither can the mapping, and mmap(2) clears VM_SHARED.
 *
 * Context: .mmap of its file.
 * Return: 0; -EINVAL if it is not a shared mapping of all of it.
 */
int kpmu_histogram_mmap(struct kpmu_histogram *h, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_pgoff ||
	    vma->vm_end - vma->vm_start != h->size)
		return -EINVAL;
	return kpmu_user_map(vma, h->head);
}
