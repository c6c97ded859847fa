// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe and uprobe: events that insert a probe into code when they are opened.
 * perf_event_open(2), "kprobe and uprobe".
 *
 * The probe is created by the kernel's perf, so the supported locations and the error
 * codes are the same as there.
 */
#include <linux/err.h>
#include <linux/perf_event.h>

#include "../../abi/attr.h"
#include "../../compat/ksym.h"
#include "host.h"
#include "tap.h"

static int probe_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		      const char **why)
{
	return kpmu_source_refuse(attr, why);
}

static int probe_get(struct kpmu_hw *hw, const struct kpmu_target *target,
		     const char **why)
{
	const struct kpmu_attr *a = target->attr;
	struct perf_event_attr attr = {
		.type = a->type,
		.config = a->config,
		.config1 = a->config1,
		.config2 = a->config2,
		.inherit = !!(a->flags & KPMU_ATTR_INHERIT),
	};
	struct kpmu_tap *tap = kpmu_tap_own(&attr, target->task, target->cpu);

	if (IS_ERR(tap)) {
		*why = "the kernel refuses such a probe";
		return PTR_ERR(tap);
	}
	hw->key = &tap->key;
	return 0;
}

static void probe_put(struct kpmu_hw *hw)
{
	kpmu_tap_put(kpmu_tap_of(hw));
}

/* The probe belongs to this event only, so the kernel's perf can filter for it */
static int probe_filter(struct kpmu_hw *hw, char *filter, const struct kpmu_hit_key **key,
			const struct kpmu_match **match)
{
	return kpmu_native_filter(kpmu_tap_event(kpmu_tap_of(hw)), 0, filter);
}

static int probe_set_bpf(struct kpmu_hw *hw, struct bpf_prog *prog, u64 cookie)
{
	return kpmu_native_set_bpf(kpmu_tap_event(kpmu_tap_of(hw)), prog, cookie);
}

static void probe_unset_bpf(struct kpmu_hw *hw)
{
	kpmu_native_unset_bpf(kpmu_tap_event(kpmu_tap_of(hw)));
}

const struct kpmu_source kpmu_kprobe = {
	.name = "kprobe",
	.nmi = true,
	.both = true,
	.waits = true,
	.init = probe_init,
	.get = probe_get,
	.put = probe_put,
	.read = kpmu_source_read,
	.set_period = kpmu_source_set_period,
	.filter = probe_filter,
	.set_bpf = probe_set_bpf,
	.unset_bpf = probe_unset_bpf,
};

const struct kpmu_source kpmu_uprobe = {
	.name = "uprobe",
	.nmi = true,
	.both = true,
	.waits = true,
	.init = probe_init,
	.get = probe_get,
	.put = probe_put,
	.read = kpmu_source_read,
	.set_period = kpmu_source_set_period,
	.filter = probe_filter,
	.set_bpf = probe_set_bpf,
	.unset_bpf = probe_unset_bpf,
};
