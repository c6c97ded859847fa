// SPDX-License-Identifier: GPL-2.0-only
/*
 * The overflow interrupt.  SDM volume 3, "Performance Monitoring Interrupt" and
 * IA32_PERF_GLOBAL_STATUS.
 *
 * The handler runs as an NMI: it must not take locks or wait, and may access memory that
 * can fault only through functions made for that.
 *
 * Counters that count user mode only do not count during the handler.  If a counter that
 * counts at CPL 0 is enabled, the handler stops all counters: that counter would count the
 * handler itself, and might overflow after the status was read, while LVTPC is masked;
 * this overflow would never be reported.  Version 1 can only stop them one by one: the handler stops
 * those that count at CPL 0, except on AMD, where LVTPC is not masked.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/static_call.h>
#include <asm/apic.h>
#include <asm/tsc.h>

#include "../../compat/nmi.h"
#include "../../trace/checker.h"
#include "counter.h"
#include "lbr.h"
#include "precise.h"

static bool no_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	return false;
}

/* Static call, avoids a retpoline */
DEFINE_STATIC_CALL(x86_overflow, no_overflow);

/**
 * x86_on_overflow() - .on_overflow of struct kpmu_core
 * @fn: see kpmu_on_overflow()
 *
 * Context: see kpmu_on_overflow().
 */
void __init x86_on_overflow(kpmu_overflow_fn fn)
{
	static_call_update(x86_overflow, fn);
}

/**
 * x86_report() - report an overflow that a record tells of
 * @hw: the event
 * @hit: what is known about it
 *
 * Context: the PMI.
 * Return: true if the event's counter is to be halted.
 */
bool x86_report(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	kpmu_stat_inc(overflows);
	return static_call(x86_overflow)(hw, hit);
}
NOKPROBE_SYMBOL(x86_report);

/**
 * x86_report_batch() - report several overflows, by their records
 * @hw: the event
 * @hit: the overflows, with @hit->precise->batch
 *
 * Context: the PMI, or IRQs off.
 */
void x86_report_batch(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	static_call(x86_overflow)(hw, hit);
	kpmu_stat_add(overflows, hit->precise->batch->done);
}
NOKPROBE_SYMBOL(x86_report_batch);

/* A sampling event's counter has wrapped: report an overflow if one is due */
static __always_inline void report_overflow(struct x86_cpu *c, struct kpmu_hw *hw)
{
	if ((s64)(local64_read(&hw->count) - hw->next) < 0)
		return;
	c->hit.period = hw->period;
	kpmu_stat_inc(overflows);
	if (static_call(x86_overflow)(hw, &c->hit))
		x86_halt(hw);
	/* An NMI's time is accounted once, with its first overflow */
	c->hit.began = 0;
}

/*
 * A counter has wrapped.  Fold, then set the counter so that it wraps at the next overflow;
 * for a counting event, as late as possible.
 */
static __always_inline void handle_wrap(struct x86_cpu *c, int idx)
{
	struct kpmu_hw *hw = READ_ONCE(c->slots.hw[idx]);
	u64 prev, raw, to;

	if (!hw) {
		/* The counter overflowed just before it was stopped; the event is folded */
		kpmu_stat_inc(pmis_late);
		return;
	}
	prev = local64_read(&hw->prev);
	raw = x86_counter_read(idx);
	local64_add((raw - prev) & x86_pmu.value, &hw->count);
	if (hw->period) {
		local64_set(&hw->prev, raw | (prev & ~x86_pmu.value));
		report_overflow(c, hw);
		to = x86_aim(hw, idx);
	} else {
		to = x86_far(hw);
		local64_set(&hw->prev, ((prev | x86_pmu.value) + 1) | to);
		x86_counter_write(idx, to);
	}
	if (hw->page)
		x86_user_jump(hw, raw, to);
}

/* Version 1 has no GLOBAL_STATUS: a clear sign bit indicates an overflow */
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

/* The counters that have overflowed; with X86_STATUS_BUFFER, which is no counter's bit, if the buffer is filled */
static u64 overflowed(struct x86_cpu *c)
{
	u64 status;

	if (static_branch_unlikely(&x86_ctrl_key.key) && x86_pmu.version < 2)
		return overflowed_v1(c);
	status = kpmu_rdmsr(x86_pmu.regs.status) & x86_pmu.status;
	if (status)
		x86_wrmsr(x86_pmu.regs.clear, status);
	return x86_global_slots(status) | (status & X86_STATUS_BUFFER);
}

/*
 * An NMI without an overflow.  One may still come if kpmu has seen the overflow before it: the
 * counter was stopped after it had wrapped, or several overflows were handled by one NMI.
 * Claim one such NMI, so that the kernel does not report it as unknown; any other is not kpmu's.
 */
static int handle_late(struct x86_cpu *c)
{
	bool late = READ_ONCE(c->late) && time_before(jiffies, READ_ONCE(c->late_until));

	WRITE_ONCE(c->late, false);
	if (late)
		kpmu_stat_inc(pmis_late);
	return late;
}

/*
 * Without GLOBAL_CTRL, stop the counters that count at CPL 0 one by one.  Return those that were
 * enabled: c->on may not say so yet, or still say so, if the PMI has interrupted a commit.
 */
static noinline u32 freeze_each(struct x86_cpu *c)
{
	u32 m, found = 0;

	for (m = c->slots.mask & c->kernel; m; m &= m - 1) {
		int i = __ffs(m);

		if (!(kpmu_rdmsr(MSR_GP_SEL(i)) & SEL_EN))
			continue;
		x86_wrmsr(MSR_GP_SEL(i), x86_sel_register(c, i, false));
		found |= 1u << i;
	}
	return found;
}
NOKPROBE_SYMBOL(freeze_each);

#define ALL_COUNTERS	(~0u)

/*
 * Stop the counters if one that is enabled counts at CPL 0, see above.  Return what thaw() is to
 * restart: ALL_COUNTERS by GLOBAL_CTRL, or those that were stopped one by one.
 */
static __always_inline u32 freeze(struct x86_cpu *c)
{
	/* An interrupted commit may have cleared bits in c->on before it stops the counters */
	if (!((c->on | c->slots.mask) & c->kernel))
		return 0;
	if (x86_pmu.version >= 2) {
		x86_wrmsr(x86_pmu.regs.ctrl, 0);
		return ALL_COUNTERS;
	}
	return x86_pmu.late_nmis ? 0 : freeze_each(c);
}

/* Restart what freeze() has stopped, except halted counters, and stop those that are halted now */
static noinline void thaw(struct x86_cpu *c, u32 frozen)
{
	u32 m;

	if (frozen == ALL_COUNTERS || c->on & c->halted)
		x86_go_on_now(c);
	if (frozen == ALL_COUNTERS)
		return;
	for (m = frozen & ~c->halted; m; m &= m - 1)
		x86_wrmsr(MSR_GP_SEL(__ffs(m)), x86_sel_register(c, __ffs(m), true));
}
NOKPROBE_SYMBOL(thaw);

static struct kpmu_nmi pmi_nmi = {
	.native = KSYM_perf_event_nmi_handler,
	.own = { .flags = NMI_FLAG_FIRST, .name = "kpmu" },
};

static int handle_pmi(unsigned int cmd, struct pt_regs *regs)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	u32 left, frozen;
	u64 found;
	int handled;

	if (unlikely(!READ_ONCE(c->ready)))
		return handle_late(c) + kpmu_nmi_native(&pmi_nmi, regs);
	frozen = freeze(c);
	kpmu_check_pmi();
	c->hit.regs = regs;
	/* Only some NMIs are timed, because reading the clock twice is expensive */
	if (unlikely(++c->turn % KPMU_TIMED < 2)) {
		c->hit.began = get_cycles();
		c->hit.next = c->turn & 1;
	}
	found = overflowed(c);
	if (unlikely(c->precise)) {
		/* Their overflow is not of interest, but the record that follows */
		found &= ~(u64)c->precise;
		if (!READ_ONCE(c->draining))
			x86_pmu.precise->drain(c, regs);
	}
	for (left = found; left; left &= left - 1)
		handle_wrap(c, __ffs(left));
	if (likely(found)) {
		/* The number of overflows lets the kernel recognise back-to-back NMIs for them */
		handled = hweight64(found);
		kpmu_stat_inc(pmis);
		/* Delivery masked the vector (Intel); unmask it for the next one */
		if (!x86_pmu.late_nmis)
			apic->write(APIC_LVTPC, APIC_DM_NMI);
		else
			x86_expect_late(c, found & (found - 1));
	} else {
		handled = handle_late(c);
	}
	c->hit.began = 0;
	if (unlikely(c->special)) {
		if (c->recorders)
			x86_lbr_resume(c);
		if (c->pairs)
			x86_pmu.pairs->refill(c);
	}
	if (unlikely(frozen | (c->on & READ_ONCE(c->halted))))
		thaw(c, frozen);
	return handled + kpmu_nmi_native(&pmi_nmi, c->hit.regs);
}
NOKPROBE_SYMBOL(handle_pmi);

/**
 * x86_pmi_init() - register the NMI handler
 *
 * Context: module init.
 * Return: 0 or an error.
 */
int __init x86_pmi_init(void)
{
	pmi_nmi.events = kpmu_ksym_data(KSYM_active_events);
	return kpmu_nmi_init(&pmi_nmi, handle_pmi);
}

/**
 * x86_pmi_exit() - unregister the NMI handler
 *
 * Context: task, may sleep.
 */
void x86_pmi_exit(void)
{
	kpmu_nmi_exit(&pmi_nmi);
}
