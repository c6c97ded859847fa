// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page faults, as PERF_COUNT_SW_PAGE_FAULTS counts them: those that the kernel looks up in
 * the address space of a process, whether they can be resolved or not.
 *
 * Two tracepoints report all faults that the CPU raises; those that do not count are
 * filtered out here.  Where the tracepoints cannot be used, an event of the kernel's own
 * perf reports the faults, at a higher cost for each.  The probes stay attached for a while
 * after the last event (compat/detach.h).
 */
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/static_call.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <asm/trap_pf.h>
#include <asm/vsyscall.h>

#include "../../compat/hook.h"
#include "../../compat/detach.h"
#include "../host/tap.h"
#include "soft.h"

static const struct kpmu_hit_key faults = { "page-faults" };

static bool sweep_faults(void);
static DEFINE_KPMU_DETACH(unused, sweep_faults);
/* Of both probes */
static struct kpmu_use use = { .by = &unused };

static void report_fault(unsigned long address, struct pt_regs *regs)
{
	struct kpmu_hit hit = { .regs = regs, .addr = address };

	static_call(kpmu_source_hit)(&faults, 1, &hit);
}
NOKPROBE_SYMBOL(report_fault);

/* The vsyscall page does not count as kernel memory */
static bool is_of_kernel(unsigned long address)
{
	return address >= TASK_SIZE_MAX &&
	       (address & PAGE_MASK) != VSYSCALL_ADDR;
}

static void on_user(void *data, unsigned long address, struct pt_regs *regs,
		    unsigned long error)
{
	if (kpmu_use_none(&use))
		return;
	if (likely(!(error & X86_PF_RSVD) && !is_of_kernel(address)))
		report_fault(address, regs);
}
NOKPROBE_SYMBOL(on_user);

/* A fault in a context that must not sleep fails at once and is not counted */
static void on_kernel(void *data, unsigned long address, struct pt_regs *regs,
		      unsigned long error)
{
	if (kpmu_use_none(&use))
		return;
	if (error & (X86_PF_RSVD | X86_PF_INSTR) || is_of_kernel(address))
		return;
	if (!pagefault_disabled() && !irq_count() && current->mm)
		report_fault(address, regs);
}
NOKPROBE_SYMBOL(on_kernel);

static struct kpmu_thook points[] = {
	{ "page_fault_user", on_user },
	{ "page_fault_kernel", on_kernel },
};

/* Held to attach and detach the probes */
static DEFINE_MUTEX(faults_lock);

/**
 * kpmu_faults_seen() - does this kernel have the tracepoints of page faults?
 *
 * Context: any, after kpmu_faults_init().
 * Return: true if it does.
 */
bool kpmu_faults_seen(void)
{
	return points[0].tp && points[1].tp;
}

/**
 * kpmu_faults_init() - look up the tracepoints of page faults
 *
 * Context: module init.
 */
void __init kpmu_faults_init(void)
{
	kpmu_thooks_find(points, ARRAY_SIZE(points));
}

static int attach_probes(void)
{
	int err;

	err = kpmu_thook_arm(&points[0]);
	if (err)
		return err;
	err = kpmu_thook_arm(&points[1]);
	if (err)
		kpmu_thook_disarm(&points[0]);
	return err;
}

static void detach_probes(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		kpmu_thook_disarm(&points[i]);
}

static bool sweep_faults(void)
{
	return kpmu_use_sweep(&use, &faults_lock, detach_probes);
}

static int use_probes(void)
{
	int err;

	if (atomic_inc_not_zero(&use.users))
		return 0;
	mutex_lock(&faults_lock);
	err = attach_probes();
	if (!err)
		atomic_inc(&use.users);
	mutex_unlock(&faults_lock);
	return err;
}

/**
 * kpmu_faults_get() - take a reference for an event that counts page faults
 * @hw: the event's hw part; .key and .gated are set
 * @why: set to a description of the error
 *
 * Context: task, may sleep.
 * Return: 0, or the error of the kernel's perf if the tracepoints cannot be used.
 */
int kpmu_faults_get(struct kpmu_hw *hw, const char **why)
{
	struct kpmu_tap *tap;

	if (!use_probes()) {
		hw->key = &faults;
		return 0;
	}
	tap = kpmu_tap_share(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	if (IS_ERR(tap)) {
		*why = "the page-fault tracepoints are not available";
		return PTR_ERR(tap);
	}
	hw->key = &tap->key;
	hw->gated = kpmu_tap_is_gated(tap);
	return 0;
}

/**
 * kpmu_faults_put() - drop a page-fault event's reference
 * @hw: the event's hw part; .key is from kpmu_faults_get()
 *
 * Context: task, may sleep.
 */
void kpmu_faults_put(struct kpmu_hw *hw)
{
	if (hw->key == &faults)
		kpmu_use_end(&use);
	else
		kpmu_tap_put(kpmu_tap_of(hw));
}

/**
 * kpmu_faults_show() - print the state of the probes to the caps file
 * @m: output
 *
 * Context: task, may sleep.
 */
void kpmu_faults_show(struct seq_file *m)
{
	seq_printf(m, "%-26s %-8s %s\n", "page fault probes",
		   kpmu_faults_seen() ? "ok" : "off",
		   READ_ONCE(points[0].armed) ? "attached" : "detached");
}

/**
 * kpmu_faults_exit() - detach the probes
 *
 * Context: module exit, no event is left; may sleep.
 */
void kpmu_faults_exit(void)
{
	mutex_lock(&faults_lock);
	detach_probes();
	mutex_unlock(&faults_lock);
	tracepoint_synchronize_unregister();
	kpmu_detach_exit(&unused);
}
