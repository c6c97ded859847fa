// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check the registers against the SDM (volume 3, "Performance Monitoring", and
 * volume 4): which exist, which bits are valid, which values they read.  Each bit
 * of each register is written separately.
 */
#include "pebs.h"

#define BIT(n) (1ul << (n))

void check_reg(const struct reg *r)
{
	u64 old = 0, v, bad_rd = 0, bad_gp = 0, bad_val = 0;

	if (probe_msr(r->msr, &old, 0) == r->there)
		bad_rd++;
	for (int bit = -1; bit < 64; bit++) {
		u64 w = bit < 0 ? 0 : BIT(bit);
		int ok = r->writable && !(w & ~r->valid);

		v = w;
		if (probe_msr(r->msr, &v, 1) == ok)
			bad_gp |= bit < 0 ? 1 : w;
		else if (ok && r->there && rdmsr(r->msr) != (w & r->reads_as))
			bad_val |= w;
	}
	if (r->there && r->writable) {
		v = r->valid & ~old ? old & r->valid : old;
		probe_msr(r->msr, &v, 1);
	}
	check(!bad_rd && !bad_gp && !bad_val,
	      "msr: %s %x %s (read %d, #GP at bits %x, value at bits %x)",
	      r->name, (u64)r->msr, r->there ? "" : "is absent", bad_rd, bad_gp, bad_val);
}

static u64 any_bit(void)
{
	return pmu.version == 3 || pmu.version == 4;
}

void test_registers(void)
{
	u32 feat[4];
	u64 caps = 0, fw, v2 = pmu.version >= 2, v4 = pmu.version >= 4;
	u64 sel = 0xffffffff & ~(any_bit() ? 0 : SEL_ANY);
	u64 ovf = pmu_all() | BIT(62) | BIT(63);
	u64 ctrl = 0, debugctl = v2 ? 0x3fc3 : 0x7c3;

	cpuid(1, feat);
	fw = !probe_msr(MSR_PERF_CAPS, &caps, 0) && caps & BIT(13);
	if (caps & BIT(12))
		debugctl |= BIT(14);
	if (pmu.version >= 3)
		ovf |= BIT(61);
	if (v4)
		ovf |= BIT(58) | BIT(59) | BIT(60);
	for (u32 i = 0; i < pmu.fixed; i++)
		ctrl |= (any_bit() ? 0xful : 0xb) << 4 * i;
	if ((caps >> 8 & 15) >= 4) {		/* adaptive PEBS */
		sel |= BIT(34);
		for (u32 i = 0; i < pmu.fixed; i++)
			ctrl |= BIT(32 + 4 * i);
	}
	if (v2)
		wrmsr(MSR_GLOBAL_CTRL, 0);

	for (u32 i = 0; i < 8; i++) {
		int there = i < pmu.gp;
		/* Reads back sign-extended from bit 31: checked separately below */
		struct reg c = { "IA32_PMC", MSR_PMC(i), there, there, ~0ul, 0x7fffffff };
		struct reg s = { "IA32_PERFEVTSEL", MSR_PERFEVTSEL(i), there, there, sel, sel };
		struct reg f = { "IA32_A_PMC", MSR_FULL(i), there && fw, there && fw,
				 pmu.mask, pmu.mask };
		u64 v = 0;

		if (there) {
			wrmsr(MSR_PMC(i), BIT(31));
			check(rdmsr(MSR_PMC(i)) == (pmu.mask & ~0x7ffffffful),
			      "msr: IA32_PMC%d, bit 31 is the sign", (u64)i);
			/* then the bits that are ignored, and those below the sign */
			for (int bit = 32; bit < 64; bit++) {
				wrmsr(MSR_PMC(i), BIT(bit) | 5);
				v |= rdmsr(MSR_PMC(i)) ^ 5;
			}
			check(!v, "msr: IA32_PMC%d, bits 32 to 63 are ignored", (u64)i);
			for (int bit = 0; bit < 31; bit++) {
				wrmsr(MSR_PMC(i), BIT(bit));
				v |= rdmsr(MSR_PMC(i)) ^ BIT(bit);
			}
			check(!v, "msr: IA32_PMC%d, bits 0 to 30", (u64)i);
			wrmsr(MSR_PMC(i), 0);
		} else {
			check_reg(&c);
		}
		check_reg(&s);
		check_reg(&f);
	}
	for (u32 i = 0; i < 6; i++) {
		int there = v2 && i < pmu.fixed;
		struct reg r = { "IA32_FIXED_CTR", MSR_FIXED(i), there, there,
				 pmu.mask, pmu.mask };
		check_reg(&r);
	}

	const struct reg regs[] = {
		{ "IA32_FIXED_CTR_CTRL", MSR_FIXED_CTRL, v2, v2, ctrl, ctrl },
		{ "IA32_PERF_GLOBAL_STATUS", MSR_GLOBAL_STATUS, v2, 0, 0, 0 },
		{ "IA32_PERF_GLOBAL_CTRL", MSR_GLOBAL_CTRL, v2, v2, pmu_all(), pmu_all() },
		{ "IA32_PERF_GLOBAL_OVF_CTRL", MSR_GLOBAL_OVF, v2, v2, ovf, 0 },
		{ "IA32_PERF_GLOBAL_STATUS_SET", MSR_GLOBAL_SET, v4, v4, ovf & ~BIT(63), 0 },
		{ "IA32_PERF_GLOBAL_INUSE", MSR_GLOBAL_INUSE, v4, 0, 0, 0 },
		{ "IA32_PERF_CAPABILITIES", MSR_PERF_CAPS, feat[2] >> 15 & 1, 0, 0, 0 },
		{ "IA32_DEBUGCTL", MSR_DEBUGCTL, 1, 1, debugctl, debugctl },
		{ "MSR_PERF_METRICS", 0x329, 0, 0, 0, 0 },
		{ "OFFCORE_RSP_0", MSR_OFFCORE_RSP(0), 1, 1, ~0ul, ~0ul },
		{ "OFFCORE_RSP_1", MSR_OFFCORE_RSP(1), 1, 1, ~0ul, ~0ul },
	};
	for (u64 i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		check_reg(&regs[i]);
	if (v4)
		wrmsr(MSR_GLOBAL_OVF, ovf);
	pmu_stop();
}

/* CPUID leaf 0AH and the PDCM bit */
void test_cpuid(void)
{
	u32 r[4], feat[4];

	cpuid(0xa, r);
	cpuid(1, feat);
	check(pmu.version == (u32)param("version", 4) && pmu.gp == (u32)param("gp", 4) &&
	      pmu.fixed == (u32)param("fixed", 3) && pmu.width == (u32)param("width", 48),
	      "cpuid: version %d, %d general and %d fixed counters of %d bits",
	      (u64)pmu.version, (u64)pmu.gp, (u64)pmu.fixed, (u64)pmu.width);
	check(pmu.events == (pmu.version >= 5 ? 8 : 7) &&
	      r[1] == (u32)param("unavail", 0), "cpuid: %d events, unavailable %x",
	      (u64)pmu.events, (u64)r[1]);
	check(r[2] == (pmu.version >= 5 ? (1u << pmu.fixed) - 1 : 0), "cpuid: ECX %x", (u64)r[2]);
	check(pmu.version < 2 ? r[3] == 0 :
	      r[3] == (pmu.fixed | pmu.width << 5 | (pmu.version >= 5) << 15),
	      "cpuid: EDX %x", (u64)r[3]);
	check(feat[2] >> 15 & 1, "cpuid: PDCM");
}

void check_reset_state(const char *what)
{
	u64 bad = 0;

	for (u32 i = 0; i < pmu.gp; i++)
		bad |= rdmsr(MSR_PMC(i)) | rdmsr(MSR_PERFEVTSEL(i));
	if (pmu.amd) {
		check(!(bad | amd_bad_reset_state() | lbr_reset_state()), "%s: all 0, counters are enabled", what);
		return;
	}
	for (u32 i = 0; i < pmu.fixed; i++)
		bad |= rdmsr(MSR_FIXED(i));
	if (pmu.version >= 2) {
		bad |= rdmsr(MSR_FIXED_CTRL) | rdmsr(MSR_GLOBAL_STATUS);
		bad |= rdmsr(MSR_GLOBAL_CTRL) != BIT(pmu.gp) - 1;
	}
	bad |= rdmsr(MSR_DEBUGCTL) | lbr_reset_state() | pebs_reset_state();
	check(!bad, "%s: all 0, GLOBAL_CTRL enables the general counters", what);
}

/* RDPMC with every kind of index, in supervisor mode */
extern const struct ucase rdpmc_cases[];

void test_rdpmc(void)
{
	u64 v, bad = 0;

	pmu_stop();
	for (u32 i = 0; i < pmu.gp; i++)
		ctr_write(i, 0x1000 + i);
	for (u32 i = 0; i < pmu.fixed; i++)
		ctr_write(32 + i, 0x2000 + i);
	for (u32 i = 0; i < 20; i++) {
		int gp = probe_rdpmc(i, &v);

		bad += gp != (i >= pmu.gp) || (!gp && v != 0x1000 + i);
	}
	check(!bad, "rdpmc: general counters and absent ones");
	bad = 0;
	for (u32 i = 0; i < 20; i++) {
		int gp = probe_rdpmc(0x40000000 | i, &v);

		bad += gp != (i >= pmu.fixed) || (!gp && v != 0x2000 + i);
	}
	check(!bad, "rdpmc: fixed counters and absent ones");
	bad = 0;
	for (int bit = 16; bit < 32; bit++)
		if (bit != 30)
			bad += !probe_rdpmc(1u << bit, &v);
	check(!bad, "rdpmc: other types");
	check(rdmsr(STAT_RDPMC) == pmu.gp + pmu.fixed, "rdpmc: statistics, %d",
	      rdmsr(STAT_RDPMC));

	/* RDPMC returns the full width without sign extension */
	ctr_write(0, -2);
	check(!probe_rdpmc(0, &v) && v == pmu.mask - 1, "rdpmc: %x", v);
	pmu_stop();
}

/* Architectural events that are unavailable (x-pmu-unavail) do not count */
void test_unavail(void)
{
	static const u32 code[8] = { 0x3c, 0xc0, 0x13c, 0x4f2e, 0x412e, 0xc4, 0xc5, 0x1a4 };
	const struct ucase *loop = cases_start + 1;

	for (u32 i = 0; i < 8; i++) {
		int on = i < pmu.events && !(pmu.unavail >> i & 1);

		wrmsr(STAT_COLD, 0);
		gp_start(0, code[i] | SEL_USR, 0);
		run_case(this_cpu(), loop, 0);
		check((ctr_read(0) != 0) == on || i == 7, "unavail: event %d counts %d",
		      (u64)i, ctr_read(0));
		pmu_stop();
	}
}
