/* SPDX-License-Identifier: GPL-2.0-only */
/* Setting counter values, for the commit and for the overflow interrupt. */
#ifndef KPMU_X86_COUNTER_H
#define KPMU_X86_COUNTER_H

#include <linux/jiffies.h>

#include "../../source/period.h"
#include "../../trace/stats.h"
#include "msr.h"

/**
 * x86_selector() - the selector of an event on a counter
 * @hw: the event
 * @idx: the counter
 * @alt: the event uses the other one of extra registers 1 and 2
 *
 * Context: any.
 * Return: PERFEVTSEL, or 4 bits for a fixed counter.
 */
static __always_inline u64 x86_selector(const struct kpmu_hw *hw, int idx, bool alt)
{
	if (idx >= X86_FIXED)
		return hw->fixed;
	return unlikely(alt) ? x86_alt_selector(hw) : hw->sel;
}

/**
 * x86_left_out() - bits of selectors that must not be in the registers now
 *
 * APM vol. 2, PERF_CTL: while SVM is not enabled, a counter of the host only counts nothing,
 * and there is no guest from which it must be kept.
 *
 * Context: IRQs off.
 * Return: the bits.
 */
static inline u64 x86_left_out(void)
{
	return x86_pmu.host && !(kpmu_rdmsr(MSR_EFER) & EFER_SVME) ? x86_pmu.host : 0;
}

/**
 * x86_sel_register() - value of a counter's selector register
 * @c: this CPU's shadow
 * @idx: the counter, a general one
 * @on: it counts; ignored from version 2 on, where GLOBAL_CTRL decides
 *
 * Context: IRQs off, or the PMI.
 * Return: the value.
 */
static __always_inline u64 x86_sel_register(const struct x86_cpu *c, int idx, bool on)
{
	u64 sel = c->sel[idx] & ~c->left_out;

	return x86_pmu.version >= 2 || on ? sel : sel & ~SEL_EN;
}

/**
 * x86_sign_extend() - a counter's value as users of RDPMC extend it
 * @raw: the value; bits above the counter's width are ignored
 *
 * Context: any.
 * Return: the value, sign-extended to 64 bits.
 */
static inline s64 x86_sign_extend(u64 raw)
{
	int shift = 64 - x86_pmu.width;

	return (s64)(raw << shift) >> shift;
}

/**
 * x86_counter_write() - set a counter
 * @idx: its slot
 * @val: the value, at most x86_pmu.value; without full-width writes a general counter
 *	takes bits 31:0 and sign-extends them
 *
 * SDM vol. 3, "Full-Width Writes to Performance Counter Registers".
 *
 * Context: IRQs off, or the PMI; the counter is not counting.
 */
static __always_inline void x86_counter_write(int idx, u64 val)
{
	if (idx >= X86_FIXED)
		x86_wrmsr(MSR_FIXED_COUNTER(idx - X86_FIXED), val);
	else
		x86_wrmsr(MSR_GP_WRITE(idx), val);
	kpmu_stat_inc(counters);
}

/**
 * x86_change() - begin a fold: a counter's change since the last one
 * @hw: the event
 * @idx: its counter
 *
 * An NMI may fold meanwhile and set the counter to the same value as before.  To detect that,
 * hw->prev has a generation number above the counter's bits, incremented whenever the counter
 * is set.
 *
 * Context: IRQs off, or NMI.
 * Return: the change; only the bits of x86_pmu.value are meaningful.
 */
static __always_inline u64 x86_change(struct kpmu_hw *hw, int idx)
{
	u64 prev, raw;

	do {
		prev = local64_read(&hw->prev);
		raw = x86_counter_read(idx);
	} while (local64_cmpxchg(&hw->prev, prev,
				 raw | (prev & ~x86_pmu.value)) != prev);
	return raw - prev;
}

/**
 * x86_fold() - add the counter's delta since the last fold to the event's count
 * @hw: the event
 * @idx: its counter
 *
 * Context: IRQs off, or NMI.
 */
static __always_inline void x86_fold(struct kpmu_hw *hw, int idx)
{
	local64_add(x86_change(hw, idx) & x86_pmu.value, &hw->count);
}

/**
 * x86_fold_signed() - x86_fold() for a counter that the hardware may set back to a lower value
 * @hw: a precise event
 * @idx: its counter
 *
 * With each record the hardware sets the counter back by a period, or to 0.  The period is added when
 * the record is read, so the sum is right whether the fold comes before or after.
 *
 * Context: IRQs off, or NMI.
 */
static inline void x86_fold_signed(struct kpmu_hw *hw, int idx)
{
	local64_add(x86_sign_extend(x86_change(hw, idx)), &hw->count);
}

/**
 * x86_far() - start value for the counter of a counting event
 * @hw: the event, its count up to date
 *
 * The value is as far from the overflow as possible.  But the user page's offset, i.e.
 * the count minus the counter's value, must fit into the width of a counter including the
 * sign.  If the count itself does not fit, no value can ensure that.
 *
 * Context: IRQs off, or the PMI.
 * Return: the value.
 */
static __always_inline u64 x86_far(const struct kpmu_hw *hw)
{
	u64 room = x86_pmu.sign - 1 - local64_read(&hw->count);

	if (likely(room > x86_pmu.farthest || !room))
		return x86_pmu.start;
	return -room & x86_pmu.value;
}

/**
 * x86_aim() - set a counter to overflow where the event's next overflow is due
 * @hw: the event, its count up to date
 * @idx: its counter, stopped
 *
 * If the distance exceeds what a counter can hold, the counter wraps several times, and
 * only the last wrap is an overflow of the event.  The distance is at least two events:
 * some CPUs miss an overflow after one.
 *
 * Context: IRQs off, or the PMI.
 * Return: the value written to the counter.
 */
static __always_inline u64 x86_aim(struct kpmu_hw *hw, int idx)
{
	u64 count = local64_read(&hw->count), gen, val;
	s64 left = kpmu_period_left(hw, count);

	if (left <= 0) {
		left = left > -(s64)hw->period ? left + hw->period : hw->period;
		/* The overflow of a precise event is reported by its record, which is still due */
		if (unlikely(hw->precise))
			left = 2;
		kpmu_period_due(hw, count + left);
	}
	left = clamp_t(s64, left, 2, x86_pmu.farthest);
	val = -left & x86_pmu.value;
	gen = (local64_read(&hw->prev) | x86_pmu.value) + 1;
	local64_set(&hw->prev, gen | val);
	x86_counter_write(idx, val);
	return val;
}

/**
 * x86_expect_late() - note whether an NMI may arrive that no overflow explains
 * @c: this CPU's shadow
 * @yes: it may; else an earlier note is void, as its NMI has come
 *
 * Context: IRQs off, or the PMI.
 */
static inline void x86_expect_late(struct x86_cpu *c, bool yes)
{
	if (yes)
		WRITE_ONCE(c->late_until, jiffies + HZ / 10);
	WRITE_ONCE(c->late, yes);
}

/**
 * x86_with_upper() - counters with the upper ones of their pairs, as in GLOBAL_CTRL
 * @c: this CPU's shadow
 * @on: the counters, a bit for each slot
 *
 * Context: IRQs off, or the PMI.
 * Return: the counters.
 */
static inline u32 x86_with_upper(const struct x86_cpu *c, u32 on)
{
	return on | (on & c->pairs) << 1;
}

/**
 * x86_enable_counters() - enable these counters, except those that are halted, and no others
 * @c: this CPU's shadow
 * @on: the counters, a bit for each slot
 *
 * Context: IRQs off.
 */
static __always_inline void x86_enable_counters(struct x86_cpu *c, u32 on)
{
	on &= ~READ_ONCE(c->halted);
	if (c->on == on)
		return;
	if (static_branch_unlikely(&x86_ctrl_key.key)) {
		x86_enable_slowly(c, on);
		return;
	}
	/* A PMI between the two writes must already restore the new value */
	WRITE_ONCE(c->on, on);
	x86_global_write(on);
	/* A PMI has halted a counter, but the write has enabled it again */
	if (unlikely(on & READ_ONCE(c->halted)))
		x86_go_on_now(c);
}

#endif
