// SPDX-License-Identifier: GPL-2.0-only
/*
 * PEBS: memory information with the levels and cycles that the model invents (4, 40 and
 * 200, and 20 for a TLB miss), events that helpers count, groups of adaptive records.
 */
#include "pebs.h"

#define L1	1u
#define L3	4u
#define RAM	0xcu
#define TLB	0x10u
#define LOCK	0x20u

#define EV_L1_MISS	0x08d1
#define EV_L3_MISS	0x20d1
#define EV_BR_MISS	0x00c5

/* Run a case with a record after each @reset + 1 events */
static u64 sample(const char *name, u32 event, u64 reset, int cold)
{
	struct cpu *cpu = this_cpu();

	if (cold)
		wrmsr(STAT_COLD, 0);
	pebs_setup(cpu, CFG_GPR | CFG_MEM);
	if (pebs_fmt() < 4 && event == EV_LATENCY)
		wrmsr(MSR_PEBS_ENABLE, 1ul << 32);
	pebs_start(0, event | SEL_USR, reset, reset);
	run_case(cpu, find_case(name), 0);
	pebs_stop();
	return pebs_records(cpu);
}

/* Sapphire Rapids has it twice */
static int split;

static u64 latency(u64 cycles)
{
	return split ? cycles | cycles << 32 : cycles;
}

/* Record @n must have this address, source and latency */
static int wrong(u32 n, u64 addr, u32 source, u64 cycles)
{
	struct sample s;

	if (pebs_get(this_cpu(), n, &s) && s.addr == addr && s.source == source &&
	    s.latency == latency(cycles))
		return 0;
	print("# record %d: address %x source %x latency %x, not %x %x %x\n", (u64)n, s.addr,
	      s.source, s.latency, addr, (u64)source, latency(cycles));
	return 1;
}

static void loads(void)
{
	struct sample s;
	u64 nr, bad = 0;

	/* 1,024 lines of 16 pages: every third load */
	nr = sample("64 KiB", EV_LD, 2, 1);
	for (u64 i = 0; i < nr; i++) {
		u64 line = 3 * i + 2;

		bad += wrong(i, DEMAND + line * 64, line % 64 ? RAM : RAM | TLB, 0);
		pebs_get(this_cpu(), i, &s);
		bad += s.ip != find_case("64 KiB")->entry + 5;
	}
	check(nr == 341 && !bad, "memory: loads from RAM, %d records, %d bad", nr, bad);
	bad = 0;
	nr = sample("64 KiB", EV_LD, 2, 0);
	for (u64 i = 0; i < nr; i++)
		bad += wrong(i, DEMAND + (3 * i + 2) * 64, L3, 0);
	check(nr == 341 && !bad, "memory: loads from L3, %d records, %d bad", nr, bad);
	bad = 0;
	nr = sample("loop", EV_LD, 1, 0);
	for (u64 i = 0; i < nr; i++)
		bad += wrong(i, (u64)this_cpu()->data, L1, 0);
	check(nr == 50 && !bad, "memory: loads from L1, %d records, %d bad", nr, bad);
	nr = sample("across two fresh pages", EV_LD, 1, 1);
	check(nr == 1 && !wrong(0, DEMAND + 20472, RAM | TLB, 0), "memory: a load across pages");
	/* The seventh load is a gather, whose addresses are not known */
	nr = sample("vectors", EV_LD, 6, 0);
	check(nr == 1 && !wrong(0, 0, 0, 0), "memory: a gather");
	nr = sample("fxsave", EV_LD, 1, 1);
	check(nr == 0, "memory: no loads, no records");
}

static void stores(void)
{
	u64 nr, bad = 0;

	nr = sample("loop", EV_ST, 1, 0);
	for (u64 i = 0; i < nr; i++)
		bad += wrong(i, (u64)this_cpu()->data + 8, L1, 0);
	check(nr == 50 && !bad, "memory: stores, %d records, %d bad", nr, bad);
	/* 5 pages, each a TLB miss in each of 3 rounds; in L1 after the first */
	nr = sample("TLB conflict", EV_ST, 1, 1);
	bad = 0;
	for (u64 i = 0; i < nr; i++) {
		u64 k = 2 * i + 1;

		bad += wrong(i, DEMAND_RAM + k % 5 * 0x10000, (k < 5 ? 0 : L1) | TLB, 0);
	}
	check(nr == 7 && !bad, "memory: stores with TLB misses, %d records, %d bad", nr, bad);
	/* st, xchg, add, xadd: locked ones from the second on */
	nr = sample("locked", EV_ST, 1, 0);
	check(nr == 2 && !wrong(0, (u64)this_cpu()->data, L1 | LOCK, 0) &&
	      !wrong(1, (u64)this_cpu()->data, L1 | LOCK, 0), "memory: locked stores");
	nr = sample("locked", EV_LD, 1, 0);
	check(nr == 2 && !wrong(0, (u64)this_cpu()->data, L1 | LOCK, 0) &&
	      !wrong(1, (u64)this_cpu()->data, L1, 0), "memory: a locked load, a load");
}

/* Number of loads above a threshold, and records of them */
static void above(u64 threshold, int cold, u64 events, u64 cycles, u32 source, u64 line)
{
	struct cpu *cpu = this_cpu();
	u64 n, nr;

	if (cold)
		wrmsr(STAT_COLD, 0);
	wrmsr(MSR_PEBS_LD_LAT, threshold);
	gp_start(0, EV_LATENCY | SEL_USR, 0);
	run_case(cpu, find_case("64 KiB"), 0);
	n = ctr_read(0);
	pmu_stop();
	nr = sample("64 KiB", EV_LATENCY, 1, cold);
	check(n == events && nr == events / 2 &&
	      (!nr || !wrong(0, DEMAND + line * 64, source, cycles)),
	      "memory: %d loads take more than %d cycles, %d records", n, threshold, nr);
	wrmsr(MSR_PEBS_LD_LAT, 0);
}

void test_pebs_memory(void)
{
	split = param("split", 0);
	loads();
	stores();
	above(3, 1, 1024, 200, RAM, 1);
	above(199, 1, 1024, 200, RAM, 1);
	above(200, 1, 16, 220, RAM | TLB, 64);
	above(220, 1, 0, 0, 0, 0);
	above(39, 0, 1024, 40, L3, 1);
	above(40, 0, 0, 0, 0, 0);
}

/* ---- other events --------------------------------------------------------------------- */

/* All records must be about the instruction at @ip */
static void at(const char *name, u32 event, u64 reset, int cold, u64 want, u64 ip, u64 mem)
{
	u64 nr = sample(name, event, reset, cold), bad = 0;
	struct sample s;

	for (u64 i = 0; i < nr; i++) {
		bad += !pebs_get(this_cpu(), i, &s) || s.ip != find_case(name)->entry + ip;
		bad += (s.addr != 0) != mem || (s.source != 0) != mem || s.latency;
	}
	check(nr == want && !bad, "events: %x in %s: %d records (%d), %d bad", (u64)event, name,
	      nr, want, bad);
}

/* Cycles: the instruction that reaches the period, then the next one */
static void cycles(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *c = cases_start;		/* 10 NOPs */
	u64 bad = 0, last = pebs_fmt() < 4 ? 1 : 3;
	struct sample s;

	for (u64 p = 1; p < 18; p++) {
		for (u64 way = 0; way <= last; way++) {
			/* 0: armed first; 1: PREC_DIST with INV and CMASK; 2, 3: fixed */
			int ctr = way < 2 ? (int)way : 31 + (int)way;
			u64 sel = way == 1 ? EV_PREC_DIST | SEL_INV | SEL_CMASK(16) : EV_CYC;
			u64 insn = (p + CPI - 1) / CPI + (way != 1 || pebs_fmt() >= 4);

			if (way == 3)			/* reference cycles */
				insn = (p * 2 + 4) / 5 + 1;
			pebs_setup(cpu, CFG_GPR);
			pebs_start(ctr, sel | SEL_USR, p, NO_RESET);
			run_case(cpu, c, 0);
			pebs_get(cpu, 0, &s);
			if (insn <= 10 && (pebs_records(cpu) != 1 || s.ip != c->entry + insn - 1)) {
				print("# way %d, period %d: ip %d, not %d\n", way, p,
				      s.ip - c->entry, insn - 1);
				bad++;
			}
			pebs_stop();
		}
	}
	check(!bad, "events: cycles (%d bad)", bad);

	/* 5 for 2 instructions: a fraction does not survive a record */
	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, EV_REF | SEL_USR, 3, 3);
	run_case(cpu, c, 0);
	pebs_stop();
	bad = pebs_records(cpu) != 3;
	for (u32 i = 0; i < pebs_records(cpu); i++)
		bad += !pebs_get(cpu, i, &s) || s.ip != c->entry + 3 * i + 2;
	check(!bad, "events: reference cycles, %d records", pebs_records(cpu));
}

/* Cycles without a branch: 2 of each instruction of the loop, but 1 of the JNZ */
static void without_branch(void)
{
	static const struct { u64 period, ip; } t[] = {
		{ 1, 5 }, { 2, 5 }, { 3, 8 }, { 8, 14 }, { 9, 5 }, { 10, 8 },
	};
	struct cpu *cpu = this_cpu();
	const struct ucase *c = find_case("loop");
	struct sample s;
	u64 bad = 0;

	for (u64 i = 0; i < sizeof(t) / sizeof(*t); i++) {
		pebs_setup(cpu, CFG_GPR);
		pebs_start(0, EV_BR | SEL_CMASK(1) | SEL_INV | SEL_USR, t[i].period, NO_RESET);
		run_case(cpu, c, 0);
		pebs_get(cpu, 0, &s);
		bad += pebs_records(cpu) != 1 || s.ip != c->entry + t[i].ip;
		pebs_stop();
	}
	check(!bad, "events: cycles without a branch (%d bad)", bad);
}

void test_pebs_events(void)
{
	at("64 KiB", EV_L1_MISS, 1, 1, 512, 5, 1);
	at("64 KiB", EV_L3_MISS, 2, 1, 341, 5, 1);
	at("64 KiB", EV_L1_MISS, 1, 0, 512, 5, 1);
	at("64 KiB", 0x0e08, 1, 1, 8, 5, 0);		/* TLB misses have no address */
	at("loop", EV_BR_MISS, 1, 1, 1, 14, 0);
	at("loop", 0x20c4, 7, 1, 12, 14, 0);		/* 99 taken branches */
	at("nested calls", 0x02c4, 18, 1, 1, 16, 0);
	cycles();
	without_branch();
}

/* ---- groups ---------------------------------------------------------------------------- */

static void groups(struct cpu *cpu, u32 cfg, const char *what)
{
	const struct ucase *c = find_case("loop");
	u64 bad = 0, nr;
	struct sample s;

	pebs_setup(cpu, cfg);
	pebs_start(3, EV_INSN | SEL_USR, 4, 4);
	run_case(cpu, c, 0);
	pebs_stop();
	nr = pebs_records(cpu);
	for (u64 i = 0; i < nr; i++) {
		bad += !pebs_get(cpu, i, &s) || s.status != 8 || !s.tsc != (pebs_fmt() < 3);
		if (cfg & CFG_GPR)
			bad += s.gpr[DI] != (u64)cpu->data || s.next <= c->entry;
	}
	check(nr == 80 && !bad, "groups: %s, %d records of %d bytes, %d bad", what, nr,
	      (u64)pebs_size(), bad);
}

static void xmm(struct cpu *cpu)
{
	static u64 old[32] __attribute__((aligned(16)));
	u64 bad = 0;
	struct sample s;

	for (int i = 0; i < 32; i++)
		old[i] = 0x0123456789abcdef * (i + 1);
	pebs_setup(cpu, CFG_XMM | CFG_GPR);
	pebs_start(0, EV_INSN | SEL_USR, 40, NO_RESET);
#define LOAD(n) asm volatile("movaps %0, %%xmm" #n :: "m"(*(char (*)[16])&old[2 * n]))
	LOAD(0); LOAD(1); LOAD(2); LOAD(3); LOAD(4); LOAD(5); LOAD(6); LOAD(7);
	LOAD(8); LOAD(9); LOAD(10); LOAD(11); LOAD(12); LOAD(13); LOAD(14); LOAD(15);
	run_case(cpu, find_case("loop"), 0);
	pebs_stop();
	bad += !pebs_get(cpu, 0, &s) || pebs_records(cpu) != 1;
	for (int i = 0; i < 32; i++)
		bad += s.xmm[i] != old[i];
	check(!bad, "groups: XMM registers, %d bad", bad);
}

/* The record of the last instruction has the LBR as it is afterwards */
static void lbr(struct cpu *cpu, u32 nr)
{
	const struct lcase *c = lbr_find("more records than entries");
	u64 bad = 0, insn;
	struct sample s;

	if (!lbr_kind())
		return;
	gp_start(0, EV_INSN | SEL_USR, 0);
	run_case(cpu, CASE_OF(c), 0);
	insn = ctr_read(0);
	pmu_stop();
	pebs_setup(cpu, CFG_LBR(nr));
	pebs_start(0, EV_INSN | SEL_USR, insn - 1, NO_RESET);
	lbr_run(cpu, c, &lbr_all_user, 0);
	bad += !pebs_get(cpu, 0, &s) || pebs_records(cpu) != 1;
	for (u32 i = 0; i < nr; i++) {
		struct lbr_entry e;

		lbr_get(i, &e);
		bad += s.lbr[3 * i] != e.from || s.lbr[3 * i + 1] != e.to ||
		       s.lbr[3 * i + 2] != e.info;
	}
	pebs_stop();
	check(!bad && s.lbr[0], "groups: %d entries of the LBR, %d bad", (u64)nr, bad);
}

/* A counter without its Adaptive bit: the basic group only */
static void basic(struct cpu *cpu)
{
	const u64 *r = (void *)pebs_buffer[cpu->nr];
	u64 ip = find_case("loop")->entry + 5;

	pebs_setup(cpu, CFG_GPR | CFG_MEM | CFG_XMM);
	pebs_start(0, EV_INSN | SEL_USR, 49, NO_RESET);
	wrmsr(MSR_PERFEVTSEL(0), EV_INSN | SEL_USR | SEL_EN);
	run_case(cpu, find_case("loop"), 0);
	check(pebs_ds[0].index == pebs_ds[0].base + 32 && r[0] == 32ul << 48 && r[1] == ip &&
	      r[2] == 1, "groups: without Adaptive, %x", r[0]);
	pebs_stop();
	/* ... with precise distribution on the fixed counter */
	pebs_setup(cpu, CFG_GPR | CFG_MEM | CFG_XMM);
	pebs_start(32, SEL_USR, 50, NO_RESET);
	wrmsr(MSR_FIXED_CTRL, 2);
	run_case(cpu, find_case("loop"), 0);
	check(pebs_ds[0].index == pebs_ds[0].base + 32 && r[1] == ip && r[2] == 1ul << 32,
	      "groups: fixed counter without Adaptive, %x", r[0]);
	pebs_stop();
}

void test_pebs_groups(void)
{
	struct cpu *cpu = this_cpu();

	if (pebs_fmt() < 4)
		return;
	groups(cpu, 0, "basic");
	groups(cpu, CFG_MEM, "memory");
	groups(cpu, CFG_GPR, "general registers");
	groups(cpu, CFG_XMM, "XMM");
	groups(cpu, CFG_MEM | CFG_GPR | CFG_XMM, "these three");
	if (lbr_kind())
		groups(cpu, CFG_MEM | CFG_GPR | CFG_XMM | CFG_LBR(32), "all");
	xmm(cpu);
	lbr(cpu, 32);
	lbr(cpu, 5);
	basic(cpu);
}
