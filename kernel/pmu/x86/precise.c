// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of precise events outside the overflow interrupt.  Those in the buffer belong to the task
 * that runs, and are part of the events' counts.  So they are reported before an event's count is
 * read, its counter is set or gets another event, and before another task runs.
 */
#include <linux/bitops.h>
#include <linux/preempt.h>

#include "counter.h"
#include "precise.h"

/* Report the records.  A PMI meanwhile handles the other counters only */
static void drain(struct x86_cpu *c)
{
	WRITE_ONCE(c->draining, true);
	barrier();
	x86_pmu.precise->drain(c, NULL);
	barrier();
	WRITE_ONCE(c->draining, false);
}

/**
 * x86_precise_stop() - stop the counters of precise events, report their records, and fold them
 * @c: this CPU's shadow
 *
 * Context: IRQs off.  x86_enable_counters() must follow.
 */
void x86_precise_stop(struct x86_cpu *c)
{
	u32 m;

	x86_enable_counters(c, c->on & ~c->precise);
	drain(c);
	for (m = c->precise; m; m &= m - 1)
		x86_fold_signed(c->slots.hw[__ffs(m)], __ffs(m));
}

/**
 * x86_precise_drain() - report the records in the buffer
 * @c: this CPU's shadow
 *
 * Counters of user mode need not be stopped, as there are no new records meanwhile.
 *
 * Context: IRQs off.
 */
void x86_precise_drain(struct x86_cpu *c)
{
	if (!x86_pmu.precise->pending())
		return;
	x86_enable_counters(c, c->on & ~(c->precise & c->kernel));
	drain(c);
	x86_enable_counters(c, c->slots.mask);
}

/**
 * x86_read_precise() - fold a precise event
 * @hw: the event, on a counter of this CPU
 *
 * The count includes the records in the buffer, which are reported, unless this is a sample that
 * reads the counts of its group.
 *
 * Context: IRQs off.
 */
void x86_read_precise(struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	if (in_nmi() || c->draining) {
		x86_fold_signed(hw, hw->idx);
		return;
	}
	x86_enable_counters(c, c->on & ~(c->precise & c->kernel));
	drain(c);
	x86_fold_signed(hw, hw->idx);
	x86_enable_counters(c, c->slots.mask);
}
