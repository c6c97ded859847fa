// SPDX-License-Identifier: GPL-2.0-only
/*
 * The source fault_trace: for each page fault, the faulting address and the instruction
 * address are written to the AUX area, 16 bytes in all.  The event counts the faults.
 *
 * The kernel's own perf has no equivalent.  It is meant for users who need all faults of a
 * program instead of samples, and is the smallest example of a source with an AUX area.
 */
#include <linux/errno.h>
#include <linux/ptrace.h>

#include "../../abi/attr.h"
#include "soft.h"

static int fault_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		      const char **why)
{
	int err = kpmu_source_refuse(attr, why);

	if (err)
		return err;
	if (attr->config || attr->config1 || attr->config2 || attr->config3 ||
	    attr->config4) {
		*why = "fault_trace has only config 0";
		return -EINVAL;
	}
	if (attr->flags & KPMU_ATTR_INHERIT) {
		*why = "a trace event needs one task or one CPU";
		return -EOPNOTSUPP;
	}
	return 0;
}

static int fault_get(struct kpmu_hw *hw, const struct kpmu_target *target,
		     const char **why)
{
	return kpmu_faults_get(hw, why);
}

static void fault_put(struct kpmu_hw *hw)
{
	if (hw->key)
		kpmu_faults_put(hw);
}

static u32 fault_trace(struct kpmu_hw *hw, const struct kpmu_hit *hit, void *to)
{
	u64 *word = to;

	word[0] = hit->addr;
	word[1] = instruction_pointer(hit->regs);
	return 2 * sizeof(u64);
}

const struct kpmu_source kpmu_fault_trace = {
	.name = "fault_trace",
	.init = fault_init,
	.get = fault_get,
	.put = fault_put,
	.read = kpmu_source_read,
	.set_period = kpmu_source_set_period,
	.trace = fault_trace,
};
