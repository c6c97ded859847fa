// SPDX-License-Identifier: GPL-2.0-only
/* The operations of the core PMU of Intel CPUs. */
#include <linux/init.h>

#include "../../../compat/compat.h"
#include "../lbr.h"
#include "intel.h"

static int __init intel_start(void)
{
	return intel_detect() ?: x86_start();
}

/* CPUID.1AH:EAX[31:24] */
#define CPU_TYPE_ATOM	0x20

static void intel_online(void)
{
	if (static_branch_unlikely(&kpmu_kinds_key))
		x86_kind_online(cpuid_eax(0x1a) >> 24 == CPU_TYPE_ATOM ? X86_ATOM : X86_CORE);
	intel_smi_online();
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
