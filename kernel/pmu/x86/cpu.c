// SPDX-License-Identifier: GPL-2.0-only
/* Taking over the registers of a CPU, and leaving them. */
#include <linux/bitops.h>
#include <linux/smp.h>
#include <asm/apic.h>

#include "../../compat/ksym.h"
#include "counter.h"
#include "lbr.h"
#include "precise.h"

/* Without GLOBAL_CTRL (version 1), a selector left over would count at once */
static void clear_selectors_v1(void)
{
	int i;

	for (i = 0; i < x86_pmu.gp; i++)
		if (kpmu_rdmsr(MSR_GP_SEL(i)))
			x86_wrmsr(MSR_GP_SEL(i), 0);
}

/*
 * Version 1 has no GLOBAL_CTRL, but an enable bit in each selector.  A counter is in c->on before it
 * is enabled, so that its PMI can halt it: a counter that counts the kernel with a short period overflows
 * again before each next instruction.
 */
static void enable_each(struct x86_cpu *c, u32 on)
{
	u32 diff = c->on ^ on;

	for (; diff; diff &= diff - 1) {
		int i = __ffs(diff);

		if (on & 1u << i) {
			this_cpu_or(x86_cpu.on, 1u << i);
			x86_wrmsr(MSR_GP_SEL(i), x86_sel_register(c, i, true));
			continue;
		}
		x86_wrmsr(MSR_GP_SEL(i), x86_sel_register(c, i, false));
		this_cpu_and(x86_cpu.on, ~(1u << i));
		/* Its NMI does not find the overflow any more, once the counter is set */
		if (x86_pmu.late_nmis && !(x86_counter_read(i) & x86_pmu.sign))
			x86_expect_late(c, true);
	}
}

/**
 * x86_enable_slowly() - enable exactly these counters, see x86_ctrl_key
 * @c: this CPU's shadow; c->on are those enabled now, and becomes @on, less those that PMIs halt meanwhile
 * @on: the counters, a bit for each slot
 *
 * Context: IRQs off, or the PMI.
 */
void x86_enable_slowly(struct x86_cpu *c, u32 on)
{
	if (x86_pmu.version < 2) {
		enable_each(c, on);
		return;
	}
	WRITE_ONCE(c->on, on);
	x86_global_write(x86_with_upper(c, on));
	if (unlikely(on & READ_ONCE(c->halted)))
		x86_go_on_now(c);
}

/**
 * x86_go_on_now() - enable exactly the counters in c->on that are not halted
 * @c: this CPU's shadow
 *
 * Context: IRQs off, or the PMI.
 */
void x86_go_on_now(struct x86_cpu *c)
{
	u32 on = c->on & ~c->halted;

	if (x86_pmu.version < 2) {
		enable_each(c, on);
		return;
	}
	x86_global_write(x86_with_upper(c, on));
	c->on = on;
}

/**
 * x86_cpu_setup() - bring this CPU's registers into a known state
 * @c: this CPU's shadow
 *
 * Selectors are not written before their first use; until then GLOBAL_CTRL disables their
 * counters.
 *
 * Context: IRQs off, at the first commit after the counters were reserved.
 */
void x86_cpu_setup(struct x86_cpu *c)
{
	u32 absent;

	c->counters = x86_kinds[c->kind].counters;
	absent = x86_pmu.counters & ~c->counters;
	if (x86_pmu.version >= 2) {
		c->boot_ctrl = kpmu_rdmsr(x86_pmu.regs.ctrl);
		x86_wrmsr(x86_pmu.regs.ctrl, 0);
		/* A stale overflow would be taken for one of kpmu's */
		x86_wrmsr(x86_pmu.regs.clear, x86_pmu.status & ~x86_global_bits(absent));
	} else {
		clear_selectors_v1();
	}
	kpmu_native_forget();
	c->left_out = x86_left_out();
	c->extra_known = 0;
	c->on = 0;
	c->known = 0;
	c->kernel = 0;
	c->halted = 0;
	c->fixed_ctrl = 0;
	x86_lbr_setup(c);
	c->precise = 0;
	c->pairs = 0;
	c->special = 0;
	c->draining = false;
	if (x86_pmu.precise)
		x86_pmu.precise->setup(c);
	if (!c->lvtpc) {
		apic->write(APIC_LVTPC, APIC_DM_NMI);
		c->lvtpc = true;
	}
	WRITE_ONCE(c->ready, true);
}

/**
 * x86_cpu_clear() - release this CPU's registers
 * @c: this CPU's shadow
 *
 * The counters are zeroed: programs that execute RDPMC must not see kpmu's counts when the
 * counters belong to another user.
 *
 * Context: IRQs off, no event on any counter.
 */
void x86_cpu_clear(struct x86_cpu *c)
{
	u32 m = c->known & X86_GP_MASK, used = c->known;

	if (!c->ready)
		return;
	WARN_ON_ONCE(c->slots.mask);
	WRITE_ONCE(c->ready, false);
	x86_lbr_clear(c);
	if (x86_pmu.precise)
		x86_pmu.precise->clear(c);
	for (; m; m &= m - 1)
		x86_wrmsr(MSR_GP_SEL(__ffs(m)), 0);
	if (c->fixed_ctrl)
		x86_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, 0);
	for (; used; used &= used - 1)
		x86_counter_write(__ffs(used), 0);
	if (x86_pmu.version >= 2)
		x86_wrmsr(x86_pmu.regs.ctrl, c->boot_ctrl);
}

/**
 * x86_alt_selector() - the selector with the event code for the other extra register
 * @hw: an event that needs extra register 1 or 2
 *
 * Context: any.
 * Return: the selector.
 */
u64 x86_alt_selector(const struct kpmu_hw *hw)
{
	const struct x86_extra_reg *e = x86_kind_of(hw)->model->extra;

	while (e->reg != 3 - hw->extra_reg)
		e++;
	return (hw->sel & ~SEL_CODE) | e->code;
}

/**
 * x86_kind_online() - this CPU comes online
 * @kind: its kind
 *
 * Context: on the CPU, IRQs off.
 */
void x86_kind_online(u8 kind)
{
	this_cpu_write(x86_cpu.kind, kind);
	cpumask_set_cpu(smp_processor_id(), &x86_kinds[kind].cpus);
}

/**
 * x86_kind_offline() - this CPU goes offline
 *
 * Context: on the CPU, IRQs off.
 */
void x86_kind_offline(void)
{
	cpumask_clear_cpu(smp_processor_id(), &x86_kinds[this_cpu_read(x86_cpu.kind)].cpus);
}

/**
 * x86_like() - .like of struct kpmu_core
 * @hw: the event
 *
 * An event that a fixed counter can count leaves the general ones to others.
 *
 * Context: IRQs off.
 * Return: see kpmu_counters_like().
 */
int x86_like(const struct kpmu_hw *hw)
{
	const struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	u32 m;

	if (hw->allowed & ~(u32)X86_GP_MASK)
		return -1;
	for (m = hw->allowed & c->known; m; m &= m - 1)
		if (c->sel[__ffs(m)] == hw->sel)
			return __ffs(m);
	return -1;
}
