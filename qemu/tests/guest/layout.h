/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LAYOUT_H
#define LAYOUT_H

#define ROM_SIZE	0x40000
#define LOAD_ADDR	0x200000	/* of the program, followed by BSS */
#define TRAMPOLINE	0x8000		/* start-up code of other CPUs */
#define PAGE_TABLES	0x100000	/* PML4, PDPT, 4 PDs, and the PT of DEMAND */
#define DEMAND		0x40000000	/* 512 pages with mappings that tests change */
#define DEMAND_RAM	0x1000000	/* RAM of these pages */
#define MAX_CPUS	8
#define STACK_SIZE	16384

#define SEL_KCODE	0x08
#define SEL_KDATA	0x10
#define SEL_UCODE32	0x1b
#define SEL_UDATA	0x23
#define SEL_UCODE	0x2b
#define SEL_UDATA2	0x33		/* loaded by SYSEXIT */
#define SEL_TSS		0x38

/* Interrupt vectors */
#define VEC_EXIT	0x80		/* end of a case */
#define VEC_PRIV	0x81		/* not allowed in user mode: #GP */
#define VEC_TIMER	0x40
#define VEC_PMI		0x50		/* LVTPC in fixed mode */

#endif
