/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPU's own counters, and the slots that they share with the counters of drivers' PMUs. */
#ifndef KPMU_COUNTERS_H
#define KPMU_COUNTERS_H

#include "source.h"

struct kpmu_grant;
struct mm_struct;
struct seq_file;

/**
 * struct kpmu_slots - the planned assignment of events to the counters of a CPU
 * @like: assignments with the same number are alike, see kpmu_commit(); 0: not known to be
 *	like another.  To be set to 0 whenever anything else here changes, and when an event
 *	in it becomes shown (struct kpmu_hw)
 * @mask: the CPU's own counters in use
 * @driven: counters of drivers' PMUs in use (drivers.h); none of them is in @mask
 * @alt: counters whose event uses the other one of extra registers 1 and 2
 * @hw: the event of each counter in @mask and @driven
 */
struct kpmu_slots {
	u64 like;
	u32 mask;
	u32 driven;
	u32 alt;
	struct kpmu_hw *hw[KPMU_NR_SLOTS];
};

/**
 * kpmu_slots_used() - counters that have an event
 * @slots: the assignment
 *
 * Context: owner of the assignment.
 * Return: a bit each.
 */
static inline u32 kpmu_slots_used(const struct kpmu_slots *slots)
{
	return slots->mask | slots->driven;
}

/**
 * kpmu_counters_slots() - the slots of the CPU's own counters
 *
 * Context: any.
 * Return: a bit each.
 */
u32 kpmu_counters_slots(void);

/**
 * kpmu_commit() - program this CPU's own counters according to a plan
 * @want: the counters to use and their events; events that stay on their counter
 *	continue to count; @want->like may be changed
 *
 * Two assignments are alike if they use the same counters, and each counter either has the
 * same event in both, or one event in each with the same selector, which neither samples
 * nor is shown, and needs no extra register.  If @want is like the assignment in force,
 * the counters run on: each is handed over from one event to the next by one read.
 *
 * A direct call instead of an operation of struct kpmu_source: a machine has one kind of own
 * counters, and the task switch is a hot path.  Other PMUs: kpmu_drivers_commit().
 *
 * Context: IRQs off; NMIs may interrupt it.
 */
void kpmu_commit(struct kpmu_slots *want);

/**
 * kpmu_counters_check() - check this CPU's counters against the last commit
 * @want: the slots last committed
 *
 * Context: IRQs off.
 * Return: name of the first rule that is violated, NULL if none is.
 */
const char *kpmu_counters_check(const struct kpmu_slots *want);

/**
 * kpmu_on_overflow() - set the overflow callback
 * @fn: overflow callback
 *
 * Context: module init, before the first event.
 */
void kpmu_on_overflow(kpmu_overflow_fn fn);

/**
 * kpmu_counters_halt() - mark an event's counter as stopped
 * @hw: the event; ignored if it is not on a counter
 *
 * Takes effect at the end of the PMI that calls it; outside of PMIs, with
 * kpmu_counters_update().
 *
 * Context: IRQs off or NMI, on the event's CPU.
 */
void kpmu_counters_halt(const struct kpmu_hw *hw);

/**
 * kpmu_counters_resume() - restart a counter stopped by kpmu_counters_halt()
 * @hw: the event; ignored if it is not on a counter
 *
 * Context: IRQs off, on the event's CPU.
 */
void kpmu_counters_resume(const struct kpmu_hw *hw);

/**
 * kpmu_counters_update() - make previous kpmu_counters_halt() calls take effect
 *
 * Context: IRQs off, on the events' CPU; for callers that do not run in a PMI.
 */
void kpmu_counters_update(void);

/**
 * kpmu_counters_halted() - iterate over the events whose counter is stopped
 * @from: first counter to look at
 * @at: set to the counter found
 *
 * Context: IRQs off or NMI.
 * Return: the event, NULL if there is none from @from on.
 */
struct kpmu_hw *kpmu_counters_halted(int from, int *at);

/**
 * kpmu_counters_yield() - release the counters to other users if no event needs them
 *
 * Context: task, IRQs on; does not sleep.
 */
void kpmu_counters_yield(void);

/**
 * kpmu_counters_offline() - release this CPU's counters before it goes offline
 *
 * Context: on the CPU, IRQs off; no event is on a counter.
 */
void kpmu_counters_offline(void);

/**
 * kpmu_counters_type() - attr.type of the CPU's counters
 *
 * Context: any.
 * Return: the type; -ENODEV if the machine has no usable counters.
 */
int kpmu_counters_type(void);

/**
 * kpmu_rdpmc_grant() - permit user space of an mm to execute RDPMC
 * @mm: the mm
 *
 * Independent of what the kernel's own perf permits for the same mm.
 *
 * Context: task, may sleep.
 * Return: a reference for kpmu_rdpmc_drop(); NULL if it cannot be permitted.
 */
struct kpmu_grant *kpmu_rdpmc_grant(struct mm_struct *mm);
void kpmu_rdpmc_share(struct kpmu_grant *grant);
void kpmu_rdpmc_drop(struct kpmu_grant *grant);

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
void kpmu_counters_hide(void);

/**
 * kpmu_rdpmc_guarded() - set whether mm switches call kpmu_counters_hide()
 * @yes: they do; if not, kpmu_rdpmc_grant() always fails, and so does
 *	kpmu_rdpmc_set() with 2
 *
 * Context: module init, before the first event.
 */
void kpmu_rdpmc_guarded(bool yes);

/**
 * kpmu_rdpmc_set() - set which tasks kpmu permits to execute RDPMC
 * @knob: 0 none; 1 tasks that have mapped an event; 2 all
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL; -EOPNOTSUPP for 2 if the kernel's switch for it cannot be reached,
 * or if mm switches do not call kpmu_counters_hide().
 */
int kpmu_rdpmc_set(unsigned long knob);
int kpmu_rdpmc_get(void);

/**
 * kpmu_freeze_on_smi_set() - set whether counters stop in system-management mode
 * @val: 1 to stop them, 0 not to; on all CPUs, and for the kernel's own perf too
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL; -ENODEV if the CPU does not support it.
 */
int kpmu_freeze_on_smi_set(unsigned long val);

/**
 * kpmu_freeze_on_smi_get() - do this CPU's counters stop in system-management mode?
 *
 * Context: any.
 * Return: 0 or 1; -ENODEV if the CPU does not support it.
 */
int kpmu_freeze_on_smi_get(void);

/**
 * kpmu_counters_online() - apply settings made for all CPUs to a CPU that comes online
 *
 * Context: on the CPU, IRQs off.
 */
void kpmu_counters_online(void);

/**
 * kpmu_counters_show() - print the state of a CPU's counters, for debugfs
 * @m: where to print
 * @cpu: the CPU
 *
 * Context: on that CPU with IRQs off; any, if an inconsistent view is acceptable.
 */
void kpmu_counters_show(struct seq_file *m, int cpu);

#endif
