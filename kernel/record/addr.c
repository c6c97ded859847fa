// SPDX-License-Identifier: GPL-2.0-only
/* Physical address and page size of a virtual address, without locks or page faults. */
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "sample.h"

/**
 * kpmu_phys_of() - physical address of a virtual address
 * @addr: kernel address, or user address of current
 *
 * Context: any, including NMI.
 * Return: the physical address; 0 if unknown.
 */
u64 kpmu_phys_of(u64 addr)
{
	struct page *page;
	u64 phys = 0;

	if (!addr)
		return 0;
	if (addr >= TASK_SIZE) {
		if (virt_addr_valid((void *)addr) &&
		    !(addr >= VMALLOC_START && addr < VMALLOC_END))
			phys = virt_to_phys((void *)addr);
		return phys;
	}
	if (!current->mm)
		return 0;
	pagefault_disable();
	if (get_user_page_fast_only(addr, 0, &page)) {
		phys = page_to_phys(page) + offset_in_page(addr);
		put_page(page);
	}
	pagefault_enable();
	return phys;
}

/* Size of the page that maps @addr; no page table is freed while IRQs are off */
static u64 walk_page_table(struct mm_struct *mm, u64 addr)
{
	pgd_t pgd = READ_ONCE(*pgd_offset(mm, addr));
	p4d_t p4d;
	pud_t pud;
	pmd_t pmd;

	if (pgd_none(pgd) || pgd_bad(pgd))
		return 0;
	p4d = READ_ONCE(*p4d_offset(&pgd, addr));
	if (!p4d_present(p4d))
		return 0;
	pud = READ_ONCE(*pud_offset(&p4d, addr));
	if (!pud_present(pud))
		return 0;
	if (pud_leaf(pud))
		return PUD_SIZE;
	pmd = READ_ONCE(*pmd_offset(&pud, addr));
	if (!pmd_present(pmd))
		return 0;
	if (pmd_leaf(pmd))
		return PMD_SIZE;
	return pte_present(*pte_offset_kernel(&pmd, addr)) ? PAGE_SIZE : 0;
}

/**
 * kpmu_page_size_of() - size of the page that maps an address
 * @addr: kernel address, or user address of current
 *
 * Context: any, including NMI.
 * Return: bytes; 0 if the address is not mapped.
 */
u64 kpmu_page_size_of(u64 addr)
{
	unsigned int level = PG_LEVEL_NONE;
	unsigned long flags;
	u64 size = 0;
	pte_t *pte;

	if (!addr)
		return 0;
	if (addr >= TASK_SIZE_MAX) {
		pte = lookup_address(addr, &level);
		return pte && pte_present(*pte) ? page_level_size(level) : 0;
	}
	if (!current->mm)
		return 0;
	local_irq_save(flags);
	size = walk_page_table(current->mm, addr);
	local_irq_restore(flags);
	return size;
}
