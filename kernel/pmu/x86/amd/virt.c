// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that exclude the host or guests.  APM volume 2, PERF_CTL bits 40 and 41.
 *
 * A counter of the host only stands still while SVM is not enabled (EFER.SVME), so its bit must
 * not be in the register then.  KVM enables SVM on a CPU, and disables it, at any time, and tells
 * the kernel's own perf after it has done so.  The two functions that it calls are diverted, to
 * change the selectors in use.  Where that does not work, kpmu does without the bits: then
 * exclude_guest has no effect, and an event with exclude_host counts nothing, as on Intel.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/printk.h>

#include "../../../compat/hook.h"
#include "../counter.h"
#include "amd.h"

static void enable_virt(void);
static void disable_virt(void);

static struct kpmu_divert virts[] = {
	{ .func = "amd_pmu_enable_virt", .instead = enable_virt,
	  .feature = "exclude_host and exclude_guest" },
	{ .func = "amd_pmu_disable_virt", .instead = disable_virt,
	  .feature = "exclude_host and exclude_guest" },
};

static struct kpmu_diverts virt_set = { .table = virts, .n = ARRAY_SIZE(virts) };

/* Without the global registers, a PMI may stop the counter before or after the write */
static void rewrite(struct x86_cpu *c, int idx)
{
	u32 on;

	do {
		on = READ_ONCE(c->on);
		x86_wrmsr(MSR_GP_SEL(idx), x86_sel_register(c, idx, on & 1u << idx));
		barrier();
	} while (READ_ONCE(c->on) != on);
}

/* The kernel's own perf has stopped and started all counters, as it knows nothing of kpmu's */
static void restore_global(struct x86_cpu *c)
{
	u32 on;

	if (!c->ready || x86_pmu.version < 2)
		return;
	do {
		on = READ_ONCE(c->on);
		x86_wrmsr(x86_pmu.regs.ctrl, x86_global_bits(x86_with_upper(c, on)));
		barrier();
	} while (READ_ONCE(c->on) != on);
}

/* SVM was enabled or disabled on this CPU; the counters run on */
static void svm_changed(void)
{
	struct x86_cpu *c;
	unsigned long flags;
	u32 m;

	local_irq_save(flags);
	c = this_cpu_ptr(&x86_cpu);
	c->left_out = x86_left_out();
	for (m = c->ready ? c->known : 0; m; m &= m - 1)
		if (c->sel[__ffs(m)] & x86_pmu.host)
			rewrite(c, __ffs(m));
	restore_global(c);
	local_irq_restore(flags);
}

static void enable_virt(void)
{
	kpmu_divert_call(&virts[0], 0);
	svm_changed();
	kpmu_divert_done(&virts[0]);
}

static void disable_virt(void)
{
	kpmu_divert_call(&virts[1], 0);
	svm_changed();
	kpmu_divert_done(&virts[1]);
}

/**
 * amd_virt_init() - let events exclude the host or guests
 *
 * Context: module init, may sleep; no event is open.
 */
void __init amd_virt_init(void)
{
	int err = kpmu_diverts_register(&virt_set);

	if (err || !virts[0].ok || !virts[1].ok) {
		pr_notice("KVM cannot be made to tell kpmu that it enables SVM (%d): exclude_guest has no effect\n",
			  err);
		return;
	}
	x86_pmu.host = AMD_SEL_HOST;
	x86_pmu.guest = AMD_SEL_GUEST;
}

/**
 * amd_virt_exit() - undo amd_virt_init()
 *
 * Context: task, may sleep; no event is left.
 */
void amd_virt_exit(void)
{
	kpmu_diverts_unregister(&virt_set);
}
