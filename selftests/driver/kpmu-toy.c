// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU "toy", a template for PMU drivers.  See Documentation/writing-a-pmu-driver.rst.
 *
 * It counts TSC cycles while an event runs: toy/cycles/ in units of one cycle,
 * toy/cycles,shift=n/ in units of 2^n.  The "hardware" is one free-running counter that all
 * events share, so any number of events can count at the same time.
 */
#define pr_fmt(fmt) "kpmu-toy: " fmt

#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <asm/tsc.h>

#include "abi/attr.h"
#include "source/pmu.h"

#define EVENT_CYCLES	1
#define SHIFT_MAX	31

/* Fields of attr.config, as in format[] below */
static u64 event_of(u64 config)
{
	return config & 0xff;
}

static u64 shift_of(u64 config)
{
	return config >> 8 & 0x3f;
}

/* Check the attr, and store the shift for the other operations */
static int toy_init(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	if (event_of(attr->config) != EVENT_CYCLES || attr->config >> 14 ||
	    attr->config1 || attr->config2 || attr->config3 || attr->config4) {
		*why = "toy has only the event cycles, with an optional shift";
		return -EINVAL;
	}
	if (shift_of(attr->config) > SHIFT_MAX) {
		*why = "the shift exceeds 31";
		return -EINVAL;
	}
	/* The counter cannot distinguish user mode from the kernel */
	if (attr->flags & (KPMU_ATTR_EXCLUDE_USER | KPMU_ATTR_EXCLUDE_KERNEL)) {
		*why = "toy cannot exclude user or kernel";
		return -EINVAL;
	}
	hw->extra = shift_of(attr->config);
	return 0;
}

static u64 now(const struct kpmu_hw *hw)
{
	return rdtsc_ordered() >> hw->extra;
}

/* The event counts from now on: record the counter's value */
static void toy_start(struct kpmu_hw *hw)
{
	local64_set(&hw->prev, now(hw));
}

/* Fold and return the count.  An NMI may interrupt it and call it again, hence the cmpxchg loop */
static u64 toy_read(struct kpmu_hw *hw)
{
	u64 prev, raw;

	if (!hw->runs)
		return local64_read(&hw->count);
	do {
		prev = local64_read(&hw->prev);
		raw = now(hw);
	} while (local64_cmpxchg(&hw->prev, prev, raw) != prev);
	return local64_add_return(raw - prev, &hw->count);
}

static void toy_stop(struct kpmu_hw *hw)
{
	toy_read(hw);
}

/* There is no overflow interrupt: return the time in ns after which kpmu polls for one */
static u64 toy_ahead(struct kpmu_hw *hw)
{
	s64 second = (u64)tsc_khz * MSEC_PER_SEC >> hw->extra, left = hw->next - toy_read(hw);

	return div_u64((clamp_t(s64, left, 0, second) << hw->extra) * USEC_PER_SEC, tsc_khz);
}

static const struct kpmu_source toy_source = {
	.name = "toy",
	.owner = THIS_MODULE,
	.init = toy_init,
	.start = toy_start,
	.stop = toy_stop,
	.read = toy_read,
	.ahead = toy_ahead,
	.set_period = kpmu_pmu_set_period,
};

static const struct kpmu_file format[] = {
	{ "event", "config:0-7" },
	{ "shift", "config:8-13" },
	{ }
};

static const struct kpmu_file events[] = {
	{ "cycles", "event=0x01" },
	{ }
};

static struct kpmu_pmu toy = {
	.name = "toy",
	.format = format,
	.events = events,
	.source = &toy_source,
};

static int __init toy_init_module(void)
{
	if (!tsc_khz)
		return -ENODEV;
	return kpmu_register_pmu(&toy);
}

static void __exit toy_exit_module(void)
{
	kpmu_unregister_pmu(&toy);
}

module_init(toy_init_module);
module_exit(toy_exit_module);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A PMU that counts cycles of the TSC: a template for drivers of kpmu");
