// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/bus/kpmu/devices: a directory for each source, as the kernel's own perf
 * has below /sys/bus/event_source.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>

#include "../pmu/source.h"
#include "dev.h"

static struct bus_type bus = { .name = "kpmu" };

/* What all our devices are below: their own names are taken at the top */
static struct device *parent;
static struct device *cpu;

static ssize_t type_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%d\n", kpmu_counters_type());
}
static DEVICE_ATTR_RO(type);

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

static struct attribute *cpu_attrs[] = {
	&dev_attr_type.attr,
	&dev_attr_rdpmc.attr,
	NULL
};
ATTRIBUTE_GROUPS(cpu);

static void release(struct device *dev)
{
	kfree(dev);
}

static int add_cpu(void)
{
	int err;

	if (kpmu_counters_type() < 0)
		return 0;
	cpu = kzalloc(sizeof(*cpu), GFP_KERNEL);
	if (!cpu)
		return -ENOMEM;
	device_initialize(cpu);
	cpu->bus = &bus;
	cpu->parent = parent;
	cpu->groups = cpu_groups;
	cpu->release = release;
	err = dev_set_name(cpu, "cpu") ?: device_add(cpu);
	if (err) {
		put_device(cpu);
		cpu = NULL;
	}
	return err;
}

int __init kpmu_sysfs_init(void)
{
	int err;

	err = bus_register(&bus);
	if (err)
		return err;
	parent = root_device_register("kpmu");
	if (IS_ERR(parent)) {
		err = PTR_ERR(parent);
		goto err_bus;
	}
	err = add_cpu();
	if (err)
		goto err_parent;
	return 0;

err_parent:
	root_device_unregister(parent);
err_bus:
	bus_unregister(&bus);
	return err;
}

void kpmu_sysfs_exit(void)
{
	if (cpu)
		device_unregister(cpu);
	root_device_unregister(parent);
	bus_unregister(&bus);
}
