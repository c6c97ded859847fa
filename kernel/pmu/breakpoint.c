// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints in the CPU's debug registers.  perf_event_open(2),
 * PERF_TYPE_BREAKPOINT.
 *
 * The registers are shared with debuggers, and the kernel deals them out.  So
 * each event has one of the kernel's behind it, of the same task and CPU, for
 * as long as it is open.
 */
#include <linux/err.h>
#include <linux/perf_event.h>

#include "../abi/attr.h"
#include "sources.h"
#include "tap.h"

static int breakpoint_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
			   const char **why)
{
	return kpmu_source_refuse(attr, why);
}

static int breakpoint_get(struct kpmu_hw *hw, const struct kpmu_target *target,
			  const char **why)
{
	const struct kpmu_attr *a = target->attr;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.config = a->config,
		.bp_type = a->bp_type,
		.bp_addr = a->bp_addr,
		.bp_len = a->bp_len,
		.inherit = !!(a->flags & KPMU_ATTR_INHERIT),
		.exclude_user = !!(a->flags & KPMU_ATTR_EXCLUDE_USER),
		.exclude_kernel = !!(a->flags & KPMU_ATTR_EXCLUDE_KERNEL),
	};
	struct kpmu_tap *tap = kpmu_tap_own(&attr, target->task, target->cpu);

	if (IS_ERR(tap)) {
		*why = "the kernel does not set such a breakpoint";
		return PTR_ERR(tap);
	}
	hw->tap = tap;
	return 0;
}

static void breakpoint_put(struct kpmu_hw *hw)
{
	kpmu_tap_put(kpmu_tap_of(hw));
}

const struct kpmu_source kpmu_breakpoint = {
	.name = "breakpoint",
	.nmi = true,
	.init = breakpoint_init,
	.get = breakpoint_get,
	.put = breakpoint_put,
	.read = kpmu_source_read,
};
