// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other users of the counters (rivals): the kernel's own perf, and on newer kernels a
 * hypervisor that gives them to a guest while it runs (mediated vPMU).
 *
 * The bitmaps of reserve.c are not sufficient.  For PMU version 6 and later, the kernel's
 * perf reserves MSRs that the bitmaps do not include, which always succeeds; and the
 * hypervisor does not use the bitmaps.  So the functions by which both reserve the counters
 * are replaced: the replacement fails while a kpmu event needs the counters; else it calls
 * the original, and kpmu does not reserve the counters before that returns.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/atomic.h>
#include <linux/printk.h>

#include "../../compat/hook.h"
#include "../../compat/ksym.h"
#include "x86.h"

static int reserve_hardware(void);
static int create_vpmu(void);

static struct kpmu_divert rivals[] = {
	{ .func = "x86_reserve_hardware", .instead = reserve_hardware,
	  .feature = "counters kept between events; PMU version 6" },
	{ .func = "perf_create_mediated_pmu", .instead = create_vpmu,
	  .feature = "guests with a vPMU of their own" },
};

static struct kpmu_diverts rival_set = { .table = rivals };

/* Replaces x86_reserve_hardware() */
static int reserve_hardware(void)
{
	int err = -EBUSY;

	if (x86_yield_begin()) {
		err = kpmu_divert_call(&rivals[0], 0);
		x86_yield_end();
	} else {
		pr_notice_ratelimited("the kernel's perf requested the counters, but events of kpmu hold them\n");
	}
	kpmu_divert_done(&rivals[0]);
	return err;
}

/* Replaces perf_create_mediated_pmu() */
static int create_vpmu(void)
{
	int err = -EBUSY;

	if (x86_yield_begin()) {
		err = kpmu_divert_call(&rivals[1], 0);
		x86_yield_end();
	} else {
		pr_notice_ratelimited("a virtual machine requested the counters, but events of kpmu hold them\n");
	}
	kpmu_divert_done(&rivals[1]);
	return err;
}

/* Can all other users be kept from using the counters? */
static bool is_guarded(void)
{
	if (x86_pmu.version >= 6 &&
	    !(rivals[0].ok && kpmu_ksym_has(KSYM_pmc_refcount)))
		return false;
	return rivals[1].ok || !kpmu_ksym_has(KSYM_nr_mediated_pmu_vms);
}

/**
 * x86_rivals_init() - intercept other users' requests for the counters
 *
 * Context: module init, may sleep.
 */
void __init x86_rivals_init(void)
{
	int err = -ENOENT;

	rival_set.n = kpmu_ksym_has(KSYM_perf_create_mediated_pmu) ? 2 : 1;
	if (kpmu_ksym_has(KSYM_x86_reserve_hardware))
		err = kpmu_diverts_register(&rival_set);
	if (err || !is_guarded())
		pr_notice("the kernel's perf cannot be made to request the counters from kpmu (%d)%s\n", err,
			  is_guarded() ? "" : ": no hardware events");
	x86_retain(rivals[0].ok, is_guarded());
}

/**
 * x86_rivals_exit() - release the counters and stop intercepting requests
 *
 * Context: task, may sleep.
 */
void x86_rivals_exit(void)
{
	x86_retain(false, false);
	kpmu_diverts_unregister(&rival_set);
}
