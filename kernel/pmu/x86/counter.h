/* SPDX-License-Identifier: GPL-2.0-only */
/* A counter's value, for the commit and for the overflow interrupt. */
#ifndef KPMU_X86_COUNTER_H
#define KPMU_X86_COUNTER_H

#include "../../trace/stats.h"
#include "msr.h"

static __always_inline void x86_counter_write(int idx, u64 val)
{
	if (idx >= X86_FIXED)
		x86_wrmsr(MSR_FIXED_COUNTER(idx - X86_FIXED), val);
	else if (x86_pmu.full_width)
		x86_wrmsr(MSR_GP_FULL(idx), val);
	else
		x86_wrmsr(MSR_GP_COUNTER(idx), val);
	kpmu_stat_inc(counters);
}

/**
 * x86_far() - where to set the counter of an event that only counts
 * @hw: the event, its count up to date
 *
 * As far from its wrap as it may be, but so that the user page's offset, which is
 * the count less the counter's value, has no more bits than a counter, sign
 * included.  A count that is itself larger than that has no such place.
 *
 * Context: IRQs off, or the PMI.
 */
static __always_inline u64 x86_far(const struct kpmu_hw *hw)
{
	u64 room = x86_pmu.sign - 1 - local64_read(&hw->count);

	if (likely(room > x86_pmu.farthest || !room))
		return x86_pmu.start;
	return -room & x86_pmu.value;
}

/**
 * x86_aim() - let a counter overflow where the event's next overflow is due
 * @hw: the event, its count up to date
 * @idx: its counter, standing still
 *
 * A counter holds so many bits.  What does not fit is made up of several rounds,
 * of which only the last is an overflow.  One that is closer than two
 * events is put off to the second: there are CPUs that miss it otherwise.
 *
 * Context: IRQs off, or the PMI.
 * Return: what the counter was set to.
 */
static __always_inline u64 x86_aim(struct kpmu_hw *hw, int idx)
{
	u64 count = local64_read(&hw->count), gen, val;
	s64 left = hw->next - count;

	if (left <= 0) {
		left = left > -(s64)hw->period ? left + hw->period : hw->period;
		hw->next = count + left;
	}
	left = clamp_t(s64, left, 2, x86_pmu.farthest);
	val = -left & x86_pmu.value;
	gen = (local64_read(&hw->prev) | x86_pmu.value) + 1;
	local64_set(&hw->prev, gen | val);
	x86_counter_write(idx, val);
	return val;
}

/**
 * x86_go_on() - the end of a PMI: let those count again that are to
 * @c: this CPU's shadow
 * @frozen: all stand still
 *
 * Context: NMI.
 */
static __always_inline void x86_go_on(struct x86_cpu *c, bool frozen)
{
	if (unlikely(frozen || c->on & c->halted))
		x86_go_on_now(c);
}

#endif
