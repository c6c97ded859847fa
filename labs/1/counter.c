// SPDX-License-Identifier: GPL-2.0-only
/* Lab 1: read a counter.  Documentation/labs/1.rst says what each function has to do. */
#include <asm/processor.h>

#include "lab.h"

/* What CPUID tells about the PMU */
void pmu_identify(struct pmu_info *info)
{
	/* SOLUTION: execute CPUID with EAX = 0AH, and take the fields of EAX and EDX apart */
	u32 eax, ebx, ecx, edx;

	cpuid(0xa, &eax, &ebx, &ecx, &edx);
	info->version = eax & 0xff;
	info->counters = eax >> 8 & 0xff;
	info->width = eax >> 16 & 0xff;
	info->fixed = edx & 0x1f;
	/* SKELETON: info->version = 0; */
	/* END */
}

/*
 * Prepare general counter n to count an event from 0 on.  It begins to count when the grader enables
 * it in IA32_PERF_GLOBAL_CTRL.
 */
void counter_setup(u32 n, u8 event, u8 umask, bool user, bool kernel)
{
	/* No bit of an earlier event may stay in IA32_PERFEVTSELn */
	/* SOLUTION: clear the counter, and write its selector: event, umask, USR, OS, EN */
	u64 sel = event | (u64)umask << 8 | BIT(22);

	if (user)
		sel |= BIT(16);
	if (kernel)
		sel |= BIT(17);
	lab_wrmsr(0xc1 + n, 0);
	lab_wrmsr(0x186 + n, sel);
	/* END */
}

/* The value of general counter n */
u64 counter_read(u32 n)
{
	/* SOLUTION: by RDMSR or by RDPMC */
	return lab_rdmsr(0xc1 + n);
	/* SKELETON: return 0; */
	/* END */
}

/* Prepare fixed counter n to count from 0 on.  The other fixed counters stay as they are. */
void fixed_setup(u32 n, bool user, bool kernel)
{
	/* SOLUTION: clear the counter, and change its four bits of IA32_FIXED_CTR_CTRL */
	u64 ctrl;

	lab_wrmsr(0x309 + n, 0);
	ctrl = lab_rdmsr(0x38d);
	ctrl &= ~(0xfULL << (4 * n));
	ctrl |= (u64)(user << 1 | kernel) << (4 * n);
	lab_wrmsr(0x38d, ctrl);
	/* END */
}

/* The value of fixed counter n */
u64 fixed_read(u32 n)
{
	/* SOLUTION: by RDMSR or by RDPMC */
	return lab_rdmsr(0x309 + n);
	/* SKELETON: return 0; */
	/* END */
}
