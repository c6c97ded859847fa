// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that user space maps as a whole.  vmalloc_user() would log a warning when there is none,
 * which an unprivileged caller could cause at will.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "../compat/compat.h"
#include "ring.h"

/**
 * kpmu_user_memory() - allocate memory for kpmu_user_map()
 * @size: bytes, whole pages
 *
 * Context: task, may sleep.
 * Return: the memory, all 0, for vfree(); NULL if there is not enough.
 */
void *kpmu_user_memory(size_t size)
{
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

/**
 * kpmu_user_map() - map all of the memory
 * @vma: a mapping of as many pages
 * @memory: from kpmu_user_memory()
 *
 * Context: .mmap of a file that holds the memory.
 * Return: 0 or an error of vm_insert_page().
 */
int kpmu_user_map(struct vm_area_struct *vma, void *memory)
{
	unsigned long at;
	int err;

	for (at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE) {
		err = vm_insert_page(vma, at, vmalloc_to_page(memory + (at - vma->vm_start)));
		if (err)
			return err;
	}
	kpmu_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}
