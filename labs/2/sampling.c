// SPDX-License-Identifier: GPL-2.0-only
/* Lab 2: overflow and the interrupt.  Documentation/labs/2.rst says what each function has to do. */
#include "lab.h"

/* Bits of a counter, from lab 1 */
#define WIDTH	40

static u64 every;

/* Take a sample each @period instructions of user mode, on general counter 0 */
void sampling_start(u64 period)
{
	every = period;
	/*
	 * SOLUTION: counter 0 overflows after period events; its selector counts instructions of
	 * user mode and raises an interrupt; the local APIC makes it an NMI; enable the counter
	 */
	lab_wrmsr(0x38f, 0);
	lab_wrmsr(0x4c1, -period & GENMASK_ULL(WIDTH - 1, 0));
	lab_wrmsr(0x186, 0xc0 | BIT(16) | BIT(20) | BIT(22));
	lab_lvtpc(LVTPC_NMI);
	lab_wrmsr(0x38f, BIT(0));
	/* END */
}

/* Stop it, such that no interrupt comes any more */
void sampling_stop(void)
{
	/* SOLUTION: disable the counter, clear its selector, mask the interrupt */
	lab_wrmsr(0x38f, 0);
	lab_wrmsr(0x186, 0);
	lab_lvtpc(LVTPC_MASKED);
	/* END */
}

/*
 * An NMI has come.  Return false if it is not from counter 0, without any effect.
 */
bool pmi(struct pt_regs *regs)
{
	/*
	 * SOLUTION: ask the status if counter 0 has overflowed, and clear its bit; take a sample; set
	 * the counter again, so that the next overflow is exactly a period after the last; and let
	 * the next interrupt through, which the local APIC has masked
	 */
	u64 status, past;

	status = lab_rdmsr(0x38e);
	if (!(status & BIT(0)))
		return false;
	lab_wrmsr(0x390, BIT(0));
	take_sample(regs);
	/* What it has counted since the overflow belongs to the next period */
	past = lab_rdmsr(0xc1);
	lab_wrmsr(0x4c1, (past - every) & GENMASK_ULL(WIDTH - 1, 0));
	lab_lvtpc(LVTPC_NMI);
	return true;
	/* SKELETON: return false; */
	/* END */
}
