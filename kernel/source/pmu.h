/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PMUs: each has a directory in sysfs and an attr.type.  A driver in a module of its own
 * registers one with kpmu_register_pmu(); Documentation/writing-a-pmu-driver.rst.
 */
#ifndef KPMU_PMU_H
#define KPMU_PMU_H

#include <linux/list.h>

#include "source.h"

/* A file of one line */
struct kpmu_file {
	const char *name;
	const char *text;
};

/**
 * struct kpmu_pmu - a PMU, and the contents of its sysfs directory
 * @name: name of the PMU
 * @type: attr.type of its events; of a driver's PMU, set by kpmu_register_pmu()
 * @counters: it has counters that user space may read
 * @cpus: of a core PMU of one kind of CPUs: those that are online; else NULL
 * @format: names of attr bits; ended by an entry without a name
 * @events: named events; likewise
 * @caps: capabilities; likewise
 * @native_type: of a driver: its attr.type is that of the kernel's own PMU of the same name, if there is
 *	one, so that clients find it under either bus
 * @source: of a driver: the operations on its events
 * @nr_counters: of a driver: counters on each CPU, one event each; 0: all events can count at
 *	the same time
 * @id: of a driver: number among such PMUs, set by kpmu_register_pmu()
 * @first: of a driver: slot of its first counter, set by kpmu_register_pmu()
 * @node: of a driver: entry in the list of such PMUs
 * @live: of a driver: events can be opened
 * @dev: of a driver: its sysfs directory
 */
struct kpmu_pmu {
	const char *name;
	int type;
	bool counters;
	const struct cpumask *cpus;
	const struct kpmu_file *format;
	const struct kpmu_file *events;
	const struct kpmu_file *caps;
	bool native_type;
	const struct kpmu_source *source;
	u8 nr_counters;
	u8 id;
	u8 first;
	struct list_head node;
	bool live;
	void *dev;
};

#define KPMU_NR_PMUS	8

/**
 * kpmu_pmu_get() - describe a PMU of this machine
 * @n: number of the PMU, below KPMU_NR_PMUS
 * @pmu: filled in; what it points to is valid until the module is unloaded
 *
 * Context: task.
 * Return: false if this machine does not have the PMU; then only the name is valid, which is empty
 * for a PMU that only few machines have.
 */
bool kpmu_pmu_get(int n, struct kpmu_pmu *pmu);

#define KPMU_PMU_COUNTERS	16	/* maximum of nr_counters */

int kpmu_pmu_init_event(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why);
int kpmu_pmu_add(struct kpmu_pmu *pmu);
void kpmu_pmu_publish(struct kpmu_pmu *pmu);
void kpmu_pmu_remove(struct kpmu_pmu *pmu);

/* For drivers */
int kpmu_register_pmu(struct kpmu_pmu *pmu);
void kpmu_unregister_pmu(struct kpmu_pmu *pmu);
void kpmu_pmu_set_period(struct kpmu_hw *hw, u64 period);
struct kpmu_hw *kpmu_pmu_event(const struct kpmu_pmu *pmu, int counter);
bool kpmu_pmu_report(struct kpmu_hw *hw, struct kpmu_hit *hit);
struct kpmu_hw *kpmu_pmu_overflow(const struct kpmu_pmu *pmu, int counter, struct pt_regs *regs);

/**
 * kpmu_pmu_counter() - for drivers: the counter that an event is on
 * @hw: the event, between .start and .stop of a PMU with counters
 *
 * Context: IRQs off, on the CPU of the counter.
 * Return: its number, from 0.
 */
static inline int kpmu_pmu_counter(const struct kpmu_hw *hw)
{
	return hw->idx - hw->first;
}

#endif
