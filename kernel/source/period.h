/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Periods and due overflows.  All changes of hw->period and hw->next are made here,
 * except those of overflows_due() in sampling/hit.c, which competes with NMIs for
 * hw->next.  Also built in user space, with the fields of struct kpmu_hw that are used here.
 */
#ifndef KPMU_PERIOD_H
#define KPMU_PERIOD_H

#ifdef __KERNEL__
#include "source.h"
#else
#include "shim.h"
#endif

/**
 * kpmu_period_start() - set the period, counted from a certain count
 * @hw: the event
 * @period: events from one overflow to the next, at least 1; 0: the event does not
 *	overflow
 * @count: count at which the period starts
 *
 * Context: owner of the event's context, or before the event is attached.  An event with
 * a counter must be hidden from the PMI.
 */
static __always_inline void kpmu_period_start(struct kpmu_hw *hw, u64 period, u64 count)
{
	hw->period = period;
	hw->next = count + period;
}

/**
 * kpmu_period_change() - change the period from the next overflow on
 * @hw: the event
 * @period: events from one overflow to the next, at least 1
 *
 * Context: the event's overflow or tick, on the CPU where it counts.
 */
static __always_inline void kpmu_period_change(struct kpmu_hw *hw, u64 period)
{
	hw->period = period;
}

/**
 * kpmu_period_due() - set the count at which the next overflow is due
 * @hw: the event
 * @count: the count
 *
 * Context: as kpmu_period_start(), or the event's overflow.
 */
static __always_inline void kpmu_period_due(struct kpmu_hw *hw, u64 count)
{
	hw->next = count;
}

/**
 * kpmu_period_left() - distance to the next overflow
 * @hw: the event
 * @count: its count
 *
 * Context: as kpmu_period_due().
 * Return: the number of events; 0 or less if the overflow is due.
 */
static __always_inline s64 kpmu_period_left(const struct kpmu_hw *hw, u64 count)
{
	return hw->next - count;
}

/**
 * kpmu_period_skip() - let the overflow that is due be the last one of several periods
 * @hw: the event
 * @count: its count, at which an overflow is due
 *
 * Context: as kpmu_period_due().
 * Return: the number of events that the skipped periods add to the overflow's period.
 */
static __always_inline u64 kpmu_period_skip(struct kpmu_hw *hw, u64 count)
{
	u64 late = count - hw->next;

	late -= late % hw->period;
	hw->next += late;
	return late;
}

/**
 * kpmu_source_reset() - set the count of an event to 0
 * @hw: the event
 * @count: its count
 *
 * Context: IRQs off, the owner of the event's context.
 */
static inline void kpmu_source_reset(struct kpmu_hw *hw, u64 count)
{
	/* In this order, so that an NMI hit in between finds no overflow due */
	local64_sub(count, &hw->count);
	barrier();
	hw->next -= count;
}

#endif
