// SPDX-License-Identifier: GPL-2.0-only
/* The operations of the core PMU of AMD CPUs. */
#include <linux/errno.h>
#include <linux/init.h>

#include "../lbr.h"
#include "amd.h"
#include "ibs.h"

static int __init amd_start(void)
{
	int err = amd_detect() ?: x86_start();

	if (err)
		return err;
	amd_virt_init();
	return ibs_start();
}

static void amd_end(void)
{
	ibs_stop();
	amd_virt_exit();
	x86_end();
}

/* AMD has no such setting */
static int freeze_on_smi_set(unsigned long val)
{
	return -ENODEV;
}

static int freeze_on_smi_get(void)
{
	return -ENODEV;
}

static void online(void)
{
}

const struct kpmu_core amd_core __initconst = {
	X86_CORE_OPS,
	.adapt = ibs_adapt,
	.more = ibs_pmu,
	.start = amd_start,
	.end = amd_end,
	.online = online,
	.freeze_on_smi_set = freeze_on_smi_set,
	.freeze_on_smi_get = freeze_on_smi_get,
};
