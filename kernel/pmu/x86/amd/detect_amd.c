// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detection of the PMU, from CPUID and the tables.  APM volume 2, "Performance Monitoring
 * Counters"; volume 3, CPUID Fn8000_0001 and Fn8000_0022.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "../lbr.h"
#include "../msr.h"
#include "amd.h"

#define K7_COUNTERS	4
#define CORE_COUNTERS	6
#define WIDTH		48

#define LEAF_PERFMON_V2	0x80000022

#define MSR_AMD_STATUS	0xc0000300
#define MSR_AMD_CTRL	0xc0000301
#define MSR_AMD_CLEAR	0xc0000302

static const struct kpmu_file formats[] = {
	{ "event", "config:0-7,32-35" },
	{ "umask", "config:8-15" },
	{ "edge", "config:18" },
	{ "inv", "config:23" },
	{ "cmask", "config:24-31" },
	{ }
};

static const struct x86_model *find_events(void)
{
	const struct amd_family *f;
	u8 family = min_t(u8, boot_cpu_data.x86, AMD_NEWEST);

	for (f = amd_families; f->family; f++)
		if (f->family == family && boot_cpu_data.x86_model >= f->first &&
		    boot_cpu_data.x86_model <= f->last)
			return f->model;
	return NULL;
}

static void detect_k7(void)
{
	x86_pmu.gp = K7_COUNTERS;
	x86_pmu.version = 1;
	x86_pmu.regs = (struct x86_regs){
		.sel = MSR_K7_EVNTSEL0,
		.counter = MSR_K7_PERFCTR0,
		.write = MSR_K7_PERFCTR0,
	};
}

/* PerfCtrExtCore, and PerfMonV2 */
static void detect_core(void)
{
	x86_pmu.gp = CORE_COUNTERS;
	x86_pmu.version = 1;
	x86_pmu.regs = (struct x86_regs){
		.sel = MSR_F15H_PERF_CTL,
		.counter = MSR_F15H_PERF_CTR,
		.write = MSR_F15H_PERF_CTR,
		.shift = 1,
		.ctrl = MSR_AMD_CTRL,
		.status = MSR_AMD_STATUS,
		.clear = MSR_AMD_CLEAR,
	};
	if (boot_cpu_data.x86 >= AMD_ZEN)
		x86_pmu.pairs = &amd_pairs;
	if (cpuid_eax(0x80000000) >= LEAF_PERFMON_V2 && cpuid_eax(LEAF_PERFMON_V2) & 1) {
		x86_pmu.version = 2;
		x86_pmu.gp = cpuid_ebx(LEAF_PERFMON_V2) & 0xf;
		amd_detect_lbr(cpuid_eax(LEAF_PERFMON_V2), cpuid_ebx(LEAF_PERFMON_V2) >> 4 & 0x3f);
	}
}

/**
 * amd_detect() - detect this machine's core PMU and fill in x86_pmu and x86_kinds
 *
 * Context: module init.
 * Return: 0, or -ENODEV if there is no supported PMU.
 */
int __init amd_detect(void)
{
	const struct x86_model *model = find_events();
	struct x86_kind *kind = &x86_kinds[X86_ALL];
	u64 start;
	int i;

	if (boot_cpu_data.x86_vendor != X86_VENDOR_AMD || !model ||
	    cpu_feature_enabled(X86_FEATURE_XENPV))
		return -ENODEV;
	if (boot_cpu_has(X86_FEATURE_PERFCTR_CORE))
		detect_core();
	else
		detect_k7();
	start = BIT_ULL(WIDTH - 2);
	x86_pmu.model = model;
	x86_pmu.counters = GENMASK(x86_pmu.gp - 1, 0);
	kind->name = "cpu";
	kind->type = KPMU_TYPE_RAW;
	kind->model = model;
	kind->counters = x86_pmu.counters;
	x86_pmu.status = x86_pmu.counters;
	x86_pmu.width = WIDTH;
	x86_pmu.value = GENMASK_ULL(WIDTH - 1, 0);
	x86_pmu.sign = BIT_ULL(WIDTH - 1);
	x86_pmu.start = -start & x86_pmu.value;
	x86_pmu.farthest = x86_pmu.value - x86_pmu.start;
	x86_pmu.raw = SEL_CODE | SEL_EVENT_HIGH | SEL_EDGE | SEL_INV | SEL_CMASK;
	x86_pmu.ignored = SEL_USR | SEL_OS | SEL_INT | SEL_EN |
			  AMD_SEL_GUEST | AMD_SEL_HOST;
	x86_pmu.late_nmis = true;
	x86_pmu.formats = formats;
	for (i = 0; i < X86_HW_EVENTS; i++)
		kind->hw[i] = model->hw[i];
	pr_info("AMD PMU, version %d, family %#x, %d counters of %d bits%s%s\n",
		x86_pmu.version, boot_cpu_data.x86, x86_pmu.gp, x86_pmu.width,
		x86_pmu.lbr ? ", " : "", x86_pmu.lbr ? x86_pmu.lbr->name : "");
	return 0;
}
