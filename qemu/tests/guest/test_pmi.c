// SPDX-License-Identifier: GPL-2.0-only
/* PMIs: delivery by LVTPC, simultaneous overflows, freezing, skid; statistics. */
#include "guest.h"

#define LOOP (cases_start + 1)		/* 1 + 100 * 4 + 1 instructions */
#define LOOP_IP(n) (LOOP->entry + (n))	/* instructions of the loop: 5 8 12 14 */

static u64 run_overflow(struct cpu *cpu, u32 lvtpc, u64 period)
{
	cpu->pmis = cpu->pmi_status = 0;
	apic_write(APIC_LVTPC, lvtpc);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -period);
	run_case(cpu, LOOP, 0);
	return cpu->pmis;
}

void test_lvtpc(void)
{
	struct cpu *cpu = this_cpu();
	u64 sent = rdmsr(STAT_PMI), lost = rdmsr(STAT_PMI_LOST);

	cpu->rearm = 0;
	check(run_overflow(cpu, LVT_NMI, 50) == 1, "lvtpc: NMI");
	check(apic_read(APIC_LVTPC) == (LVT_NMI | LVT_MASKED), "lvtpc: delivery masks it");
	wrmsr(MSR_PMC(0), -50);
	run_case(cpu, LOOP, 0);
	check(cpu->pmis == 1, "lvtpc: no second one while it is masked");
	apic_write(APIC_LVTPC, LVT_NMI);
	asm volatile("nop; nop");
	check(cpu->pmis == 1, "lvtpc: nor is it kept until it is unmasked");
	check(rdmsr(STAT_PMI) - sent == 1 && rdmsr(STAT_PMI_LOST) - lost == 1,
	      "lvtpc: statistics");
	pmu_stop();

	check(run_overflow(cpu, LVT_NMI | LVT_MASKED, 50) == 0, "lvtpc: masked");
	check(pmu.version < 2 || rdmsr(MSR_GLOBAL_STATUS) == 1, "lvtpc: status all the same");
	check(ctr_read(0) == LOOP->insn - 50, "lvtpc: the counter goes on");
	pmu_stop();

	/* Fixed mode, interrupts enabled in user mode */
	cpu->pmis = 0;
	apic_write(APIC_LVTPC, VEC_PMI);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -50);
	run_case(cpu, LOOP, 0x200);
	check(cpu->pmis == 1 && (cpu->pmi_cs & 3) == 3, "lvtpc: fixed mode");
	check(apic_read(APIC_LVTPC) == (VEC_PMI | LVT_MASKED), "lvtpc: masked, too");
	pmu_stop();

	/* ... and disabled: the interrupt stays pending */
	cpu->pmis = 0;
	apic_write(APIC_LVTPC, VEC_PMI);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -50);
	run_case(cpu, LOOP, 0);
	check(cpu->pmis == 0, "lvtpc: fixed mode, interrupts disabled");
	asm volatile("sti; nop; nop; cli");
	check(cpu->pmis == 1, "lvtpc: it was pending");
	pmu_stop();

	apic_write(APIC_SVR, 0xff);
	check(run_overflow(cpu, LVT_NMI, 50) == 0, "lvtpc: APIC disabled by software");
	apic_write(APIC_SVR, 0x1ff);
	pmu_stop();

	check(run_overflow(cpu, LVT_NMI, 50) == 1 && cpu->pmi_ip == LOOP_IP(8),
	      "lvtpc: 50 = 1 + 12 * 4 + 1 instructions, at +%d", cpu->pmi_ip - LOOP->entry);
	pmu_stop();
}

/* Without the INT bit, an overflow sets the status but raises no PMI */
void test_status(void)
{
	struct cpu *cpu = this_cpu();

	if (pmu.version < 2)
		return;
	cpu->pmis = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(0, EV_INSN | SEL_USR, -50);
	run_case(cpu, LOOP, 0);
	check(cpu->pmis == 0 && rdmsr(MSR_GLOBAL_STATUS) == 1, "status: no INT, no PMI");
	wrmsr(MSR_GLOBAL_OVF, 1);
	check(rdmsr(MSR_GLOBAL_STATUS) == 0, "status: cleared");
	wrmsr(MSR_GLOBAL_CTRL, pmu_all() & ~1ul);
	ctr_write(0, 0);
	run_case(cpu, LOOP, 0);
	check(ctr_read(0) == 0, "status: GLOBAL_CTRL stops a counter");
	pmu_stop();
	if (pmu.version >= 4) {
		wrmsr(MSR_GLOBAL_SET, 1);
		check(cpu->pmis == 0 && rdmsr(MSR_GLOBAL_STATUS) == 1,
		      "status: STATUS_SET raises no PMI");
		wrmsr(MSR_GLOBAL_OVF, 1);

		wrmsr(MSR_PERFEVTSEL(0), EV_INSN);
		check(rdmsr(MSR_GLOBAL_INUSE) == 1, "status: in use, %x", rdmsr(MSR_GLOBAL_INUSE));
		wrmsr(MSR_PERFEVTSEL(0), SEL_INT);
		check(rdmsr(MSR_GLOBAL_INUSE) == 1ul << 63, "status: PMI in use");
		wrmsr(MSR_PERFEVTSEL(0), 0);
		if (pmu.fixed > 1) {
			wrmsr(MSR_FIXED_CTRL, 0xa0);
			check(rdmsr(MSR_GLOBAL_INUSE) == (1ul << 63 | 2ul << 32),
			      "status: fixed counter in use, %x", rdmsr(MSR_GLOBAL_INUSE));
		}
		pmu_stop();
	}
}

/* Several counters overflow at the same instruction: one PMI, all status bits */
void test_together(void)
{
	struct cpu *cpu = this_cpu();
	u64 want = 0;

	if (pmu.version < 2)
		return;
	cpu->pmis = cpu->pmi_status = 0;
	cpu->rearm = LVT_NMI;
	apic_write(APIC_LVTPC, LVT_NMI);
	for (u32 i = 0; i < pmu.gp; i++) {
		gp_start(i, EV_INSN | SEL_USR | SEL_INT, -77ul);
		want |= 1ul << i;
	}
	if (pmu.fixed) {
		ctr_write(32, -77ul);
		wrmsr(MSR_FIXED_CTRL, 0xa);
		want |= 1ul << 32;
	}
	run_case(cpu, LOOP, 0);
	check(cpu->pmis == 1 && cpu->pmi_status == want,
	      "together: %d PMIs, status %x", cpu->pmis, cpu->pmi_status);
	pmu_stop();

	/* Branch 3 is instruction 13: two different events at one boundary */
	if (pmu.gp < 2)
		return;
	cpu->pmis = cpu->pmi_status = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -13ul);
	gp_start(1, EV_BR | SEL_USR | SEL_INT, -3ul);
	run_case(cpu, LOOP, 0);
	check(cpu->pmis == 1 && cpu->pmi_status == 3 && cpu->pmi_ip == LOOP_IP(5),
	      "together: instruction and branch, %d PMIs", cpu->pmis);
	pmu_stop();
}

/* The handler reloads the counter, as a driver does: a PMI every 10 instructions */
static void reload(struct cpu *cpu, struct frame *f)
{
	ctr_write(0, -10ul);
	if (pmu.version >= 2)
		wrmsr(MSR_GLOBAL_OVF, 1);
	cpu->steps = cpu->steps * 31 + f->rip - LOOP->entry;
}

void test_reload(void)
{
	struct cpu *cpu = this_cpu();
	u64 want = 0;

	cpu->pmis = 0;
	cpu->rearm = LVT_NMI;
	cpu->on_pmi = reload;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -10ul);
	run_case(cpu, LOOP, 0);
	cpu->on_pmi = 0;
	/* PMIs after 10, 20, ... of 402 instructions; after 401 the loop has ended */
	for (u64 n = 10; n <= LOOP->insn; n += 10) {
		static const u8 off[4] = { 5, 8, 12, 14 };
		u64 o = n == 401 ? 16 : off[(n - 1) % 4];

		want = want * 31 + o;
	}
	check(cpu->pmis == 40 && cpu->steps == want, "reload: %d PMIs at the right IPs",
	      cpu->pmis);
	pmu_stop();
}

/* Freeze_PerfMon_On_PMI: nothing counts after the delivery of the PMI */
static u64 in_handler;

static void freeze_pmi(struct cpu *cpu, struct frame *f)
{
	in_handler = ctr_read(1);
}

void test_freeze(void)
{
	struct cpu *cpu = this_cpu();
	u64 status;

	if (pmu.version < 2 || pmu.gp < 2)
		return;
	wrmsr(MSR_DEBUGCTL, 1 << 12);
	cpu->rearm = 0;
	cpu->on_pmi = freeze_pmi;
	cpu->pmis = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(1, EV_INSN | SEL_USR | SEL_OS, 0);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -100ul);
	u64 before = ctr_read(1);
	run_case(cpu, LOOP, 0);
	cpu->on_pmi = 0;
	status = rdmsr(MSR_GLOBAL_STATUS);
	check(cpu->pmis == 1 && ctr_read(0) == 0, "freeze: exactly at the overflow, %d",
	      ctr_read(0));
	check(ctr_read(1) == in_handler && in_handler > before + 100,
	      "freeze: other counters, too");
	if (pmu.version >= 4) {
		check(status == (1ul << 59 | 1) && rdmsr(MSR_GLOBAL_CTRL) == pmu_all(),
		      "freeze: streamlined, CTR_FRZ in the status %x", status);
		wrmsr(MSR_GLOBAL_OVF, 1ul << 59);
		run_case(cpu, LOOP, 0);
		check(ctr_read(0) == LOOP->insn, "freeze: clearing CTR_FRZ goes on");
		wrmsr(MSR_GLOBAL_SET, 1ul << 59);
		run_case(cpu, LOOP, 0);
		check(ctr_read(0) == LOOP->insn, "freeze: setting it freezes");
		wrmsr(MSR_GLOBAL_OVF, 1ul << 59);
	} else {
		check(status == 1 && rdmsr(MSR_GLOBAL_CTRL) == 0,
		      "freeze: legacy, GLOBAL_CTRL is 0");
	}
	pmu_stop();
}

/*
 * An overflow in user mode raises an SMI.  The SMI handler is 16-bit code: INC of SMIS,
 * MOV, 100 times DEC and JNZ, RSM.
 */
#define SMM_CODE	0x38000		/* SMBASE after reset + 0x8000 */
#define SMIS		0x7000
#define SMM_INSNS	(1 + 1 + 2 * 100 + 1)

static u64 in_supervisor(struct cpu *cpu, u32 lvtpc, const char *what)
{
	volatile u16 *smis = (void *)SMIS;
	u64 ctrl;

	*smis = 0;
	ctr_write(1, 0);
	ctr_write(0, -100ul);
	wrmsr(MSR_GLOBAL_OVF, 1);
	apic_write(APIC_LVTPC, lvtpc);
	wrmsr(MSR_GLOBAL_CTRL, 3);
	run_case(cpu, LOOP, 0);
	ctrl = rdmsr(MSR_GLOBAL_CTRL);
	wrmsr(MSR_GLOBAL_CTRL, 0);
	check(ctrl == 3 && ctr_read(0) == LOOP->insn - 100 && *smis == (lvtpc == LVT_SMI),
	      "smm: %s, back where it was", what);
	return ctr_read(1);
}

void test_smm(void)
{
	static const u8 handler[] = { 0xff, 0x06, 0x00, 0x70, 0xb9, 100, 0,
				      0x49, 0x75, 0xfd, 0x0f, 0xaa };
	struct cpu *cpu = this_cpu();
	u64 caps = 0, none, n;

	if (pmu.version < 2 || pmu.gp < 2)
		return;
	probe_msr(MSR_PERF_CAPS, &caps, 0);
	check(caps >> 12 & 1, "smm: PERF_CAPABILITIES has freezing");
	memcpy((void *)SMM_CODE, handler, sizeof(handler));
	cpu->rearm = 0;
	wrmsr(MSR_GLOBAL_CTRL, 0);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, 0);
	gp_start(1, EV_INSN | SEL_OS, 0);
	none = in_supervisor(cpu, LVT_NMI | LVT_MASKED, "no SMI");
	n = in_supervisor(cpu, LVT_SMI, "an SMI");
	check(n == none + SMM_INSNS, "smm: counted, %d", n - none);
	wrmsr(MSR_DEBUGCTL, 1 << 14);
	n = in_supervisor(cpu, LVT_SMI, "frozen");
	check(n == none, "smm: frozen, %d", n - none);
	n = in_supervisor(cpu, LVT_NMI | LVT_MASKED, "freezing, no SMI");
	check(n == none, "smm: freezing but no SMI, %d", n - none);
	wrmsr(MSR_DEBUGCTL, 0);
	n = in_supervisor(cpu, LVT_SMI, "not frozen any more");
	check(n == none + SMM_INSNS, "smm: counted again, %d", n - none);
	pmu_stop();
}

/* x-pmu-skid=N: the PMI arrives N instructions after the overflow */
void test_skid(void)
{
	struct cpu *cpu = this_cpu();
	u64 skid = param("skid", 0), bad = 0;
	static const u8 off[4] = { 5, 8, 12, 14 };

	cpu->rearm = LVT_NMI;
	for (u64 p = 1; p + skid < 60; p++) {
		cpu->pmis = 0;
		apic_write(APIC_LVTPC, LVT_NMI);
		gp_start(0, EV_INSN | SEL_USR | SEL_INT, -p);
		run_case(cpu, LOOP, 0);
		bad += cpu->pmis != 1 ||
		       cpu->pmi_ip != LOOP_IP(off[(p + skid - 1) % 4]);
		pmu_stop();
	}
	check(!bad, "skid: %d instructions, %d bad", skid, bad);
}

/* ---- supervisor mode ---------------------------------------------------- */

void test_kernel(void)
{
	struct cpu *cpu = this_cpu();
	u32 lo, hi;
	u64 a, b;

	/* The WRMSR that starts counts, then 10 + 3; the WRMSR that stops does not */
	ctr_write(0, 0);
	u32 c = MSR_PERFEVTSEL(0), a1 = EV_INSN | SEL_OS | SEL_EN, d = 0;
	asm volatile("wrmsr\n"
		     ".rept 10; nop; .endr\n"
		     "movl %3, %%ecx; xorl %%eax, %%eax; xorl %%edx, %%edx\n"
		     "wrmsr"
		     : "+c"(c), "+a"(a1), "+d"(d) : "r"(MSR_PERFEVTSEL(0)) : "memory");
	check(ctr_read(0) == 14, "kernel: WRMSR to WRMSR, %d", ctr_read(0));

	gp_start(0, EV_INSN | SEL_OS, 0);
	asm volatile("rdpmc; movl %%eax, %%esi; nop; nop; nop; rdpmc; subl %%esi, %%eax"
		     : "=a"(lo), "=d"(hi) : "c"(0) : "rsi", "memory");
	check(lo == 5, "kernel: RDPMC to RDPMC, %d", (u64)lo);
	pmu_stop();

	if (pmu.version < 2 || pmu.gp < 3)
		return;
	/* Count user mode, supervisor mode, and both */
	wrmsr(MSR_GLOBAL_CTRL, 0);
	gp_start(0, EV_INSN | SEL_USR, 0);
	gp_start(1, EV_INSN | SEL_OS, 0);
	gp_start(2, EV_INSN | SEL_USR | SEL_OS, 0);
	wrmsr(MSR_GLOBAL_CTRL, 7);
	for (const struct ucase *c = cases_start; c < cases_end; c++)
		run_case(cpu, c, 0);
	wrmsr(MSR_GLOBAL_CTRL, 0);
	a = ctr_read(0);
	b = ctr_read(1);
	check(a + b == ctr_read(2), "kernel: %d in user mode + %d in supervisor mode = %d",
	      a, b, ctr_read(2));
	u64 want = 0;
	for (const struct ucase *c = cases_start; c < cases_end; c++)
		want += c->insn;
	check(a == want, "kernel: and user mode is the sum of the listings");
	pmu_stop();

	/* The statistics of retired instructions agree with the counters */
	u64 u0 = rdmsr(STAT_USER);
	gp_start(0, EV_INSN | SEL_USR | SEL_OS, 0);
	u64 k1 = rdmsr(STAT_KERNEL);
	run_case(cpu, LOOP, 0);
	u64 k2 = rdmsr(STAT_KERNEL), t = ctr_read(0);
	check(rdmsr(STAT_USER) - u0 == LOOP->insn, "kernel: statistics of user mode");
	check(t > k2 - k1 + LOOP->insn && t < k2 - k1 + LOOP->insn + 40,
	      "kernel: statistics of supervisor mode");
	pmu_stop();
}

/* x-pmu-always=on: statistics of retired instructions without any counter */
void test_always(void)
{
	struct cpu *cpu = this_cpu();
	u64 u0, k0;
	int bad = 0;

	pmu_stop();
	for (const struct ucase *c = cases_start; c < cases_end; c++) {
		u0 = rdmsr(STAT_USER);
		run_case(cpu, c, 0);
		bad += rdmsr(STAT_USER) - u0 != c->insn;
	}
	check(!bad, "always: each case retires what its listing says");
	k0 = rdmsr(STAT_KERNEL);
	u32 a, b;
	asm volatile("rdmsr; movl %%eax, %%esi; nop; nop; rdmsr"
		     : "=a"(a), "=S"(b) : "c"(STAT_KERNEL) : "rdx");
	check(a - b == 4 && b > k0, "always: RDMSR to RDMSR in supervisor mode, %d",
	      (u64)(a - b));
}

/* Statistics of accesses to MSRs */
void test_stats(void)
{
	u64 w, r, wp, rp, f, v = 1ul << 32;

	w = rdmsr(STAT_WRMSR);
	r = rdmsr(STAT_RDMSR);
	wp = rdmsr(STAT_WR(MSR_PMC(0)));
	rp = rdmsr(STAT_RD(MSR_PMC(0)));
	f = rdmsr(STAT_FAULTS);
	for (int i = 0; i < 7; i++)
		wrmsr(MSR_PMC(0), i);
	for (int i = 0; i < 5; i++)
		rdmsr(MSR_PMC(0));
	probe_msr(MSR_PERFEVTSEL(0), &v, 1);
	check(rdmsr(STAT_WRMSR) - w == 7 && rdmsr(STAT_RDMSR) - r == 5,
	      "stats: 7 WRMSR and 5 RDMSR, no others");
	check(rdmsr(STAT_WR(MSR_PMC(0))) - wp == 7 && rdmsr(STAT_RD(MSR_PMC(0))) - rp == 5,
	      "stats: of this MSR");
	check(rdmsr(STAT_FAULTS) - f == 1, "stats: one faulted");
	wrmsr(0xc0000103, 0);
	check(rdmsr(STAT_WR(0x20000 + 0x103)) == 1, "stats: MSR c0000103");
	rdmsr(0xc0010015);
	check(rdmsr(STAT_RD(0x40000 + 0x15)) == 1, "stats: MSR c0010015");
	v = 5;
	check(probe_msr(STAT_WRMSR, &v, 1), "stats: read-only");
	wrmsr(STAT_USER, 0);
	check(rdmsr(STAT_WRMSR) == 0 && rdmsr(STAT_RDMSR) == 0, "stats: cleared");
}
