// SPDX-License-Identifier: GPL-2.0-only
/* What sources without counters have in common. */
#include <linux/errno.h>
#include <linux/export.h>

#include "../abi/attr.h"
#include "period.h"
#include "pmu.h"

kpmu_hit_fn kpmu_source_hit;

/* See source.h */
u64 kpmu_source_read(struct kpmu_hw *hw)
{
	return local64_read(&hw->count);
}

/* See source.h */
void kpmu_source_set_period(struct kpmu_hw *hw, u64 period)
{
	hw->period = period;
	hw->next = local64_read(&hw->count) + period;
}

/**
 * kpmu_source_refuse() - reject what no source without counters supports
 * @attr: the attr
 * @why: set to a description of the error
 *
 * Context: any.
 * Return: 0 or -EOPNOTSUPP.
 */
int kpmu_source_refuse(const struct kpmu_attr *attr, const char **why)
{
	if (!(attr->sample_type & KPMU_SAMPLE_BRANCH_STACK))
		return 0;
	*why = "no branches are recorded for this type of event";
	return -EOPNOTSUPP;
}

/**
 * kpmu_pmu_set_period() - for drivers: .set_period of a source with .start
 * @hw: the event
 * @period: events from one overflow to the next, counted from now
 *
 * Context: owner of the event's context, IRQs off.
 */
void kpmu_pmu_set_period(struct kpmu_hw *hw, u64 period)
{
	kpmu_period_start(hw, period, hw->source->read(hw));
}
EXPORT_SYMBOL_GPL(kpmu_pmu_set_period);
