// SPDX-License-Identifier: GPL-2.0-only
/* Counters that are halted: stopped although an event is on them. */
#include <linux/bitops.h>

#include "counter.h"

/**
 * x86_halt() - .halt of struct kpmu_core
 * @hw: see kpmu_counters_halt()
 *
 * Context: see kpmu_counters_halt().
 */
void x86_halt(const struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	int idx = READ_ONCE(c->hidden) == hw ? c->hidden_idx : hw->idx;

	if (idx >= 0)
		this_cpu_or(x86_cpu.halted, 1u << idx);
}

/**
 * x86_resume() - .resume of struct kpmu_core
 * @hw: see kpmu_counters_resume()
 *
 * Context: see kpmu_counters_resume().
 */
void x86_resume(const struct kpmu_hw *hw)
{
	if (hw->idx >= 0 && this_cpu_read(x86_cpu.halted) & 1u << hw->idx)
		this_cpu_and(x86_cpu.halted, ~(1u << hw->idx));
}

/**
 * x86_restart() - .restart of struct kpmu_core
 *
 * Context: see kpmu_counters_restart().
 */
void x86_restart(void)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	x86_enable_counters(c, c->slots.mask);
}

/**
 * x86_update() - .update of struct kpmu_core
 *
 * Context: see kpmu_counters_update().
 */
void x86_update(void)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	/* Not c->slots.mask, which is stale if a commit has been interrupted */
	if (c->on & READ_ONCE(c->halted))
		x86_enable_counters(c, c->on);
}
