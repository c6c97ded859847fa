/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the counters of the core PMU from user space by RDPMC: permission, and what tasks must not see. */
#ifndef KPMU_USER_READ_H
#define KPMU_USER_READ_H

#include "counters.h"

/**
 * kpmu_rdpmc_grant() - permit user space of an mm to execute RDPMC
 * @mm: the mm
 *
 * Independent of what the kernel's own perf permits for the same mm.
 *
 * Context: task, may sleep.
 * Return: a reference for kpmu_rdpmc_drop(); NULL if it cannot be permitted.
 */
static inline struct kpmu_grant *kpmu_rdpmc_grant(struct mm_struct *mm)
{
	return kpmu_core.rdpmc_grant(mm);
}

/**
 * kpmu_rdpmc_share() - take a reference for another mapping of the same mm
 * @grant: the grant
 *
 * Context: any.
 */
static inline void kpmu_rdpmc_share(struct kpmu_grant *grant)
{
	kpmu_core.rdpmc_share(grant);
}

/**
 * kpmu_rdpmc_drop() - drop the reference of a mapping
 * @grant: the grant
 *
 * Context: task, may sleep.
 */
static inline void kpmu_rdpmc_drop(struct kpmu_grant *grant)
{
	kpmu_core.rdpmc_drop(grant);
}

/**
 * kpmu_counters_hide() - clear other tasks' counts from the counters
 *
 * Counters of shown events (struct kpmu_hw) are skipped: they hold no other counts.  So
 * are those of sampling events: their value depends on the distance to the next overflow
 * only.
 *
 * Context: IRQs off; on a switch to an mm that may execute RDPMC, after the task's events
 * are scheduled in and before it runs; and when a kernel thread that borrows an mm
 * is scheduled out.
 */
static __always_inline void kpmu_counters_hide(void)
{
	static_call(kpmu_core_hide)();
}

/**
 * kpmu_rdpmc_guarded() - set whether mm switches call kpmu_counters_hide()
 * @yes: they do; if not, kpmu_rdpmc_grant() always fails, and so does
 *	kpmu_rdpmc_set() with 2
 *
 * Context: module init, before the first event.
 */
static inline void kpmu_rdpmc_guarded(bool yes)
{
	kpmu_core.rdpmc_guarded(yes);
}

/**
 * kpmu_rdpmc_set() - set which tasks kpmu permits to execute RDPMC
 * @knob: 0 none; 1 tasks that have mapped an event; 2 all
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL; -EOPNOTSUPP for 2 if the kernel's switch for it cannot be reached,
 * or if mm switches do not call kpmu_counters_hide().
 */
static inline int kpmu_rdpmc_set(unsigned long knob)
{
	return kpmu_core.rdpmc_set(knob);
}

/**
 * kpmu_rdpmc_get() - the current setting of kpmu_rdpmc_set()
 *
 * Context: any.
 * Return: 0, 1 or 2.
 */
static inline int kpmu_rdpmc_get(void)
{
	return kpmu_core.rdpmc_get();
}

#endif
