// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the PEBS records of every case in cases.S with single-stepping: the
 * instruction, all registers after it, and the number of records.
 */
#include "pebs.h"

struct ds pebs_ds[MAX_CPUS] __attribute__((aligned(4096)));
u8 pebs_buffer[MAX_CPUS][PEBS_BUFFER] __attribute__((aligned(4096)));

static u32 data_cfg[MAX_CPUS];

int pebs_fmt(void)
{
	u64 caps = 0;

	probe_msr(MSR_PERF_CAPS, &caps, 0);
	return caps >> 8 & 15;
}

/* Size of a record */
u32 pebs_size(void)
{
	u32 cfg = data_cfg[this_cpu()->nr];

	if (pebs_fmt() < 4)
		return pebs_fmt() < 3 ? 192 : 200;
	return 32 + (cfg & CFG_MEM ? 32 : 0) + (cfg & CFG_GPR ? 144 : 0) +
	       (cfg & CFG_XMM ? 256 : 0) + (cfg & 8 ? ((cfg >> 24) + 1) * 24 : 0);
}

/* An empty buffer, as large as can be, without a threshold */
void pebs_setup(struct cpu *cpu, u32 cfg)
{
	struct ds *ds = &pebs_ds[cpu->nr];

	memset(ds, 0, sizeof(*ds));
	ds->base = ds->index = (u64)pebs_buffer[cpu->nr];
	ds->max = ds->base + PEBS_BUFFER;
	ds->threshold = ds->max + 1;
	data_cfg[cpu->nr] = cfg;
	wrmsr(MSR_DS_AREA, (u64)ds);
	if (pebs_fmt() >= 4)
		wrmsr(MSR_PEBS_DATA_CFG, cfg);
}

/* Start a counter with PEBS: the first record after @first events, the next after @reset */
void pebs_start(int ctr, u64 sel, u64 first, u64 reset)
{
	struct ds *ds = &pebs_ds[this_cpu()->nr];
	u64 value = reset == NO_RESET ? 0 : -reset, adaptive = pebs_fmt() >= 4;
	int n = ctr - 32;

	if (ctr >= 32) {
		ds->reset_fixed[n] = value;
		ctr_write(ctr, -first);
		wrmsr(MSR_PEBS_ENABLE, rdmsr(MSR_PEBS_ENABLE) | 1ul << ctr);
		wrmsr(MSR_FIXED_CTRL, rdmsr(MSR_FIXED_CTRL) | adaptive << (32 + 4 * n) |
		      ((sel & SEL_OS ? 1ul : 0) | (sel & SEL_USR ? 2ul : 0)) << 4 * n);
		return;
	}
	ds->reset_gp[ctr] = value;
	wrmsr(MSR_PERFEVTSEL(ctr), 0);
	ctr_write(ctr, -first);
	wrmsr(MSR_PEBS_ENABLE, rdmsr(MSR_PEBS_ENABLE) | 1ul << ctr);
	wrmsr(MSR_PERFEVTSEL(ctr), sel | SEL_EN | (adaptive ? SEL_ADAPTIVE : 0));
}

void pebs_stop(void)
{
	pmu_stop();
	wrmsr(MSR_PEBS_ENABLE, 0);
}

u64 pebs_records(struct cpu *cpu)
{
	struct ds *ds = &pebs_ds[cpu->nr];

	return (ds->index - ds->base) / pebs_size();
}

/* Formats 2 and 3; format 2 has no time */
static void get_fixed(const u64 *r, struct sample *s)
{
	static const u8 order[16] = { AX, BX, CX, DX, SI, DI, BP, SP, R8, R9, R10, R11,
				      R12, R13, R14, R15 };

	s->flags = r[0];
	s->next = r[1];
	for (int i = 0; i < 16; i++)
		s->gpr[order[i]] = r[2 + i];
	s->status = r[18];
	s->addr = r[19];
	s->source = r[20];
	s->latency = r[21];
	s->ip = r[22];
	s->zero = r[23];
	s->tsc = pebs_fmt() < 3 ? 0 : r[24];
	s->size = pebs_size();
}

static void get_adaptive(const u64 *r, struct sample *s)
{
	s->cfg = (u32)r[0];
	s->size = r[0] >> 48;
	s->zero = r[0] >> 32 & 0xffff;
	s->ip = r[1];
	s->status = r[2];
	s->tsc = r[3];
	r += 4;
	if (s->cfg & CFG_MEM) {
		s->addr = r[0];
		s->source = r[1];
		s->latency = r[2];
		s->zero |= r[3];
		r += 4;
	}
	if (s->cfg & CFG_GPR) {
		s->flags = r[0];
		s->next = r[1];
		memcpy(s->gpr, r + 2, 16 * 8);
		r += 18;
	}
	if (s->cfg & CFG_XMM) {
		memcpy(s->xmm, r, 256);
		r += 32;
	}
	if (s->cfg & 8)
		memcpy(s->lbr, r, ((s->cfg >> 24) + 1) * 24);
}

/* Record @n; returns 1 if its header is right */
u32 pebs_get(struct cpu *cpu, u32 n, struct sample *s)
{
	const u64 *r = (void *)(pebs_buffer[cpu->nr] + (u64)n * pebs_size());

	memset(s, 0, sizeof(*s));
	if (pebs_fmt() < 4) {
		get_fixed(r, s);
		return !s->zero;
	}
	get_adaptive(r, s);
	return s->cfg == data_cfg[cpu->nr] && s->size == pebs_size() && !s->zero;
}

/* ---- single-stepping -------------------------------------------------------------- */

static struct step steps[MAX_CPUS][MAX_STEPS];

static void on_step(struct cpu *cpu, struct frame *f)
{
	struct step *s = &steps[cpu->nr][cpu->steps];
	const u64 gpr[16] = { f->rax, f->rcx, f->rdx, f->rbx, f->rsp, f->rbp, f->rsi, f->rdi,
			      f->r8, f->r9, f->r10, f->r11, f->r12, f->r13, f->r14, f->r15 };

	if (cpu->steps++ >= MAX_STEPS)
		return;
	s->skipped_to = cpu->skipped_to;
	cpu->skipped_to = 0;
	s->rip = f->rip;
	s->flags = f->rflags;
	memcpy(s->gpr, gpr, sizeof(gpr));
	s->count = ctr_read(0);
}

/* The flags after an ADD depend on memory that runs of some cases leave changed */
static void same_memory(struct cpu *cpu, const struct ucase *c)
{
	if (c->flags & CASE_COW)
		memset((void *)(DEMAND_RAM + cpu->nr * 32 * 4096ul), 0, 32 * 4096);
}

static void step_case(struct cpu *cpu, const struct ucase *c, u32 event)
{
	same_memory(cpu, c);
	cpu->on_step = on_step;
	gp_start(0, event | SEL_USR, 0);
	run_case(cpu, c, 0x100);
	pmu_stop();
	cpu->on_step = 0;
}

/* ---- records ------------------------------------------------------------------------ */

#define TF_IF_RF	(1ul << 8 | 1ul << 9 | 1ul << 16)

static const u32 events[4] = { EV_INSN, EV_BR, EV_LD, EV_ST };
static const char *const names[4] = { "instructions", "branches", "loads", "stores" };

static u64 expected(const struct ucase *c, int e)
{
	return e == 0 ? c->insn : e == 1 ? c->br : e == 2 ? c->ld : c->st;
}

/* Compare a record with the step of the instruction at @ip */
static int differs(const struct ucase *c, const struct sample *s, u64 ip, const struct step *t)
{
	int bad = s->ip != ip || s->next != t->rip || ((s->flags ^ t->flags) & ~TF_IF_RF);

	for (int i = 0; i < 16; i++) {
		/* RDTSC */
		if (streq(c->name, "pause, cpuid, rdtsc") && (i == AX || i == DX))
			continue;
		bad += s->gpr[i] != t->gpr[i];
	}
	return bad;
}

/*
 * The records of a run, with one for every @every events, against the steps.  The INT
 * at the end is not a step, and a record of it has the registers of the kernel.
 */
static int compare(struct cpu *cpu, const struct ucase *c, int e, u64 every, u64 status)
{
	u64 nr = pebs_records(cpu), total = expected(c, e), ip = c->entry, n = 0, last = 0;
	int bad = nr != total / every;
	struct sample s;

	for (u64 i = 0; i < nr; i++)
		bad += !pebs_get(cpu, i, &s) || s.status != status;
	if (bad)
		print("# %s, %s: %d records, not %d\n", c->name, names[e], nr, total / every);
	if (c->flags & CASE_NOSTEP)
		return bad;
	for (u64 i = 0; i < cpu->steps; i++) {
		const struct step *t = &steps[cpu->nr][i];

		if (t->skipped_to)
			ip = t->skipped_to;
		if (t->count != last && !(t->count % every) && n < nr) {
			pebs_get(cpu, n, &s);
			if (differs(c, &s, ip, t) && bad++ < 3)
				print("# %s, %s, record %d: ip %x next %x flags %x, not %x %x %x\n",
				      c->name, names[e], n, s.ip, s.next, s.flags, ip, t->rip,
				      t->flags);
			n++;
		}
		last = t->count;
		ip = t->rip;
	}
	if (total > last && !(total % every) && n < nr) {
		pebs_get(cpu, n++, &s);
		bad += s.ip != ip;
	}
	return bad + (n != nr);
}

/* A record after each p + 1 events; with precise distribution after each p */
static int run_period(struct cpu *cpu, const struct ucase *c, int e, u64 p, int pdir, u64 rflags)
{
	int ctr = !pdir ? 0 : pebs_fmt() < 4 ? 1 : 32;
	u64 steps_made = cpu->steps, pmis = cpu->pmis;
	int bad;

	same_memory(cpu, c);
	pebs_setup(cpu, CFG_GPR);
	pebs_start(ctr, (pdir ? EV_PREC_DIST : events[e]) | SEL_USR, p, p);
	run_case(cpu, c, rflags);
	asm volatile("cli");
	cpu->steps = steps_made;	/* run_case() has cleared it */
	pebs_stop();
	bad = compare(cpu, c, e, pdir ? p : p + 1, 1ul << ctr);
	if (cpu->pmis != pmis) {
		print("# %s: a PMI\n", c->name);
		bad++;
	}
	return bad;
}

static u64 next_period(u64 p)
{
	return p + (p < 20 ? 1 : 37);
}

void test_pebs(void)
{
	struct cpu *cpu = this_cpu();

	if (!pebs_fmt()) {
		check(0, "pebs: there is none");
		return;
	}
	cpu->pmis = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	for (const struct ucase *c = cases_start; c < cases_end; c++) {
		for (int e = 0; e < 5; e++) {
			int pdir = e == 4, ev = pdir ? 0 : e;
			u64 bad = 0, n = 0;

			cpu->steps = 0;
			if (!(c->flags & CASE_NOSTEP))
				step_case(cpu, c, events[ev]);
			for (u64 p = 1; p <= expected(c, ev) + 1; p = next_period(p), n++)
				bad += run_period(cpu, c, ev, p, pdir, 0);
			check(!bad, "pebs: %s, %s (%d periods, %d bad)", c->name,
			      pdir ? "precise distribution" : names[ev], n, bad);
		}
	}
}

/* ---- on several CPUs ------------------------------------------------------------------ */

static int rounds;

static void all_cases(struct cpu *cpu)
{
	cpu->failed = 0;
	cpu->ticks = 0;
	apic_write(APIC_TDCR, 0xb);
	apic_write(APIC_LVTT, VEC_TIMER | 0x20000);
	apic_write(APIC_TMICT, 20000);
	for (int r = 0; r < rounds; r++)
		for (const struct ucase *c = cases_start; c < cases_end; c++) {
			/* The second one loads from memory to which all CPUs store */
			if (c->flags & CASE_NOSTEP || streq(c->name, "one way or none"))
				continue;
			step_case(cpu, c, EV_INSN);
			cpu->failed += run_period(cpu, c, 0, 1 + r % 5, 0, 0x200);
			cpu->failed += run_period(cpu, c, 0, 1 + r % 7, 1, 0x200);
		}
	apic_write(APIC_LVTT, LVT_MASKED);
}

/* The same on all CPUs, with timer interrupts */
void test_pebs_smp(void)
{
	int n = param("cpus", 1);

	rounds = param("rounds", 10);
	start_cpus(n);
	for (int i = 1; i < n; i++)
		run_on(i, all_cases);
	all_cases(this_cpu());
	for (int i = 1; i < n; i++)
		wait_cpu(i);
	for (int i = 0; i < n; i++)
		check(!cpus[i].failed && cpus[i].ticks, "pebs: CPU %d of %d, %d wrong, %d interrupts",
		      (u64)i, (u64)n, (u64)cpus[i].failed, cpus[i].ticks);
}
