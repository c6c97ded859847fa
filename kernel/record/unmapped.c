// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of user space that are not mapped.  To find that by an access costs a page fault: some 550
 * instructions of the kernel, of which half search the table of instructions that may fault.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>

#include "sample.h"

static bool no_pte(pmd_t *pmdp, unsigned long addr)
{
	pmd_t pmd = READ_ONCE(*pmdp);

	if (pmd_none(pmd))
		return true;
	if (!pmd_present(pmd) || pmd_leaf(pmd))
		return false;
	return pte_none(READ_ONCE(*pte_offset_kernel(&pmd, addr)));
}

/**
 * kpmu_is_unmapped() - check whether the page tables of the current task have no entry for an address
 * @addr: an address of user space
 *
 * The page tables are walked as by the kernel's fast access to user pages: with IRQs off none of them is
 * freed.  SDM volume 3, "4-Level Paging and 5-Level Paging".
 *
 * Context: IRQs off, or NMI; the current task has an mm, whose page tables the CPU uses.
 * Return: true if an access to the address would fault; if false, it may.
 */
bool kpmu_is_unmapped(unsigned long addr)
{
	pgd_t *pgdp = pgd_offset(current->mm, addr), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;

	if (pgd_none(pgd))
		return true;
	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (p4d_none(p4d))
		return true;
	pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud = READ_ONCE(*pudp);
	if (pud_none(pud))
		return true;
	if (!pud_present(pud) || pud_leaf(pud))
		return false;
	return no_pte(pmd_offset_lockless(pudp, pud, addr), addr);
}
