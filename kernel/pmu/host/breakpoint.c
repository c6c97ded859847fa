// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints in the CPU's debug registers.  perf_event_open(2),
 * PERF_TYPE_BREAKPOINT.
 *
 * The registers are shared with debuggers and allocated by the kernel.  Each event has one reserved, for
 * its task or CPU, as long as it is open.  It is written while the event runs (compat/watch.c).  Behind
 * an event that children inherit there is one of the kernel's perf instead, whose copies reserve a
 * register for each child.
 */
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../abi/attr.h"
#include "../../compat/ksym.h"
#include "../../compat/watch.h"
#include "host.h"
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
	struct kpmu_attr *own;
	struct kpmu_tap *tap;

	/* Kept to check that MODIFY_ATTRIBUTES changes only the breakpoint */
	own = kmemdup(a, sizeof(*a), GFP_KERNEL);
	if (!own)
		return -ENOMEM;
	/* Upstream clears it at open, and then compares the new attr with the cleared one */
	if (!(a->sample_type & KPMU_SAMPLE_BRANCH_STACK))
		own->branch_sample_type = 0;
	hw->own = own;
	tap = kpmu_tap_own(&attr, target->task, target->cpu);
	if (IS_ERR(tap)) {
		kfree(own);
		*why = "the kernel refuses such a breakpoint";
		return PTR_ERR(tap);
	}
	hw->key = &tap->key;
	hw->gated = kpmu_tap_is_gated(tap);
	return 0;
}

static void breakpoint_put(struct kpmu_hw *hw)
{
	kpmu_tap_put(kpmu_tap_of(hw));
	kfree(hw->own);
}

/* Compare two attrs, except for the fields that may be modified */
static bool same_but_place(const struct kpmu_attr *old, struct kpmu_attr new)
{
	new.bp_addr = old->bp_addr;
	new.bp_type = old->bp_type;
	new.bp_len = old->bp_len;
	new.sig_data = old->sig_data;
	new.size = old->size;
	new.flags &= ~KPMU_ATTR_DISABLED;
	new.flags |= old->flags & KPMU_ATTR_DISABLED;
	return !memcmp(old, &new, sizeof(new));
}

static int move(struct kpmu_tap *tap, const struct kpmu_attr *to)
{
	if (tap->watch)
		return kpmu_watch_move(tap->watch, to->bp_addr, to->bp_type, to->bp_len);
	return kpmu_native_move(kpmu_tap_event(tap), to->bp_addr, to->bp_type, to->bp_len);
}

static int breakpoint_modify(struct kpmu_hw *hw, const struct kpmu_attr *attr)
{
	struct kpmu_attr *own = hw->own;
	int err;

	if (!same_but_place(own, *attr))
		return -EINVAL;
	err = move(kpmu_tap_of(hw), attr);
	if (err)
		return err;
	own->bp_addr = attr->bp_addr;
	own->bp_type = attr->bp_type;
	own->bp_len = attr->bp_len;
	return 0;
}

const struct kpmu_source kpmu_breakpoint = {
	.name = "breakpoint",
	.nmi = true,
	.init = breakpoint_init,
	.get = breakpoint_get,
	.put = breakpoint_put,
	.read = kpmu_source_read,
	.set_period = kpmu_source_set_period,
	.modify = breakpoint_modify,
};
