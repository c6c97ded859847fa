// SPDX-License-Identifier: GPL-2.0-only
/* What sources without counters have in common. */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/spinlock.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "../abi/attr.h"
#include "period.h"
#include "pmu.h"

DEFINE_STATIC_CALL_NULL(kpmu_source_hit, *(kpmu_hit_fn)NULL);

/* See source.h */
u64 kpmu_source_read(struct kpmu_hw *hw)
{
	return local64_read(&hw->count);
}

/* See source.h */
void kpmu_source_set_period(struct kpmu_hw *hw, u64 period)
{
	kpmu_period_start(hw, period, local64_read(&hw->count));
}

/* Reasons given by drivers */
#define DRIVER_REASONS	32

static char reasons[DRIVER_REASONS][96];
static DEFINE_SPINLOCK(reasons_lock);

/**
 * kpmu_source_why() - make a source's description of an error outlive its driver
 * @source: the source
 * @why: its description
 *
 * KPMU_IOC_WHY and a trace may show it after the driver was unloaded.
 *
 * Context: task.
 * Return: the description, valid as long as kpmu.
 */
const char *kpmu_source_why(const struct kpmu_source *source, const char *why)
{
	const char *kept = "refused by the PMU's driver";
	int i;

	if (!source->owner)
		return why;
	spin_lock(&reasons_lock);
	for (i = 0; i < DRIVER_REASONS; i++) {
		if (!*reasons[i])
			strscpy(reasons[i], why, sizeof(reasons[i]));
		if (!strncmp(reasons[i], why, sizeof(reasons[i]) - 1)) {
			kept = reasons[i];
			break;
		}
	}
	spin_unlock(&reasons_lock);
	return kept;
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
