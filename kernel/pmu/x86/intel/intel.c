// SPDX-License-Identifier: GPL-2.0-only
/* The operations of the core PMU of Intel CPUs. */
#include <linux/init.h>

#include "../lbr.h"
#include "intel.h"

static int __init intel_start(void)
{
	return intel_detect() ?: x86_start();
}

static void intel_end(void)
{
	intel_smi_exit();
	x86_end();
}

const struct kpmu_core intel_core __initconst = {
	X86_CORE_OPS,
	.start = intel_start,
	.end = intel_end,
	.online = intel_online,
	.freeze_on_smi_set = intel_freeze_on_smi_set,
	.freeze_on_smi_get = intel_freeze_on_smi_get,
};
