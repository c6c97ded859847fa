// SPDX-License-Identifier: GPL-2.0-only
/* PMUs of drivers.  Documentation/writing-a-pmu-driver.rst. */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "../source/counters.h"
#include "../source/pmu.h"
#include "dev.h"

/* What is wrong with a driver's PMU; NULL if nothing is */
static const char *find_fault(const struct kpmu_pmu *pmu)
{
	const struct kpmu_source *source = pmu->source;

	if (!pmu->name || !*pmu->name || strchr(pmu->name, '/'))
		return "the name is not a valid directory name";
	if (!source || !source->owner)
		return "no source, or a source without an owner";
	if (!source->init || !source->read || !source->start || !source->stop ||
	    !source->set_period)
		return "init, read, start, stop and set_period are required";
	if (pmu->nr_counters > KPMU_PMU_COUNTERS)
		return "too many counters";
	if (!source->ahead == !source->interrupt)
		return "either ahead or interrupt is required";
	if (source->interrupt && !pmu->nr_counters)
		return "a PMU without counters cannot have interrupts";
	if (source->nmi && !source->interrupt)
		return "a PMU without interrupts cannot have NMIs";
	if (pmu->counters || source->clock || source->trace)
		return "a driver may not set counters, clock or trace";
	return NULL;
}

/**
 * kpmu_register_pmu() - register the PMU of a driver
 * @pmu: the PMU, constant until kpmu_unregister_pmu() except for .type, which is set
 *
 * Its events can be opened, and its directory is below /sys/bus/kpmu/devices, when this
 * returns.  The driver's module cannot be unloaded while it has events.  Call it last in the
 * module's init function, which must not fail any more.
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL if something is missing, as the kernel log says; -EEXIST if the name is
 * in use; -ENOSPC if there are too many; -ENOMEM.
 */
int kpmu_register_pmu(struct kpmu_pmu *pmu)
{
	const char *fault = find_fault(pmu);
	int err;

	if (fault) {
		pr_err("PMU %s is not registered: %s\n", pmu->name ?: "without a name", fault);
		return -EINVAL;
	}
	err = kpmu_pmu_add(pmu);
	if (err)
		return err;
	err = kpmu_sysfs_add(pmu);
	if (err) {
		kpmu_pmu_remove(pmu);
		return err;
	}
	kpmu_pmu_publish(pmu);
	return 0;
}
EXPORT_SYMBOL_GPL(kpmu_register_pmu);

/**
 * kpmu_unregister_pmu() - unregister the PMU of a driver
 * @pmu: the PMU
 *
 * For the exit function of the driver's module, which is only called when no event is left.
 *
 * Context: task, may sleep.
 */
void kpmu_unregister_pmu(struct kpmu_pmu *pmu)
{
	kpmu_sysfs_remove(pmu);
	kpmu_pmu_remove(pmu);
}
EXPORT_SYMBOL_GPL(kpmu_unregister_pmu);

/**
 * kpmu_register_more() - register the PMUs that the CPU has beside its core PMU
 *
 * Without one of them, its events do not exist, and all others work.
 *
 * Context: module init, after kpmu_drivers_init().
 */
void __init kpmu_register_more(void)
{
	struct kpmu_pmu *pmu;
	int i, err;

	for (i = 0; (pmu = kpmu_counters_more(i)); i++) {
		err = kpmu_register_pmu(pmu);
		if (err)
			pr_err("PMU %s is not registered (%d)\n", pmu->name, err);
	}
}

/**
 * kpmu_unregister_more() - undo kpmu_register_more()
 *
 * Context: module exit or init, may sleep; no event is left.
 */
void kpmu_unregister_more(void)
{
	struct kpmu_pmu *pmu;
	int i;

	for (i = 0; (pmu = kpmu_counters_more(i)); i++)
		if (pmu->live)
			kpmu_unregister_pmu(pmu);
}
