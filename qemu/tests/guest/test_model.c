// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of the model of caches (64 sets of 8 and 1024 sets of 16 lines of 64
 * bytes, LRU), TLB (16 sets of 4 pages) and branch prediction (2-bit counters,
 * last target, a ring of 16 return addresses); CMASK, INV and EDGE.
 */
#include "guest.h"

#define EV_BR_MISS	0x00c5
#define EV_BR_CALL	0x02c4
#define EV_BR_RET	0x08c4
#define EV_BR_NTAKEN	0x10c4
#define EV_BR_COND	0x11c4
#define EV_BR_COND_OLD	0x01c4	/* before version 5 */
#define EV_BR_TAKEN	0x20c4
#define EV_LLC_REF	0x4f2e
#define EV_LLC_MISS	0x412e
#define EV_L1_REPL	0x0151
#define EV_L1_MISS_LD	0x08d1
#define EV_L3_MISS_LD	0x20d1
#define EV_TLB_LD	0x0e08
#define EV_TLB_ST	0x0e49
#define EV_SLOTS	0x01a4

extern const struct ucase model_start[], model_end[];

const struct ucase *find_case(const char *name)
{
	for (const struct ucase *c = cases_start; c < cases_end; c++)
		if (streq(c->name, name))
			return c;
	for (const struct ucase *c = model_start; c < model_end; c++)
		if (streq(c->name, name))
			return c;
	print("Bail out! no case %s\n", name);
	outb(0xf4, 2);
	return 0;
}

/* Run a case and check the count of one event; @cold: reset the model before */
static void expect(const char *name, u32 event, const char *what, int cold, u64 want)
{
	u64 v;

	if (cold)
		wrmsr(STAT_COLD, 0);
	gp_start(0, event | SEL_USR, 0);
	run_case(this_cpu(), find_case(name), 0);
	v = ctr_read(0);
	pmu_stop();
	check(v == want, "model: %s, %s%s: %d (%d)", name, what, cold ? "" : ", again",
	      v, want);
}

/* The calls of the cache model must not change the results of instructions */
static void locked(void)
{
	struct cpu *cpu = this_cpu();

	wrmsr(STAT_COLD, 0);
	gp_start(0, EV_LLC_REF | SEL_USR, 0);
	run_case(cpu, find_case("locked"), 0);
	pmu_stop();
	check(cpu->end.rax == 5 && cpu->end.rdx == 8 && cpu->end.rcx == 10,
	      "model: locked instructions do what they do without events: %d %d %d",
	      cpu->end.rax, cpu->end.rdx, cpu->end.rcx);
}

void test_model(void)
{
	locked();
	/* All predictors start as weakly not taken. The branch of the loop is
	 * mispredicted first and last, in a second run only last. */
	expect("loop", EV_BR_MISS, "branch misses", 1, 2);
	expect("loop", EV_BR_MISS, "branch misses", 0, 1);
	expect("loop", EV_BR_COND, "conditional", 1, 100);
	expect("loop", EV_BR_COND_OLD, "conditional, Skylake's", 1,
	       pmu.version < 5 ? 100 : 0);
	expect("loop", EV_BR_TAKEN, "taken", 1, 99);
	expect("loop", EV_BR_NTAKEN, "not taken", 1, 1);

	/* The branches: jz jnz jz loop loop jrcxz loope */
	expect("conditional branches", EV_BR_COND, "conditional", 1, 7);
	expect("conditional branches", EV_BR_TAKEN, "taken", 1, 4);
	/* Mispredicted: jz, jz, loop (1: taken), loop (2: predicted taken), jrcxz */
	expect("conditional branches", EV_BR_MISS, "branch misses", 1, 5);

	/* New targets miss: call *%rax, call *(%rdi), jmp *%rax; RETs do not */
	expect("calls and jumps", EV_BR_CALL, "calls", 1, 3);
	expect("calls and jumps", EV_BR_RET, "returns", 1, 3);
	expect("calls and jumps", EV_BR_TAKEN, "taken", 1, 8);
	expect("calls and jumps", EV_BR_MISS, "branch misses", 1, 3);
	expect("calls and jumps", EV_BR_MISS, "branch misses", 0, 0);
	/* 20 nested calls overwrite the ring of 16, but 19 of the returns have the
	 * same target, so only the outermost one is mispredicted */
	expect("nested calls", EV_BR_CALL, "calls", 1, 20);
	/* ... and the jz that ends the recursion */
	expect("nested calls", EV_BR_MISS, "branch misses", 1, 1 + 1);

	/* One line, one page */
	expect("loop", EV_LLC_REF, "LLC references", 1, 1);
	expect("loop", EV_LLC_MISS, "LLC misses", 1, 1);
	expect("loop", EV_L1_MISS_LD, "L1D misses of loads", 1, 1);
	expect("loop", EV_TLB_LD, "DTLB misses of loads", 1, 1);
	expect("loop", EV_TLB_ST, "DTLB misses of stores", 1, 0);
	expect("loop", EV_LLC_REF, "LLC references", 0, 0);

	/* 16 pages of 64 lines are twice the L1D, a sixteenth of the LLC */
	expect("64 KiB", EV_LLC_REF, "LLC references", 1, 1024);
	expect("64 KiB", EV_LLC_MISS, "LLC misses", 1, 1024);
	expect("64 KiB", EV_LLC_MISS, "LLC misses", 0, 0);
	/* LRU: each line is evicted before its next access */
	expect("64 KiB", EV_L1_REPL, "L1D replacements", 0, 1024);
	expect("64 KiB", EV_L3_MISS_LD, "L3 misses of loads", 1, 1024);
	expect("64 KiB", EV_TLB_LD, "DTLB misses of loads", 1, 16);
	expect("64 KiB", EV_TLB_LD, "DTLB misses of loads", 0, 0);
	/* 5 pages of one set of 4, three times in turn: all accesses miss */
	expect("TLB conflict", EV_TLB_ST, "DTLB misses of stores", 1, 15);
	/* Accesses across lines and pages touch both */
	expect("across two fresh pages", EV_TLB_LD, "DTLB misses of loads", 1, 4);
	expect("across two fresh pages", EV_TLB_ST, "DTLB misses of stores", 1, 2);
	expect("across two fresh pages", EV_LLC_REF, "LLC references", 1, 6);
	/* A helper accesses 512 bytes from the start of a page */
	expect("fxsave", EV_L1_REPL, "L1D replacements", 1, 8);
	expect("rep movs", EV_LLC_REF, "LLC references", 1, 64 + 64);
}

/* An event that a helper counts overflows right after its instruction */
void test_model_overflow(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *c = find_case("64 KiB");
	u64 bad = 0;

	cpu->rearm = LVT_NMI;
	for (u64 p = 1; p <= 1024; p += 31) {
		wrmsr(STAT_COLD, 0);
		cpu->pmis = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		gp_start(0, EV_LLC_MISS | SEL_USR | SEL_INT, -p);
		run_case(cpu, c, 0);
		/* movl $1024, %ecx is 5 bytes, the load 3 */
		bad += cpu->pmis != 1 || cpu->pmi_ip != c->entry + 8 ||
		       ctr_read(0) != 1024 - p;
		pmu_stop();
	}
	check(!bad, "model: LLC miss overflows right after the load (%d bad)", bad);

	bad = 0;
	c = find_case("loop");
	for (u64 p = 1; p <= 2; p++) {
		wrmsr(STAT_COLD, 0);
		cpu->pmis = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		gp_start(0, EV_BR_MISS | SEL_USR | SEL_INT, -p);
		run_case(cpu, c, 0);
		bad += cpu->pmis != 1 || cpu->pmi_ip != c->entry + (p == 1 ? 5 : 16);
		pmu_stop();
	}
	check(!bad, "model: branch miss overflows right after the branch (%d bad)", bad);
}

/* ---- CMASK, INV, EDGE -------------------------------------------------------- */

static void cmask(const char *what, u32 sel, u64 want)
{
	gp_start(0, sel | SEL_USR, 0);
	run_case(this_cpu(), find_case("loop"), 0);
	check(ctr_read(0) == want, "cmask: %s: %d (%d)", what, ctr_read(0), want);
	pmu_stop();
}

void test_cmask(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *c = find_case("loop");
	u64 n = c->insn, cyc = n * CPI;

	cmask("instructions, cmask 1", EV_INSN | SEL_CMASK(1), n);
	cmask("instructions, cmask 2", EV_INSN | SEL_CMASK(2), 0);
	cmask("instructions, cmask 1, inv", EV_INSN | SEL_CMASK(1) | SEL_INV, cyc - n);
	cmask("instructions, cmask 16, inv (cycles)", EV_INSN | SEL_CMASK(16) | SEL_INV, cyc);
	cmask("instructions, inv alone", EV_INSN | SEL_INV, n);
	cmask("instructions, edge", EV_INSN | SEL_EDGE, n);
	cmask("branches, cmask 1, edge", EV_BR | SEL_CMASK(1) | SEL_EDGE, c->br);
	cmask("branches, cmask 1, inv", EV_BR | SEL_CMASK(1) | SEL_INV, cyc - c->br);
	cmask("branches, cmask 1, inv, edge", EV_BR | SEL_CMASK(1) | SEL_INV | SEL_EDGE, c->br);
	cmask("loads, cmask 1, inv", EV_LD | SEL_CMASK(1) | SEL_INV, cyc - c->ld);
	cmask("branches, cmask 2, inv, edge", EV_BR | SEL_CMASK(2) | SEL_INV | SEL_EDGE, 0);
	cmask("cycles, cmask 1", EV_CYC | SEL_CMASK(1), cyc);
	cmask("cycles, cmask 2", EV_CYC | SEL_CMASK(2), 0);
	cmask("cycles, cmask 2, inv", EV_CYC | SEL_CMASK(2) | SEL_INV, cyc);
	cmask("cycles, cmask 1, inv", EV_CYC | SEL_CMASK(1) | SEL_INV, 0);
	cmask("cycles, edge", EV_CYC | SEL_EDGE, 0);
	if (pmu.events > 7) {
		cmask("slots", EV_SLOTS, 4 * cyc);
		cmask("slots, cmask 4", EV_SLOTS | SEL_CMASK(4), cyc);
		cmask("slots, cmask 5", EV_SLOTS | SEL_CMASK(5), 0);
	}
	cmask("an event that there is not", 0x1234, 0);

	/* Overflow of "cycles without a branch": 7 of 8 cycles of an iteration */
	u64 bad = 0;
	cpu->rearm = LVT_NMI;
	for (u64 p = 1; p < 100; p++) {
		cpu->pmis = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		gp_start(0, EV_BR | SEL_CMASK(1) | SEL_INV | SEL_USR | SEL_INT, -p);
		run_case(cpu, c, 0);
		bad += cpu->pmis != 1 || ctr_read(0) != cyc - c->br - p;
		pmu_stop();
	}
	check(!bad, "cmask: overflow of an inverted event (%d bad)", bad);
}
