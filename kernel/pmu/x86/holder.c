// SPDX-License-Identifier: GPL-2.0-only
/* Finding out which other user of the counters has reserved them. */
#include <linux/atomic.h>

#include "../../compat/ksym.h"
#include "x86.h"

/* For the kernel log */
const char *const x86_holder_text[] = {
	[KPMU_HELD_BY_KERNEL] = "the kernel's perf holds the counters",
	[KPMU_HELD_BY_WATCHDOG] =
		"the NMI watchdog holds the counters: sysctl kernel.nmi_watchdog=0 frees them",
	[KPMU_HELD_BY_VM] = "a virtual machine holds the counters",
	[KPMU_HELD_BY_OTHER] = "another driver holds the counters",
};

static bool counts_holders(enum kpmu_ksym sym)
{
	atomic_t *n = kpmu_ksym_data(sym);

	return n && atomic_read(n);
}

/**
 * x86_rival() - find a holder of the counters that the bitmaps may not show
 *
 * Context: any; x86_yield_begin() must be locked out.
 * Return: the holder, KPMU_HELD_BY_NONE if there is no such one.
 */
enum kpmu_holder x86_rival(void)
{
	if (counts_holders(KSYM_nr_mediated_pmu_vms))
		return KPMU_HELD_BY_VM;
	if (counts_holders(KSYM_pmc_refcount))
		return x86_rival_guess();
	return KPMU_HELD_BY_NONE;
}

/**
 * x86_rival_guess() - the most likely holder of the counters, when they are reserved
 *
 * Context: any.
 * Return: the holder.
 */
enum kpmu_holder x86_rival_guess(void)
{
	unsigned long *watchdog = kpmu_ksym_data(KSYM_watchdog_enabled);

	if (watchdog && *watchdog & 1)
		return KPMU_HELD_BY_WATCHDOG;
	if (counts_holders(KSYM_pmc_refcount))
		return KPMU_HELD_BY_KERNEL;
	return KPMU_HELD_BY_OTHER;
}
