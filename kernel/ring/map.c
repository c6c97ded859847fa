// SPDX-License-Identifier: GPL-2.0-only
/* Mapping of a ring's pages into user space. */
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
	/* Protection of a private mapping: read-only, so that the first write faults */
	pgprot_t prot = vm_get_page_prot(vma->vm_flags & ~VM_SHARED);
	unsigned long i;
	int err = 0;

	for (i = 0; i <= ring->nr_pages && !err; i++)
		err = remap_pfn_range(vma, vma->vm_start + (i << PAGE_SHIFT),
				      pfn_of(ring, i), PAGE_SIZE, prot);
	/* The caller may free the ring before the kernel unmaps a failed mapping */
	if (err)
		kpmu_zap_vma(vma);
	return err;
}

/**
 * kpmu_ring_mkwrite() - first write to a mapped page; only the user page is writable
 * @vmf: the fault
 *
 * The user page holds data_tail.
 *
 * Context: .pfn_mkwrite of a mapping.
 * Return: 0 for the user page, else VM_FAULT_SIGBUS.
 */
vm_fault_t kpmu_ring_mkwrite(struct vm_fault *vmf)
{
	return vmf->pgoff ? VM_FAULT_SIGBUS : 0;
}

/**
 * kpmu_ring_may_split() - refuse to unmap or change a part of a mapping
 * @vma: the mapping
 * @addr: where it would be split
 *
 * Context: .may_split of a mapping.
 * Return: -EINVAL.
 */
int kpmu_ring_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}
