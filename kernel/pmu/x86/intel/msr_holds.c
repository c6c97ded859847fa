// SPDX-License-Identifier: GPL-2.0-only
/* Does a register exist? */
#include <linux/init.h>

#include "../msr.h"
#include "intel.h"

/**
 * intel_msr_holds() - does a register keep what is written to it?
 * @msr: number of the MSR
 * @bits: bits to change for the test; the old value is restored
 *
 * Some hypervisors ignore writes to registers that they do not implement.
 *
 * Context: module init.
 * Return: true if it exists and does.
 */
bool __init intel_msr_holds(u32 msr, u64 bits)
{
	u64 old, now;
	bool ok;

	if (kpmu_rdmsr_safe(msr, &old) || kpmu_wrmsr_safe(msr, old ^ bits) ||
	    kpmu_rdmsr_safe(msr, &now))
		return false;
	ok = now == (old ^ bits);
	kpmu_wrmsr_safe(msr, old);
	return ok;
}
