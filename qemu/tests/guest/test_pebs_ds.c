// SPDX-License-Identifier: GPL-2.0-only
/*
 * The DS area of PEBS: its limits and pages that are absent, PMIs and freezing;
 * several counters at one instruction; changes of the privilege level.
 */
#include "pebs.h"

#define LOOP		(cases_start + 1)	/* 1 + 100 * 4 + 1 instructions */
#define LOOP_IP(n)	(LOOP->entry + (n))	/* instructions of the loop: 5 8 12 14 */

/* Pages whose mappings the tests of cases do not use */
#define PT		((volatile u64 *)(PAGE_TABLES + 0x6000))
#define PAGE(n)		(DEMAND + (n) * 4096ul)
#define FIRST_PAGE	400

static void map(int n, u64 bits)
{
	PT[n] = bits ? (DEMAND_RAM + n * 4096ul) | bits : 0;
	asm volatile("invlpg (%0)" :: "r"(PAGE(n)) : "memory");
}

/* Run the loop with a record after @first events and then after each @reset */
static void run(struct cpu *cpu, u64 first, u64 reset)
{
	cpu->pmis = cpu->pmi_status = 0;
	cpu->rearm = LVT_NMI;
	apic_write(APIC_LVTPC, LVT_NMI);
	wrmsr(MSR_GLOBAL_OVF, rdmsr(MSR_GLOBAL_STATUS));
	pebs_start(0, EV_INSN | SEL_USR, first, reset);
	run_case(cpu, LOOP, 0);
}

/* ---- limits of the buffer ------------------------------------------------------------ */

static void maximum(struct cpu *cpu)
{
	struct ds *ds = &pebs_ds[0];
	u64 size;

	for (int less = 0; less < 2; less++) {
		pebs_setup(cpu, CFG_GPR);
		size = pebs_size();
		ds->max = ds->base + 3 * size - less;
		run(cpu, 9, 9);			/* 40 records would be due */
		check(pebs_records(cpu) == 3u - less && cpu->pmis == 40u - (3 - less) &&
		      cpu->pmi_status == STATUS_BUF,
		      "ds: %d bytes hold %d records, then %d PMIs, status %x", ds->max - ds->base,
		      pebs_records(cpu), cpu->pmis, cpu->pmi_status);
		check(ctr_read(0) == (pmu.mask & ((u64)LOOP->insn - 400 - 9)),
		      "ds: full, but the counter restarts, %x", ctr_read(0));
		pebs_stop();
	}
}

static void drain(struct cpu *cpu, struct frame *f)
{
	cpu->ticks = cpu->ticks * 100 + pebs_records(cpu);
	pebs_ds[0].index = pebs_ds[0].base;
	wrmsr(MSR_GLOBAL_OVF, STATUS_BUF);
}

/* PMIs at the threshold; the handler empties the buffer */
static void threshold(struct cpu *cpu)
{
	struct ds *ds = &pebs_ds[0];
	static const struct { int add; u64 pmis, seen; } t[] = {
		{ -1, 5, 202020202 }, { 0, 5, 202020202 }, { 1, 3, 30303 },
	};
	struct sample s;

	for (int i = 0; i < 3; i++) {
		pebs_setup(cpu, CFG_GPR);
		ds->threshold = ds->base + 2 * pebs_size() + t[i].add;
		cpu->ticks = 0;
		cpu->on_pmi = drain;
		run(cpu, 39, 39);		/* 10 records */
		cpu->on_pmi = 0;
		check(cpu->pmis == t[i].pmis && cpu->ticks == t[i].seen &&
		      cpu->pmi_status == STATUS_BUF && !rdmsr(MSR_GLOBAL_STATUS),
		      "ds: threshold after 2 records, %d bytes: %d PMIs, records %d, status %x",
		      (s64)t[i].add, cpu->pmis, cpu->ticks, cpu->pmi_status);
		pebs_stop();
	}
	/* The PMI is taken right after the record, unless something inhibits it */
	pebs_setup(cpu, CFG_GPR);
	ds->threshold = ds->base + pebs_size();
	run(cpu, 49, NO_RESET);
	pebs_get(cpu, 0, &s);
	check(cpu->pmis == 1 && s.ip == LOOP_IP(5) && s.next == LOOP_IP(8) &&
	      cpu->pmi_ip == s.next, "ds: 50 = 1 + 12 * 4 + 1 instructions, PMI at %x", cpu->pmi_ip);
	pebs_stop();
}

/* ---- pages ---------------------------------------------------------------------------- */

/* Nothing is written, nothing faults, the CPU goes on */
static void lost(struct cpu *cpu, const char *what, int restarts)
{
	u64 ctr;

	run(cpu, 49, 1000);
	ctr = ctr_read(0);
	check(cpu->pmis == 0 && rdmsr(MSR_GLOBAL_STATUS) == 0 &&
	      ctr == (pmu.mask & (restarts ? LOOP->insn - 50 - 1000ul : LOOP->insn - 49)),
	      "ds: %s: no record, counter %x", what, ctr);
	pebs_stop();
}

static void pages(struct cpu *cpu)
{
	struct ds *ds = &pebs_ds[0];
	u64 n = FIRST_PAGE, used = 0;

	map(n, 0);
	pebs_setup(cpu, CFG_GPR);
	wrmsr(MSR_DS_AREA, PAGE(n));
	lost(cpu, "area absent", 0);
	check(!PT[n], "ds: and no page fault");
	wrmsr(MSR_DS_AREA, 1ul << 46);
	lost(cpu, "area at an address without page tables", 0);

	pebs_setup(cpu, CFG_GPR);
	ds->base = ds->index = PAGE(n);
	ds->max = ds->threshold = ~0ul;
	lost(cpu, "buffer absent", 1);
	check(!PT[n] && ds->index == ds->base, "ds: index unchanged");
	map(n, 5);
	memset((void *)(DEMAND_RAM + n * 4096), 0, 4096);
	lost(cpu, "buffer read-only", 1);
	map(n, 7);
	map(n + 1, 0);
	ds->base = ds->index = PAGE(n) + 4096 - 96;
	lost(cpu, "second page of a record absent", 1);
	for (int i = 0; i < 4096; i++)
		used += *(u8 *)(DEMAND_RAM + n * 4096 + i);
	check(!used && ds->index == ds->base, "ds: and nothing in the first one");
	ds->base = ds->index = 1ul << 63;
	lost(cpu, "index not canonical", 1);
	ds->base = ds->index = 0xfee00000;
	lost(cpu, "buffer is the APIC", 1);

	/* Across pages that are both there, in the order of physical memory and not */
	for (int i = 0; i < 2; i++) {
		const u8 *other = (u8 *)DEMAND_RAM + (n + 1 + i) * 4096;
		const u64 *w;

		map(n, 7);
		PT[n + 1] = (DEMAND_RAM + (n + 1 + i) * 4096ul) | 7;
		asm volatile("invlpg (%0)" :: "r"(PAGE(n + 1)) : "memory");
		memset((void *)other, 0, 4096);
		pebs_setup(cpu, CFG_GPR);
		ds->base = ds->index = PAGE(n) + 4096 - 96;
		ds->max = ds->index + 4096;
		run(cpu, 49, NO_RESET);
		w = (void *)ds->base;
		check(ds->index == ds->base + pebs_size() &&
		      w[12] == *(u64 *)other &&
		      (pebs_fmt() < 4 ? w[22] == LOOP_IP(5)
				      : w[1] == LOOP_IP(5) && w[12] == DEMAND),
		      "ds: a record across pages, %d", (u64)i);
		pebs_stop();
	}
}

/* x-pmu-skid=3: the PMI is late, the record is not */
void test_pebs_skid(void)
{
	struct cpu *cpu = this_cpu();
	struct sample s;

	pebs_setup(cpu, CFG_GPR);
	pebs_ds[0].threshold = pebs_ds[0].base;
	run(cpu, 49, NO_RESET);
	check(pebs_records(cpu) == 1 && pebs_get(cpu, 0, &s) && s.ip == LOOP_IP(5) &&
	      s.next == LOOP_IP(8) && cpu->pmis == 1 && cpu->pmi_ip == LOOP_IP(5) &&
	      cpu->pmi_status == STATUS_BUF, "ds: with a skid of 3, PMI at %x", cpu->pmi_ip);
	pebs_stop();
}

void test_pebs_ds(void)
{
	struct cpu *cpu = this_cpu();

	maximum(cpu);
	threshold(cpu);
	pages(cpu);
}

/* ---- several counters -------------------------------------------------------------------- */

static int one_record(struct cpu *cpu, u64 status, u64 ip, const char *what)
{
	struct sample s;
	int ok = pebs_records(cpu) == 1 && pebs_get(cpu, 0, &s) && s.status == status &&
		 s.ip == ip;

	check(ok, "together: %s: %d records, status %x, ip %x", what, pebs_records(cpu),
	      s.status, s.ip);
	return ok;
}

/*
 * A record while another counter waits for the event that causes its own one: before format 3, a
 * record names both.  The branches are instructions 5, 9 and 13.
 */
static void one_armed(struct cpu *cpu)
{
	struct sample s[2];
	int ok;

	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, EV_INSN | SEL_USR, 10, NO_RESET);
	pebs_start(2, EV_BR | SEL_USR, 2, NO_RESET);
	run_case(cpu, LOOP, 0);
	ok = pebs_records(cpu) == 2 && pebs_get(cpu, 0, &s[0]) && pebs_get(cpu, 1, &s[1]) &&
	     s[0].status == (pebs_fmt() < 3 ? 5 : 1) && s[1].status == 4 && s[0].ip < s[1].ip;
	check(ok, "together: one armed: %d records, status %x and %x", pebs_records(cpu),
	      s[0].status, s[1].status);
	pebs_stop();
}

/* The branch of the third round is instruction 13 */
void test_pebs_together(void)
{
	struct cpu *cpu = this_cpu();
	u64 all = 0, lost;

	cpu->pmis = cpu->pmi_status = 0;
	cpu->rearm = LVT_NMI;
	apic_write(APIC_LVTPC, LVT_NMI);

	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, EV_INSN | SEL_USR, 12, NO_RESET);
	pebs_start(2, EV_BR | SEL_USR, 2, NO_RESET);
	run_case(cpu, LOOP, 0);
	one_record(cpu, 5, LOOP_IP(14), "instruction and branch");
	pebs_stop();

	pebs_setup(cpu, CFG_GPR);
	for (u32 i = 0; i < (pebs_fmt() < 4 ? 4 : pmu.gp); i++, all |= 1ul << (i - 1))
		pebs_start(i, EV_INSN | SEL_USR, 76, NO_RESET);
	run_case(cpu, LOOP, 0);
	one_record(cpu, all, LOOP_IP(14), "all general counters");
	pebs_stop();

	/* With precise distribution: the overflow, for the other the event after it */
	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, EV_INSN | SEL_USR, 12, NO_RESET);
	pebs_start(pebs_fmt() < 4 ? 1 : 32, EV_PREC_DIST | SEL_USR, 13, NO_RESET);
	run_case(cpu, LOOP, 0);
	one_record(cpu, pebs_fmt() < 4 ? 3 : 1ul << 32 | 1, LOOP_IP(14), "precise distribution");
	pebs_stop();
	check(cpu->pmis == 0, "together: no PMI");

	/* A counter without PEBS overflows at the same instruction: one PMI */
	pebs_setup(cpu, CFG_GPR);
	lost = rdmsr(STAT_PMI_LOST);
	pebs_ds[0].threshold = pebs_ds[0].base;
	pebs_start(0, EV_INSN | SEL_USR, 12, NO_RESET);
	gp_start(2, EV_BR | SEL_USR | SEL_INT, -3ul);
	run_case(cpu, LOOP, 0);
	one_record(cpu, pebs_fmt() < 3 ? 5 : 1, LOOP_IP(14), "an overflow without PEBS");
	check(cpu->pmis == 1 && cpu->pmi_status == (STATUS_BUF | 4) &&
	      cpu->pmi_ip == LOOP_IP(5) && rdmsr(STAT_PMI_LOST) == lost,
	      "together: %d PMIs, status %x", cpu->pmis, cpu->pmi_status);
	pebs_stop();
	one_armed(cpu);
}

/* ---- states --------------------------------------------------------------------------------- */

/* Armed in one run, the next event in another */
void test_pebs_armed(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *calls = find_case("calls and jumps"), *loop = LOOP;
	struct sample s;

	/* 3 near calls: the third one overflows */
	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, 0x02c4 | SEL_USR, 3, NO_RESET);
	run_case(cpu, calls, 0);
	run_case(cpu, loop, 0);
	check(pebs_records(cpu) == 0 && rdmsr(MSR_GLOBAL_STATUS) == 1, "armed: status %x",
	      rdmsr(MSR_GLOBAL_STATUS));
	run_case(cpu, calls, 0);
	check(pebs_records(cpu) == 1 && pebs_get(cpu, 0, &s) && s.ip == calls->entry &&
	      rdmsr(MSR_GLOBAL_STATUS) == 0, "armed: the next call, at %x", s.ip);
	pebs_stop();

	/* Disarmed by PEBS_ENABLE */
	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, 0x02c4 | SEL_USR, 3, NO_RESET);
	run_case(cpu, calls, 0);
	wrmsr(MSR_PEBS_ENABLE, 0);
	wrmsr(MSR_PEBS_ENABLE, 1);
	run_case(cpu, calls, 0);
	check(pebs_records(cpu) == 0 && ctr_read(0) == 3, "armed: disarmed, counter %d",
	      ctr_read(0));
	pebs_stop();

	/* Freeze_PerfMon_On_PMI, at the threshold */
	pebs_setup(cpu, CFG_GPR);
	pebs_ds[0].threshold = pebs_ds[0].base;
	wrmsr(MSR_DEBUGCTL, 1 << 12);
	run(cpu, 49, 10);
	check(pebs_records(cpu) == 1 && cpu->pmis == 1 && ctr_read(0) == (pmu.mask & -10ul) &&
	      (pmu.version >= 4 ? rdmsr(MSR_GLOBAL_STATUS) == (STATUS_BUF | 1ul << 59)
				: rdmsr(MSR_GLOBAL_CTRL) == 0),
	      "armed: frozen at the threshold, status %x", rdmsr(MSR_GLOBAL_STATUS));
	pebs_stop();
	wrmsr(MSR_GLOBAL_OVF, rdmsr(MSR_GLOBAL_STATUS));
}

/* A record of @event after @n events must be about @ip and continue at @next */
static void level(struct cpu *cpu, const char *name, u64 sel, u64 n, u64 ip, u64 next,
		  const char *what)
{
	struct sample s = { .ip = 0 };

	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, sel, n, NO_RESET);
	run_case(cpu, find_case(name), 0);
	check(pebs_records(cpu) >= 1 && pebs_get(cpu, 0, &s) && s.ip == ip && s.next == next,
	      "levels: %s: %x, then %x", what, s.ip - ip, s.next - next);
	pebs_stop();
}

/* Kernel code: the WRMSR that starts, seven instructions, the WRMSR that stops */
static __attribute__((noinline)) void kernel_code(struct cpu *cpu)
{
	extern const u8 k_nops[];
	/* The WRMSR arms, the NOP is recorded, and so on with every second one */
	static const u8 at[] = { 0, 3, 9, 16 }, next[] = { 1, 6, 14, 18 };
	u32 lo = EV_INSN | SEL_OS | SEL_EN, hi = pebs_fmt() < 4 ? 0 : 4;
	struct sample s;
	u64 nr, bad = 0;

	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, EV_INSN, 1, 1);
	asm volatile("wrmsr\n"
		     "k_nops: nop; xchgw %%ax, %%ax; nopl (%%rax); nopl (%%rax)\n"
		     ".byte 0x0f, 0x1f, 0x44, 0, 0\n"
		     "xorl %%eax, %%eax; xorl %%edx, %%edx; wrmsr"
		     : "+a"(lo), "+d"(hi) : "c"(MSR_PERFEVTSEL(0)) : "memory");
	nr = pebs_records(cpu);
	for (u64 i = 0; i < nr && i < 4; i++)
		bad += !pebs_get(cpu, i, &s) || s.ip != (u64)k_nops + at[i] ||
		       s.next != (u64)k_nops + next[i];
	check(nr == 4 && !bad, "levels: kernel code, %d records, %d bad", nr, bad);
	pebs_stop();

	/* With precise distribution that WRMSR itself is recorded */
	pebs_setup(cpu, CFG_GPR);
	pebs_start(1, EV_PREC_DIST, 1, NO_RESET);
	if (pebs_fmt() >= 4)
		return pebs_stop();
	lo = EV_PREC_DIST | SEL_OS | SEL_EN;
	asm volatile("k_start: wrmsr; nop; nop"
		     : "+a"(lo), "+d"(hi) : "c"(MSR_PERFEVTSEL(1)) : "memory");
	extern const u8 k_start[];
	nr = pebs_records(cpu);
	pebs_get(cpu, 0, &s);
	check(nr == 1 && s.ip == (u64)k_start && s.next == s.ip + 2,
	      "levels: a WRMSR that starts and overflows, %d", s.ip - (u64)k_start);
	pebs_stop();
}

void test_pebs_levels(void)
{
	extern const u8 syscall_entry[], vectors[];
	struct cpu *cpu = this_cpu();
	u64 sys = find_case("system calls")->entry;
	u64 iret = find_case("int3, iret")->entry;

	level(cpu, "system calls", EV_INSN | SEL_USR, 1, sys + 5, (u64)syscall_entry, "SYSCALL");
	level(cpu, "system calls", EV_INSN | SEL_USR, 2, sys + 7, sys + 9, "armed over SYSCALL");
	level(cpu, "system calls", EV_BR | SEL_USR, 1, sys + 9, sys + 5, "the next branch");
	level(cpu, "int3, iret", EV_INSN | SEL_USR, 1, iret + 1, iret + 2, "armed over INT3");
	level(cpu, "int3, iret", EV_BR | SEL_USR, 1, iret + 20, iret + 22, "IRET");
	level(cpu, "int3, iret", EV_BR | SEL_USR, 2, iret + 22,
	      (u64)vectors + VEC_EXIT * 16, "INT n");
	level(cpu, "no memory, no branch", EV_INSN | SEL_USR, 9,
	      find_case("no memory, no branch")->entry + 9,
	      find_case("no memory, no branch")->entry + 10, "up to the last NOP");
	kernel_code(cpu);
}
