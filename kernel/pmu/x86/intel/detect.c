// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detection of the PMU, from CPUID leaf 0AH, IA32_PERF_CAPABILITIES and the model tables.
 * SDM volume 3, "Architectural Performance Monitoring"; volume 2, CPUID.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "../../../compat/ksym.h"
#include "../lbr.h"
#include "../msr.h"
#include "intel.h"

#define CAP_SMM_FREEZE		BIT_ULL(12)
#define CAP_FULL_WIDTH_WRITE	BIT_ULL(13)
#define CAP_METRICS		BIT_ULL(15)

/* The architectural events in the order of CPUID.0AH:EBX, as generic events */
static const struct { u8 hw; u16 code; } arch_events[] = {
	{ 0, 0x003c },		/* core cycles */
	{ 1, 0x00c0 },		/* instructions retired */
	{ 6, 0x013c },		/* reference cycles, as bus-cycles */
	{ 2, 0x4f2e },		/* last-level cache references */
	{ 3, 0x412e },		/* last-level cache misses */
	{ 4, 0x00c4 },		/* branches retired */
	{ 5, 0x00c5 },		/* branches mispredicted */
};

#define HW_REF_CYCLES	9

static const struct x86_model *find_model(void)
{
	const struct x86_model *const *m;
	const u8 *n;

	if (boot_cpu_data.x86 != 6)
		return &intel_generic;
	for (m = intel_models; *m; m++)
		for (n = (*m)->models; *n; n++)
			if (*n == boot_cpu_data.x86_model)
				return *m;
	return &intel_generic;
}

static void __init detect_events(struct x86_kind *kind, u32 ebx, int ebx_len)
{
	const struct x86_model *m = kind->model;
	int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++)
		if (i < ebx_len && !(ebx & 1 << i))
			kind->hw[arch_events[i].hw] = arch_events[i].code;
	/* A pseudo encoding: only fixed counter 2 counts it, if it exists */
	kind->hw[HW_REF_CYCLES] = 0x0300;
	for (i = 0; m->hw && i < X86_HW_EVENTS; i++)
		if (m->hw[i] && kind->hw[i])
			kind->hw[i] = m->hw[i];
}

static void detect_fixed(int version, u32 ecx, u32 edx)
{
	int n = edx & 0x1f;
	u32 fixed = 0;

	if (version < 2)
		return;
	fixed = GENMASK(n, 0) >> 1;
	if (version >= 5)
		fixed |= ecx;
	x86_pmu.fixed = fixed << X86_FIXED;
}

/*
 * Without full-width writes, a general counter can be set to sign-extended 32-bit values
 * only.  And half of the negative values are never used: the user page's offset is the
 * count minus the counter's value, and user space sign-extends it from the same width.
 */
static void detect_span(void)
{
	u64 span = x86_pmu.sign / 2;

	if (!x86_pmu.full_width)
		span = min_t(u64, span, BIT_ULL(31));
	x86_pmu.start = -span & x86_pmu.value;
	x86_pmu.farthest = x86_pmu.value - x86_pmu.start;
}

static void __init detect_extra(struct x86_kind *kind)
{
	const struct x86_extra_reg *e = kind->model->extra;

	for (; e && e->reg; e++)
		if (intel_msr_holds(e->msr, 0x11))
			kind->extra_ok |= 1u << e->reg;
}

/* For each event code, find where the search for its constraint starts; most have none */
static void __init index_constraints(struct x86_kind *kind)
{
	const struct x86_constraint *c = kind->model->constraints;
	const struct x86_extra_reg *e = kind->model->extra;
	int code, i;

	for (code = 0; code < ARRAY_SIZE(kind->first); code++) {
		for (i = 0; c[i].counters; i++)
			if (code >= (c[i].first & SEL_EVENT) &&
			    code <= (c[i].last & SEL_EVENT))
				break;
		kind->first[code] = i;
	}
	for (; e && e->reg; e++)
		kind->first[e->code & SEL_EVENT] |= X86_HAS_EXTRA;
}

/* A model of a hybrid processor may have more counters than CPUID reports, on some of its CPUs */
static u32 __init kind_counters(const struct x86_model *m)
{
	u32 gp = GENMASK(max_t(int, x86_pmu.gp, m->gp) - 1, 0);
	u32 fixed = m->fixed ? GENMASK(m->fixed - 1, 0) << X86_FIXED : 0;

	return gp | fixed | x86_pmu.fixed;
}

static void __init fill_kind(int n, u32 type, const struct x86_model *m, u32 ebx, int ebx_len)
{
	struct x86_kind *kind = &x86_kinds[n];

	kind->name = x86_sources[n].name;
	kind->type = type;
	kind->model = m;
	kind->counters = n == X86_ALL ? x86_pmu.counters : kind_counters(m);
	detect_events(kind, ebx, ebx_len);
	detect_extra(kind);
	index_constraints(kind);
}

/*
 * A hybrid machine whose two kinds of CPUs are known.  The PMUs have the types of the kernel's own;
 * without these, only what all CPUs have is used, as on a hybrid machine that is not known.
 */
static bool __init detect_kinds(const struct x86_model *m, u32 ebx, int ebx_len)
{
	u32 atom;

	if (!m->atom || !boot_cpu_has(X86_FEATURE_HYBRID_CPU))
		return false;
	atom = kpmu_native_named_type(x86_sources[X86_ATOM].name);
	if (atom == U32_MAX ||
	    kpmu_native_named_type(x86_sources[X86_CORE].name) != KPMU_TYPE_RAW)
		return false;
	fill_kind(X86_CORE, KPMU_TYPE_RAW, m, ebx, ebx_len);
	fill_kind(X86_ATOM, atom, m->atom, ebx, ebx_len);
	x86_pmu.counters = x86_kinds[X86_CORE].counters | x86_kinds[X86_ATOM].counters;
	x86_pmu.fixed = x86_pmu.counters & X86_FIXED_MASK;
	x86_pmu.gp = hweight32(x86_pmu.counters & X86_GP_MASK);
	static_branch_enable(&kpmu_kinds_key);
	return true;
}

static void detect_registers(bool anythread)
{
	x86_pmu.regs = (struct x86_regs){
		.sel = MSR_P6_EVNTSEL0,
		.counter = MSR_P6_PERFCTR0,	/* writes 32 bits, sign-extended */
		.write = x86_pmu.full_width ? MSR_IA32_PMC0 : MSR_P6_PERFCTR0,
		.ctrl = MSR_CORE_PERF_GLOBAL_CTRL,
		.status = MSR_CORE_PERF_GLOBAL_STATUS,
		.clear = MSR_CORE_PERF_GLOBAL_OVF_CTRL,
	};
	x86_pmu.raw = SEL_CODE | SEL_EDGE | SEL_INV | SEL_CMASK | (anythread ? SEL_ANY : 0);
	x86_pmu.ignored = SEL_USR | SEL_OS | SEL_PC | SEL_INT | SEL_EN;
	x86_pmu.traces = true;
}

/*
 * The tables.  On a machine with two kinds of CPUs, branch records and precise events would need
 * two descriptions as well; they are not used.
 */
static void __init detect_model(u64 caps, u32 ebx, int ebx_len)
{
	const struct x86_model *m = find_model();

	if (detect_kinds(m, ebx, ebx_len)) {
		x86_pmu.model = m;
		x86_pmu.status = x86_global_bits(x86_pmu.counters);
		return;
	}
	if (m->atom && boot_cpu_has(X86_FEATURE_HYBRID_CPU))
		m = &intel_generic;
	x86_pmu.model = m;
	x86_pmu.status = x86_global_bits(x86_pmu.counters);
	fill_kind(X86_ALL, KPMU_TYPE_RAW, m, ebx, ebx_len);
	intel_detect_lbr(caps);
	intel_detect_pebs(caps);
}

/**
 * intel_detect() - detect this machine's core PMU and fill in x86_pmu and x86_kinds
 *
 * Context: module init.
 * Return: 0, or -ENODEV if there is no supported PMU.
 */
int __init intel_detect(void)
{
	u32 eax, ebx, ecx, edx;
	u64 caps = 0;

	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL ||
	    boot_cpu_data.cpuid_level < 0xa ||
	    cpu_feature_enabled(X86_FEATURE_XENPV))
		return -ENODEV;
	cpuid(0xa, &eax, &ebx, &ecx, &edx);
	x86_pmu.gp = min_t(int, (eax >> 8) & 0xff, X86_MAX_GP);
	x86_pmu.width = (eax >> 16) & 0xff;
	if (!(eax & 0xff) || !x86_pmu.gp || x86_pmu.width < 32)
		return -ENODEV;

	detect_fixed(eax & 0xff, ecx, edx);
	x86_pmu.counters = GENMASK(x86_pmu.gp - 1, 0) | x86_pmu.fixed;
	x86_pmu.value = GENMASK_ULL(x86_pmu.width - 1, 0);
	if (boot_cpu_has(X86_FEATURE_PDCM))
		kpmu_rdmsr_safe(MSR_IA32_PERF_CAPABILITIES, &caps);
	x86_pmu.full_width = caps & CAP_FULL_WIDTH_WRITE;
	x86_pmu.freeze_smi = caps & CAP_SMM_FREEZE;
	x86_pmu.metrics = caps & CAP_METRICS;
	x86_pmu.sign = BIT_ULL(x86_pmu.width - 1);
	detect_span();
	detect_registers((eax & 0xff) >= 3 && !(edx & BIT(15)));
	x86_pmu.version = eax & 0xff;
	detect_model(caps, ebx, eax >> 24);
	pr_info("%s PMU, version %d, %d general and %d fixed counters of %d bits%s%s%s%s\n",
		x86_pmu.model->name, x86_pmu.version, x86_pmu.gp,
		hweight32(x86_pmu.fixed), x86_pmu.width,
		static_key_enabled(&kpmu_kinds_key) ? ", two kinds of CPUs" : "",
		x86_pmu.full_width ? "" : ", 32-bit writes",
		x86_pmu.lbr ? ", " : "", x86_pmu.lbr ? x86_pmu.lbr->name : "");
	return 0;
}
