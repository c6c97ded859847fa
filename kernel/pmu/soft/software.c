// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software events except the clocks.  perf_event_open(2), PERF_TYPE_SOFTWARE.
 *
 * kpmu observes switches (switches.c) and page faults itself.  Minor and major faults and migrations
 * are reported by the kernel's own perf, so that the counts equal upstream's.  Some events
 * never occur on x86, or are generated only by BPF for the kernel's own events: those can
 * be opened and count nothing.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>

#include "../../abi/attr.h"
#include "../host/tap.h"
#include "soft.h"

enum { NOTHING, SWITCH, FAULT, NATIVE };

static const u8 told_by[] = {
	[PERF_COUNT_SW_PAGE_FAULTS] = FAULT,
	[PERF_COUNT_SW_CONTEXT_SWITCHES] = SWITCH,
	[PERF_COUNT_SW_CPU_MIGRATIONS] = NATIVE,
	[PERF_COUNT_SW_PAGE_FAULTS_MIN] = NATIVE,
	[PERF_COUNT_SW_PAGE_FAULTS_MAJ] = NATIVE,
	[PERF_COUNT_SW_ALIGNMENT_FAULTS] = NOTHING,
	[PERF_COUNT_SW_EMULATION_FAULTS] = NOTHING,
	[PERF_COUNT_SW_DUMMY] = NOTHING,
	[PERF_COUNT_SW_BPF_OUTPUT] = NOTHING,
	[PERF_COUNT_SW_CGROUP_SWITCHES] = SWITCH,
};

static int software_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
			 const char **why)
{
	int err = kpmu_source_refuse(attr, why);

	if (err)
		return err;
	if (attr->config >= ARRAY_SIZE(told_by)) {
		*why = "no such software event";
		return -ENOENT;
	}
	if (told_by[attr->config] == SWITCH)
		kpmu_switches_init(hw, attr->config);
	return 0;
}

static int software_get(struct kpmu_hw *hw, const struct kpmu_target *target,
			const char **why)
{
	struct kpmu_tap *tap;

	if (hw->switches)
		kpmu_switches_get(hw, target);
	if (told_by[target->attr->config] == FAULT)
		return kpmu_faults_get(hw, why);
	if (told_by[target->attr->config] != NATIVE)
		return 0;
	tap = kpmu_tap_share(PERF_TYPE_SOFTWARE, target->attr->config);
	if (IS_ERR(tap)) {
		*why = "the kernel's own perf does not report it";
		return PTR_ERR(tap);
	}
	hw->key = &tap->key;
	hw->gated = kpmu_tap_is_gated(tap);
	return 0;
}

static void software_put(struct kpmu_hw *hw)
{
	if (hw->switches)
		kpmu_switches_put(hw);
	else if (hw->key)
		kpmu_faults_put(hw);
}

const struct kpmu_source kpmu_software = {
	.name = "software",
	.init = software_init,
	.get = software_get,
	.put = software_put,
	.read = kpmu_source_read,
	.set_period = kpmu_source_set_period,
};
