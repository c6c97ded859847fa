// SPDX-License-Identifier: GPL-2.0-only
/* The grader of lab 2.  Documentation/labs/2.rst explains each figure. */
#include <linux/irqflags.h>

#include "lab.h"
#include "spin-check.h"

static u64 period, samples, right, first_ip, first_cx;

void take_sample(struct pt_regs *regs)
{
	/* An overflow is after a multiple of the period, the NMI some instructions later */
	u64 done = ++samples * period + SKID;

	if (samples == 1) {
		first_ip = regs->ip;
		first_cx = regs->cx;
	}
	right += regs->ip == spin_ip(done) && regs->cx == spin_cx(done);
}

static void run(u64 p)
{
	period = p;
	samples = 0;
	right = 0;
	sampling_start(p);
	lab_spin();
	sampling_stop();
}

void lab_grade(void)
{
	struct pt_regs none = {};
	u64 pmis, lost = lab_rdmsr(MSR_STAT_LOST);

	lab_on_nmi(pmi);
	run(1000000);
	lab_check("samples with a period of 1,000,000", samples, 2);
	lab_check_hex("RIP of the first", first_ip, spin_ip(1000000 + SKID));
	lab_check("RCX of the first", first_cx, spin_cx(1000000 + SKID));
	pmis = lab_rdmsr(MSR_STAT_PMIS);
	run(10007);
	lab_check("samples with a period of 10,007", samples, SPIN_TOTAL / 10007);
	lab_check("of these with the right registers", right, SPIN_TOTAL / 10007);
	lab_check("interrupts for them", lab_rdmsr(MSR_STAT_PMIS) - pmis, SPIN_TOTAL / 10007);
	run(1000);
	lab_check("samples with a period of 1,000", samples, SPIN_TOTAL / 1000);
	lab_check("of these with the right registers, one less", right, SPIN_TOTAL / 1000 - 1);
	samples = 0;
	lab_spin();
	lab_check("samples after sampling_stop()", samples, 0);
	lab_check("IA32_PERFEVTSEL0 after it", lab_rdmsr(MSR_P6_EVNTSEL0), 0);
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, BIT(0));
	lab_check("NMIs of others that pmi() claims", pmi(&none), 0);
	lab_check("interrupts lost while masked", lab_rdmsr(MSR_STAT_LOST) - lost, 0);
	lab_on_nmi(NULL);
}
