// SPDX-License-Identifier: GPL-2.0-only
/* The table of event sources by attr.type. */
#include <linux/errno.h>
#include <linux/idr.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "../abi/attr.h"
#include "../compat/ksym.h"
#include "../source/drivers.h"
#include "../source/pmu.h"
#include "host/host.h"
#include "host/point.h"
#include "host/tap.h"
#include "soft/soft.h"
#include "x86/amd/amd.h"
#include "x86/intel/intel.h"

/* Core PMUs; the first that the machine has is used */
static const struct kpmu_core *const cores[] __initconst = {
	&intel_core,
	&amd_core,
};

static const struct kpmu_source *find_software(u64 config)
{
	switch (config) {
	case PERF_COUNT_SW_CPU_CLOCK:
		return &kpmu_cpu_clock;
	case PERF_COUNT_SW_TASK_CLOCK:
		return &kpmu_task_clock;
	default:
		return &kpmu_software;
	}
}

#define ANY	U64_MAX

/*
 * Types that the kernel numbers at boot; kpmu uses the same numbers.  The clocks have such
 * types since 6.15; before, the type of their struct pmu is U32_MAX.
 */
static const struct {
	enum kpmu_ksym pmu;
	const struct kpmu_source *source;
	u64 config;
} dynamic[] = {
	{ KSYM_perf_kprobe, &kpmu_kprobe, ANY },
	{ KSYM_perf_uprobe, &kpmu_uprobe, ANY },
	{ KSYM_perf_cpu_clock, &kpmu_cpu_clock, PERF_COUNT_SW_CPU_CLOCK },
	{ KSYM_perf_task_clock, &kpmu_task_clock, PERF_COUNT_SW_TASK_CLOCK },
};

static const struct kpmu_source *find_dynamic(const struct kpmu_attr *attr)
{
	int i;

	if (attr->type == U32_MAX)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(dynamic); i++)
		if (attr->type == kpmu_native_type(dynamic[i].pmu) &&
		    (dynamic[i].config == ANY || dynamic[i].config == attr->config))
			return dynamic[i].source;
	return NULL;
}

static const struct kpmu_source *find_own(const struct kpmu_attr *attr, int cpu)
{
	if (static_branch_unlikely(&kpmu_kinds_key) && kpmu_counters_own(attr->type))
		return kpmu_core.find(attr, cpu);
	switch (attr->type) {
	case KPMU_TYPE_HARDWARE:
	case KPMU_TYPE_HW_CACHE:
	case KPMU_TYPE_RAW:
		return kpmu_core.source;
	case KPMU_TYPE_SOFTWARE:
		return find_software(attr->config);
	case KPMU_TYPE_TRACEPOINT:
		return &kpmu_tracepoint;
	case KPMU_TYPE_BREAKPOINT:
		return &kpmu_breakpoint;
	case KPMU_TYPE_FAULT_TRACE:
		return &kpmu_fault_trace;
	}
	return find_dynamic(attr);
}

/* PMUs of drivers; looked up under RCU */
static LIST_HEAD(drivers);
static DEFINE_MUTEX(drivers_lock);
static DEFINE_IDA(driver_types);

/* PMUs of this module are like those of drivers, and its exit waits for their events */
static bool is_of_other_module(const struct kpmu_source *source)
{
	return source->owner != THIS_MODULE;
}

/* The source of a driver, with a reference to its module */
static const struct kpmu_source *get_driver(u32 type)
{
	const struct kpmu_source *found = NULL;
	struct kpmu_pmu *pmu;

	rcu_read_lock();
	list_for_each_entry_rcu(pmu, &drivers, node) {
		if (pmu->type != type || !READ_ONCE(pmu->live))
			continue;
		if (!is_of_other_module(pmu->source) || try_module_get(pmu->source->owner))
			found = pmu->source;
		break;
	}
	rcu_read_unlock();
	return found;
}

/* See source.h */
const struct kpmu_source *kpmu_source_get(const struct kpmu_attr *attr, int cpu)
{
	const struct kpmu_source *own = NULL;

	if (attr->type < KPMU_TYPE_DRIVERS)
		own = find_own(attr, cpu);
	return own ? own : get_driver(attr->type);
}

/**
 * kpmu_pmu_init_event() - initialise the source's part of an event
 * @hw: the source's part; .source is set
 * @attr: the event's attr, checked
 * @why: set to the reason of an error
 *
 * Context: task.
 * Return: 0, or an error of the source.
 */
int kpmu_pmu_init_event(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	struct kpmu_pmu *pmu;
	int err;

	if (likely(!hw->source->owner))
		return hw->source->init(hw, attr, why);
	err = hw->source->init(hw, attr, why);
	if (err)
		return err;
	/* The reference to the driver's module keeps its PMU in the list */
	rcu_read_lock();
	list_for_each_entry_rcu(pmu, &drivers, node)
		if (pmu->type == attr->type)
			err = kpmu_drivers_place(hw, pmu, why);
	rcu_read_unlock();
	return err;
}

/**
 * kpmu_source_put() - drop the reference of kpmu_source_get()
 * @source: the source, or NULL
 *
 * Context: any.
 */
void kpmu_source_put(const struct kpmu_source *source)
{
	if (source && is_of_other_module(source))
		module_put(source->owner);
}

static bool name_is_taken(const char *name)
{
	struct kpmu_pmu own, *pmu;
	int i;

	for (i = 0; i < KPMU_NR_PMUS; i++) {
		kpmu_pmu_get(i, &own);
		if (!strcmp(own.name, name))
			return true;
	}
	list_for_each_entry(pmu, &drivers, node)
		if (!strcmp(pmu->name, name))
			return true;
	return false;
}

/**
 * kpmu_pmu_add() - add the PMU of a driver to the table
 * @pmu: the PMU; sets .type
 *
 * No event is opened before kpmu_pmu_publish(): if a step in between fails, the driver's
 * module is freed, even if an event uses it.
 *
 * Context: task, may sleep.
 * Return: 0; -EEXIST if the name is in use; -ENOSPC without a free type or enough free slots for
 * its counters; -ENOMEM.
 */
int kpmu_pmu_add(struct kpmu_pmu *pmu)
{
	u32 type = pmu->native_type ? kpmu_native_named_type(pmu->name) : U32_MAX;
	int id;

	mutex_lock(&drivers_lock);
	id = name_is_taken(pmu->name) ? -EEXIST :
	     ida_alloc_max(&driver_types, KPMU_MAX_DRIVERS - 1, GFP_KERNEL);
	if (id >= 0 && kpmu_drivers_take_slots(pmu)) {
		ida_free(&driver_types, id);
		id = -ENOSPC;
	}
	if (id >= 0) {
		pmu->id = id;
		pmu->type = type == U32_MAX ? KPMU_TYPE_DRIVERS + id : type;
		list_add_tail_rcu(&pmu->node, &drivers);
	}
	mutex_unlock(&drivers_lock);
	return min(id, 0);
}

/**
 * kpmu_pmu_publish() - let events of a driver's PMU be opened
 * @pmu: the PMU, after kpmu_pmu_add()
 *
 * Context: task.
 */
void kpmu_pmu_publish(struct kpmu_pmu *pmu)
{
	WRITE_ONCE(pmu->live, true);
}

/**
 * kpmu_pmu_remove() - remove the PMU of a driver from the table
 * @pmu: the PMU; no event of it is left
 *
 * Context: task, may sleep.
 */
void kpmu_pmu_remove(struct kpmu_pmu *pmu)
{
	mutex_lock(&drivers_lock);
	WRITE_ONCE(pmu->live, false);
	list_del_rcu(&pmu->node);
	ida_free(&driver_types, pmu->id);
	kpmu_drivers_return_slots(pmu);
	mutex_unlock(&drivers_lock);
	synchronize_rcu();
}

static const struct kpmu_file kprobe_format[] = {
	{ "retprobe", "config:0" },
	{ }
};

static const struct kpmu_file uprobe_format[] = {
	{ "retprobe", "config:0" },
	{ "ref_ctr_offset", "config:32-63" },
	{ }
};

static bool fill_pmu(struct kpmu_pmu *pmu, const char *name, u32 type,
		     const struct kpmu_file *format)
{
	*pmu = (struct kpmu_pmu){ .name = name, .type = type, .format = format };
	return type != U32_MAX;
}

/* See pmu.h */
bool kpmu_pmu_get(int n, struct kpmu_pmu *pmu)
{
	switch (n) {
	case 0:
		return kpmu_core.describe(0, pmu);
	case 1:
		return fill_pmu(pmu, "software", KPMU_TYPE_SOFTWARE, NULL);
	case 2:
		return fill_pmu(pmu, "tracepoint", KPMU_TYPE_TRACEPOINT, NULL);
	case 3:
		return fill_pmu(pmu, "breakpoint", KPMU_TYPE_BREAKPOINT, NULL);
	case 4:
		return fill_pmu(pmu, "kprobe", kpmu_native_type(KSYM_perf_kprobe),
				kprobe_format);
	case 5:
		return fill_pmu(pmu, "fault_trace", KPMU_TYPE_FAULT_TRACE, NULL);
	case 6:
		return fill_pmu(pmu, "uprobe", kpmu_native_type(KSYM_perf_uprobe),
				uprobe_format);
	default:
		return kpmu_core.describe(1, pmu);
	}
}

/**
 * kpmu_sources_show() - print the types of events available, for the caps file
 * @m: where to print
 *
 * Context: task.
 */
void kpmu_sources_show(struct seq_file *m)
{
	struct kpmu_pmu pmu = { }, *driver;
	int i;

	for (i = 0; i < KPMU_NR_PMUS; i++)
		if (kpmu_pmu_get(i, &pmu))
			seq_printf(m, "%-26s %-8s events of type %d\n", pmu.name,
				   "ok", pmu.type);
		else if (*pmu.name)
			seq_printf(m, "%-26s %-8s %s\n", pmu.name, "missing",
				   i ? "its number cannot be looked up" :
				   "no supported PMU");
	mutex_lock(&drivers_lock);
	list_for_each_entry(driver, &drivers, node)
		seq_printf(m, "%-26s %-8s events of type %d, by %s\n", driver->name,
			   "ok", driver->type, module_name(driver->source->owner));
	mutex_unlock(&drivers_lock);
	kpmu_faults_show(m);
	kpmu_taps_show(m);
}

/* See source.h */
void kpmu_sources_cpu_up(int cpu)
{
	kpmu_taps_cpu_up(cpu);
}

/* A machine without a core PMU still has the other types of events */
static int __init start_core(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(cores); i++) {
		kpmu_core_set(cores[i]);
		err = cores[i]->start();
		if (err != -ENODEV)
			return err;
	}
	return 0;
}

/**
 * kpmu_sources_init() - initialise all sources
 * @hit: callback that counts hits
 * @time: callback that returns the count of a clock
 *
 * Context: module init.
 * Return: 0 or an error.
 */
int __init kpmu_sources_init(kpmu_hit_fn hit, kpmu_time_fn time)
{
	static_call_update(kpmu_source_hit, hit);
	kpmu_cpu_clock.read = time;
	kpmu_task_clock.read = time;
	kpmu_faults_init();
	kpmu_points_init();
	return start_core();
}

/**
 * kpmu_sources_exit() - undo kpmu_sources_init()
 *
 * Context: task, may sleep; no event is left.
 */
void kpmu_sources_exit(void)
{
	kpmu_faults_exit();
	kpmu_taps_exit();
	kpmu_core.end();
}
