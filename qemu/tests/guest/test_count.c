// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the counts of every case with its listing and with single-stepping.
 * Check the PMI for many periods of each event.
 */
#include "guest.h"

static const u32 events[4] = { EV_INSN, EV_BR, EV_LD, EV_ST };
static const char *const names[4] = { "instructions", "branches", "loads", "stores" };

static u32 expected(const struct ucase *c, int e)
{
	return e == 0 ? c->insn : e == 1 ? c->br : e == 2 ? c->ld : c->st;
}

/* Events per run: with less than four general counters, several runs are needed */
static int per_run(void)
{
	return pmu.gp < 4 ? pmu.gp : 4;
}

static void count_case(struct cpu *cpu, const struct ucase *c, u64 *v)
{
	for (int e = 0; e < 4; e += per_run()) {
		for (int i = 0; i < per_run() && e + i < 4; i++)
			gp_start(i, events[e + i] | SEL_USR, 0);
		if (pmu.fixed > 0) {
			ctr_write(32, 0);
			wrmsr(MSR_FIXED_CTRL, 2);
		}
		run_case(cpu, c, 0);
		for (int i = 0; i < per_run() && e + i < 4; i++)
			v[e + i] = ctr_read(i);
	}
	v[4] = pmu.fixed > 0 ? ctr_read(32) : v[0];
	pmu_stop();
}

/* Run each case twice: with new and with already translated code */
void test_listing(void)
{
	struct cpu *cpu = this_cpu();
	u64 v[5];

	for (const struct ucase *c = cases_start; c < cases_end; c++) {
		int ok = 1;

		for (int run = 0; run < 2 && ok; run++) {
			count_case(cpu, c, v);
			ok = v[0] == c->insn && v[1] == c->br && v[2] == c->ld &&
			     v[3] == c->st && v[4] == v[0];
		}
		check(ok, "count: %s (insn %d/%d br %d/%d ld %d/%d st %d/%d fixed %d)",
		      c->name, v[0], (u64)c->insn, v[1], (u64)c->br, v[2],
		      (u64)c->ld, v[3], (u64)c->st, v[4]);
	}
}

/* ---- single-stepping ------------------------------------------------------ */

static u64 step_ctr[MAX_STEPS], nr_steps;

static void on_step(struct cpu *cpu, struct frame *f)
{
	if (cpu->steps < MAX_STEPS) {
		cpu->step_ip[cpu->steps] = f->rip;
		step_ctr[cpu->steps] = ctr_read(0);
	}
	cpu->steps++;
}

static void step_case(struct cpu *cpu, const struct ucase *c, u32 event)
{
	cpu->on_step = on_step;
	gp_start(0, event | SEL_USR, 0);
	run_case(cpu, c, 0x100);
	nr_steps = cpu->steps;
	pmu_stop();
	cpu->on_step = 0;
}

void test_step(void)
{
	struct cpu *cpu = this_cpu();

	for (const struct ucase *c = cases_start; c < cases_end; c++) {
		if (c->flags & CASE_NOSTEP)
			continue;
		step_case(cpu, c, EV_INSN);
		/* The INT at the end is not a step */
		check(cpu->steps == c->insn - 1, "step: %s (%d steps, %d instructions)",
		      c->name, cpu->steps, (u64)c->insn);
	}
}

/* ---- overflow --------------------------------------------------------------- */

/*
 * Expected IP of a PMI after @period events: that of the first step at which the
 * single-stepped run has counted this number.  test_listing() checks the counts.
 * Returns 0 if there is no such step.
 */
static u64 due(struct cpu *cpu, u64 period)
{
	for (u64 i = 0; i < nr_steps && i < MAX_STEPS; i++)
		if (step_ctr[i] == period)
			return cpu->step_ip[i];
	return 0;
}

static int overflow_at(struct cpu *cpu, const struct ucase *c, int e, u64 period,
		       u64 ip)
{
	u64 total = expected(c, e);
	u64 value, want = (total - period) & pmu.mask;

	cpu->pmis = cpu->pmi_status = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	cpu->rearm = LVT_NMI;
	gp_start(0, events[e] | SEL_USR | SEL_INT, -period);
	run_case(cpu, c, 0);
	value = ctr_read(0);
	pmu_stop();
	if (value != want)
		print("# %s %s: counter %x, not %x\n", c->name, names[e], value, want);
	if (cpu->pmis != (period <= total))
		print("# %s %s period %d: %d PMIs\n", c->name, names[e], period, cpu->pmis);
	if (period < total && ip && cpu->pmi_ip != ip)
		print("# %s %s period %d: PMI at %x, not %x\n", c->name, names[e],
		      period, cpu->pmi_ip, ip);
	return value == want && cpu->pmis == (period <= total) &&
	       (period >= total || !ip || cpu->pmi_ip == ip) &&
	       (pmu.version < 2 || cpu->pmi_status == (period <= total));
}

void test_overflow(void)
{
	struct cpu *cpu = this_cpu();

	for (const struct ucase *c = cases_start; c < cases_end; c++) {
		for (int e = 0; e < 4; e++) {
			u64 total = expected(c, e), bad = 0, n = 0, exact = 0;

			nr_steps = 0;
			if (!(c->flags & CASE_NOSTEP))
				step_case(cpu, c, events[e]);
			/* With a period above the number of events there is no PMI */
			for (u64 p = 1; p <= total + 1; p += p < 40 ? 1 : 37) {
				u64 ip = due(cpu, p);

				bad += !overflow_at(cpu, c, e, p, ip);
				exact += ip != 0;
				n++;
			}
			check(!bad, "overflow: %s, %s (%d periods, %d with a known IP, %d bad)",
			      c->name, names[e], n, exact, bad);
		}
	}
}

/* Cycles are a fixed multiple of instructions; check counts and PMIs */
void test_cycles(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *c = cases_start;
	int bad = 0, ref = pmu.gp > 1 && (!pmu.amd || pmu.zen);

	gp_start(0, EV_CYC | SEL_USR, 0);
	if (ref)
		gp_start(1, EV_REF | SEL_USR, 0);
	if (pmu.version >= 2 && pmu.fixed >= 3)
		wrmsr(MSR_FIXED_CTRL, 0x222);
	run_case(cpu, c, 0);
	check(ctr_read(0) == c->insn * CPI, "cycles: core, %d", ctr_read(0));
	if (ref)
		check(ctr_read(1) == REF(c->insn), "cycles: reference, %d", ctr_read(1));
	if (pmu.version >= 2 && pmu.fixed >= 3)
		check(ctr_read(32) == c->insn && ctr_read(33) == c->insn * CPI &&
		      ctr_read(34) == REF(c->insn), "cycles: fixed counters %d %d %d",
		      ctr_read(32), ctr_read(33), ctr_read(34));
	pmu_stop();

	/* A period of p cycles ends with instruction (p + CPI - 1) / CPI */
	step_case(cpu, c, EV_INSN);
	for (u64 p = 1; p < c->insn * CPI; p++) {
		cpu->pmis = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		gp_start(0, EV_CYC | SEL_USR | SEL_INT, -p);
		run_case(cpu, c, 0);
		if (p <= (c->insn - 1) * CPI &&
		    (cpu->pmis != 1 || cpu->pmi_ip != due(cpu, (p + CPI - 1) / CPI)))
			bad++;
		pmu_stop();
	}
	check(!bad, "cycles: overflow after every period (%d bad)", (u64)bad);
}

/* Largest and smallest values of a counter, and a write while it runs */
void test_width(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *c = cases_start;

	gp_start(0, EV_INSN | SEL_USR, -1);
	check(ctr_read(0) == pmu.mask, "width: IA32_PMC is sign-extended, %x", ctr_read(0));
	run_case(cpu, c, 0);
	check(ctr_read(0) == c->insn - 1, "width: wraps to 0");
	gp_start(0, EV_INSN | SEL_USR, 0x7fffffff);
	check(ctr_read(0) == 0x7fffffff, "width: bit 30 is not the sign");
	run_case(cpu, c, 0);
	check(ctr_read(0) == 0x7ffffffful + c->insn, "width: and on");
	gp_start(0, EV_INSN | SEL_USR, 0x80000000ul);
	check(ctr_read(0) == (0xffffffff80000000ul & pmu.mask), "width: bit 31 is");
	if (!probe_msr(MSR_PERF_CAPS, &(u64){ 0 }, 0) &&
	    rdmsr(MSR_PERF_CAPS) & 1 << 13) {
		wrmsr(MSR_FULL(0), 0x80000000ul & pmu.mask);
		check(ctr_read(0) == (0x80000000ul & pmu.mask), "width: full-width write");
		run_case(cpu, c, 0);
		check(rdmsr(MSR_FULL(0)) == ((0x80000000ul + c->insn) & pmu.mask),
		      "width: and it counts on");
	}
	pmu_stop();
}
