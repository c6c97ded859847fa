// SPDX-License-Identifier: GPL-2.0-only
/* The operations of the core PMU of AMD CPUs. */
#include <linux/errno.h>
#include <linux/init.h>

#include "../lbr.h"
#include "amd.h"

static int __init amd_start(void)
{
	int err = amd_detect() ?: x86_start();

	if (!err)
		amd_virt_init();
	return err;
}

static void amd_end(void)
{
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
	.source = &x86_source,
	.start = amd_start,
	.end = amd_end,
	.describe = x86_describe,
	.slots = x86_slots,
	.on_overflow = x86_on_overflow,
	.commit = x86_commit,
	.halt = x86_halt,
	.resume = x86_resume,
	.update = x86_update,
	.halted = x86_halted,
	.hide = x86_hide,
	.release = x86_release,
	.online = online,
	.offline = x86_offline,
	.check = x86_check,
	.show = x86_show,
	.rdpmc_guarded = x86_rdpmc_guarded,
	.rdpmc_grant = x86_rdpmc_grant,
	.rdpmc_share = x86_rdpmc_share,
	.rdpmc_drop = x86_rdpmc_drop,
	.rdpmc_set = x86_rdpmc_set,
	.rdpmc_get = x86_rdpmc_get,
	.precise = x86_max_precise,
	.branches = x86_branch_depth,
	.branches_size = X86_LBR_STORE_SIZE,
	.branches_leave = x86_lbr_leave,
	.branches_enter = x86_lbr_enter,
	.freeze_on_smi_set = freeze_on_smi_set,
	.freeze_on_smi_get = freeze_on_smi_get,
};
