// SPDX-License-Identifier: GPL-2.0-only
/*
 * The overflow interrupt.  SDM volume 3, "Performance Monitoring Interrupt" and
 * IA32_PERF_GLOBAL_STATUS.
 *
 * Runs as NMI: no locks, no waiting, nothing that could fault but what says so.
 */
#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "../../trace/stats.h"
#include "msr.h"

/*
 * A counter went round.  Add the distance, then set it back to where it is
 * farthest from the next wrap and its sign bit is set.
 */
static void wrapped(struct x86_cpu *c, int idx)
{
	struct kpmu_hw *hw = READ_ONCE(c->slots.hw[idx]);
	u64 prev, raw;

	if (!hw) {
		/* It overflowed just before it was stopped; all is folded */
		kpmu_stat_inc(pmis_late);
		return;
	}
	prev = local64_read(&hw->prev);
	raw = x86_counter_read(idx);
	local64_add((raw - prev) & x86_pmu.value, &hw->count);
	local64_set(&hw->prev, x86_pmu.start);
	if (hw->page)
		x86_user_jump(hw, raw, x86_pmu.start);
	x86_counter_write(idx, x86_pmu.start);
}

/* Version 1 does not say who overflowed: a clear sign bit does */
static u32 overflowed_v1(struct x86_cpu *c)
{
	u32 m, found = 0;

	for (m = c->slots.mask; m; m &= m - 1) {
		int i = __ffs(m);

		if (!(x86_counter_read(i) & 1ULL << (x86_pmu.width - 1)))
			found |= 1u << i;
	}
	return found;
}

static u32 overflowed(struct x86_cpu *c)
{
	u64 status;

	if (x86_pmu.version < 2)
		return overflowed_v1(c);
	status = kpmu_rdmsr(MSR_CORE_PERF_GLOBAL_STATUS) &
		 x86_global_bits(x86_pmu.counters);
	if (status)
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, status);
	return x86_global_slots(status);
}

static int pmi(unsigned int cmd, struct pt_regs *regs)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	bool frozen = false;
	u32 m;

	if (!READ_ONCE(c->ready))
		return NMI_DONE;
	m = overflowed(c);
	if (!m)
		return NMI_DONE;
	kpmu_stat_inc(pmis);

	/* Counters that count the kernel would count this handler */
	if (x86_pmu.version >= 2 && m & c->on & c->kernel) {
		frozen = true;
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	}
	for (; m; m &= m - 1)
		wrapped(c, __ffs(m));
	if (frozen)
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, x86_global_bits(c->on));

	/* Delivery masked the vector (Intel); unmask it for the next one */
	apic->write(APIC_LVTPC, APIC_DM_NMI);
	return NMI_HANDLED;
}
NOKPROBE_SYMBOL(pmi);

int __init x86_pmi_init(void)
{
	return register_nmi_handler(NMI_LOCAL, pmi, NMI_FLAG_FIRST, "kpmu");
}

void x86_pmi_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, "kpmu");
}
