// SPDX-License-Identifier: GPL-2.0-only
/* Registers of last branch records, freezing, SMM, INIT, reset, migration. */
#include "lbr.h"

#define BIT(n) (1ul << (n))

/* Addresses are sign-extended from the highest bit that the CPU has */
static int address_bad(u32 msr)
{
	u32 r[4];
	int top, bad = 0;

	cpuid(7, r);
	top = r[2] >> 16 & 1 ? 56 : 47;
	for (int bit = 0; bit < 64; bit++) {
		wrmsr(msr, BIT(bit));
		bad += rdmsr(msr) != (bit < top ? BIT(bit) : bit == top ? -BIT(bit) : 0);
	}
	/* What Linux writes to find out if there is LBR */
	wrmsr(msr, 0);
	wrmsr(msr, 0xffff);
	bad += rdmsr(msr) != 0xffff;
	wrmsr(msr, 0);
	return bad;
}

static void entries_ok(u32 from, u32 to, u32 nr)
{
	int bad = 0;

	for (u32 i = 0; i < nr; i++)
		bad += address_bad(from + i) + address_bad(to + i);
	check(!bad, "lbr: %d FROM and TO keep canonical addresses (%d bad)", (u64)nr, (u64)bad);
}

/* Each of these raises #GP, reading and writing */
static void absent(const char *what, const u32 *msr, int nr)
{
	u64 v = 0, bad = 0;

	for (int i = 0; i < nr; i++)
		bad += !probe_msr(msr[i], &v, 0) + !probe_msr(msr[i], &v, 1);
	check(!bad, "lbr: %s are absent", what);
}

static const u32 legacy_msrs[] = {
	MSR_LBR_SELECT, MSR_LBR_TOS, MSR_LBR_FROM(0), MSR_LBR_FROM(31), MSR_LBR_TO(0),
	MSR_LBR_TO(31), MSR_LBR_INFO(0), MSR_LBR_INFO(31),
};
static const u32 arch_msrs[] = {
	MSR_LBR_CTL, MSR_LBR_DEPTH, MSR_LER_INFO, MSR_ARCH_FROM(0), MSR_ARCH_FROM(63),
	MSR_ARCH_TO(0), MSR_ARCH_TO(63), MSR_ARCH_INFO(0), MSR_ARCH_INFO(63),
};
#define NR(a) ((int)(sizeof(a) / sizeof(*(a))))

static void legacy_registers(void)
{
	static const struct reg regs[] = {
		{ "MSR_LBR_SELECT", MSR_LBR_SELECT, 1, 1, 0x3ff, 0x3ff },
		{ "MSR_LASTBRANCH_TOS", MSR_LBR_TOS, 1, 1, 0x1f, 0x1f },
		{ "MSR_LER_FROM", MSR_LER_FROM, 1, 0, 0, 0 },
		{ "MSR_LER_TO", MSR_LER_TO, 1, 0, 0, 0 },
		{ "MSR_LBR_INFO_0", MSR_LBR_INFO(0), 1, 1, 7ul << 61 | 0xffff,
		  7ul << 61 | 0xffff },
	};

	for (int i = 0; i < NR(regs); i++)
		check_reg(&regs[i]);
	entries_ok(MSR_LBR_FROM(0), MSR_LBR_TO(0), 32);
	absent("registers of architectural LBR", arch_msrs, NR(arch_msrs));
	wrmsr(MSR_LBR_SELECT, 0);
	wrmsr(MSR_LBR_TOS, 0);
	wrmsr(MSR_LBR_INFO(0), 0);
}

static void depths(void)
{
	u64 bad = 0, v;

	for (u64 d = 0; d <= 128; d++) {
		int ok = d == 8 || d == 16 || d == 32;

		wrmsr(MSR_ARCH_FROM(0), 1);
		wrmsr(MSR_ARCH_TO(7), 2);
		wrmsr(MSR_ARCH_INFO(3), 3);
		v = d;
		bad += probe_msr(MSR_LBR_DEPTH, &v, 1) == ok;
		v = rdmsr(MSR_ARCH_FROM(0)) | rdmsr(MSR_ARCH_TO(7)) | rdmsr(MSR_ARCH_INFO(3));
		bad += ok ? v != 0 || rdmsr(MSR_LBR_DEPTH) != d : v != 3;
		for (u64 i = 0; ok && i < 64; i++)
			bad += probe_msr(MSR_ARCH_FROM(i), &v, 0) != (i >= d) ||
			       probe_msr(MSR_ARCH_TO(i), &v, 0) != (i >= d) ||
			       probe_msr(MSR_ARCH_INFO(i), &v, 0) != (i >= d);
	}
	check(!bad, "lbr: depths 8, 16, 32; a write clears the entries (%d bad)", bad);
	wrmsr(MSR_LBR_DEPTH, 32);
}

static void arch_registers(void)
{
	static const struct reg regs[] = {
		{ "IA32_LBR_CTL", MSR_LBR_CTL, 1, 1, 0x7f000f, 0x7f000f },
		{ "IA32_LBR_0_INFO", MSR_ARCH_INFO(0), 1, 1, ~0ul, ~0ul },
		{ "IA32_LER_INFO", MSR_LER_INFO, 1, 1, ~0ul, ~0ul },
	};
	u32 r[4];

	cpuid(7, r);
	check(r[3] >> 19 & 1, "lbr: CPUID has it");
	cpuid(0x1c, r);
	check(r[0] == 0x8000000b && r[1] == 7 && r[2] == 7 && !r[3],
	      "lbr: CPUID leaf 1CH: %x %x %x %x", (u64)r[0], (u64)r[1], (u64)r[2], (u64)r[3]);
	for (int i = 0; i < NR(regs); i++)
		check_reg(&regs[i]);
	wrmsr(MSR_LBR_CTL, 0);
	entries_ok(MSR_ARCH_FROM(0), MSR_ARCH_TO(0), 32);
	entries_ok(MSR_LER_FROM, MSR_LER_TO, 1);
	absent("registers of the legacy LBR", legacy_msrs, NR(legacy_msrs));
	depths();
	wrmsr(MSR_LER_INFO, 0);
}

/* Without LBR, its registers are those that QEMU does not know */
void test_lbr_none(void)
{
	u64 v = 5, bad = 0;

	for (int i = 0; i < NR(legacy_msrs); i++)
		bad += probe_msr(legacy_msrs[i], &v, 1) | probe_msr(legacy_msrs[i], &v, 0) | (v != 0);
	check(!lbr_kind() && !bad, "lbr: there is none");
	wrmsr(MSR_DEBUGCTL, 1);
	run_case(this_cpu(), cases_start + 1, 0);
	check(rdmsr(MSR_DEBUGCTL) == 1, "lbr: DEBUGCTL keeps the bit");
	wrmsr(MSR_DEBUGCTL, 0);
}

void test_lbr_registers(void)
{
	if (pmu.amd) {
		amd_lbr_registers();
		return;
	}
	check(lbr_kind() == (param("arch", 0) ? LBR_ARCH : LBR_LEGACY), "lbr: format");
	if (lbr_kind() == LBR_ARCH)
		arch_registers();
	else
		legacy_registers();
}

/* ---- freezing ------------------------------------------------------------------ */

#define FREEZE	BIT(11)

/* The PMI sets a status bit, else it clears the bit that enables */
static int has_frozen_bit(void)
{
	return pmu.amd || pmu.version >= 4;
}

/* The PMI freezes the LBR with the branch that overflows as the newest entry */
static int freeze_at(const struct lcase *c, const struct lbr_filter *f, u32 event, u64 period,
		     u32 nr)
{
	struct cpu *cpu = this_cpu();
	struct list l;
	int frozen, bad;

	cpu->pmis = 0;
	cpu->rearm = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	wrmsr(MSR_DEBUGCTL, FREEZE);
	gp_start(0, event | SEL_USR | SEL_INT, -period);
	wrmsr(STAT_COLD, 0);
	lbr_start(f);
	run_case(cpu, &c->c, 0);
	if (has_frozen_bit())
		frozen = rdmsr(MSR_GLOBAL_STATUS) & LBR_FRZ && lbr_enabled();
	else
		frozen = !lbr_enabled();
	lbr_stop();
	lbr_expect(&l, c, f);
	l.nr = nr;
	bad = lbr_compare(&l, c->c.name, "frozen") + !frozen + (cpu->pmis != 1);
	if (bad)
		print("# period %d: frozen %d, %d PMIs\n", period, (u64)frozen, cpu->pmis);
	pmu_stop();
	return bad;
}

static void not_frozen(const struct lcase *c, const char *what)
{
	struct list l;

	lbr_run(this_cpu(), c, &lbr_all_user, 0);
	lbr_expect(&l, c, &lbr_all_user);
	check(!lbr_compare(&l, c->c.name, what), "lbr: %s", what);
}

void test_lbr_freeze(void)
{
	static const struct lbr_filter far = { 1u << T_OTHER, 1, 1, 0 };
	static const struct lbr_filter far_user = { 1u << T_OTHER, 0, 1, 0 };
	const struct lcase *loop = lbr_find("more records than entries");
	const struct lcase *calls = lbr_find("calls"), *sys = lbr_find("system calls");
	struct list none = { .nr = 0 };
	int bad = 0;

	if (pmu.version < 2)
		return;
	for (u64 p = 1; p < 80; p++)
		bad += freeze_at(loop, &lbr_all_user, EV_BR, p, p + 1);
	for (u64 p = 1; p <= 10; p++)
		bad += freeze_at(calls, &lbr_all_user, EV_BR, p, p + 1);
	check(!bad, "lbr: frozen at every branch, %d bad", (u64)bad);
	/* MOV, then SYSCALL, which ends in the kernel */
	check(!freeze_at(sys, &far, EV_INSN, 1, 1), "lbr: frozen before SYSCALL");
	check(!freeze_at(sys, &far, EV_INSN, 2, 2), "lbr: frozen at SYSCALL");
	check(!freeze_at(sys, &far_user, EV_INSN, 2, 1), "lbr: frozen at SYSCALL, user");
	if (has_frozen_bit()) {
		wrmsr(MSR_GLOBAL_SET, LBR_FRZ);
		lbr_run(this_cpu(), loop, &lbr_all_user, 0);
		check(!lbr_compare(&none, loop->c.name, "STATUS_SET"), "lbr: STATUS_SET freezes");
		wrmsr(MSR_GLOBAL_OVF, LBR_FRZ);
		not_frozen(loop, "STATUS_RESET goes on");
	}
	/* Without the bit, the IRET of the PMI is recorded */
	this_cpu()->pmis = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	gp_start(0, EV_BR | SEL_USR | SEL_INT, -3ul);
	lbr_run(this_cpu(), calls, &far_user, 0);
	struct lbr_entry e[2];

	lbr_get(0, &e[0]);
	lbr_get(1, &e[1]);
	check(e[0].to == this_cpu()->pmi_ip && e[1].to == calls->c.entry,
	      "lbr: not frozen, back from the PMI to %x", e[0].to);
	pmu_stop();
}

/* ---- LER, SMM, INIT, reset ------------------------------------------------------- */

/* LER is the record that is now @age records old */
static void ler_is(const char *name, u32 age)
{
	struct lbr_entry e;

	lbr_run(this_cpu(), lbr_find(name), &lbr_all_user, 0);
	lbr_get(age, &e);
	check(e.from && rdmsr(MSR_LER_FROM) == e.from && rdmsr(MSR_LER_TO) == e.to &&
	      (lbr_kind() == LBR_LEGACY || rdmsr(MSR_LER_INFO) == e.info),
	      "lbr: LER after %s: %x -> %x", name, rdmsr(MSR_LER_FROM), rdmsr(MSR_LER_TO));
}

void test_lbr_ler(void)
{
	ler_is("page faults", 2);		/* the call of the fresh page */
	ler_is("traps and faults", 1);		/* the IRET from #DE, before #GP */
	ler_is("an interrupt", 1);		/* the IRET before it */
}

#define SMM_CODE	0x38000		/* SMBASE after reset + 0x8000 */
#define SMIS		0x7000

/*
 * An SMI after most of a loop.  Its handler has 100 conditional branches; the rest of
 * the run has less than the LBR has entries.
 */
void test_lbr_smm(void)
{
	/* incw SMIS; movw $100, %cx; 1: decw %cx; jnz 1b; rsm */
	static const u8 handler[] = { 0xff, 0x06, 0x00, 0x70, 0xb9, 100, 0,
				      0x49, 0x75, 0xfd, 0x0f, 0xaa };
	static const struct lbr_filter jcc = { 1u << T_JCC, 1, 1, 0 };
	const struct ucase *loop = cases_start + 1;
	volatile u16 *smis = (void *)SMIS;
	int smm = 0, user = 0, on;

	memcpy((void *)SMM_CODE, handler, sizeof(handler));
	*smis = 0;
	apic_write(APIC_LVTPC, LVT_SMI);
	gp_start(0, EV_INSN | SEL_USR | SEL_INT, -398ul);
	lbr_start(&jcc);
	run_case(this_cpu(), loop, 0);
	on = lbr_enabled();
	lbr_stop();
	for (u32 i = 0; i < lbr_nr(); i++) {
		struct lbr_entry e;

		lbr_get(i, &e);
		smm += e.from >= SMM_CODE && e.from < SMM_CODE + sizeof(handler);
		user += e.from == loop->entry + 14;
	}
	check(*smis == 1 && on && !smm && user > 2,
	      "lbr: SMM is not recorded: %d SMIs, enabled %d, %d in SMM, %d before", (u64)*smis,
	      (u64)on, (u64)smm, (u64)user);
	pmu_stop();
	*smis = 0;
}

static const struct lbr_filter far_kernel = { 1u << T_OTHER, 1, 0, 0 };
void lbr_int3(void);
static struct list boot;
static int boot_bad;

static void record_boot(struct cpu *cpu)
{
	lbr_start(&far_kernel);
	lbr_int3();
}

static void compare_boot(struct cpu *cpu)
{
	boot_bad = !lbr_enabled();
	lbr_stop();
	boot_bad += lbr_compare(&boot, "start-up code", "after INIT");
}

/* INIT keeps the LBR, which goes on in real mode, and over switches of hardware tasks */
void test_lbr_init(void)
{
	extern const u8 ap_start[], ap_far[], ap_far_to[], ap_far2[], ap_far2_to[], ap_far3[],
			ap_far3_to[], ap_task[], ap_task_to[], ap_call[], ap_nested[], ap_back[],
			vectors[], trap_iret[], lbr_int3_next[];
	/* Before the INIT, in its start-up code at TRAMPOLINE, and after that */
	const u8 *at[][2] = { { (u8 *)lbr_int3, vectors + 3 * 16 }, { trap_iret, lbr_int3_next },
			      { ap_far, ap_far_to }, { ap_far2, ap_far2_to },
			      { ap_task, ap_task_to }, { ap_call, ap_nested },
			      { ap_nested, ap_back }, { ap_far3, ap_far3_to } };

	for (int i = 0; i < 8; i++) {
		u64 moved = i >= 2 && i < 7 ? TRAMPOLINE - (u64)ap_start : 0;
		struct rec r = { (u64)at[i][0] + moved, (u64)at[i][1] + moved, T_OTHER, 0, 0, U2K };

		lbr_branch(&boot, &(struct lbr_filter){ 1u << T_OTHER, 1, 1, 0 }, &r);
	}
	start_cpus(2);
	run_on(1, record_boot);
	wait_cpu(1);
	init_cpu(1);
	run_on(1, compare_boot);
	wait_cpu(1);
	check(!boot_bad, "lbr: kept by INIT, far jumps in real mode, task switches");
}

/* Fill the LBR and let it record on */
void lbr_fill(struct cpu *cpu)
{
	if (!lbr_kind())
		return;
	lbr_start(&lbr_all_user);
	run_case(cpu, &lbr_find("more records than entries")->c, 0);
	run_case(cpu, &lbr_find("page faults")->c, 0);
}

/* Nonzero if the LBR is not as after a reset */
u64 lbr_reset_state(void)
{
	u64 bad;

	if (!lbr_kind())
		return 0;
	if (lbr_kind() == LBR_AMD)
		return amd_lbr_reset_state();
	bad = lbr_enabled() | rdmsr(MSR_LER_FROM) | rdmsr(MSR_LER_TO);
	if (lbr_kind() == LBR_ARCH)
		bad |= rdmsr(MSR_LBR_CTL) | rdmsr(MSR_LER_INFO) | (rdmsr(MSR_LBR_DEPTH) != 32);
	else
		bad |= rdmsr(MSR_LBR_SELECT) | rdmsr(MSR_LBR_TOS);
	for (u32 i = 0; i < 32; i++) {
		struct lbr_entry e;

		lbr_get(i, &e);
		bad |= e.from | e.to | e.info;
	}
	return bad;
}

/* ---- migration -------------------------------------------------------------------- */

/*
 * Records, a long run without any, more records.  All must be there at the end.  With
 * the parameter "spin" the run is in the kernel, so that no cycles are added.
 */
void test_lbr_long(void)
{
	static const struct lbr_filter no_jcc = { LBR_TYPES & ~(1u << T_JCC), 0, 1, 0 };
	extern const u8 trap_iret[];
	const struct lcase *calls = lbr_find("calls");
	u64 n = (u64)param("millions", 20) * 1000000;
	int spin = param("spin", 0);
	struct cpu *cpu = this_cpu();
	struct list l = { .nr = 0 };
	struct frame f = {
		.rip = long_case->entry, .cs = SEL_UCODE, .ss = SEL_UDATA, .rflags = 0x3202,
		.rsp = (u64)cpu->user_stack + sizeof(cpu->user_stack) - 64, .rcx = n / 4,
	};

	wrmsr(STAT_COLD, 0);
	lbr_start(&no_jcc);
	run_case(cpu, &calls->c, 0);
	print("# running\n");
	if (spin)
		asm volatile("1: dec %0; jnz 1b" : "+r"(n));
	else
		enter_user(&f);
	wrmsr(STAT_COLD, 0);
	run_case(cpu, &calls->c, 0);
	lbr_stop();
	for (int i = 0; i < 3; i++) {
		struct rec entry = { (u64)trap_iret, i == 1 ? long_case->entry : calls->c.entry,
				     T_OTHER, i == 2 && !spin ? 100000 : 0, 0, K2U };

		if (i == 1 && spin)
			continue;
		lbr_branch(&l, &no_jcc, &entry);
		for (const struct rec *r = calls->recs; i != 1 && r < calls[1].recs; r++)
			lbr_branch(&l, &no_jcc, r);
	}
	check(!lbr_compare(&l, "calls", "twice"), "lbr: records before and after a long run");
}
