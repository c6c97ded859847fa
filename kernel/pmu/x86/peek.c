// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading the count of events that may be on a counter of this CPU.  It is folded into the event, or only
 * computed, which takes no atomic operation.
 */
#include "counter.h"
#include "precise.h"

/**
 * x86_read() - fold and return an event's count
 * @hw: the event; if it is on a counter, it must be one of this CPU
 *
 * Context: IRQs off.
 * Return: the count.
 */
u64 x86_read(struct kpmu_hw *hw)
{
	if (hw->idx >= 0) {
		if (unlikely(hw->precise))
			x86_read_precise(hw);
		else
			x86_fold(hw, hw->idx);
	}
	return local64_read(&hw->count);
}

/* A PMI that folds or sets the counter meanwhile changes hw->prev: see x86_change() */
static __always_inline u64 count_now(const struct kpmu_hw *hw, int idx, u64 bits)
{
	u64 prev, count, raw;

	do {
		prev = local64_read(&hw->prev);
		count = local64_read(&hw->count);
		raw = x86_counter_read(idx);
	} while (unlikely(local64_read(&hw->prev) != prev));
	return count + ((raw - prev) & bits);
}

/**
 * x86_peek() - .peek of struct kpmu_core
 * @hw: the events
 * @n: how many
 * @counts: where to write the counts
 *
 * Context: IRQs off.
 * Return: how many were read: up to the first event that is on no counter, or precise.
 */
u32 x86_peek(struct kpmu_hw *const *hw, u32 n, u64 *counts)
{
	u64 bits = x86_pmu.value;
	unsigned long i;

	for (i = 0; i < n; i++) {
		const struct kpmu_hw *h = hw[i];
		int idx = READ_ONCE(h->idx);

		if (idx < 0 || unlikely(h->precise))
			break;
		counts[i] = count_now(h, idx, bits);
	}
	return i;
}
