// SPDX-License-Identifier: GPL-2.0-only
/* Events of IBS: which attrs are possible, and precise events of the core PMU, which use IBS. */
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/perf_event.h>
#include <asm/cpufeature.h>

#include "../../../abi/attr.h"
#include "ibs.h"
#include "models.h"

#define SWFILT		1	/* config2 */
#define LATENCY_STEP	128
#define LATENCY_MAX	2048

static bool is_latency_event(const struct ibs_unit *u, const struct kpmu_attr *attr)
{
	return u == &ibs_units[IBS_OP_UNIT] && ibs_caps & IBS_HAS_LDLAT &&
	       attr->config1 & IBS_LATENCY;
}

static int set_latency(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	u64 latency = attr->config1 & IBS_LATENCY;

	if (latency < LATENCY_STEP || latency > LATENCY_MAX) {
		*why = "ldlat must be 128 to 2048";
		return -EINVAL;
	}
	hw->extra |= latency;
	hw->sel |= (latency / LATENCY_STEP - 1) << IBS_OP_LATENCY_SHIFT | IBS_OP_LATENCY_ON;
	/* Zen 5 looks at loads that miss all caches only */
	if (amd_is_zen5(boot_cpu_data.x86, boot_cpu_data.x86_model))
		hw->sel |= IBS_OP_L3MISS;
	return 0;
}

static u64 wants(const struct kpmu_attr *attr)
{
	u64 type = attr->sample_type, flags = attr->flags;

	return (attr->config2 & SWFILT ? IBS_FILTER : 0) |
	       (flags & KPMU_ATTR_EXCLUDE_USER ? IBS_NO_USER : 0) |
	       (flags & KPMU_ATTR_EXCLUDE_KERNEL ? IBS_NO_KERNEL : 0) |
	       (type & KPMU_SAMPLE_ADDR ? IBS_WANT_ADDR : 0) |
	       (type & KPMU_SAMPLE_PHYS_ADDR ? IBS_WANT_PHYS : 0) |
	       (type & KPMU_SAMPLE_RAW ? IBS_WANT_RAW : 0) |
	       (type & (KPMU_SAMPLE_DATA_SRC | KPMU_SAMPLE_WEIGHT | KPMU_SAMPLE_WEIGHT_STRUCT) ?
		IBS_WANT_MEMORY : 0) |
	       /* Without permission for the kernel, the event excludes it */
	       (flags & KPMU_ATTR_EXCLUDE_KERNEL && !perfmon_capable() ? IBS_HIDE_PHYS : 0);
}

static int check_flags(const struct kpmu_attr *attr, const char **why)
{
	if (attr->flags & (KPMU_ATTR_EXCLUDE_HOST | KPMU_ATTR_EXCLUDE_GUEST |
			   KPMU_ATTR_EXCLUDE_IDLE)) {
		*why = "IBS does not tell host, guest and idle apart";
		return -EINVAL;
	}
	if (!(attr->config2 & SWFILT) &&
	    attr->flags & (KPMU_ATTR_EXCLUDE_USER | KPMU_ATTR_EXCLUDE_KERNEL |
			   KPMU_ATTR_EXCLUDE_HV)) {
		*why = "IBS counts all modes; swfilt=1 drops the samples of the others";
		return -EINVAL;
	}
	return 0;
}

static int check_ibs_period(const struct ibs_unit *u, const struct kpmu_attr *attr,
			    const char **why)
{
	*why = "IBS needs a period";
	if (!attr->sample_period)
		return -EINVAL;
	*why = "with a period, config must have none";
	if (attr->config & u->period)
		return -EINVAL;
	*why = "the period is too short for IBS";
	return attr->flags & KPMU_ATTR_FREQ || attr->sample_period >= u->min ? 0 : -EINVAL;
}

/**
 * ibs_event_init() - .init of events of IBS
 * @hw: the event
 * @attr: its attr, after ibs_adapt()
 * @why: set to a description of the error
 *
 * Context: task.
 * Return: 0; -EINVAL; -EOPNOTSUPP for a branch stack.
 */
int ibs_event_init(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	const struct ibs_unit *u = ibs_unit_of(hw);
	int err;

	if (attr->config & ~u->config) {
		*why = "unknown bits of config";
		return -EINVAL;
	}
	err = kpmu_source_refuse(attr, why) ?: check_flags(attr, why) ?:
	      check_ibs_period(u, attr, why);
	if (err)
		return err;
	hw->sel = attr->config;
	hw->extra = wants(attr);
	hw->precise = kpmu_attr_precise(attr);
	return is_latency_event(u, attr) ? set_latency(hw, attr, why) : 0;
}

/**
 * ibs_check_period() - .check_period of events of IBS
 * @hw: the event
 * @flags: its attr's flags
 * @period: the period
 *
 * Context: any.
 * Return: true if it is possible.
 */
bool ibs_check_period(const struct kpmu_hw *hw, u64 flags, u64 period)
{
	return flags & KPMU_ATTR_FREQ || (!(period & 0xf) && period >= ibs_unit_of(hw)->min);
}

/* A precise event of the core PMU: cycles, or what a raw event can be of cycles and ops */
static int forward_precise(struct kpmu_attr *attr, const char **why)
{
	u64 config;

	*why = "precise_ip is at most 2 on this CPU";
	if (kpmu_attr_precise(attr) > 2)
		return -EOPNOTSUPP;
	*why = "precise events of this CPU are those of IBS: cycles, r076 and r0c1";
	if (attr->type == KPMU_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES)
		config = 0;
	else if (attr->type == KPMU_TYPE_RAW && attr->config == 0x76)
		config = 0;
	else if (attr->type == KPMU_TYPE_RAW && attr->config == 0xc1)
		config = IBS_OP_CYCLES_OR_OPS;
	else
		return -ENOENT;
	attr->type = ibs_units[IBS_OP_UNIT].pmu.type;
	attr->config = config;
	return 0;
}

/* The period may be in config instead; its lowest four bits are ignored */
static void set_ibs_period(const struct ibs_unit *u, struct kpmu_attr *attr)
{
	if (attr->flags & KPMU_ATTR_FREQ)
		return;
	if (attr->sample_period) {
		attr->sample_period &= ~0xfULL;
		return;
	}
	attr->sample_period = (attr->config & IBS_MAX_CNT) << 4 |
			      (attr->config & u->period & IBS_OP_MAX_EXT);
	attr->config &= ~u->period;
}

/**
 * ibs_adapt() - .adapt of struct kpmu_core
 * @attr: see kpmu_counters_adapt()
 * @why: see kpmu_counters_adapt()
 *
 * Context: see kpmu_counters_adapt().
 * Return: see kpmu_counters_adapt().
 */
int ibs_adapt(struct kpmu_attr *attr, const char **why)
{
	int err, i;

	if (kpmu_attr_precise(attr) && ibs_caps &&
	    (attr->type == KPMU_TYPE_HARDWARE || attr->type == KPMU_TYPE_HW_CACHE ||
	     attr->type == KPMU_TYPE_RAW)) {
		err = forward_precise(attr, why);
		if (err)
			return err;
	}
	for (i = 0; ibs_caps && i < IBS_UNITS; i++)
		if (attr->type == ibs_units[i].pmu.type)
			set_ibs_period(&ibs_units[i], attr);
	return 0;
}
