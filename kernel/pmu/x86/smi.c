// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters that stand still in system-management mode: FREEZE_WHILE_SMM_EN of
 * IA32_DEBUGCTL.  SDM volume 3, "IA32_DEBUGCTL MSR";
 * IA32_PERF_CAPABILITIES bit 12 tells that it is there.
 *
 * The bit is the CPU's, not an event's, and the kernel's own perf has a file for the same
 * one: who writes last has it.  Ours shows what is in the register.
 */
#include <linux/cpu.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/smp.h>

#include "msr.h"

#define FREEZE_WHILE_SMM	BIT_ULL(14)

static DEFINE_MUTEX(smi_lock);

/*
 * What CPUs are to have, while it is something else than what was found before our file
 * was written to; else they are left alone.
 */
static bool ours, want, found;

static bool is_frozen(void)
{
	u64 val = 0;

	kpmu_rdmsr_safe(MSR_IA32_DEBUGCTLMSR, &val);
	return val & FREEZE_WHILE_SMM;
}

static void set_here(void *unused)
{
	u64 old, val;

	if (kpmu_rdmsr_safe(MSR_IA32_DEBUGCTLMSR, &old))
		return;
	val = want ? old | FREEZE_WHILE_SMM : old & ~FREEZE_WHILE_SMM;
	if (val == old)
		return;
	trace_kpmu_wrmsr(MSR_IA32_DEBUGCTLMSR, val);
	kpmu_wrmsr_safe(MSR_IA32_DEBUGCTLMSR, val);
}

/* See source.h */
int kpmu_freeze_on_smi_get(void)
{
	return x86_pmu.freeze_smi ? is_frozen() : -ENODEV;
}

/* See source.h */
int kpmu_freeze_on_smi_set(unsigned long val)
{
	if (!x86_pmu.freeze_smi)
		return -ENODEV;
	if (val > 1)
		return -EINVAL;
	mutex_lock(&smi_lock);
	if (!ours)
		found = is_frozen();
	cpus_read_lock();
	WRITE_ONCE(want, val);
	WRITE_ONCE(ours, val != found);
	on_each_cpu(set_here, NULL, 1);
	cpus_read_unlock();
	mutex_unlock(&smi_lock);
	return 0;
}

/* See source.h */
void kpmu_counters_online(void)
{
	if (READ_ONCE(ours))
		set_here(NULL);
}

/* At unload: as it was */
void x86_smi_exit(void)
{
	if (ours)
		kpmu_freeze_on_smi_set(found);
}
