// SPDX-License-Identifier: GPL-2.0-only
/*
 * Task switches and switches of cgroup.  perf_event_open(2), PERF_COUNT_SW_CONTEXT_SWITCHES and
 * PERF_COUNT_SW_CGROUP_SWITCHES.
 *
 * An event is told of each switch, if a switch can be excluded, is sampled, or is one of a task.  Otherwise it
 * reads a number that the hook increments at each switch of the CPU, as an event of a tool that counts for
 * whole CPUs does: then a switch does not depend on how many such events there are.
 */
#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/static_call.h>

#include "../../abi/attr.h"
#include "../../compat/compat.h"
#include "soft.h"

static const struct kpmu_hit_key switches = { "context-switches" };
static const struct kpmu_hit_key cgroup_switches = { "cgroup-switches" };

atomic_t kpmu_software_switches;

DEFINE_PER_CPU(u64, kpmu_nr_switches);

static void number_start(struct kpmu_hw *hw)
{
	local64_set(&hw->prev, this_cpu_read(kpmu_nr_switches));
}

/*
 * The number does not change here, as IRQs are off.  An NMI may interrupt this function and call it again: it
 * then finds the count as of the last read, or adds itself what this one would have added.
 */
static u64 number_read(struct kpmu_hw *hw)
{
	u64 now;

	if (!hw->runs)
		return local64_read(&hw->count);
	now = this_cpu_read(kpmu_nr_switches);
	return local64_add_return(now - local64_xchg(&hw->prev, now), &hw->count);
}

static void number_stop(struct kpmu_hw *hw)
{
	number_read(hw);
}

static const struct kpmu_source switches_of_cpu = {
	.name = "software",
	.read = number_read,
	.start = number_start,
	.stop = number_stop,
	.set_period = kpmu_source_set_period,
};

/* Each switch counts, and nothing else happens at it: all of them are in the kernel */
static bool only_counts(const struct kpmu_hw *hw, const struct kpmu_target *target)
{
	const struct kpmu_attr *attr = target->attr;

	return hw->key == &switches && !target->task && !attr->sample_period &&
	       !(attr->flags & KPMU_ATTR_EXCLUDE_KERNEL);
}

/**
 * kpmu_switches_init() - prepare an event of switches
 * @hw: the event
 * @config: PERF_COUNT_SW_CONTEXT_SWITCHES or PERF_COUNT_SW_CGROUP_SWITCHES
 *
 * Context: any.
 */
void kpmu_switches_init(struct kpmu_hw *hw, u64 config)
{
	hw->switches = true;
	hw->key = config == PERF_COUNT_SW_CONTEXT_SWITCHES ? &switches : &cgroup_switches;
}

/**
 * kpmu_switches_get() - select how an event of switches counts
 * @hw: the event, prepared by kpmu_switches_init()
 * @target: what it counts for
 *
 * The source of an event that only counts the switches of a CPU becomes another one.
 *
 * Context: task.  For an event whose source stays, kpmu_switches_put() undoes it.
 */
void kpmu_switches_get(struct kpmu_hw *hw, const struct kpmu_target *target)
{
	if (!only_counts(hw, target)) {
		atomic_inc(&kpmu_software_switches);
		return;
	}
	hw->source = &switches_of_cpu;
	hw->key = NULL;
}

/**
 * kpmu_switches_put() - an event is no longer told of switches
 * @hw: the event
 *
 * Context: any.
 */
void kpmu_switches_put(struct kpmu_hw *hw)
{
	atomic_dec(&kpmu_software_switches);
}

/* Registers that perf_fetch_caller_regs() does not set are 0 in samples, as upstream */
static DEFINE_PER_CPU(struct pt_regs, switch_regs);

/* See soft.h */
void kpmu_software_switch(struct task_struct *prev, struct task_struct *next)
{
	struct kpmu_hit hit = {
		.regs = this_cpu_ptr(&switch_regs), .fix_regs = soft_find_caller,
	};

	perf_fetch_caller_regs(hit.regs);
	static_call(kpmu_source_hit)(&switches, 1, &hit);
	rcu_read_lock();
	if (kpmu_task_css(prev) != kpmu_task_css(next))
		static_call(kpmu_source_hit)(&cgroup_switches, 1, &hit);
	rcu_read_unlock();
}
