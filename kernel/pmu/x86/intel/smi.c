// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping the counters in system-management mode: FREEZE_WHILE_SMM_EN of IA32_DEBUGCTL.
 * SDM volume 3, "IA32_DEBUGCTL MSR"; IA32_PERF_CAPABILITIES bit 12 reports support.
 *
 * The bit applies to the CPU, not to an event, and the kernel's own perf has a sysfs file
 * for the same bit: the last write wins.  kpmu's file shows the value of the register.
 */
#include <linux/cpu.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/smp.h>

#include "../msr.h"
#include "intel.h"

#define FREEZE_WHILE_SMM	BIT_ULL(14)

static DEFINE_MUTEX(smi_lock);

/*
 * ours: kpmu's file has changed the bit from its initial value; want: value for CPUs that
 * come online, if ours; found: the initial value.
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

/**
 * intel_freeze_on_smi_get() - .freeze_on_smi_get of struct kpmu_core
 *
 * Context: see kpmu_freeze_on_smi_get().
 * Return: see kpmu_freeze_on_smi_get().
 */
int intel_freeze_on_smi_get(void)
{
	return x86_pmu.freeze_smi ? is_frozen() : -ENODEV;
}

/**
 * intel_freeze_on_smi_set() - .freeze_on_smi_set of struct kpmu_core
 * @val: see kpmu_freeze_on_smi_set()
 *
 * Context: see kpmu_freeze_on_smi_set().
 * Return: see kpmu_freeze_on_smi_set().
 */
int intel_freeze_on_smi_set(unsigned long val)
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

/**
 * intel_smi_online() - stop the counters of this CPU in system-management mode, if that was set
 *
 * Context: see kpmu_counters_online().
 */
void intel_smi_online(void)
{
	if (READ_ONCE(ours))
		set_here(NULL);
}

/**
 * intel_smi_exit() - restore the initial value
 *
 * Context: task, may sleep.
 */
void intel_smi_exit(void)
{
	if (ours)
		intel_freeze_on_smi_set(found);
}
