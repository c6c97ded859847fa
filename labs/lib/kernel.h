/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the labs in the kernel are given: work with a known number of instructions, the interrupt
 * of the counters, and the checks of the grader.
 */
#ifndef LABS_KERNEL_H
#define LABS_KERNEL_H

#include <linux/bits.h>
#include <linux/printk.h>
#include <linux/types.h>
#include <asm/msr-index.h>
#include <asm/ptrace.h>

/* Instructions of lab_spin(), see there */
#define SPIN_TIMES	1000000
#define SPIN_TOTAL	(2 * SPIN_TIMES + 3)
/* The address of its first instruction, and of its loop */
#define SPIN_START	0x401000
#define SPIN_LOOP	0x401005
/* Instructions of lab_window(), see there */
#define WINDOW_TOTAL(n)	(2 * (n) + 5)
/* Instructions between an overflow and its interrupt on this CPU: x-pmu-skid of QEMU's PMU */
#define SKID		3

/* Registers that have no name in <asm/msr-index.h>: the statistics of QEMU's PMU */
#define MSR_STAT_PMIS	0x51504d05
#define MSR_STAT_LOST	0x51504d09
#define MSR_STAT_ALL	0x51504d02
#define MSR_STAT_OF(m)	(0x51500000 + (m))

/* For labs */
u64 lab_rdmsr(u32 msr);
void lab_wrmsr(u32 msr, u64 value);
u64 lab_rdpmc(u32 index);
void lab_window(u64 ctrl, u32 n);
void lab_spin(void);
void lab_lvtpc(u32 value);

/* For graders */
void lab_check(const char *what, u64 got, u64 want);
void lab_check_hex(const char *what, u64 got, u64 want);
void lab_on_nmi(bool (*fn)(struct pt_regs *regs));
void lab_grade(void);

#endif
