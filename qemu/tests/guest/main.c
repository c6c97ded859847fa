// SPDX-License-Identifier: GPL-2.0-only
/* Run the tests that the parameter "tests" lists, separated by blanks. */
#include "pebs.h"

#define TESTS(T) \
	T(cpuid) T(registers) T(rdpmc) T(unavail) T(listing) T(step) T(overflow) \
	T(cycles) T(width) T(lvtpc) T(status) T(together) T(reload) T(freeze) T(smm) \
	T(skid) T(kernel) T(always) T(stats) T(model) T(model_overflow) T(cmask) \
	T(interrupts) T(late) T(shadow) T(halt) T(init) T(reset) T(smp) T(contention) \
	T(long) T(icount) T(lbr_none) T(lbr_slow) T(lbr_registers) T(lbr) T(lbr_freeze) T(lbr_ler) \
	T(lbr_smm) T(lbr_init) T(lbr_smp) T(lbr_long) \
	T(pebs_none) T(pebs_registers) T(pebs) T(pebs_ds) T(pebs_together) T(pebs_armed) \
	T(pebs_levels) T(pebs_memory) T(pebs_events) T(pebs_groups) T(pebs_init) T(pebs_smp) \
	T(pebs_long) T(pebs_skid) T(owned) T(owned_long) T(owned_back) \
	T(amd_cpuid) T(amd_registers) T(amd_rdpmc) T(amd_lvtpc) T(amd_width) T(amd_freeze) \
	T(amd_events) T(amd_only) T(amd_svm) T(amd_svm_pmi) T(amd_no_lbr) \
	T(amd_flops) T(amd_pairs) T(amd_irperf) T(ibs_none) T(ibs_registers) T(ibs_op) \
	T(ibs_data) T(ibs_filter) T(ibs_fetch) T(ibs_long)

#define T(name) void test_##name(void);
TESTS(T)
#undef T

static const struct { const char *name; void (*run)(void); } tests[] = {
#define T(name) { #name, test_##name },
TESTS(T)
#undef T
};

#define NR_TESTS (sizeof(tests) / sizeof(*tests))

/* On a hybrid machine, leaf 0AH has what all CPUs have; performance cores have more */
static int is_performance_core(void)
{
	u32 features[4], kind[4];

	cpuid(7, features);
	cpuid(0x1a, kind);
	return features[3] >> 15 & 1 && kind[0] >> 24 == 0x40;
}

static void detect(void)
{
	u32 r[4];

	if (amd_detect())
		return;
	cpuid(0xa, r);
	pmu.version = r[0] & 0xff;
	pmu.gp = r[0] >> 8 & 0xff;
	pmu.width = r[0] >> 16 & 0xff;
	pmu.events = r[0] >> 24;
	pmu.unavail = r[1];
	pmu.fixed = r[3] & 0x1f;
	if (is_performance_core()) {
		pmu.gp += 2;
		pmu.fixed++;
	}
	pmu.fixed_width = r[3] >> 5 & 0xff;
	pmu.mask = (1ul << pmu.width) - 1;
}

static int listed(const char *list, const char *name)
{
	while (*list) {
		const char *n = name;

		while (*list && *list == *n)
			list++, n++;
		if (!*n && (!*list || *list == ' '))
			return 1;
		while (*list && *list++ != ' ')
			;
	}
	return 0;
}

static u64 words(const char *s)
{
	u64 n = *s && *s != ' ';

	for (; *s; s++)
		n += *s == ' ' && s[1] && s[1] != ' ';
	return n;
}

/* Restart the counter of the parameter "period" */
static u64 bench_period;

static void bench_pmi(struct cpu *cpu, struct frame *f)
{
	ctr_write(0, -bench_period);
	wrmsr(MSR_GLOBAL_OVF, 1);
}

/* A PEBS record every period, a PMI if the buffer is almost full */
static void bench_drain(struct cpu *cpu, struct frame *f)
{
	pebs_ds[0].index = pebs_ds[0].base;
	wrmsr(MSR_GLOBAL_OVF, STATUS_BUF);
}

static void bench_pebs(struct cpu *cpu)
{
	pebs_setup(cpu, 0);
	pebs_ds[0].threshold = pebs_ds[0].max - pebs_size();
	pebs_start(0, EV_INSN | SEL_USR, bench_period, bench_period);
}

/*
 * For cost.sh: run one of three loops, with a counter for each event in the bit mask
 * "count", with LBR if "lbr" is 1, or with a PMI every "period" instructions, or with a
 * PEBS record if "pebs" is 1.  "loop" is the number of the loop from 1; 0 runs none, to
 * measure the rest of a run.
 */
static void bench(void)
{
	static const u32 events[] = { EV_INSN, EV_BR, EV_LD, EV_ST, 0x00c5, 0x412e };
	extern const struct ucase bench_cases[];
	struct cpu *cpu = this_cpu();
	u32 mask = param("count", 0), loop = param("loop", 0);

	pmu.version = 4;			/* pmi() needs it */
	bench_period = param("period", 0);
	for (int i = 0, n = 0; i < 6; i++)
		if (mask >> i & 1)
			wrmsr(MSR_PERFEVTSEL(n++), events[i] | SEL_USR | SEL_EN);
	if (param("lbr", 0))
		lbr_start(&lbr_all_user);
	if (bench_period) {
		cpu->rearm = LVT_NMI;
		cpu->on_pmi = param("pebs", 0) ? bench_drain : bench_pmi;
		apic_write(APIC_LVTPC, LVT_NMI);
		if (param("pebs", 0))
			bench_pebs(cpu);
		else
			gp_start(0, EV_INSN | SEL_USR | SEL_INT, -bench_period);
	}
	if (loop) {
		struct frame f = {
			.rip = bench_cases[loop - 1].entry, .cs = SEL_UCODE, .ss = SEL_UDATA,
			.rflags = 0x3002, .rcx = (u64)param("millions", 20) * 1000000,
			.rdi = (u64)cpu->data,
			.rsp = (u64)cpu->user_stack + sizeof(cpu->user_stack) - 64,
		};

		enter_user(&f);
	}
	print("done, %d PMIs\n", cpu->pmis);
}

void test_main(void)
{
	const char *list = tests_wanted();
	u64 ran = 0;

	if (list && streq(list, "bench")) {
		bench();
		return;
	}
	detect();
	if (!pmu.version) {
		check(0, "no PMU");
		return;
	}
	if (param("x2apic", 0))
		x2apic_on();
	if (!list || !listed(list, "reset")) {
		check_reset_state("power-up");
		if (pmu.version >= 2)
			wrmsr(MSR_GLOBAL_CTRL, pmu_all());
	}
	write_cr4(read_cr4() | 0x100);		/* PCE */
	for (u64 i = 0; i < NR_TESTS; i++)
		if (list && listed(list, tests[i].name)) {
			tests[i].run();
			ran++;
		}
	check(ran == (list ? words(list) : 0), "all tests that were asked for exist");
}
