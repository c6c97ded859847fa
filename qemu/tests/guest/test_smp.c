// SPDX-License-Identifier: GPL-2.0-only
/* Several CPUs, frequent interrupts, late PMIs, INIT, reset, a long run. */
#include "pebs.h"

static const u32 events[4] = { EV_INSN, EV_BR, EV_LD, EV_ST };
static int rounds;

/* Run all cases repeatedly, with all four events and a PMI */
static void all_cases(struct cpu *cpu)
{
	u32 nr = pmu.gp < 4 ? pmu.gp : 4;

	cpu->failed = 0;
	cpu->rearm = LVT_NMI;
	for (int n = 0; n < rounds; n++) {
		for (const struct ucase *c = cases_start; c < cases_end; c++) {
			u64 v[4], want[4] = { c->insn, c->br, c->ld, c->st };
			u64 period = 1 + (n * 7) % c->insn;

			if (cpu->nr && c->flags & (CASE_WATCH | CASE_BREAK | CASE_PORT))
				continue;
			cpu->pmis = 0;
			apic_write(APIC_LVTPC, LVT_NMI);
			if (pmu.version >= 2)
				wrmsr(MSR_GLOBAL_CTRL, 0);
			for (u32 i = 0; i < nr; i++)
				gp_start(i, events[i] | SEL_USR | (i ? 0 : SEL_INT),
					 i ? 0 : -period);
			if (pmu.version >= 2)
				wrmsr(MSR_GLOBAL_CTRL, 15);
			run_case(cpu, c, 0x200);
			asm volatile("cli");
			for (u32 i = 0; i < nr; i++)
				v[i] = ctr_read(i);
			v[0] = (v[0] + period) & pmu.mask;
			for (u32 i = 0; i < nr; i++)
				if (v[i] != want[i] || cpu->pmis != 1) {
					cpu->failed++;
					print("# CPU %d, %s: event %d: %d, not %d; %d PMIs\n",
					      (u64)cpu->nr, c->name, (u64)i, v[i], want[i],
					      cpu->pmis);
				}
			pmu_stop();
		}
	}
}

void test_smp(void)
{
	int n = param("cpus", 1);

	rounds = param("rounds", 10);
	start_cpus(n);
	print("# running\n");
	for (int i = 1; i < n; i++)
		run_on(i, all_cases);
	all_cases(this_cpu());
	for (int i = 1; i < n; i++)
		wait_cpu(i);
	for (int i = 0; i < n; i++)
		check(!cpus[i].failed, "smp: CPU %d of %d, all cases, %d wrong",
		      (u64)i, (u64)n, (u64)cpus[i].failed);
}

/*
 * Locked instructions of all CPUs on one line count exactly, although QEMU may have to stop
 * the other CPUs for some of them.
 */
static u64 shared[2] __attribute__((aligned(16)));

static void contend(struct cpu *cpu)
{
	u32 msr = MSR_PERFEVTSEL(0);
	u64 *p = shared;
	u64 n = 3000;

	gp_start(0, EV_INSN | SEL_OS, 0);
	asm volatile("1: lock; incq (%0)\n"
		     "movq (%0), %%rax\n"
		     "movq 8(%0), %%rdx\n"
		     "xorl %%ebx, %%ebx\n"
		     "xorl %%ecx, %%ecx\n"
		     "lock; cmpxchg16b (%0)\n"
		     "decq %1\n"
		     "jnz 1b\n"
		     "movl %2, %%ecx; xorl %%eax, %%eax; xorl %%edx, %%edx; wrmsr"
		     : "+r"(p), "+r"(n) : "r"(msr)
		     : "rax", "rbx", "rcx", "rdx", "memory");
	/* The WRMSR that starts the counter, up to 8 instructions of gcc before the
	 * loop, the loop, 3 more */
	u64 v = ctr_read(0) - 3000 * 8 - 3;

	cpu->failed = v < 1 || v > 9;
}

void test_contention(void)
{
	int n = param("cpus", 1), bad = 0;

	for (int i = 1; i < n; i++)
		run_on(i, contend);
	contend(this_cpu());
	for (int i = 1; i < n; i++)
		wait_cpu(i);
	for (int i = 0; i < n; i++)
		bad += cpus[i].failed;
	check(!bad, "smp: locked instructions of %d CPUs on one line, %d wrong",
	      (u64)n, (u64)bad);
}

/* A fast timer interrupts user code; counts and IPs of PMIs must stay exact */
void test_interrupts(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *c = cases_start + 1;
	u64 bad = 0, runs = 0;
	static const u8 off[4] = { 5, 8, 12, 14 };

	apic_write(APIC_TDCR, 0xb);
	apic_write(APIC_LVTT, VEC_TIMER | 0x20000);
	apic_write(APIC_TMICT, 20000);		/* 20 us */
	cpu->ticks = 0;
	cpu->rearm = LVT_NMI;
	while (cpu->ticks < 300 && runs < 20000) {
		u64 p = 1 + runs++ % 390;

		cpu->pmis = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		gp_start(1, EV_BR | SEL_USR, 0);
		gp_start(0, EV_INSN | SEL_USR | SEL_INT, -p);
		run_case(cpu, c, 0x200);
		bad += ctr_read(0) != c->insn - p || ctr_read(1) != c->br ||
		       cpu->pmis != 1 || cpu->pmi_ip != c->entry + off[(p - 1) % 4];
		pmu_stop();
		asm volatile("sti; nop; cli");
	}
	apic_write(APIC_LVTT, LVT_MASKED);
	check(!bad, "interrupts: counts and IPs exact under timer interrupts, %d bad", bad);
	rounds = 5;
	apic_write(APIC_LVTT, VEC_TIMER | 0x20000);
	apic_write(APIC_TMICT, 20000);
	all_cases(cpu);
	apic_write(APIC_LVTT, LVT_MASKED);
	check(!cpu->failed, "interrupts: all cases, %d wrong", (u64)cpu->failed);
}

/*
 * An NMI is pending together with another interrupt request.  QEMU serves one
 * request at a time, and polls the APIC first.  The PIT makes these requests.  The
 * other CPUs are busy, so that with one thread for all CPUs the requests arrive at
 * any instruction.
 */
#define LATE_PERIOD	31ul

static volatile int busy;
static u64 late, late_most;

/* The PIC masks this interrupt, but QEMU still notifies the APIC of each edge */
static void pit_start(u32 hz)
{
	u32 divisor = 1193182 / hz;

	outb(0x21, 0xff);
	apic_write(APIC_LVT0, 0x700);		/* ExtINT */
	outb(0x43, 0x34);			/* counter 0, rate generator */
	outb(0x40, divisor & 0xff);
	outb(0x40, divisor >> 8);
}

static u32 pit_count(void)
{
	outb(0x43, 0);				/* latch */
	u32 v = inb(0x40);

	return v | inb(0x40) << 8;
}

static void pit_stop(void)
{
	outb(0x43, 0x30);
	apic_write(APIC_LVT0, LVT_MASKED);
}

static void stay_busy(struct cpu *cpu)
{
	while (busy)
		run_case(cpu, cases_start + 1, 0);
}

static void late_pmi(struct cpu *cpu, struct frame *f)
{
	u64 after = ctr_read(0);		/* events since the overflow */

	late += after != 0;
	if (after > late_most)
		late_most = after;
	ctr_write(0, -LATE_PERIOD);
	if (pmu.version >= 2)
		wrmsr(MSR_GLOBAL_OVF, 1);
}

void test_late(void)
{
	struct cpu *cpu = this_cpu();
	u64 rounds = 25000, pmis = 0;
	struct frame f = {
		.rip = long_case->entry, .cs = SEL_UCODE, .ss = SEL_UDATA, .rflags = 0x3202,
		.rsp = (u64)cpu->user_stack + sizeof(cpu->user_stack) - 64,
	};
	int n = param("cpus", 1), runs = 0;

	late = late_most = 0;
	start_cpus(n);
	busy = 1;
	for (int i = 1; i < n; i++)
		run_on(i, stay_busy);
	cpu->rearm = LVT_NMI;
	cpu->on_pmi = late_pmi;
	pit_start(5000);
	u32 first = pit_count();
	while (pmis < 30000) {
		struct frame run = f;

		run.rcx = rounds;
		cpu->pmis = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		gp_start(0, EV_INSN | SEL_USR | SEL_INT, -LATE_PERIOD);
		enter_user(&run);
		pmu_stop();
		pmis += cpu->pmis;
		runs |= pit_count() != first;
	}
	cpu->on_pmi = 0;
	pit_stop();
	busy = 0;
	for (int i = 1; i < n; i++)
		wait_cpu(i);
	check(runs, "late: the PIT runs");
	check(!late, "late: %d PMIs of %d CPUs under the PIT, %d late, by up to %d instructions",
	      pmis, (u64)n, late, late_most);
}

/*
 * MOV SS inhibits an NMI until the next instruction has completed or has raised an
 * exception.  STI does not.
 */
static void shadow(u64 nr, u64 period, u64 ip, u64 after, const char *what)
{
	struct cpu *cpu = this_cpu();
	u64 got;

	cpu->pmis = 0;
	cpu->rearm = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -period);
	late = 0;
	cpu->on_pmi = late_pmi;
	late_most = 0;
	run_case(cpu, &shadow_cases[nr], 0);
	cpu->on_pmi = 0;
	got = cpu->pmi_ip;
	check(cpu->pmis == 1 && got == ip && late_most == after,
	      "shadow: %s (%d PMIs, at %x, not %x, %d instructions late)", what, cpu->pmis,
	      got, ip, late_most);
	pmu_stop();
}

void test_shadow(void)
{
	extern const u8 mov_ss_at[], mov_ss_twice_at[], sti_at[], vectors[];

	shadow(0, 2, (u64)mov_ss_at, 0, "before MOV SS");
	shadow(0, 3, (u64)mov_ss_at + 3, 1, "MOV SS");
	shadow(0, 4, (u64)mov_ss_at + 3, 0, "the instruction after MOV SS");
	shadow(0, 5, (u64)mov_ss_at + 4, 0, "the next one");
	shadow(1, 3, (u64)vectors + 6 * 16, 0, "MOV SS, then an exception");
	shadow(2, 3, (u64)mov_ss_twice_at + 4, 1, "MOV SS twice");
	shadow(3, 2, (u64)sti_at + 1, 0, "STI");
}

/* An overflow by HLT itself wakes the CPU; nothing counts while it is halted */
void test_halt(void)
{
	struct cpu *cpu = this_cpu();

	cpu->pmis = 0;
	cpu->rearm = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(0, EV_INSN | SEL_OS | SEL_INT, 0);
	u32 c = MSR_PMC(0), a = -4u, d = -1u;
	/* WRMSR counts itself, then nop, nop, hlt: 4 */
	asm volatile("wrmsr; nop; nop; hlt" : "+c"(c), "+a"(a), "+d"(d) :: "memory");
	check(cpu->pmis == 1, "halt: woken by its own overflow");
	pmu_stop();
}

/* ---- INIT and reset ----------------------------------------------------------- */

static volatile u64 seen[6];

static void set_regs(struct cpu *cpu)
{
	gp_start(0, EV_INSN | SEL_USR, 1234);
	if (pmu.version >= 2 && pmu.fixed) {
		ctr_write(32, 5678);
		wrmsr(MSR_FIXED_CTRL, 2);
		wrmsr(MSR_GLOBAL_CTRL, 0x100000001);
		wrmsr(MSR_DEBUGCTL, 1 << 12);
	}
}

static void get_regs(struct cpu *cpu)
{
	seen[0] = rdmsr(MSR_PERFEVTSEL(0));
	seen[1] = ctr_read(0);
	if (pmu.version >= 2 && pmu.fixed) {
		seen[2] = ctr_read(32);
		seen[3] = rdmsr(MSR_FIXED_CTRL);
		seen[4] = rdmsr(MSR_GLOBAL_CTRL);
		seen[5] = rdmsr(MSR_DEBUGCTL);
	}
}

static void clean_up(struct cpu *cpu)
{
	pmu_stop();
}

static void user_loop(struct cpu *cpu)
{
	run_case(cpu, cases_start + 1, 0);
}

void test_init(void)
{
	start_cpus(2);
	run_on(1, set_regs);
	wait_cpu(1);
	init_cpu(1);
	run_on(1, get_regs);
	wait_cpu(1);
	check(seen[0] == (EV_INSN | SEL_USR | SEL_EN) && seen[1] == 1234,
	      "init: PERFEVTSEL and PMC are kept");
	if (pmu.version >= 2 && pmu.fixed)
		check(seen[2] == 5678 && seen[3] == 2 && seen[4] == 0x100000001 &&
		      seen[5] == 1 << 12, "init: so are the others");
	run_on(1, user_loop);
	wait_cpu(1);
	run_on(1, get_regs);
	wait_cpu(1);
	check(seen[1] == 1234 + cases_start[1].insn, "init: and it counts on, %d",
	      seen[1] - 1234);
	run_on(1, clean_up);
	wait_cpu(1);
}

/* The first boot leaves this mark in RAM for the second one */
#define MARK ((volatile u64 *)0x7000)

void test_reset(void)
{
	if (*MARK != 0x7e5e7) {
		struct cpu *cpu = this_cpu();

		*MARK = 0x7e5e7;
		set_regs(cpu);
		gp_start(1, EV_BR | SEL_USR | SEL_OS, 99);
		lbr_fill(cpu);
		pebs_fill(cpu);
		outb(0xcf9, 6);
		for (;;)
			asm volatile("hlt");
	}
	*MARK = 0;
	check_reset_state("reset");
	check(rdmsr(STAT_WRMSR) < 64, "reset: statistics start again");
}

/* ---- a long run, also for migration --------------------------------------------- */

static u64 hash;

static void hash_pmi(struct cpu *cpu, struct frame *f)
{
	hash = hash * 31 + f->rip;
	ctr_write(0, -10007ul);
	if (pmu.version >= 2)
		wrmsr(MSR_GLOBAL_OVF, 1);
}

void test_long(void)
{
	struct cpu *cpu = this_cpu();
	u64 n = (u64)param("millions", 20) * 1000000, total, metrics = 0x0123456789abcdef;
	/* The performance cores of a hybrid machine have this register */
	int has_metrics = !pmu.amd && !probe_msr(MSR_PERF_METRICS, &metrics, 1);

	wrmsr(STAT_COLD, 0);
	cpu->pmis = 0;
	cpu->on_pmi = hash_pmi;
	cpu->rearm = LVT_NMI;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(1, EV_BR | SEL_USR, 0);
	gp_start(2, 0x00c5 | SEL_USR, 0);
	gp_start(3, EV_CYC | SEL_USR, 0);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -10007ul);
	print("# running\n");
	cpu->data[8] = 0;
	struct ucase c = *long_case;
	struct frame f = {
		.rip = c.entry, .cs = SEL_UCODE, .ss = SEL_UDATA, .rflags = 0x3202,
		.rsp = (u64)cpu->user_stack + sizeof(cpu->user_stack) - 64, .rcx = n / 4,
	};
	enter_user(&f);
	cpu->on_pmi = 0;
	/* 4 per iteration, and the INT */
	total = n / 4 * 4 + 1;
	check(cpu->pmis == total / 10007, "long: %d PMIs", cpu->pmis);
	check(ctr_read(0) == ((total % 10007 - 10007) & pmu.mask), "long: instructions");
	check(ctr_read(1) == n / 4 + 1, "long: branches, %d", ctr_read(1));
	check(ctr_read(2) == 2, "long: branch misses, %d", ctr_read(2));
	check(ctr_read(3) == total * CPI, "long: cycles, %d", ctr_read(3));
	if (has_metrics)
		check(rdmsr(MSR_PERF_METRICS) == metrics, "long: metrics");
	/* Expected: PMI k arrives after k * 10007 instructions, at the next one, which
	 * is at +0 (add, 4 bytes), +4 (nop), +5 (dec, 3 bytes) or +8 (jnz) */
	u64 want = 0;
	static const u8 off[4] = { 0, 4, 5, 8 };

	for (u64 k = 10007; k <= total; k += 10007)
		want = want * 31 + c.entry + off[k % 4];
	check(hash == want, "long: the IPs of all PMIs");
	pmu_stop();
}

/* Print counts of all modes and the time, which must be equal in two -icount boots */
void test_icount(void)
{
	struct cpu *cpu = this_cpu();
	u32 lo, hi;

	gp_start(0, EV_INSN | SEL_USR | SEL_OS, 0);
	gp_start(1, EV_BR | SEL_USR | SEL_OS, 0);
	rounds = 2;
	apic_write(APIC_TDCR, 0xb);
	apic_write(APIC_LVTT, VEC_TIMER | 0x20000);
	apic_write(APIC_TMICT, 20000);
	for (int n = 0; n < 5; n++)
		for (const struct ucase *c = cases_start; c < cases_end; c++)
			run_case(cpu, c, 0x200);
	asm volatile("cli");
	apic_write(APIC_LVTT, LVT_MASKED);
	asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
	print("# icount: insn %x br %x ticks %d user %x kernel %x tsc %x\n",
	      ctr_read(0), ctr_read(1), cpu->ticks, rdmsr(STAT_USER),
	      rdmsr(STAT_KERNEL), lo | (u64)hi << 32);
	pmu_stop();
	check(cpu->ticks > 0, "icount: %d timer interrupts", cpu->ticks);
}
