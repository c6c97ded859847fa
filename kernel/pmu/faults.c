// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page faults, as PERF_COUNT_SW_PAGE_FAULTS counts them: those that the kernel takes to the
 * memory of a process, whether it then finds something there or not.
 *
 * Two tracepoints tell of all that the CPU reports.  Whoever cannot have them
 * asks the kernel's own perf, which costs more for each fault.
 */
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/trap_pf.h>
#include <asm/vsyscall.h>

#include "../compat/hook.h"
#include "sources.h"
#include "tap.h"

/* Its address is where the hits come from */
static const char faults;

static void tell(unsigned long address, struct pt_regs *regs)
{
	struct kpmu_hit hit = { .regs = regs, .addr = address };

	kpmu_source_hit(&faults, 1, &hit);
}
NOKPROBE_SYMBOL(tell);

/* The page of the old system calls is not the kernel's */
static bool is_of_kernel(unsigned long address)
{
	return address >= TASK_SIZE_MAX &&
	       (address & PAGE_MASK) != VSYSCALL_ADDR;
}

static void on_user(void *data, unsigned long address, struct pt_regs *regs,
		    unsigned long error)
{
	if (likely(!(error & X86_PF_RSVD) && !is_of_kernel(address)))
		tell(address, regs);
}
NOKPROBE_SYMBOL(on_user);

/* Where the kernel must not wait for memory, it gets an error and no page */
static void on_kernel(void *data, unsigned long address, struct pt_regs *regs,
		      unsigned long error)
{
	if (error & (X86_PF_RSVD | X86_PF_INSTR) || is_of_kernel(address))
		return;
	if (!pagefault_disabled() && !irq_count() && current->mm)
		tell(address, regs);
}
NOKPROBE_SYMBOL(on_kernel);

static struct kpmu_thook points[] = {
	{ "page_fault_user", on_user },
	{ "page_fault_kernel", on_kernel },
};

static DEFINE_MUTEX(faults_lock);
static int users;

/* For the caps file, see source.h */
bool kpmu_faults_seen(void)
{
	return points[0].tp && points[1].tp;
}

void __init kpmu_faults_init(void)
{
	kpmu_thooks_find(points, ARRAY_SIZE(points));
}

static int arm(void)
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

/**
 * kpmu_faults_get() - one more event counts page faults
 * @hw: its hardware part; its .tap is set
 * @why: set if it cannot
 *
 * Context: task, may sleep.
 * Return: 0, or what the kernel's perf said, asked instead.
 */
int kpmu_faults_get(struct kpmu_hw *hw, const char **why)
{
	struct kpmu_tap *tap;
	int err = 0;

	mutex_lock(&faults_lock);
	if (!users)
		err = arm();
	if (!err)
		users++;
	mutex_unlock(&faults_lock);
	if (!err) {
		hw->tap = &faults;
		return 0;
	}
	tap = kpmu_tap_share(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	if (IS_ERR(tap)) {
		*why = "nobody tells of page faults";
		return PTR_ERR(tap);
	}
	hw->tap = tap;
	hw->gated = kpmu_tap_is_gated(tap);
	return 0;
}

/**
 * kpmu_faults_put() - one event does so no more
 * @hw: its .tap is from kpmu_faults_get(), or another tap
 *
 * Context: task, may sleep.
 */
void kpmu_faults_put(struct kpmu_hw *hw)
{
	int i;

	if (hw->tap != &faults) {
		kpmu_tap_put(kpmu_tap_of(hw));
		return;
	}
	mutex_lock(&faults_lock);
	if (!--users)
		for (i = 0; i < ARRAY_SIZE(points); i++)
			kpmu_thook_disarm(&points[i]);
	mutex_unlock(&faults_lock);
}
