// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/bus/kpmu/devices: a directory for each PMU, with files in the same format as
 * those of the kernel's own perf below /sys/bus/event_source.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>

#include "../source/counters.h"
#include "../source/pmu.h"
#include "../source/user_read.h"
#include "../sched/sched.h"
#include "dev.h"

static struct bus_type bus = { .name = "kpmu" };

/* Parent of the PMU devices: directly in /sys/devices their names are taken */
static struct device *parent;

/**
 * struct pmu_dev - sysfs directory of a PMU
 * @dev: the device
 * @pmu: what the files show
 * @groups: attribute groups, NULL-terminated: that of all PMUs, that of PMUs with
 *	counters, and those allocated for this PMU
 */
struct pmu_dev {
	struct device dev;
	struct kpmu_pmu pmu;
	const struct attribute_group *groups[6];
};

static struct pmu_dev *pmus[KPMU_NR_PMUS];

static struct pmu_dev *pmu_of(struct device *dev)
{
	return container_of(dev, struct pmu_dev, dev);
}

static ssize_t type_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%d\n", pmu_of(dev)->pmu.type);
}
static DEVICE_ATTR_RO(type);

/* One interval for all PMUs: only the CPU's counters are multiplexed */
static ssize_t perf_event_mux_interval_ms_show(struct device *dev,
					       struct device_attribute *attr,
					       char *buf)
{
	return sysfs_emit(buf, "%u\n", kpmu_mux_interval_ms);
}

static ssize_t perf_event_mux_interval_ms_store(struct device *dev,
						struct device_attribute *attr,
						const char *buf, size_t len)
{
	int val, err;

	err = kstrtoint(buf, 0, &val);
	if (err)
		return err;
	if (val < 1)
		return -EINVAL;
	if (val != kpmu_mux_interval_ms) {
		kpmu_mux_interval_ms = val;
		kpmu_rotate_restart();
	}
	return len;
}
static DEVICE_ATTR_RW(perf_event_mux_interval_ms);

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return cpumap_print_to_pagebuf(true, buf, pmu_of(dev)->pmu.source->cpus);
}
static DEVICE_ATTR_RO(cpumask);

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return cpumap_print_to_pagebuf(true, buf, pmu_of(dev)->pmu.cpus);
}
static DEVICE_ATTR_RO(cpus);

/*
 * Only PMUs of drivers have a cpumask: those that do not count for tasks.  Core PMUs of one kind of
 * CPUs have cpus.
 */
static umode_t common_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct kpmu_pmu *pmu = &pmu_of(kobj_to_dev(kobj))->pmu;

	if (attr == &dev_attr_cpumask.attr && !(pmu->source && pmu->source->cpus))
		return 0;
	if (attr == &dev_attr_cpus.attr && !pmu->cpus)
		return 0;
	return attr->mode;
}

static struct attribute *common_attrs[] = {
	&dev_attr_type.attr,
	&dev_attr_cpumask.attr,
	&dev_attr_cpus.attr,
	&dev_attr_perf_event_mux_interval_ms.attr,
	NULL
};
static const struct attribute_group common = {
	.attrs = common_attrs,
	.is_visible = common_visible,
};

static ssize_t rdpmc_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%d\n", kpmu_rdpmc_get());
}

static ssize_t rdpmc_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t len)
{
	unsigned long val;
	int err;

	err = kstrtoul(buf, 0, &val);
	if (err)
		return err;
	return kpmu_rdpmc_set(val) ?: len;
}
static DEVICE_ATTR_RW(rdpmc);

static ssize_t freeze_on_smi_show(struct device *dev, struct device_attribute *attr,
				  char *buf)
{
	return sysfs_emit(buf, "%d\n", kpmu_freeze_on_smi_get());
}

static ssize_t freeze_on_smi_store(struct device *dev, struct device_attribute *attr,
				   const char *buf, size_t len)
{
	unsigned long val;
	int err;

	err = kstrtoul(buf, 0, &val);
	if (err)
		return err;
	return kpmu_freeze_on_smi_set(val) ?: len;
}
static DEVICE_ATTR_RW(freeze_on_smi);

static struct attribute *counter_attrs[] = {
	&dev_attr_rdpmc.attr,
	&dev_attr_freeze_on_smi.attr,
	NULL
};

static umode_t counters_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	if (attr == &dev_attr_freeze_on_smi.attr && kpmu_freeze_on_smi_get() < 0)
		return 0;
	return attr->mode;
}

static const struct attribute_group counters = {
	.attrs = counter_attrs,
	.is_visible = counters_visible,
};

/* Index of the first group that was allocated for this PMU */
static int first_folder(const struct pmu_dev *p)
{
	return p->pmu.counters ? 2 : 1;
}

static void release_pmu(struct device *dev)
{
	struct pmu_dev *p = pmu_of(dev);
	int i;

	for (i = first_folder(p); p->groups[i]; i++)
		kpmu_folder_free(p->groups[i]);
	kfree(p);
}

static int make_groups(struct pmu_dev *p)
{
	const struct {
		const char *name;
		const struct kpmu_file *files;
	} folders[] = {
		{ "format", p->pmu.format },
		{ "events", p->pmu.events },
		{ "caps", p->pmu.caps },
	};
	int i, n = 0;

	p->groups[n++] = &common;
	if (p->pmu.counters)
		p->groups[n++] = &counters;
	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		if (!folders[i].files)
			continue;
		p->groups[n] = kpmu_folder(folders[i].name, folders[i].files);
		if (!p->groups[n++])
			return -ENOMEM;
	}
	return 0;
}

static struct pmu_dev *add_pmu(const struct kpmu_pmu *pmu)
{
	struct pmu_dev *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	p->pmu = *pmu;
	device_initialize(&p->dev);
	p->dev.bus = &bus;
	p->dev.parent = parent;
	p->dev.groups = p->groups;
	p->dev.release = release_pmu;
	err = make_groups(p) ?: dev_set_name(&p->dev, "%s", p->pmu.name) ?:
	      device_add(&p->dev);
	if (err) {
		put_device(&p->dev);
		return ERR_PTR(err);
	}
	return p;
}

static int add_own(int n)
{
	struct kpmu_pmu pmu;
	struct pmu_dev *p;

	if (!kpmu_pmu_get(n, &pmu))
		return 0;
	p = add_pmu(&pmu);
	if (IS_ERR(p))
		return PTR_ERR(p);
	pmus[n] = p;
	return 0;
}

/**
 * kpmu_sysfs_add() - make the directory of a driver's PMU
 * @pmu: the PMU; sets .dev
 *
 * Context: task, may sleep.
 * Return: 0 or an error.
 */
int kpmu_sysfs_add(struct kpmu_pmu *pmu)
{
	struct pmu_dev *p = add_pmu(pmu);

	if (IS_ERR(p))
		return PTR_ERR(p);
	pmu->dev = p;
	return 0;
}

/**
 * kpmu_sysfs_remove() - remove the directory of a driver's PMU
 * @pmu: the PMU
 *
 * Context: task, may sleep.
 */
void kpmu_sysfs_remove(struct kpmu_pmu *pmu)
{
	struct pmu_dev *p = pmu->dev;

	device_unregister(&p->dev);
}

static void remove_all(void)
{
	int i;

	for (i = 0; i < KPMU_NR_PMUS; i++)
		if (pmus[i])
			device_unregister(&pmus[i]->dev);
	root_device_unregister(parent);
	bus_unregister(&bus);
}

/**
 * kpmu_sysfs_init() - register the bus and the PMUs
 *
 * Context: module init.
 * Return: 0 or an error.
 */
int __init kpmu_sysfs_init(void)
{
	int i, err;

	err = bus_register(&bus);
	if (err)
		return err;
	parent = root_device_register("kpmu");
	if (IS_ERR(parent)) {
		bus_unregister(&bus);
		return PTR_ERR(parent);
	}
	for (i = 0; !err && i < KPMU_NR_PMUS; i++)
		err = add_own(i);
	if (err)
		remove_all();
	return err;
}

/**
 * kpmu_sysfs_exit() - unregister the bus and the PMUs
 *
 * Context: module exit, may sleep.
 */
void kpmu_sysfs_exit(void)
{
	remove_all();
}
