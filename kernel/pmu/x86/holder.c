// SPDX-License-Identifier: GPL-2.0-only
/* Finding out which other user of the counters has reserved them. */
#include <linux/atomic.h>

#include "../../compat/ksym.h"
#include "x86.h"

static bool counts_holders(enum kpmu_ksym sym)
{
	atomic_t *n = kpmu_ksym_data(sym);

	return n && atomic_read(n);
}

/**
 * x86_rival() - find a holder of the counters that the bitmaps may not show
 *
 * Context: any; x86_yield_begin() must be locked out.
 * Return: message for the kernel log, NULL if there is no such holder.
 */
const char *x86_rival(void)
{
	if (counts_holders(KSYM_nr_mediated_pmu_vms))
		return "a virtual machine holds the counters";
	if (counts_holders(KSYM_pmc_refcount))
		return x86_rival_guess();
	return NULL;
}

/**
 * x86_rival_guess() - the most likely holder of the counters, when they are reserved
 *
 * Context: any.
 * Return: message for the kernel log.
 */
const char *x86_rival_guess(void)
{
	unsigned long *watchdog = kpmu_ksym_data(KSYM_watchdog_enabled);

	if (watchdog && *watchdog & 1)
		return "the NMI watchdog holds the counters: sysctl kernel.nmi_watchdog=0 frees them";
	if (counts_holders(KSYM_pmc_refcount))
		return "the kernel's perf holds the counters";
	return "another driver holds the counters";
}
