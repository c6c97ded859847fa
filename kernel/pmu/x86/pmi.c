// SPDX-License-Identifier: GPL-2.0-only
/*
 * The overflow interrupt.  SDM volume 3, "Performance Monitoring Interrupt" and
 * IA32_PERF_GLOBAL_STATUS.
 *
 * Runs as NMI: no locks, no waiting, nothing that could fault but what says so.
 *
 * An event for user mode only stands still by itself as long as we are here.
 * While a counter that counts the kernel is on, all are stopped: it would count
 * this handler, and an overflow after the status was read, while the vector
 * is masked, would never be told.
 */
#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/static_call.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/tsc.h>

#include "counter.h"

static bool no_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	return false;
}

/* Without a detour by a pointer, which is dear where branches are not to be guessed */
DEFINE_STATIC_CALL(x86_overflow, no_overflow);

/* See source.h */
void __init kpmu_on_overflow(kpmu_overflow_fn fn)
{
	static_call_update(x86_overflow, fn);
}

/* The round of an event that samples is over, or an overflow is due */
static __always_inline void sampled(struct x86_cpu *c, struct kpmu_hw *hw)
{
	if ((s64)(local64_read(&hw->count) - hw->next) < 0)
		return;
	c->hit.period = hw->period;
	kpmu_stat_inc(overflows);
	if (static_call(x86_overflow)(hw, &c->hit))
		kpmu_counters_halt(hw);
	/* The first of this NMI's overflows answers for all of them */
	c->hit.began = 0;
}

/*
 * A counter went round.  Add the distance, then set it to where it is to go
 * round next; for an event that only counts, to where it is farthest from that
 * and its sign bit is set.
 */
static __always_inline void wrapped(struct x86_cpu *c, int idx)
{
	struct kpmu_hw *hw = READ_ONCE(c->slots.hw[idx]);
	u64 prev, raw, to;

	if (!hw) {
		/* It overflowed just before it was stopped; all is folded */
		kpmu_stat_inc(pmis_late);
		return;
	}
	prev = local64_read(&hw->prev);
	raw = x86_counter_read(idx);
	local64_add((raw - prev) & x86_pmu.value, &hw->count);
	if (hw->period) {
		local64_set(&hw->prev, raw | (prev & ~x86_pmu.value));
		sampled(c, hw);
		to = x86_aim(hw, idx);
	} else {
		to = x86_far(hw);
		local64_set(&hw->prev, ((prev | x86_pmu.value) + 1) | to);
		x86_counter_write(idx, to);
	}
	if (hw->page)
		x86_user_jump(hw, raw, to);
}

/* Version 1 does not say who overflowed: a clear sign bit does */
static u32 overflowed_v1(struct x86_cpu *c)
{
	u32 m, found = 0;

	for (m = c->slots.mask; m; m &= m - 1) {
		int i = __ffs(m);

		if (!(x86_counter_read(i) & x86_pmu.sign))
			found |= 1u << i;
	}
	return found;
}

static u32 overflowed(struct x86_cpu *c)
{
	u64 status;

	if (x86_pmu.version < 2)
		return overflowed_v1(c);
	status = kpmu_rdmsr(MSR_CORE_PERF_GLOBAL_STATUS) & x86_pmu.status;
	if (status)
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, status);
	return x86_global_slots(status);
}

static int pmi(unsigned int cmd, struct pt_regs *regs)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	bool frozen;
	u32 m, left;

	if (!READ_ONCE(c->ready))
		return NMI_DONE;
	/* Who is interrupted may be about to stop some, which are not in c->on any more */
	frozen = x86_pmu.version >= 2 && (c->on | c->slots.mask) & c->kernel;
	if (frozen)
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	c->hit.regs = regs;
	/* Now and then its time is taken: reading the clock twice is not free */
	if (unlikely(++c->turn % KPMU_TIMED < 2)) {
		c->hit.began = get_cycles();
		c->hit.next = c->turn & 1;
	}
	m = overflowed(c);
	for (left = m; left; left &= left - 1)
		wrapped(c, __ffs(left));
	if (m) {
		kpmu_stat_inc(pmis);
		/* Delivery masked the vector (Intel); unmask it for the next one */
		apic->write(APIC_LVTPC, APIC_DM_NMI);
	}
	c->hit.began = 0;
	x86_go_on(c, frozen);
	/* How many, so that a second NMI for them is known for what it is */
	return hweight32(m);
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
