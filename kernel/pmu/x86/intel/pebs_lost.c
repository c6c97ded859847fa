// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of format 2 that several precise events may have caused.  Such a record has the GLOBAL_STATUS
 * of its time, in which also the counters are set that have overflowed and wait for the next event.
 * As upstream, it is no sample of any of them: each is told that it may have lost one.
 */
#include <linux/bitops.h>
#include <linux/kprobes.h>

#include "../counter.h"
#include "pebs.h"
#include "pebs_format.h"

static void tell_lost(struct x86_cpu *c, int idx, u32 lost, struct pt_regs *regs)
{
	struct kpmu_hw *hw = READ_ONCE(c->slots.hw[idx]);
	struct kpmu_precise precise = { .early = true, .lost = lost };
	struct kpmu_hit hit = { .regs = regs, .precise = &precise };
	bool reloads;

	if (!hw || !hw->precise || !hw->period)
		return;
	reloads = x86_reloads(hw);
	if (!reloads)
		x86_fold_signed(hw, idx);
	if (x86_report(hw, &hit) && regs)
		x86_halt(hw);
	/* If the record was of another event, there is still something left of the period */
	if (!reloads)
		intel_pebs_aim(hw, idx, kpmu_period_left(hw, local64_read(&hw->count)) <= 0);
}
NOKPROBE_SYMBOL(tell_lost);

/* Tell events of the records that may have been theirs */
static void find_lost(struct x86_cpu *c, struct pt_regs *regs)
{
	const struct debug_store *ds = intel_ds();
	const void *at = (void *)ds->pebs_buffer_base, *top = (void *)ds->pebs_index;
	u32 lost[KPMU_NR_SLOTS] = { }, all = 0, m;

	for (; at < top; at += SIZE_2) {
		m = x86_global_slots(((const struct record_3 *)at)->counters) & c->precise;
		if (!(m & (m - 1)))
			continue;
		all |= m;
		for (; m; m &= m - 1)
			lost[__ffs(m)]++;
	}
	for (; all; all &= all - 1)
		tell_lost(c, __ffs(all), lost[__ffs(all)], regs);
}
NOKPROBE_SYMBOL(find_lost);

/**
 * intel_pebs_drain_vague() - .drain of struct x86_precise, for format 2
 * @c: see struct x86_precise
 * @regs: see struct x86_precise
 *
 * Context: see struct x86_precise.
 */
void intel_pebs_drain_vague(struct x86_cpu *c, struct pt_regs *regs)
{
	find_lost(c, regs);
	intel_pebs_drain(c, regs);
}
NOKPROBE_SYMBOL(intel_pebs_drain_vague);
