// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoints by id.  perf_event_open(2), PERF_TYPE_TRACEPOINT.
 *
 * All sampling events with the same id share a tap with events of the kernel's own perf on
 * every CPU; those that only count share a tap with a kpmu probe.  A filter belongs to one
 * event and is evaluated only when that event is about to count a hit, so other tasks do
 * not pay for it.
 */
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "../../abi/attr.h"
#include "../../compat/ksym.h"
#include "host.h"
#include "tap.h"

/* The id of ftrace:function, which exposes every function call of the kernel */
#define FUNCTION_TRACE	1

static int tracepoint_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
			   const char **why)
{
	return kpmu_source_refuse(attr, why);
}

/*
 * The kernel's perf enables function tracing only while the observed task runs.  A tap on
 * each CPU would be hit by every function call on the machine, including those made to
 * process a hit.
 */
static int refuse_function(const struct kpmu_attr *attr, const char **why)
{
	if (attr->sample_period &&
	    (!(attr->flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_USER) ||
	     attr->sample_type & KPMU_SAMPLE_STACK_USER)) {
		*why = "ftrace:function has no user call chain or user stack";
		return -EINVAL;
	}
	*why = "ftrace:function is only supported by the kernel's own perf";
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
	hw->key = &tap->key;
	hw->gated = kpmu_tap_is_gated(tap);
	return 0;
}

/**
 * struct kpmu_match - filter that selects the hits of a tracepoint that an event counts
 * @filter: the kernel's filter for the records
 * @rcu: to free it after hits that still use it
 */
struct kpmu_match {
	struct event_filter *filter;
	struct rcu_head rcu;
};

static void free_match(struct rcu_head *rcu)
{
	struct kpmu_match *m = container_of(rcu, struct kpmu_match, rcu);

	kpmu_native_filter_free(m->filter);
	kfree(m);
}

/* See source.h */
bool kpmu_match_hit(const struct kpmu_match *match, const struct kpmu_hit *hit)
{
	return hit->raw && filter_match_preds(match->filter, (void *)hit->raw);
}
NOKPROBE_SYMBOL(kpmu_match_hit);

static void tracepoint_put(struct kpmu_hw *hw)
{
	struct kpmu_match *match = (struct kpmu_match *)hw->match;

	if (match)
		call_rcu(&match->rcu, free_match);
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

/* The filter needs the hits' records, so the event is moved to a tap that has them */
static int tracepoint_filter(struct kpmu_hw *hw, char *filter,
			     const struct kpmu_hit_key **key,
			     const struct kpmu_match **match)
{
	struct kpmu_match *m;
	struct kpmu_tap *full;
	int err;

	if (hw->match)
		return -EEXIST;
	full = kpmu_tap_full(kpmu_tap_of(hw));
	if (IS_ERR(full))
		return PTR_ERR(full);
	m = kmalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m) {
		err = -ENOMEM;
		goto put;
	}
	m->filter = kpmu_tap_filter(full, filter);
	if (IS_ERR(m->filter)) {
		err = PTR_ERR(m->filter);
		goto free;
	}
	*key = &full->key;
	*match = m;
	return 0;
free:
	kfree(m);
put:
	kpmu_tap_put(full);
	return err;
}

static void tracepoint_unfilter(const struct kpmu_hit_key *key)
{
	kpmu_tap_put(container_of(key, struct kpmu_tap, key));
}

/*
 * At each hit on any CPU, the kernel runs the BPF programs of all its events for the
 * tracepoint, one program for each event.  So a disabled event can hold the program.
 */
static int tracepoint_set_bpf(struct kpmu_hw *hw, struct bpf_prog *prog, u64 cookie)
{
	struct kpmu_tap *tap;
	int err;

	/* The kernel checks the program before it returns EEXIST */
	if (hw->own)
		return kpmu_native_set_bpf(kpmu_tap_event(hw->own), prog, cookie);
	err = kpmu_tap_enable_bpf(kpmu_tap_of(hw));
	if (err)
		return err;
	tap = kpmu_tap_silent(kpmu_tap_of(hw));
	if (IS_ERR(tap))
		return PTR_ERR(tap);
	err = kpmu_native_set_bpf(kpmu_tap_event(tap), prog, cookie);
	if (err)
		kpmu_tap_put(tap);
	else
		hw->own = tap;
	return err;
}

static void tracepoint_unset_bpf(struct kpmu_hw *hw)
{
	if (hw->own)
		kpmu_tap_put(hw->own);
	hw->own = NULL;
}

/*
 * Copying to user memory may sleep, and the events of a shared tap may be replaced
 * meanwhile; so use an event of its own.
 */
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
	.unset_bpf = tracepoint_unset_bpf,
	.query_bpf = tracepoint_query_bpf,
};
