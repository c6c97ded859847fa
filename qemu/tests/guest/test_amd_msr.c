// SPDX-License-Identifier: GPL-2.0-only
/*
 * AMD's registers, against the APM (volume 2, "Performance Monitoring Counters"): which
 * exist, which bits are kept, how a counter and its overflow behave.
 */
#include "lbr.h"

#define BIT(n)		(1ul << (n))
/* Event, unit mask, USR, OS, EDGE, INT, EN, INV, CMASK, guest only, host only */
#define CTL_VALID	0x30fffd7fffful
#define PMC_FREEZE	BIT(59)
#define LOOP		(cases_start + 1)	/* 402 instructions */

static u32 cpuid_reg(u32 leaf, int reg)
{
	u32 r[4];

	cpuid(leaf, r);
	return r[reg];
}

/* SYSENTER is undefined in long mode: the handler of the fault skips it */
static void no_sysenter(void)
{
	struct ucase *c = (struct ucase *)find_case("sysenter");

	c->insn--;
	c->br--;
}

int amd_detect(void)
{
	u32 sig = cpuid_reg(1, 0);

	if (cpuid_reg(0, 1) != 0x68747541)	/* "Auth" */
		return 0;
	no_sysenter();
	pmu.amd = 1;
	pmu.zen = (sig >> 8 & 15) + (sig >> 20 & 255) >= 0x17;
	pmu.core = cpuid_reg(0x80000001, 2) >> 23 & 1;
	pmu.gp = pmu.core ? 6 : 4;
	pmu.version = 1;
	if (cpuid_reg(0x80000000, 0) >= 0x80000022 && cpuid_reg(0x80000022, 0) & 1) {
		pmu.version = 2;
		pmu.gp = cpuid_reg(0x80000022, 1) & 15;
	}
	pmu.width = 48;
	pmu.mask = BIT(48) - 1;
	return 1;
}

void test_amd_cpuid(void)
{
	int lbr = param("lbr", 0);
	u32 r[4];

	check(pmu.amd && pmu.version == (u32)param("version", 1) && pmu.gp == (u32)param("gp", 6),
	      "amd cpuid: version %d, %d counters", (u64)pmu.version, (u64)pmu.gp);
	check(pmu.core == (pmu.gp == 6), "amd cpuid: perfctr-core");
	cpuid(0xa, r);
	check(!(r[0] | r[1] | r[2] | r[3]), "amd cpuid: leaf 0AH is 0");
	cpuid(0x80000022, r);
	check(pmu.version == 1 || (r[0] == (lbr ? 7 : 5) && r[1] == (lbr ? 0x106 : 6) && !r[2] &&
				   !r[3]),
	      "amd cpuid: leaf 80000022H: %x %x", (u64)r[0], (u64)r[1]);
}

u64 amd_bad_reset_state(void)
{
	if (pmu.version < 2)
		return 0;
	return rdmsr(MSR_AMD_STATUS) | (rdmsr(MSR_AMD_CTL) ^ (BIT(pmu.gp) - 1));
}

/* The addresses of K7 are the first four counters */
static void check_alias(void)
{
	u64 bad = 0;

	for (u32 i = 0; i < 4; i++) {
		wrmsr(MSR_CORE_CTL(i), 0x100c0 + i);
		wrmsr(MSR_CORE_CTR(i), 0x1000 + i);
		bad |= rdmsr(MSR_K7_CTL(i)) ^ (0x100c0 + i);
		bad |= rdmsr(MSR_K7_CTR(i)) ^ (0x1000 + i);
		wrmsr(MSR_K7_CTL(i), 0);
		wrmsr(MSR_K7_CTR(i), 0);
		bad |= rdmsr(MSR_CORE_CTL(i)) | rdmsr(MSR_CORE_CTR(i));
	}
	check(!bad, "amd msr: two addresses of counters 0 to 3 (%x)", bad);
}

void test_amd_registers(void)
{
	int v2 = pmu.version >= 2;
	u64 all = BIT(pmu.gp) - 1, frozen = PMC_FREEZE | (lbr_kind() ? LBR_FRZ : 0);
	u64 debugctl = 0x3f | (v2 ? BIT(12) : 0) | (lbr_kind() ? BIT(11) : 0);
	const struct reg regs[] = {
		{ "PerfCntrGlobalStatus", MSR_AMD_STATUS, v2, v2, ~0ul, 0 },
		{ "PerfCntrGlobalCtl", MSR_AMD_CTL, v2, v2, ~0ul, all },
		{ "PerfCntrGlobalStatusClr", MSR_AMD_CLEAR, v2, v2, ~0ul, 0 },
		{ "PerfCntrGlobalStatusSet", MSR_AMD_SET, v2, v2, ~0ul, 0 },
		{ "DebugCtl", MSR_DEBUGCTL, 1, 1, ~0ul, debugctl },
	};

	if (v2)
		wrmsr(MSR_AMD_CTL, 0);
	for (u32 i = 0; i < 6; i++) {
		int k7 = i < 4, core = pmu.core;
		const struct reg c[4] = {
			{ "PerfEvtSel", MSR_K7_CTL(i), k7, k7, ~0ul, CTL_VALID },
			{ "PerfCtr", MSR_K7_CTR(i), k7, k7, ~0ul, pmu.mask },
			{ "PERF_CTL", MSR_CORE_CTL(i), core, core, ~0ul, CTL_VALID },
			{ "PERF_CTR", MSR_CORE_CTR(i), core, core, ~0ul, pmu.mask },
		};

		for (int n = k7 ? 0 : 2; n < 4; n++)
			check_reg(&c[n]);
	}
	for (u64 i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		check_reg(&regs[i]);
	if (pmu.core)
		check_alias();
	if (v2) {
		wrmsr(MSR_AMD_SET, ~0ul);
		check(rdmsr(MSR_AMD_STATUS) == (all | frozen), "amd msr: status set, %x",
		      rdmsr(MSR_AMD_STATUS));
		wrmsr(MSR_AMD_CLEAR, 1);
		check(rdmsr(MSR_AMD_STATUS) == ((all | frozen) & ~1ul),
		      "amd msr: one bit cleared");
		wrmsr(MSR_AMD_CLEAR, ~0ul);
		check(!rdmsr(MSR_AMD_STATUS), "amd msr: all bits cleared");
	}
	pmu_stop();
}

void test_amd_rdpmc(void)
{
	u64 v, bad = 0;

	pmu_stop();
	for (u32 i = 0; i < pmu.gp; i++)
		ctr_write(i, 0x1000 + i);
	for (u32 i = 0; i < 20; i++) {
		int gp = probe_rdpmc(i, &v);

		bad += gp != (i >= pmu.gp) || (!gp && v != 0x1000 + i);
	}
	for (int bit = 5; bit < 32; bit++)
		bad += !probe_rdpmc(1u << bit, &v);
	check(!bad, "amd rdpmc: all counters and absent ones");
	ctr_write(0, -2);
	check(!probe_rdpmc(0, &v) && v == pmu.mask - 1, "amd rdpmc: %x", v);
	pmu_stop();
}

/* 48 bits; an overflow is seen by bit 47 only */
void test_amd_width(void)
{
	struct cpu *cpu = this_cpu();

	gp_start(0, EV_INSN | SEL_USR, 0xabcdul << 48 | 0x80000000);
	check(ctr_read(0) == 0x80000000, "amd width: no sign, upper bits are ignored, %x",
	      ctr_read(0));
	run_case(cpu, LOOP, 0);
	check(ctr_read(0) == 0x80000000 + LOOP->insn, "amd width: counts on");
	ctr_write(0, -100ul);
	check(ctr_read(0) == (-100ul & pmu.mask) && ctr_read(0) >> 47 == 1,
	      "amd width: bit 47 before the overflow");
	run_case(cpu, LOOP, 0);
	check(ctr_read(0) == LOOP->insn - 100, "amd width: and after it, %x", ctr_read(0));
	pmu_stop();
}

static u64 overflow(struct cpu *cpu, u32 lvtpc)
{
	cpu->pmis = cpu->pmi_status = 0;
	apic_write(APIC_LVTPC, lvtpc);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -50ul);
	run_case(cpu, LOOP, 0);
	return cpu->pmis;
}

/* The delivery of a PMI does not set the mask bit of LVTPC */
void test_amd_lvtpc(void)
{
	struct cpu *cpu = this_cpu();

	cpu->rearm = 0;
	check(overflow(cpu, LVT_NMI) == 1, "amd lvtpc: NMI");
	check(apic_read(APIC_LVTPC) == LVT_NMI, "amd lvtpc: delivery does not mask it");
	ctr_write(0, -50ul);
	run_case(cpu, LOOP, 0);
	check(cpu->pmis == 2, "amd lvtpc: so there is a second one, %d", cpu->pmis);
	if (pmu.version >= 2)
		check(rdmsr(MSR_AMD_STATUS) == 1, "amd lvtpc: status stays until it is cleared");
	pmu_stop();
	check(overflow(cpu, LVT_NMI | LVT_MASKED) == 0, "amd lvtpc: masked");
	check(ctr_read(0) == LOOP->insn - 50, "amd lvtpc: the counter goes on");
	pmu_stop();
}

static u64 in_handler;

static void freeze_pmi(struct cpu *cpu, struct frame *f)
{
	in_handler = ctr_read(1);
}

/* DebugCtl[12]: a PMI stops all counters until PMCFreeze is cleared */
void test_amd_freeze(void)
{
	struct cpu *cpu = this_cpu();

	if (pmu.version < 2)
		return;
	wrmsr(MSR_DEBUGCTL, BIT(12));
	cpu->on_pmi = freeze_pmi;
	gp_start(1, EV_INSN | SEL_USR | SEL_OS, 0);
	u64 n = overflow(cpu, LVT_NMI);
	cpu->on_pmi = 0;
	check(n == 1 && ctr_read(0) == 0, "amd freeze: exactly at the overflow, %d", ctr_read(0));
	check(ctr_read(1) == in_handler && in_handler > 50, "amd freeze: other counters, too");
	check(rdmsr(MSR_AMD_STATUS) == (PMC_FREEZE | 1) && rdmsr(MSR_AMD_CTL) == BIT(pmu.gp) - 1,
	      "amd freeze: status %x", rdmsr(MSR_AMD_STATUS));
	wrmsr(MSR_AMD_CLEAR, PMC_FREEZE);
	run_case(cpu, LOOP, 0);
	check(ctr_read(0) == LOOP->insn, "amd freeze: clearing it goes on");
	wrmsr(MSR_AMD_SET, PMC_FREEZE);
	run_case(cpu, LOOP, 0);
	check(ctr_read(0) == LOOP->insn, "amd freeze: setting it freezes");
	wrmsr(MSR_AMD_CLEAR, ~0ul);
	wrmsr(MSR_DEBUGCTL, 0);
	check(overflow(cpu, LVT_NMI) == 1 && ctr_read(0) == LOOP->insn - 50,
	      "amd freeze: off again");
	pmu_stop();
}
