// SPDX-License-Identifier: GPL-2.0-only
/* The PMUs of IBS, ibs_fetch and ibs_op: detection, and their files in sysfs. */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/module.h>
#include <linux/printk.h>
#include <asm/perf_event.h>
#include <asm/processor.h>

#include "../x86.h"
#include "ibs.h"

#define MAX_FILES	5

static struct kpmu_file formats[IBS_UNITS][MAX_FILES], caps_files[IBS_UNITS][MAX_FILES];

static void __init add_file(struct kpmu_file *files, bool there, const char *name, const char *text)
{
	while (files->name)
		files++;
	if (there)
		*files = (struct kpmu_file){ name, text };
}

static void __init name_files(void)
{
	struct kpmu_file *fetch = formats[IBS_FETCH_UNIT], *op = formats[IBS_OP_UNIT];
	bool zen4 = ibs_caps & IBS_HAS_ZEN4, ldlat = ibs_caps & IBS_HAS_LDLAT;
	int i;

	add_file(fetch, true, "rand_en", "config:57");
	add_file(fetch, true, "swfilt", "config2:0");
	add_file(fetch, zen4, "l3missonly", "config:59");
	add_file(op, true, "swfilt", "config2:0");
	add_file(op, ibs_caps & IBS_HAS_OP_CNT, "cnt_ctl", "config:19");
	add_file(op, zen4, "l3missonly", "config:16");
	add_file(op, ldlat, "ldlat", "config1:0-11");
	add_file(caps_files[IBS_OP_UNIT], ldlat, "ldlat", "1");
	for (i = 0; i < IBS_UNITS; i++) {
		add_file(caps_files[i], zen4, "zen4_ibs_extensions", "1");
		ibs_units[i].pmu.format = formats[i];
		ibs_units[i].pmu.caps = caps_files[i];
	}
}

static const struct kpmu_source operations __initconst = {
	.owner = THIS_MODULE,
	.nmi = true,
	.interrupt = true,
	.init = ibs_event_init,
	.get = ibs_get,
	.put = ibs_put,
	.read = ibs_read,
	.start = ibs_begin,
	.stop = ibs_end,
	.set_period = ibs_set_period,
	.check_period = ibs_check_period,
};

static void __init set_operations(void)
{
	int i;

	for (i = 0; i < IBS_UNITS; i++) {
		ibs_units[i].source = operations;
		ibs_units[i].source.name = ibs_units[i].pmu.name;
		ibs_units[i].pmu.source = &ibs_units[i].source;
		ibs_units[i].pmu.native_type = true;
	}
}

static void __init apply_caps(void)
{
	struct ibs_unit *fetch = &ibs_units[IBS_FETCH_UNIT], *op = &ibs_units[IBS_OP_UNIT];

	if (ibs_caps & IBS_HAS_OP_CNT)
		op->config |= IBS_OP_CYCLES_OR_OPS;
	if (ibs_caps & IBS_HAS_OP_EXT) {
		op->config |= IBS_OP_MAX_EXT;
		op->period |= IBS_OP_MAX_EXT;
		op->max |= IBS_OP_MAX_EXT;
	}
	if (ibs_caps & IBS_HAS_ZEN4) {
		op->config |= IBS_OP_L3MISS;
		fetch->config |= IBS_FETCH_L3MISS;
	}
	fetch->restart = boot_cpu_data.x86 >= 0x16 && boot_cpu_data.x86 <= 0x18;
}

/**
 * ibs_start() - detect IBS
 *
 * The kernel has set up its interrupt if it knows its capabilities.
 *
 * Context: module init, may sleep.
 * Return: 0 or an error.
 */
int __init ibs_start(void)
{
	int err;

	ibs_caps = get_ibs_caps();
	if (!ibs_caps)
		return 0;
	apply_caps();
	set_operations();
	name_files();
	err = ibs_nmi_init();
	if (err) {
		ibs_caps = 0;
		return err;
	}
	x86_pmu.forwarded = 2;
	err = ibs_rivals_init();
	if (err)
		pr_notice("the kernel's perf cannot be kept from IBS (%d): no events of it\n",
			  err);
	return 0;
}

/**
 * ibs_stop() - undo ibs_start()
 *
 * Context: task, may sleep; no event is left.
 */
void ibs_stop(void)
{
	if (!ibs_caps)
		return;
	ibs_rivals_exit();
	ibs_nmi_exit();
}

/**
 * ibs_pmu() - .more of struct kpmu_core
 * @n: see kpmu_counters_more()
 *
 * Context: see kpmu_counters_more().
 * Return: see kpmu_counters_more().
 */
struct kpmu_pmu *ibs_pmu(int n)
{
	return ibs_caps && n < IBS_UNITS ? &ibs_units[n].pmu : NULL;
}
