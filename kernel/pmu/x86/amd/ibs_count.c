// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting with IBS.  A sampler counts up to its period, takes a sample, and stands still until its
 * register is written.  hw->prev has what was counted since the last write, and above it a number
 * that each write changes: an interrupted fold must not take the count of one period for that of
 * another.
 */
#include <linux/kprobes.h>

#include "../../../source/period.h"
#include "../msr.h"
#include "ibs.h"

#define GENERATION	BIT_ULL(32)
#define COUNT		(GENERATION - 1)

DEFINE_PER_CPU(struct ibs_cpu [IBS_UNITS], ibs_cpus);

/* What the register says.  Returns false if it was written after @prev had been read */
static bool fold_once(struct kpmu_hw *hw, u64 prev, u64 ctl)
{
	u64 now = ibs_unit_of(hw)->count(ctl);

	if ((u64)local64_cmpxchg(&hw->prev, prev, (prev & ~COUNT) | now) != prev)
		return false;
	local64_add((s64)now - (s64)(prev & COUNT), &hw->count);
	return true;
}

/**
 * ibs_fold() - add what was counted
 * @hw: the event
 * @ctl: contents of its control register
 *
 * Context: NMI, or IRQs off while no NMI writes the register; on the CPU of the event.
 */
void ibs_fold(struct kpmu_hw *hw, u64 ctl)
{
	fold_once(hw, local64_read(&hw->prev), ctl);
}
NOKPROBE_SYMBOL(ibs_fold);

/**
 * ibs_read() - .read of events of IBS
 * @hw: the event
 *
 * Context: IRQs off or NMI, on the CPU of the event while it counts.
 * Return: the count.
 */
u64 ibs_read(struct kpmu_hw *hw)
{
	u64 prev;

	if (!hw->runs)
		return local64_read(&hw->count);
	do {
		prev = local64_read(&hw->prev);
		barrier();
	} while (!fold_once(hw, prev, kpmu_rdmsr(ibs_unit_of(hw)->msr)));
	return local64_read(&hw->count);
}
NOKPROBE_SYMBOL(ibs_read);

/* The bits of a period, which is a multiple of 16 */
static u64 period_bits(const struct ibs_unit *u, u64 n)
{
	return (n >> 4 & IBS_MAX_CNT) | (n & u->period & IBS_OP_MAX_EXT);
}

/**
 * ibs_go() - count up to the next overflow
 * @hw: the event
 * @ctl: bits of the count to begin with
 *
 * A period that the hardware does not have takes several, the last of which is not too short.
 *
 * Context: NMI, or IRQs off; on the CPU of the event, while its sampler does not count.
 */
void ibs_go(struct kpmu_hw *hw, u64 ctl)
{
	struct ibs_unit *u = ibs_unit_of(hw);
	s64 left = kpmu_period_left(hw, local64_read(&hw->count));

	if (left > u->max)
		left = min_t(s64, left - u->min, u->max);
	left = round_up(max_t(s64, left, u->min), 16);
	local64_set(&hw->prev, (local64_read(&hw->prev) | COUNT) + 1);
	ctl |= hw->sel | period_bits(u, min_t(s64, left, u->max));
	if (u->restart)
		x86_wrmsr(u->msr, ctl);
	x86_wrmsr(u->msr, ctl | u->enable);
}
NOKPROBE_SYMBOL(ibs_go);

/**
 * ibs_begin() - .start of events of IBS
 * @hw: the event
 *
 * Context: IRQs off.
 */
void ibs_begin(struct kpmu_hw *hw)
{
	ibs_go(hw, 0);
}

/**
 * ibs_end() - .stop of events of IBS
 * @hw: the event
 *
 * A sample that was taken and not yet reported is lost, as with the kernel's perf.  Its interrupt
 * may still come.
 *
 * Context: IRQs off, on the CPU of the event.
 */
void ibs_end(struct kpmu_hw *hw)
{
	struct ibs_unit *u = ibs_unit_of(hw);
	struct ibs_cpu *c = this_cpu_ptr(&ibs_cpus[u - ibs_units]);
	u64 prev = local64_read(&hw->prev), ctl;

	barrier();
	ctl = kpmu_rdmsr(u->msr);
	WRITE_ONCE(c->late, true);
	barrier();
	x86_wrmsr(u->msr, 0);
	/* 0 if an NMI has stopped the sampler: then it was folded, as if it has been started anew since */
	if (ctl & u->enable)
		fold_once(hw, prev, ctl);
}

/**
 * ibs_set_period() - .set_period of events of IBS
 * @hw: the event
 * @period: the period
 *
 * Context: owner of the event's context, IRQs off.
 */
void ibs_set_period(struct kpmu_hw *hw, u64 period)
{
	bool runs = hw->runs;

	if (runs)
		ibs_end(hw);
	kpmu_period_start(hw, period, local64_read(&hw->count));
	if (runs)
		ibs_begin(hw);
}
