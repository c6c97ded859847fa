// SPDX-License-Identifier: GPL-2.0-only
/* Registers of AMD's LbrExtV2 (APM volume 2, "Debug and Performance Resources"), and IRPERF. */
#include "lbr.h"

#define BIT(n)		(1ul << (n))
#define NR		16
#define IRPERF_EN	BIT(30)
#define LOOP		(cases_start + 1)	/* 402 instructions */

int amd_lbr_kind(void)
{
	u32 r[4];

	cpuid(0x80000000, r);
	if (r[0] < 0x80000022)
		return 0;
	cpuid(0x80000022, r);
	return r[0] & 2 ? LBR_AMD : 0;
}

/* @e->info: bit 63 mispredicted, 2:0 valid, speculative and a reserved bit, TO[63:61] */
void amd_lbr_get(u32 n, struct lbr_entry *e)
{
	s64 from = rdmsr(MSR_AMD_FROM(n)), to = rdmsr(MSR_AMD_TO(n));

	e->from = from << 1 >> 1;
	e->to = to << 3 >> 3;
	e->info = (from & BIT(63)) | (u64)to >> 61;
}

u64 amd_lbr_reset_state(void)
{
	u64 bad = rdmsr(MSR_AMD_EXTN_CFG) | rdmsr(MSR_AMD_LBR_SELECT);

	for (u32 i = 0; i < NR; i++)
		bad |= rdmsr(MSR_AMD_FROM(i)) | rdmsr(MSR_AMD_TO(i));
	return bad;
}

/* What a register with an address keeps of each bit; @own are its other bits */
static int entry_bad(u32 msr, u64 own)
{
	u64 addr = ~own & ~(msr & 1 ? BIT(61) : 0);
	u32 r[4];
	int top, bad = 0;

	cpuid(7, r);
	top = r[2] >> 16 & 1 ? 56 : 47;
	for (int bit = 0; bit < 64; bit++) {
		u64 want = bit < top || own & BIT(bit) ? BIT(bit) : bit == top ? -BIT(bit) & addr : 0;

		wrmsr(msr, BIT(bit));
		bad += rdmsr(msr) != want;
	}
	wrmsr(msr, 0);
	return bad + (rdmsr(msr) != 0);
}

static void entries(void)
{
	u64 bad = 0;

	for (u32 i = 0; i < NR; i++) {
		bad += entry_bad(MSR_AMD_FROM(i), BIT(63));
		bad += entry_bad(MSR_AMD_TO(i), BIT(63) | BIT(62));
	}
	check(!bad, "amd lbr: FROM and TO keep addresses and their bits (%d bad)", bad);
	for (u32 i = 0; i < NR; i++) {
		wrmsr(MSR_AMD_FROM(i), 0x1000 + i);
		wrmsr(MSR_AMD_TO(i), BIT(63) | (0x2000 + i));
	}
	for (u32 i = 0; i < NR; i++)
		bad += rdmsr(MSR_AMD_FROM(i)) != 0x1000 + i ||
		       rdmsr(MSR_AMD_TO(i)) != (BIT(63) | (0x2000 + i));
	check(!bad, "amd lbr: 16 pairs of their own (%d bad)", bad);
	/* A branch moves all of them: entry 0 is the newest one */
	lbr_start(&(struct lbr_filter){ 1u << T_OTHER, 0, 1, 0 });
	for (u32 i = 0; i < NR; i++)
		wrmsr(MSR_AMD_FROM(i), 0x1000 + i);
	run_case(this_cpu(), LOOP, 0);
	lbr_stop();
	bad = rdmsr(MSR_AMD_TO(0)) != (BIT(63) | LOOP->entry);
	for (u32 i = 1; i < NR; i++)
		bad += rdmsr(MSR_AMD_FROM(i)) != 0x1000 + i - 1;
	check(!bad, "amd lbr: a record moves the older ones (%d bad)", bad);
	for (u32 i = 0; i < NR; i++) {
		wrmsr(MSR_AMD_FROM(i), 0);
		wrmsr(MSR_AMD_TO(i), 0);
	}
}

void amd_lbr_registers(void)
{
	static const struct reg regs[] = {
		{ "LBR_SELECT", MSR_AMD_LBR_SELECT, 1, 1, ~0ul, 0x1ff },
		{ "DBG_EXTN_CFG", MSR_AMD_EXTN_CFG, 1, 1, ~0ul, 0x40 },
	};
	u64 v = 0;

	check(lbr_kind() == LBR_AMD, "amd lbr: CPUID has it");
	for (int i = 0; i < 2; i++)
		check_reg(&regs[i]);
	wrmsr(MSR_AMD_EXTN_CFG, 0);
	wrmsr(MSR_AMD_LBR_SELECT, 0);
	entries();
	/* DebugCtl.LBR is that of the single record of older CPUs */
	wrmsr(MSR_DEBUGCTL, 1);
	run_case(this_cpu(), LOOP, 0);
	for (u32 i = 0; i < NR; i++)
		v |= rdmsr(MSR_AMD_TO(i)) >> 61;
	wrmsr(MSR_DEBUGCTL, 0);
	check(!v, "amd lbr: DebugCtl.LBR does not enable it");
}

/* Without it, all of its registers raise #GP, and nothing can be frozen */
void test_amd_no_lbr(void)
{
	static const u32 msrs[] = {
		MSR_AMD_LBR_SELECT, MSR_AMD_EXTN_CFG, MSR_AMD_FROM(0), MSR_AMD_TO(0),
		MSR_AMD_FROM(15), MSR_AMD_TO(15),
	};
	u64 v = 0, bad = 0;

	for (u64 i = 0; i < sizeof(msrs) / sizeof(*msrs); i++)
		bad += !probe_msr(msrs[i], &v, 0) + !probe_msr(msrs[i], &v, 1);
	check(!lbr_kind() && !bad, "amd lbr: there is none (%d registers)", bad);
	wrmsr(MSR_DEBUGCTL, BIT(11));
	check(!rdmsr(MSR_DEBUGCTL), "amd lbr: nor the bit that freezes it");
}

/* ---- IRPERF ----------------------------------------------------------------- */

static u64 irperf_delta(void)
{
	u64 v = rdmsr(MSR_AMD_IRPERF);

	run_case(this_cpu(), LOOP, 0);
	return rdmsr(MSR_AMD_IRPERF) - v;
}

/* Retired instructions at all levels, while HWCR.IRPerfEn is set */
void test_amd_irperf(void)
{
	u64 off, on, longer, kernel, v;
	u32 r[4];

	cpuid(0x80000008, r);
	if (!param("irperf", 0)) {
		check(!(r[1] & 2), "amd irperf: there is none");
		return;
	}
	check(r[1] & 2 && !rdmsr(MSR_HWCR), "amd irperf: CPUID has it, HWCR is 0");
	v = rdmsr(MSR_AMD_IRPERF);
	off = irperf_delta();
	check(!v && !off, "amd irperf: not enabled, %d %d", v, off);
	wrmsr(MSR_HWCR, ~0ul);
	check(rdmsr(MSR_HWCR) == IRPERF_EN, "amd irperf: HWCR %x", rdmsr(MSR_HWCR));
	on = irperf_delta();
	gp_start(0, EV_INSN | SEL_USR, 0);
	gp_start(1, EV_INSN | SEL_OS, 0);
	kernel = ctr_read(1);
	longer = irperf_delta();
	kernel = ctr_read(1) - kernel;
	check(ctr_read(0) == LOOP->insn, "amd irperf: %d in user mode", ctr_read(0));
	check(on == longer && on > LOOP->insn && on - LOOP->insn < kernel &&
	      kernel - (on - LOOP->insn) < 100,
	      "amd irperf: %d, of which %d in the kernel", on, kernel);
	pmu_stop();
	wrmsr(MSR_AMD_IRPERF, 0);
	check(rdmsr(MSR_AMD_IRPERF) > on, "amd irperf: read-only");
	wrmsr(MSR_HWCR, 0);
	check(!irperf_delta(), "amd irperf: disabled");
}
