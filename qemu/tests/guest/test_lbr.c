// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the last branch records of every case in lbr.S with its listing: with
 * each filter, at each privilege level, with counters, and with single-stepping.
 */
#include "lbr.h"

extern const u8 trap_iret[];

#define INFO_CYCLES	0xffffu
#define INFO_CYC_VALID	(1ul << 60)
#define INFO_MISS	(1ul << 63)
#define AMD_VALID	4		/* see amd_lbr_get() */

static const struct {
	u8 type, select, ctl;
	const char *name;
} bits[] = {
	{ T_JCC, 2, 16, "JCC" }, { T_REL_CALL, 3, 19, "relative call" },
	{ T_IND_CALL, 4, 20, "indirect call" }, { T_RET, 5, 21, "return" },
	{ T_IND_JMP, 6, 18, "indirect jump" }, { T_REL_JMP, 7, 17, "relative jump" },
	{ T_OTHER, 8, 22, "other" },
};
#define NR_BITS (sizeof(bits) / sizeof(*bits))

int lbr_kind(void)
{
	u32 feat[4];

	if (pmu.amd)
		return amd_lbr_kind();
	cpuid(1, feat);
	if (!(feat[2] >> 15 & 1))
		return 0;
	switch (rdmsr(MSR_PERF_CAPS) & 0x3f) {
	case 0:
		return 0;
	case 0x3f:
		return LBR_ARCH;
	default:
		return LBR_LEGACY;
	}
}

u32 lbr_nr(void)
{
	switch (lbr_kind()) {
	case LBR_ARCH:
		return rdmsr(MSR_LBR_DEPTH);
	case LBR_AMD:
		return 16;
	default:
		return 32;
	}
}

/* Entry @n, from the newest */
void lbr_get(u32 n, struct lbr_entry *e)
{
	if (lbr_kind() == LBR_AMD) {
		amd_lbr_get(n, e);
	} else if (lbr_kind() == LBR_ARCH) {
		e->from = rdmsr(MSR_ARCH_FROM(n));
		e->to = rdmsr(MSR_ARCH_TO(n));
		e->info = rdmsr(MSR_ARCH_INFO(n));
	} else {
		n = (rdmsr(MSR_LBR_TOS) - n) & 31;
		e->from = rdmsr(MSR_LBR_FROM(n));
		e->to = rdmsr(MSR_LBR_TO(n));
		e->info = rdmsr(MSR_LBR_INFO(n));
	}
}

static void clear_entries(void)
{
	if (lbr_kind() == LBR_ARCH) {
		wrmsr(MSR_LBR_DEPTH, rdmsr(MSR_LBR_DEPTH));
		return;
	}
	for (u32 i = 0; lbr_kind() == LBR_AMD && i < 16; i++) {
		wrmsr(MSR_AMD_FROM(i), 0);
		wrmsr(MSR_AMD_TO(i), 0);
	}
	for (u32 i = 0; lbr_kind() == LBR_LEGACY && i < 32; i++) {
		wrmsr(MSR_LBR_FROM(i), 0);
		wrmsr(MSR_LBR_TO(i), 0);
		wrmsr(MSR_LBR_INFO(i), 0);
	}
}

const struct lcase *lbr_find(const char *name)
{
	const struct lcase *c = lbr_cases;

	while (!streq(c->c.name, name))
		c++;
	return c;
}

static u64 filter_bits(const struct lbr_filter *f)
{
	int arch = lbr_kind() == LBR_ARCH;
	u64 v = arch ? f->kernel << 1 | f->user << 2 | f->stack << 3
		     : (!f->kernel) | (!f->user) << 1 | f->stack << 9;

	for (u64 i = 0; i < NR_BITS; i++) {
		int on = f->types >> bits[i].type & 1;

		v |= arch ? (u64)on << bits[i].ctl : (u64)!on << bits[i].select;
	}
	return v;
}

int lbr_enabled(void)
{
	if (lbr_kind() == LBR_AMD)
		return rdmsr(MSR_AMD_EXTN_CFG) >> 6 & 1;
	return rdmsr(lbr_kind() == LBR_ARCH ? MSR_LBR_CTL : MSR_DEBUGCTL) & 1;
}

/* Clear the entries and record */
void lbr_start(const struct lbr_filter *f)
{
	u64 v = filter_bits(f);

	clear_entries();
	if (lbr_kind() == LBR_ARCH) {
		wrmsr(MSR_LBR_CTL, v | 1);
	} else if (lbr_kind() == LBR_AMD) {
		wrmsr(MSR_AMD_LBR_SELECT, v);
		wrmsr(MSR_AMD_EXTN_CFG, 1 << 6);
	} else {
		wrmsr(MSR_LBR_SELECT, v);
		wrmsr(MSR_DEBUGCTL, rdmsr(MSR_DEBUGCTL) | 1);
	}
}

void lbr_stop(void)
{
	if (lbr_kind() == LBR_ARCH)
		wrmsr(MSR_LBR_CTL, 0);
	else if (lbr_kind() == LBR_AMD)
		wrmsr(MSR_AMD_EXTN_CFG, 0);
	else
		wrmsr(MSR_DEBUGCTL, rdmsr(MSR_DEBUGCTL) & ~1ul);
}

/* ---- what is expected ------------------------------------------------------- */

/* Add a branch, unless it is filtered out */
void lbr_branch(struct list *l, const struct lbr_filter *f, const struct rec *r)
{
	int to_user = r->level != U2K, from_user = r->level != K2U;
	struct want *w = &l->w[l->nr];

	l->insns += r->insns;
	if (!(f->types >> r->type & 1) || !(to_user ? f->user : f->kernel))
		return;
	w->from = r->from;
	if (lbr_kind() == LBR_ARCH && !(from_user ? f->user : f->kernel))
		w->from = -1;
	w->to = r->to;
	w->type = r->type;
	w->miss = r->miss;
	/* The instructions of the kernel are not listed */
	w->cycles = f->kernel ? ANY : l->insns * CPI < INFO_CYCLES ? l->insns * CPI : INFO_CYCLES;
	l->insns = 0;
	l->nr++;
}

void lbr_expect(struct list *l, const struct lcase *c, const struct lbr_filter *f)
{
	struct rec first = { (u64)trap_iret, c->c.entry, T_OTHER, 0, 0, K2U };

	l->nr = 0;
	l->insns = 0;
	lbr_branch(l, f, &first);
	for (const struct rec *r = c->recs; r < c[1].recs; r++)
		lbr_branch(l, f, r);
	if (f->stack)
		for (u32 i = 0; i < l->nr; i++)
			l->w[i].cycles = ANY;
}

static int differs(const struct want *w, const struct lbr_entry *e)
{
	u64 info = e->info & ~(u64)INFO_CYCLES, want = w->miss ? INFO_MISS : 0;

	if (lbr_kind() == LBR_AMD)
		return e->from != w->from || e->to != w->to || e->info != (want | AMD_VALID);
	if (lbr_kind() == LBR_ARCH)
		want |= INFO_CYC_VALID | (u64)w->type << 56;
	return e->from != w->from || e->to != w->to || info != want ||
	       (w->cycles != ANY && (e->info & INFO_CYCLES) != w->cycles);
}

/* Compare the entries with a list: the newest ones, and empty ones after them */
int lbr_compare(const struct list *l, const char *name, const char *what)
{
	static const struct want empty;
	int bad = 0;

	for (u32 i = 0; i < lbr_nr(); i++) {
		const struct want *w = i < l->nr ? &l->w[l->nr - 1 - i] : &empty;
		struct lbr_entry e;

		lbr_get(i, &e);
		if (i >= l->nr ? !(e.from | e.to | e.info) : !differs(w, &e))
			continue;
		if (bad++ < 3)
			print("# %s, %s: entry %d is %x -> %x %x, not %x -> %x type %d cycles %d miss %d\n",
			      name, what, (u64)i, e.from, e.to, e.info, w->from, w->to,
			      (u64)w->type, (u64)w->cycles, (u64)w->miss);
	}
	return bad;
}

/* ---- running ------------------------------------------------------------------ */

/* AMD has no call-stack mode, and no SYSENTER in long mode */
int lbr_skips(const struct lcase *c)
{
	return lbr_kind() == LBR_AMD && (c->c.pad & L_STACK || streq(c->c.name, "sysenter"));
}

void lbr_run(struct cpu *cpu, const struct lcase *c, const struct lbr_filter *f, u64 rflags)
{
	if (c->c.pad & L_IRQ) {
		apic_write(APIC_ICR, 0x40000 | VEC_TIMER);	/* to itself */
		rflags |= 0x200;
	}
	wrmsr(STAT_COLD, 0);
	lbr_start(f);
	run_case(cpu, CASE_OF(c), rflags);
	lbr_stop();
}

static int run_filter(struct cpu *cpu, const struct lcase *c, const struct lbr_filter *f,
		      const char *what)
{
	struct list l;

	lbr_run(cpu, c, f, 0);
	lbr_expect(&l, c, f);
	return lbr_compare(&l, c->c.name, what);
}

const struct lbr_filter lbr_all_user = { LBR_TYPES, 0, 1, 0 };

/* Each type alone, and all but each */
static int run_types(struct cpu *cpu, const struct lcase *c)
{
	int bad = 0;

	for (u64 i = 0; i < NR_BITS; i++) {
		struct lbr_filter f = { 1u << bits[i].type, 0, 1, 0 };

		bad += run_filter(cpu, c, &f, bits[i].name);
		f.types = LBR_TYPES & ~f.types;
		bad += run_filter(cpu, c, &f, "all others");
	}
	return bad;
}

/* Far branches at each level; near ones of the kernel are not known */
static int run_levels(struct cpu *cpu, const struct lcase *c)
{
	int bad = 0;

	for (int level = 0; level < 4; level++) {
		struct lbr_filter f = { 1u << T_OTHER, level & 1, level >> 1, 0 };

		bad += run_filter(cpu, c, &f, level == 0 ? "no level" : level == 1 ? "kernel" :
				  level == 2 ? "user" : "both levels");
	}
	return bad;
}

/* While the counters of the listing in cases.S count, and a branch event */
static int run_counting(struct cpu *cpu, const struct lcase *c)
{
	static const u32 events[] = { EV_INSN, 0x00c5, 0x20c4, EV_LD };
	u64 v[2][4];
	int bad = 0;

	for (int on = 0; on < 2; on++) {
		for (u32 i = 0; i < 4 && i < pmu.gp; i++)
			gp_start(i, events[i] | SEL_USR, 0);
		if (on) {
			bad += run_filter(cpu, c, &lbr_all_user, "with counters");
		} else {
			wrmsr(STAT_COLD, 0);
			if (c->c.pad & L_IRQ)
				apic_write(APIC_ICR, 0x40000 | VEC_TIMER);
			run_case(cpu, CASE_OF(c), c->c.pad & L_IRQ ? 0x200 : 0);
		}
		for (u32 i = 0; i < 4 && i < pmu.gp; i++)
			v[on][i] = ctr_read(i);
		pmu_stop();
	}
	for (u32 i = 0; i < 4 && i < pmu.gp; i++)
		if (v[0][i] != v[1][i]) {
			print("# %s: event %x counts %d, with LBR %d\n", c->c.name,
			      (u64)events[i], v[0][i], v[1][i]);
			bad++;
		}
	/* Something else is counted in the kernel only, and in user mode only */
	gp_start(0, EV_INSN | SEL_OS, 0);
	bad += run_filter(cpu, c, &lbr_all_user, "with a counter of the kernel");
	pmu_stop();
	gp_start(0, 0x00c5 | SEL_OS, 0);
	bad += run_filter(cpu, c, &lbr_all_user, "with a branch event of the kernel");
	pmu_stop();
	gp_start(0, EV_BR | SEL_USR, 0);
	bad += run_filter(cpu, c, &lbr_all_user, "with branches:u");
	pmu_stop();
	return bad;
}

/* A branch goes from one step to the next; #DB stops the legacy LBR */
static u64 last_ip;

static void on_step(struct cpu *cpu, struct frame *f)
{
	if (cpu->steps < MAX_STEPS)
		cpu->step_ip[cpu->steps] = f->rip;
	cpu->steps++;
	if (lbr_kind() == LBR_LEGACY) {
		cpu->failed += lbr_enabled();
		wrmsr(MSR_DEBUGCTL, 1);
	}
}

static int run_steps(struct cpu *cpu, const struct lcase *c)
{
	struct lbr_filter near = { LBR_TYPES & ~(1u << T_OTHER), 0, 1, 0 };
	struct list l;
	u32 n = 0;
	int bad;

	cpu->on_step = on_step;
	cpu->failed = 0;
	lbr_run(cpu, c, &near, 0x100);
	cpu->on_step = 0;
	lbr_expect(&l, c, &near);
	for (u32 i = 0; i < l.nr && lbr_kind() == LBR_LEGACY; i++)
		l.w[i].cycles = ANY;
	bad = lbr_compare(&l, c->c.name, "stepping") + cpu->failed;

	/* The steps themselves make the jumps of the listing (32-bit code: offsets) */
	last_ip = c->c.entry;
	for (u64 i = 0; i < cpu->steps && i < MAX_STEPS; i++) {
		if (n < l.nr && l.w[n].from == last_ip && l.w[n].to == cpu->step_ip[i])
			n++;
		last_ip = cpu->step_ip[i];
	}
	if (n != l.nr && !(c->c.flags & CASE_CODE32)) {
		print("# %s: step %d of the listing is not made\n", c->c.name, (u64)n);
		bad++;
	}
	return bad;
}

static void all_modes(struct cpu *cpu, const struct lcase *c)
{
	check(!run_filter(cpu, c, &lbr_all_user, "user"), "lbr: %s", c->c.name);
	check(!run_types(cpu, c), "lbr: %s: filters of types", c->c.name);
	check(!run_levels(cpu, c), "lbr: %s: filters of levels", c->c.name);
	check(!run_counting(cpu, c), "lbr: %s: with counters", c->c.name);
	if (!(c->c.flags & CASE_NOSTEP))
		check(!run_steps(cpu, c), "lbr: %s: single steps", c->c.name);
}

static void all_lbr_cases(void)
{
	static const struct lbr_filter stack = {
		1u << T_REL_CALL | 1u << T_IND_CALL | 1u << T_RET, 0, 1, 1
	};
	struct cpu *cpu = this_cpu();

	/* A return without a call does not change TOS */
	if (lbr_kind() == LBR_LEGACY) {
		u64 tos = rdmsr(MSR_LBR_TOS);

		lbr_run(cpu, lbr_find("stack: returns without a call"), &stack, 0);
		check(rdmsr(MSR_LBR_TOS) == (tos + 1) % 32, "lbr: TOS");
	}
	for (const struct lcase *c = lbr_cases; c->c.name; c++) {
		if (lbr_skips(c))
			continue;
		if (c->c.pad & L_STACK)
			check(!run_filter(cpu, c, &stack, "stack"), "lbr: %s", c->c.name);
		else
			all_modes(cpu, c);
	}
}

void test_lbr(void)
{
	u32 nr = lbr_nr();

	if (!lbr_kind()) {
		check(0, "lbr: there is none");
		return;
	}
	all_lbr_cases();
	if (lbr_kind() != LBR_ARCH)
		return;
	for (u32 depth = 8; depth < nr; depth *= 2) {
		wrmsr(MSR_LBR_DEPTH, depth);
		print("# depth %d\n", (u64)depth);
		all_lbr_cases();
	}
	wrmsr(MSR_LBR_DEPTH, nr);
}

/*
 * With no branch event, countdowns of branch events must not end.  They are 0 until one
 * is counted, so this test is the first.
 */
void test_lbr_slow(void)
{
	u64 slow;

	gp_start(0, EV_INSN | SEL_USR, 0);
	slow = rdmsr(STAT_SLOW);
	lbr_run(this_cpu(), lbr_find("more records than entries"), &lbr_all_user, 0);
	slow = rdmsr(STAT_SLOW) - slow;
	pmu_stop();
	check(slow < 5, "lbr: %d slow paths", slow);
}

/* The same on all CPUs, with a timer interrupt, which must not be in the records */
static int rounds;

static void near_cases(struct cpu *cpu)
{
	struct lbr_filter near = { LBR_TYPES & ~(1u << T_OTHER), 0, 1, 0 };
	struct list l;

	cpu->failed = 0;
	apic_write(APIC_TDCR, 0xb);
	apic_write(APIC_LVTT, VEC_TIMER | 0x20000);
	apic_write(APIC_TMICT, 20000);
	for (int n = 0; n < rounds; n++)
		for (const struct lcase *c = lbr_cases; c->c.name; c++) {
			if (lbr_skips(c) || c->c.pad & (L_STACK | (cpu->nr ? L_CPU0 : 0)))
				continue;
			lbr_run(cpu, c, &near, 0x200);
			asm volatile("cli");
			lbr_expect(&l, c, &near);
			cpu->failed += lbr_compare(&l, c->c.name, "on a CPU");
		}
	apic_write(APIC_LVTT, LVT_MASKED);
}

void test_lbr_smp(void)
{
	int n = param("cpus", 1);

	rounds = param("rounds", 20);
	start_cpus(n);
	for (int i = 1; i < n; i++)
		run_on(i, near_cases);
	near_cases(this_cpu());
	for (int i = 1; i < n; i++)
		wait_cpu(i);
	for (int i = 0; i < n; i++)
		check(!cpus[i].failed && cpus[i].ticks, "lbr: CPU %d of %d, %d wrong, %d interrupts",
		      (u64)i, (u64)n, (u64)cpus[i].failed, cpus[i].ticks);
}
