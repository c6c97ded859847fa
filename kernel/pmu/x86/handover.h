/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handing counters over from the events of one plan to those of a plan that is alike, see
 * kpmu_commit().  The counters run on, and no register is written: the last fold of one event
 * is the start of the next.
 *
 * A program that switches between tasks switches between the same plans again and again.  So
 * plans are compared once.  Plans that are alike then have the same number (slots.like), and
 * the next switch compares only the numbers.
 */
#ifndef KPMU_X86_HANDOVER_H
#define KPMU_X86_HANDOVER_H

#include <linux/bitops.h>

#include "counter.h"

/**
 * x86_any_halted() - is any counter of this CPU halted?
 * @c: this CPU's shadow
 *
 * NMIs halt them, so memory is read; gcc's code for this takes one instruction more.
 *
 * Context: IRQs off.
 * Return: true if one is.
 */
static __always_inline bool x86_any_halted(const struct x86_cpu *c)
{
	bool any;

	asm volatile("cmpl $0, %[halted]" : "=@ccnz" (any) : [halted] "m" (c->halted) : "memory");
	return any;
}

/**
 * x86_pass_counter() - make a counter count for another event, while it runs
 * @c: this CPU's shadow
 * @to: the other event
 * @idx: the counter
 * @m: counters of which it is the first
 *
 * Once the former event, @from, has no index, only the PMI of a wrap folds it: the counter's event is @from until
 * the store to c->slots, and @to afterwards.  If the PMI came before the store, it has set the
 * counter, so the value that was read for @to is stale, and the change of from->prev shows this.
 *
 * Context: IRQs off.
 */
static __always_inline void x86_pass_counter(struct x86_cpu *c, struct kpmu_hw *to, unsigned long idx, u64 m)
{
	struct kpmu_hw *from = c->slots.hw[idx];
	u64 prev, raw;

	WRITE_ONCE(from->idx, -1);
	/* Halted by an NMI, with the group of @from */
	if (unlikely(x86_any_halted(c)))
		this_cpu_and(x86_cpu.halted, ~(u32)(m & -m));
	do {
		prev = local64_read(&from->prev);
		raw = x86_counter_read(idx);
		local64_set(&to->prev, raw);
		barrier();
		WRITE_ONCE(c->slots.hw[idx], to);
		barrier();
	} while (unlikely((u64)local64_read(&from->prev) != prev));
	local64_add((raw - prev) & x86_pmu.value, &from->count);
	WRITE_ONCE(to->idx, idx);
}

/**
 * x86_hand_over() - hand all counters over to the events of an assignment that is alike
 * @c: this CPU's shadow; exactly the counters in @want are in use
 * @want: the assignment
 *
 * Context: IRQs off.
 * Return: false if that is not possible, as an event changes its counter: some counters may
 * have been handed over, the commit must do the rest.
 */
static __always_inline bool x86_hand_over(struct x86_cpu *c, const struct kpmu_slots *want)
{
	unsigned long n = hweight32(want->mask);
	u64 m;

	for (m = want->mask; m; m &= m - 1) {
		unsigned long i = __ffs(m);
		struct kpmu_hw *to = want->hw[i];

		if (likely(to->idx == -1)) {
			x86_pass_counter(c, to, i, m);
			continue;
		}
		/* To be read again here: so it is compared above in memory */
		barrier();
		if (to->idx == (int)i)
			n--;
		else
			break;
	}
	if (unlikely(m))
		n -= hweight32(m);
	kpmu_stat_add(handovers, n);
	return !m;
}

/**
 * x86_may_pass() - can a counter be handed over from or to an event?
 * @hw: the event
 *
 * Context: IRQs off.
 * Return: true if it can, provided that the selectors are the same.
 */
static inline bool x86_may_pass(const struct kpmu_hw *hw)
{
	return !hw->period && !hw->rare;
}

/**
 * x86_is_alike() - is an assignment like the one in force?
 * @c: this CPU's shadow
 * @want: the assignment
 *
 * Context: IRQs off.
 * Return: true if it is, no counter is halted, and no event changes its counter.
 */
static inline bool x86_is_alike(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m;

	if (c->slots.mask != want->mask || c->on != want->mask || c->slots.alt != want->alt)
		return false;
	for (m = want->mask; m; m &= m - 1) {
		int i = __ffs(m);
		const struct kpmu_hw *from = c->slots.hw[i], *to = want->hw[i];

		if (from == to)
			continue;
		if (to->idx >= 0 || !x86_may_pass(from) || !x86_may_pass(to) ||
		    c->sel[i] != (i < X86_FIXED ? to->sel : to->fixed))
			return false;
	}
	return true;
}

/**
 * x86_mark_alike() - record that an assignment is like the one in force
 * @c: this CPU's shadow
 * @want: the assignment
 *
 * Context: IRQs off.
 */
static inline void x86_mark_alike(struct x86_cpu *c, struct kpmu_slots *want)
{
	static DEFINE_PER_CPU(u64, last);
	u32 m;

	for (m = want->mask; m; m &= m - 1)
		want->hw[__ffs(m)]->hint = __ffs(m);
	/* Unique over all CPUs */
	if (!c->slots.like)
		c->slots.like = this_cpu_inc_return(last) * nr_cpu_ids + smp_processor_id();
	want->like = c->slots.like;
}

#endif
