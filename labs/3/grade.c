// SPDX-License-Identifier: GPL-2.0-only
/* The grader of lab 3.  Documentation/labs/3.rst explains each figure. */
#include <linux/irqflags.h>

#include "lab.h"

#define SEL_USER	(0xc0 | BIT(16) | BIT(20) | BIT(22))
#define SEL_KERNEL	(0xc0 | BIT(17) | BIT(20) | BIT(22))
/* Events between two interrupts while the kernel is counted: far more than the handler has */
#define FAR		50000

static struct count count;
static u64 wraps;

static bool on_nmi(struct pt_regs *regs)
{
	u64 ctrl = lab_rdmsr(MSR_CORE_PERF_GLOBAL_CTRL);

	if (!(lab_rdmsr(MSR_CORE_PERF_GLOBAL_STATUS) & BIT(0)))
		return false;
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, BIT(0));
	wraps++;
	count_wrapped(&count);
	lab_lvtpc(0x400);
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, ctrl);
	return true;
}

static void start(u64 sel, u64 left)
{
	wraps = 0;
	lab_wrmsr(MSR_P6_EVNTSEL0, sel);
	count_start(&count, left);
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, BIT(0));
}

static void stop(void)
{
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	lab_wrmsr(MSR_P6_EVNTSEL0, 0);
}

/* A program of SPIN_TOTAL instructions, with a wrap every @left of them */
static void grade_program(const char *what, u64 left, u64 want)
{
	start(SEL_USER, left);
	lab_spin();
	stop();
	lab_check(what, count_read(&count), SPIN_TOTAL);
	lab_check("read once more", count_read(&count), SPIN_TOTAL);
	lab_check("its wraps", wraps, want);
}

/* Read all the time while the kernel is counted: each count must be a little above the last one */
static u64 read_across_wrap(u64 left)
{
	unsigned long flags;
	u64 last = 0, now, bad = 0;
	int i;

	local_irq_save(flags);
	start(SEL_KERNEL, left);
	for (i = 0; i < FAR / 5 && wraps < 2; i++) {
		now = count_read(&count);
		bad += now <= last || now - last >= FAR / 2;
		last = now;
	}
	stop();
	local_irq_restore(flags);
	return bad + (wraps != 2);
}

void lab_grade(void)
{
	u64 i, bad = 0;

	lab_check("from 5 to 12 in 48 bits", count_delta(5, 12, 48), 7);
	lab_check("from the last value of 48 bits to 2", count_delta(BIT_ULL(48) - 1, 2, 48), 3);
	lab_check("from the last value of 32 bits to 2", count_delta(BIT_ULL(32) - 1, 2, 32), 3);
	counter_write(0x123456789a);
	lab_check_hex("a value of 40 bits", lab_rdmsr(MSR_IA32_PERFCTR0), 0x123456789a);
	counter_write(0x80000000);
	lab_check_hex("a value with bit 31", lab_rdmsr(MSR_IA32_PERFCTR0), 0x80000000);

	lab_on_nmi(on_nmi);
	lab_lvtpc(0x400);
	grade_program("instructions, no wrap", BIT_ULL(WIDTH - 1), 0);
	grade_program("instructions, one wrap", SPIN_TOTAL / 2, 1);
	grade_program("instructions, a wrap every 1,000", 1000, SPIN_TOTAL / (1000 + SKID));
	for (i = 0; i < 100; i++)
		bad += read_across_wrap(FAR + i);
	lab_check("wrong reads while it wraps, 100 times", bad, 0);
	lab_on_nmi(NULL);
}
