// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters are taken with the first hardware event and given back with the
 * last.  The kernel's own perf does the same through the same two
 * bitmaps, so whoever comes first has all of them and the other gets EBUSY.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "../../compat/ksym.h"
#include "msr.h"

static DEFINE_MUTEX(reserve_lock);
static int users;

/*
 * Both bitmaps, always by the classic numbers: counters written in full width
 * have MSR numbers that the bitmaps do not manage.
 */
static bool reserve_all(void)
{
	int i;

	for (i = 0; i < x86_pmu.gp; i++) {
		if (!reserve_perfctr_nmi(MSR_GP_COUNTER(i)))
			break;
		if (!reserve_evntsel_nmi(MSR_GP_SEL(i))) {
			release_perfctr_nmi(MSR_GP_COUNTER(i));
			break;
		}
	}
	if (i == x86_pmu.gp)
		return true;
	while (i--) {
		release_evntsel_nmi(MSR_GP_SEL(i));
		release_perfctr_nmi(MSR_GP_COUNTER(i));
	}
	return false;
}

static void release_all(void)
{
	int i;

	for (i = 0; i < x86_pmu.gp; i++) {
		release_evntsel_nmi(MSR_GP_SEL(i));
		release_perfctr_nmi(MSR_GP_COUNTER(i));
	}
}

static void complain(void)
{
	unsigned long *watchdog = kpmu_ksym_data(KSYM_watchdog_enabled);
	atomic_t *native = kpmu_ksym_data(KSYM_pmc_refcount);

	if (watchdog && *watchdog & 1)
		pr_notice_ratelimited("the NMI watchdog holds the counters: sysctl kernel.nmi_watchdog=0 frees them\n");
	else if (native)
		pr_notice_ratelimited("the kernel's perf holds the counters (%d events)\n",
				      atomic_read(native));
	else
		pr_notice_ratelimited("another driver holds the counters\n");
}

/**
 * x86_get() - take the counters for one more event
 *
 * Context: task, may sleep.
 * Return: 0, or -EBUSY with the holder's name on the log.
 */
int x86_get(void)
{
	int err = 0;

	mutex_lock(&reserve_lock);
	if (!users && !reserve_all()) {
		complain();
		err = -EBUSY;
	}
	if (!err)
		users++;
	mutex_unlock(&reserve_lock);
	return err;
}

/* See source.h */
void kpmu_counters_offline(void)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	x86_cpu_clear(c);
	c->lvtpc = false;	/* reset with the CPU */
}

static void clear_this_cpu(void *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	x86_cpu_clear(this_cpu_ptr(&x86_cpu));
	local_irq_restore(flags);
}

static bool is_ready(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(x86_cpu, cpu).ready);
}

/**
 * x86_put() - give the counters back after one event
 *
 * With the last one, every CPU's registers are left as they were found: what
 * we leave switched on would count and interrupt under the next owner.
 *
 * Context: task, may sleep.
 */
void x86_put(void)
{
	mutex_lock(&reserve_lock);
	if (!--users) {
		on_each_cpu_cond(is_ready, clear_this_cpu, NULL, true);
		release_all();
	}
	mutex_unlock(&reserve_lock);
}

/* Version 1 counts whatever a selector says, so none may be left over */
static void clear_selectors_v1(void)
{
	int i;

	for (i = 0; i < x86_pmu.gp; i++)
		if (kpmu_rdmsr(MSR_GP_SEL(i)))
			x86_wrmsr(MSR_GP_SEL(i), 0);
}

/**
 * x86_cpu_setup() - bring this CPU's registers into a known state
 * @c: this CPU's shadow
 *
 * Selectors are written when they are used first; until then GLOBAL_CTRL
 * keeps whatever they hold from counting.
 *
 * Context: IRQs off, at the first commit after the counters were taken.
 */
void x86_cpu_setup(struct x86_cpu *c)
{
	const struct x86_extra_reg *e = x86_pmu.model->extra;

	if (x86_pmu.version >= 2) {
		c->boot_ctrl = kpmu_rdmsr(MSR_CORE_PERF_GLOBAL_CTRL);
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
		/* An overflow left over would be taken for ours */
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL,
			  x86_global_bits(x86_pmu.counters));
	} else {
		clear_selectors_v1();
	}
	for (; e && e->reg; e++)
		if (x86_pmu.extra_ok & 1u << e->reg)
			c->extra[e->reg - 1] = kpmu_rdmsr(e->msr);
	c->on = 0;
	c->known = 0;
	c->kernel = 0;
	c->fixed_ctrl = 0;
	if (!c->lvtpc) {
		apic->write(APIC_LVTPC, APIC_DM_NMI);
		c->lvtpc = true;
	}
	WRITE_ONCE(c->ready, true);
}

/**
 * x86_cpu_clear() - leave this CPU's registers to the next owner
 * @c: this CPU's shadow
 *
 * Context: IRQs off, no event on any counter.
 */
void x86_cpu_clear(struct x86_cpu *c)
{
	u32 m = c->known & X86_GP_MASK;

	if (!c->ready)
		return;
	WARN_ON_ONCE(c->slots.mask);
	WRITE_ONCE(c->ready, false);
	for (; m; m &= m - 1)
		x86_wrmsr(MSR_GP_SEL(__ffs(m)), 0);
	if (c->fixed_ctrl)
		x86_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, 0);
	if (x86_pmu.version >= 2)
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, c->boot_ctrl);
}
