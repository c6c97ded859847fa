// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoints by id.  perf_event_open(2), PERF_TYPE_TRACEPOINT.
 *
 * The kernel's own perf listens on every CPU, once for all events of an id that sample;
 * a probe of ours for all that only count.  An event with a filter has a listener of its
 * own, which the kernel filters.
 */
#include <linux/err.h>
#include <linux/perf_event.h>

#include "../abi/attr.h"
#include "../compat/ksym.h"
#include "sources.h"
#include "tap.h"

/* The id of ftrace:function, which shows all that the kernel does */
#define FUNCTION_TRACE	1

static int tracepoint_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
			   const char **why)
{
	return kpmu_source_refuse(attr, why);
}

/*
 * The kernel traces functions for one task while it runs; a tap on each CPU would stop
 * at every function of the machine, those that serve the hit among them.
 */
static int refuse_function(const struct kpmu_attr *attr, const char **why)
{
	if (attr->sample_period &&
	    (!(attr->flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_USER) ||
	     attr->sample_type & KPMU_SAMPLE_STACK_USER)) {
		*why = "ftrace:function shows nothing of the user's stack";
		return -EINVAL;
	}
	*why = "ftrace:function is left to the kernel's own perf";
	return -EOPNOTSUPP;
}

static int tracepoint_get(struct kpmu_hw *hw, const struct kpmu_target *target,
			  const char **why)
{
	u64 id = target->attr->config;
	struct kpmu_tap *tap;

	if (id == FUNCTION_TRACE)
		return refuse_function(target->attr, why);
	if (target->attr->sample_period)
		tap = kpmu_tap_share(PERF_TYPE_TRACEPOINT, id);
	else
		tap = kpmu_tap_count(id);
	if (IS_ERR(tap)) {
		*why = "no tracepoint of this id";
		return PTR_ERR(tap);
	}
	hw->tap = tap;
	return 0;
}

static void tracepoint_put(struct kpmu_hw *hw)
{
	if (hw->own)
		kpmu_tap_put(hw->own);
	kpmu_tap_put(kpmu_tap_of(hw));
}

static u32 tracepoint_needs(const struct kpmu_hw *hw,
			    const struct kpmu_target *target)
{
	const struct kpmu_attr *attr = target->attr;

	if (attr->config == FUNCTION_TRACE)
		return KPMU_NEED_RAW;
	if (!(attr->sample_type & KPMU_SAMPLE_RAW))
		return 0;
	return target->task && kpmu_tracepoint_is_open(attr->config) ?
		0 : KPMU_NEED_RAW;
}

/* A listener of its own, which lets by what the filter accepts */
static int tracepoint_filter(struct kpmu_hw *hw, char *filter, const void **tap)
{
	struct kpmu_tap *old = kpmu_tap_of(hw), *new;

	if (kpmu_tap_has_filter(old))
		return -EEXIST;
	new = kpmu_tap_filtered(old, filter);
	if (IS_ERR(new))
		return PTR_ERR(new);
	*tap = new;
	return 0;
}

static void tracepoint_unfilter(const void *tap)
{
	kpmu_tap_put((struct kpmu_tap *)tap);
}

/*
 * The kernel runs the programs of all its events of a tracepoint at each hit, on
 * whatever CPU; one a program.  So it needs an event just to be there.
 */
static int tracepoint_set_bpf(struct kpmu_hw *hw, int fd)
{
	struct kpmu_tap *tap;
	int err;

	if (hw->own)
		return -EEXIST;
	err = kpmu_tap_heed(kpmu_tap_of(hw));
	if (err)
		return err;
	tap = kpmu_tap_silent(kpmu_tap_of(hw));
	if (IS_ERR(tap))
		return PTR_ERR(tap);
	err = kpmu_native_set_bpf(kpmu_tap_event(tap), fd);
	if (err)
		kpmu_tap_put(tap);
	else
		hw->own = tap;
	return err;
}

static int tracepoint_query_bpf(struct kpmu_hw *hw, void __user *query)
{
	struct kpmu_tap *tap = kpmu_tap_silent(kpmu_tap_of(hw));
	int err;

	if (IS_ERR(tap))
		return PTR_ERR(tap);
	err = kpmu_native_query_bpf(kpmu_tap_event(tap), query);
	kpmu_tap_put(tap);
	return err;
}

const struct kpmu_source kpmu_tracepoint = {
	.name = "tracepoint",
	.nmi = true,
	.both = true,
	.init = tracepoint_init,
	.needs = tracepoint_needs,
	.get = tracepoint_get,
	.put = tracepoint_put,
	.read = kpmu_source_read,
	.set_period = kpmu_source_set_period,
	.filter = tracepoint_filter,
	.unfilter = tracepoint_unfilter,
	.set_bpf = tracepoint_set_bpf,
	.query_bpf = tracepoint_query_bpf,
};
