// SPDX-License-Identifier: GPL-2.0-only
/* A ring's pages in a user's address space. */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "../compat/compat.h"
#include "ring.h"

static unsigned long pfn_of(const struct kpmu_ring *ring, unsigned long i)
{
	if (!i)
		return page_to_pfn(virt_to_page(ring->page));
	return vmalloc_to_pfn(ring->core.data + ((i - 1) << PAGE_SHIFT));
}

/* See ring.h */
int kpmu_ring_map(struct kpmu_ring *ring, struct vm_area_struct *vma)
{
	/* As if private: read-only, so that a write asks first */
	pgprot_t prot = vm_get_page_prot(vma->vm_flags & ~VM_SHARED);
	unsigned long i;
	int err = 0;

	for (i = 0; i <= ring->nr_pages && !err; i++)
		err = remap_pfn_range(vma, vma->vm_start + (i << PAGE_SHIFT),
				      pfn_of(ring, i), PAGE_SIZE, prot);
	/* The ring may be freed before the kernel takes back what is mapped */
	if (err)
		kpmu_zap_vma(vma);
	return err;
}

/**
 * kpmu_ring_mkwrite() - the user writes to a page for the first time
 * @vmf: where
 *
 * The user page holds data_tail; records are for reading.
 */
vm_fault_t kpmu_ring_mkwrite(struct vm_fault *vmf)
{
	return vmf->pgoff ? VM_FAULT_SIGBUS : 0;
}

/**
 * kpmu_ring_may_split() - part of a mapping is to go, or to change
 * @vma: the mapping
 * @addr: where it would be cut
 */
int kpmu_ring_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}
