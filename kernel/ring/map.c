// SPDX-License-Identifier: GPL-2.0-only
/* Mapping of a ring's pages into user space. */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "../compat/compat.h"
#include "ring.h"

/* Pages being mapped: the user page, then those of the records */
struct mapping {
	const struct kpmu_ring *ring;
	const struct vm_area_struct *vma;
	pgprot_t prot;
};

static unsigned long pfn_of(const struct kpmu_ring *ring, unsigned long i)
{
	void *at;

	if (!i)
		return page_to_pfn(virt_to_page(ring->page));
	at = ring->core.data + ((i - 1) << PAGE_SHIFT);
	if (is_vmalloc_addr(at))
		return vmalloc_to_pfn(at);
	return page_to_pfn(virt_to_page(at));
}

static int map_page(pte_t *pte, unsigned long addr, void *data)
{
	const struct mapping *m = data;
	unsigned long i = (addr - m->vma->vm_start) >> PAGE_SHIFT;

	/* Special: the kernel neither counts nor pins the page */
	set_pte_at(m->vma->vm_mm, addr, pte,
		   pte_mkspecial(pfn_pte(pfn_of(m->ring, i), m->prot)));
	return 0;
}

/*
 * See ring.h.  remap_pfn_range() would have the same result, but searches the memory map for each
 * page, to find its memory type.  All pages here are ordinary memory.
 */
int kpmu_ring_map(struct kpmu_ring *ring, struct vm_area_struct *vma)
{
	struct mapping m = {
		.ring = ring,
		.vma = vma,
		/* As of a private mapping: read-only, so that the first write faults */
		.prot = vm_get_page_prot(vma->vm_flags & ~VM_SHARED),
	};
	int err;

	kpmu_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	err = apply_to_page_range(vma->vm_mm, vma->vm_start,
				  vma->vm_end - vma->vm_start, map_page, &m);
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
