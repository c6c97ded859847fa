// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of a lab's module that all labs have.  It runs the grader when it is loaded, and leaves
 * the PMU as it was.
 */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/timer.h>
#include <asm/apic.h>
#include <asm/msr.h>
#include <asm/nmi.h>

#include "kernel.h"

#define say(fmt, ...) pr_warn("lab%d: " fmt "\n", LAB, ##__VA_ARGS__)

static bool (*nmi_fn)(struct pt_regs *regs);

/* Time of the guest from one check to the next, at most: 150 million instructions */
#define LONGEST	(HZ * 6 / 10)

static void on_late(struct timer_list *timer)
{
	/* The backtrace tells where */
	panic("lab%d: a loop without end", LAB);
}

static DEFINE_TIMER(late_timer, on_late);

/**
 * lab_check() - tell if a figure is the expected one
 * @what: what it is
 * @got: the figure
 * @want: the expected one
 */
void lab_check(const char *what, u64 got, u64 want)
{
	mod_timer(&late_timer, jiffies + LONGEST);
	if (got == want)
		say("ok - %s: %lld", what, got);
	else
		say("not ok - %s: %lld, expected %lld", what, got, want);
}

/**
 * lab_check_hex() - likewise, for an address or the value of a register
 * @what: what it is
 * @got: the value
 * @want: the expected one
 */
void lab_check_hex(const char *what, u64 got, u64 want)
{
	if (got == want)
		say("ok - %s: 0x%llx", what, got);
	else
		say("not ok - %s: 0x%llx, expected 0x%llx", what, got, want);
}

/**
 * lab_window() - enable counters, go through a loop, disable all counters
 * @ctrl: value of IA32_PERF_GLOBAL_CTRL for the time in between
 * @n: how often, at least 1
 *
 * Counters see 2 n + 5 instructions in kernel mode: the WRMSR that enables them and the loop's MOV,
 * n times DEC and JNZ, and the three instructions that prepare the last WRMSR.  That one stops them,
 * so they do not see it retire.  IRQs are off.
 */
noinline void lab_window(u64 ctrl, u32 n)
{
	unsigned long flags, cx = MSR_CORE_PERF_GLOBAL_CTRL, ax = (u32)ctrl, dx = ctrl >> 32;

	local_irq_save(flags);
	asm volatile("wrmsr\n\t"
		     "mov	%[n], %%ecx\n"
		     "1:	dec	%%ecx\n\t"
		     "jnz	1b\n\t"
		     "mov	%[msr], %%ecx\n\t"
		     "xor	%%eax, %%eax\n\t"
		     "xor	%%edx, %%edx\n\t"
		     "wrmsr"
		     : "+c" (cx), "+a" (ax), "+d" (dx)
		     : [n] "r" (n), [msr] "i" (MSR_CORE_PERF_GLOBAL_CTRL)
		     : "memory", "cc");
	local_irq_restore(flags);
}

/**
 * lab_spin() - run the program spin (lib/spin.S) in user mode and wait for its end
 *
 * It retires SPIN_TOTAL instructions in user mode.  Nothing else does so meanwhile.
 */
void lab_spin(void)
{
	char *argv[] = { "/tests/spin", NULL }, *envp[] = { NULL };
	int err = call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);

	if (err)
		say("not ok - %s runs: %d, expected 0", argv[0], err);
}

/**
 * lab_lvtpc() - write the entry of the performance counters in the local APIC's vector table
 * @value: for instance APIC_DM_NMI: an interrupt is an NMI, and is not masked
 */
void lab_lvtpc(u32 value)
{
	apic->write(APIC_LVTPC, value);
}

/**
 * lab_rdmsr() - read an MSR
 * @msr: its number
 *
 * Return: the value.
 */
u64 lab_rdmsr(u32 msr)
{
	u64 value;

#ifdef rdmsrq	/* its name from 6.16 on */
	rdmsrq(msr, value);
#else
	rdmsrl(msr, value);
#endif
	return value;
}

/**
 * lab_wrmsr() - write an MSR
 * @msr: its number
 * @value: the value
 */
void lab_wrmsr(u32 msr, u64 value)
{
#ifdef rdmsrq
	wrmsrq(msr, value);
#else
	wrmsrl(msr, value);
#endif
}

/**
 * lab_rdpmc() - read a counter by RDPMC
 * @index: n for general counter n, 0x40000000 + n for fixed counter n
 *
 * Return: the value.
 */
u64 lab_rdpmc(u32 index)
{
	u32 low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index));
	return (u64)high << 32 | low;
}

static int handle_nmi(unsigned int cmd, struct pt_regs *regs)
{
	bool (*fn)(struct pt_regs *regs) = READ_ONCE(nmi_fn);

	return fn && fn(regs) ? NMI_HANDLED : NMI_DONE;
}

/**
 * lab_on_nmi() - call a function in each NMI
 * @fn: it returns whether the NMI was for it; or NULL
 */
void lab_on_nmi(bool (*fn)(struct pt_regs *regs))
{
	WRITE_ONCE(nmi_fn, fn);
}

static void clear_pmu(void)
{
	u32 i;

	lab_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	lab_wrmsr(MSR_IA32_PEBS_ENABLE, 0);
	for (i = 0; i < 4; i++) {
		lab_wrmsr(MSR_P6_EVNTSEL0 + i, 0);
		lab_wrmsr(MSR_IA32_PMC0 + i, 0);
	}
	for (i = 0; i < 3; i++)
		lab_wrmsr(MSR_CORE_PERF_FIXED_CTR0 + i, 0);
	lab_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, 0);
	lab_wrmsr(MSR_IA32_DS_AREA, 0);
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, lab_rdmsr(MSR_CORE_PERF_GLOBAL_STATUS));
	lab_lvtpc(APIC_DM_NMI | APIC_LVT_MASKED);
}

static int __init lab_init(void)
{
	int err = register_nmi_handler(NMI_LOCAL, handle_nmi, NMI_FLAG_FIRST, "lab");

	if (err)
		return err;
	clear_pmu();
	mod_timer(&late_timer, jiffies + LONGEST);
	lab_grade();
	timer_delete_sync(&late_timer);
	say("end");
	return 0;
}
module_init(lab_init);

static void __exit lab_exit(void)
{
	clear_pmu();
	unregister_nmi_handler(NMI_LOCAL, "lab");
}
module_exit(lab_exit);

MODULE_DESCRIPTION("A lab of kpmu's course");
MODULE_LICENSE("GPL");
