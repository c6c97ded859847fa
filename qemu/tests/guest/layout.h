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
#define SEL_BASED	(SEL_TSS + 16 * MAX_CPUS + 3)	/* 32-bit user code at BASED */
#define BASED		0x10000
#define SEL_GATE_USER	(SEL_BASED + 8)	/* call gates, to user mode and to the kernel */
#define SEL_GATE_KERNEL	(SEL_GATE_USER + 16)

/* Interrupt vectors */
#define VEC_EXIT	0x80		/* end of a case */
#define VEC_PRIV	0x81		/* not allowed in user mode: #GP */
#define VEC_TIMER	0x40
#define VEC_PMI		0x50		/* LVTPC in fixed mode */

/* Types of branches, as in the INFO of architectural LBR */
#define T_JCC		0
#define T_IND_JMP	1
#define T_REL_JMP	2
#define T_IND_CALL	3
#define T_REL_CALL	4
#define T_RET		5
#define T_OTHER		8

/* Privilege levels of a branch: from user to kernel and so on */
#define U2U		0
#define U2K		1
#define K2U		2

/* Flags of the cases in lbr.S */
#define L_STACK		1		/* the list is the stack of calls at the end */
#define L_IRQ		2		/* with an interrupt before the first instruction */
#define L_CPU0		4		/* has addresses of CPU 0 */

#endif
