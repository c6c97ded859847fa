// SPDX-License-Identifier: GPL-2.0-only
/* PEBS: registers, CPUID, reset and INIT, a long run for migration. */
#include "pebs.h"

#define BIT(n) (1ul << (n))

static void check_cpuid(void)
{
	u32 f[4];
	u64 caps;

	cpuid(1, f);
	caps = rdmsr(MSR_PERF_CAPS);
	check(f[3] >> 21 & 1 && f[2] >> 2 & 1, "pebs: CPUID has DS and DTES64");
	check((caps >> 6 & 3) == 3 && (caps >> 14 & 1) == (pebs_fmt() >= 4),
	      "pebs: PERF_CAPABILITIES %x", caps);
	check(!(rdmsr(MSR_MISC_ENABLE) & BIT(12)) && rdmsr(MSR_MISC_ENABLE) & BIT(11),
	      "pebs: MISC_ENABLE %x", rdmsr(MSR_MISC_ENABLE));
	wrmsr(MSR_MISC_ENABLE, rdmsr(MSR_MISC_ENABLE) | BIT(12));
	check(!(rdmsr(MSR_MISC_ENABLE) & BIT(12)), "pebs: bit 12 is read-only");
	wrmsr(MSR_MISC_ENABLE, rdmsr(MSR_MISC_ENABLE));
}

/* Addresses of the lower half */
static u64 canonical_bits(void)
{
	u32 feat[4];

	cpuid(7, feat);
	return BIT(feat[2] >> 16 & 1 ? 56 : 47) - 1;	/* LA57 */
}

void test_pebs_registers(void)
{
	u64 adaptive = pebs_fmt() >= 4, v;
	u64 gp = BIT(adaptive || pmu.gp < 4 ? pmu.gp : 4) - 1;
	u64 enable = adaptive ? pmu_all() : gp | gp << 32;
	u64 cfg = lbr_kind() ? 0xf | 31ul << 24 : 7, low = canonical_bits();
	const struct reg regs[] = {
		{ "IA32_PEBS_ENABLE", MSR_PEBS_ENABLE, 1, 1, enable, enable },
		{ "MSR_PEBS_DATA_CFG", MSR_PEBS_DATA_CFG, adaptive, adaptive, cfg, cfg },
		{ "MSR_PEBS_LD_LAT", MSR_PEBS_LD_LAT, 1, 1, 0xffff, 0xffff },
		{ "IA32_DS_AREA", MSR_DS_AREA, 1, 1, low, low },
	};

	check(pebs_fmt() == param("pebs", 3), "pebs: format %d", (u64)pebs_fmt());
	check_cpuid();
	for (u64 i = 0; i < sizeof(regs) / sizeof(*regs); i++) {
		check_reg(&regs[i]);
		if (regs[i].there)
			wrmsr(regs[i].msr, 0);
	}
	v = 0xffff800000000000;
	check(!probe_msr(MSR_DS_AREA, &v, 1) && rdmsr(MSR_DS_AREA) == v,
	      "pebs: a DS area in the upper half");
	wrmsr(MSR_DS_AREA, 0);
}

/* Without PEBS: nothing is offered, and the registers are those QEMU does not know */
void test_pebs_none(void)
{
	static const u32 msr[] = { MSR_PEBS_ENABLE, MSR_PEBS_DATA_CFG, MSR_PEBS_LD_LAT, MSR_DS_AREA };
	u64 v, bad = 0;
	u32 f[4];

	cpuid(1, f);
	check(!pebs_fmt() && !(f[3] >> 21 & 1) && !(f[2] >> 2 & 1) &&
	      rdmsr(MSR_MISC_ENABLE) & BIT(12), "pebs: none");
	for (int i = 0; i < 4; i++) {
		v = 5;
		bad += probe_msr(msr[i], &v, 1) || probe_msr(msr[i], &v, 0) || v;
	}
	v = BIT(34);
	bad += !probe_msr(MSR_PERFEVTSEL(0), &v, 1);
	if (pmu.version >= 2) {
		v = BIT(32);
		bad += !probe_msr(MSR_FIXED_CTRL, &v, 1);
	}
	check(!bad, "pebs: no registers");
	gp_start(0, EV_LATENCY | SEL_USR, 0);
	run_case(this_cpu(), cases_start + 1, 0);
	check(ctr_read(0) == 0, "pebs: no event of latencies");
	pmu_stop();
}

/* ---- reset and INIT ----------------------------------------------------------------- */

/* Nonzero if a register is not as after a reset */
u64 pebs_reset_state(void)
{
	if (!pebs_fmt())
		return 0;
	return rdmsr(MSR_PEBS_ENABLE) | rdmsr(MSR_PEBS_LD_LAT) | rdmsr(MSR_DS_AREA) |
	       (pebs_fmt() >= 4 ? rdmsr(MSR_PEBS_DATA_CFG) : 0);
}

/* Set all registers, and leave a counter armed */
void pebs_fill(struct cpu *cpu)
{
	if (!pebs_fmt())
		return;
	pebs_setup(cpu, CFG_GPR);
	wrmsr(MSR_PEBS_LD_LAT, 5);
	pebs_start(0, 0x02c4 | SEL_USR, 3, NO_RESET);
	run_case(cpu, find_case("calls and jumps"), 0);
}

static int records, kept;

static void after_init(struct cpu *cpu)
{
	kept = rdmsr(MSR_PEBS_LD_LAT) == 5 && rdmsr(MSR_PEBS_ENABLE) == 1 &&
	       rdmsr(MSR_DS_AREA) == (u64)&pebs_ds[1];
	run_case(cpu, find_case("calls and jumps"), 0);
	records = pebs_records(cpu);
	pebs_stop();
}

void test_pebs_init(void)
{
	start_cpus(2);
	run_on(1, pebs_fill);
	wait_cpu(1);
	init_cpu(1);
	run_on(1, after_init);
	wait_cpu(1);
	check(kept && records == 1, "pebs: INIT keeps it, armed, %d records", (u64)records);
}

/* ---- a long run, also for migration ----------------------------------------------------- */

#define PERIOD	10007ul

static u64 hash, nr_hashed;

static void drain(struct cpu *cpu, struct frame *f)
{
	u64 nr = pebs_records(cpu);
	struct sample s;

	for (u64 i = 0; i < nr; i++) {
		cpu->failed += !pebs_get(cpu, i, &s) || s.status != 2;
		hash = hash * 31 + s.ip;
	}
	nr_hashed += nr;
	pebs_ds[cpu->nr].index = pebs_ds[cpu->nr].base;
	wrmsr(MSR_GLOBAL_OVF, STATUS_BUF);
}

/*
 * Counter 0 is armed before the long run, which has no calls, and writes its record after
 * it.  Counter 1 writes a record every PERIOD + 1 instructions of the run, four to a PMI.
 */
void test_pebs_long(void)
{
	struct cpu *cpu = this_cpu();
	const struct ucase *calls = find_case("calls and jumps");
	u64 n = (u64)param("millions", 20) * 1000000, total = n / 4 * 4 + 1, want = 0;
	struct frame f = {
		.rip = long_case->entry, .cs = SEL_UCODE, .ss = SEL_UDATA, .rflags = 0x3202,
		.rsp = (u64)cpu->user_stack + sizeof(cpu->user_stack) - 64, .rcx = n / 4,
	};
	static const u8 off[4] = { 8, 0, 4, 5 };	/* jnz add nop dec */
	struct sample s;

	cpu->failed = 0;
	pebs_setup(cpu, CFG_GPR);
	pebs_start(0, 0x02c4 | SEL_USR, 3, NO_RESET);
	run_case(cpu, calls, 0);
	pebs_ds[0].threshold = pebs_ds[0].base + 4 * pebs_size();
	cpu->pmis = 0;
	cpu->on_pmi = drain;
	cpu->rearm = LVT_NMI;
	apic_write(APIC_LVTPC, LVT_NMI);
	pebs_start(1, EV_INSN | SEL_USR, PERIOD, PERIOD);
	print("# running\n");
	enter_user(&f);
	wrmsr(MSR_PERFEVTSEL(1), 0);
	drain(cpu, &f);
	cpu->on_pmi = 0;
	for (u64 k = PERIOD + 1; k < total; k += PERIOD + 1)
		want = want * 31 + long_case->entry + off[k % 4];
	check(hash == want && nr_hashed == total / (PERIOD + 1) && !cpu->failed &&
	      cpu->pmis == nr_hashed / 4, "pebs: %d records in a long run, %d PMIs", nr_hashed,
	      cpu->pmis);
	pebs_ds[0].threshold = pebs_ds[0].max + 1;
	run_case(cpu, calls, 0);
	check(pebs_records(cpu) == 1 && pebs_get(cpu, 0, &s) && s.status == 1 &&
	      s.ip == calls->entry, "pebs: armed before, a record after it");
	pebs_stop();
}
