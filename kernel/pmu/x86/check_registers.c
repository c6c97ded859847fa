// SPDX-License-Identifier: GPL-2.0-only
/*
 * Consistency checks: the shadow (struct x86_cpu) must agree with the plan, with the
 * events, and with the registers, which are read back.
 */
#include <linux/bitops.h>
#include <linux/kprobes.h>

#include "counter.h"
#include "lbr.h"
#include "precise.h"

struct rule {
	const char *name;
	bool (*holds)(const struct x86_cpu *c, const struct kpmu_slots *want);
};

static bool owners_agree(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	int i;

	if (c->slots.mask != want->mask || (c->slots.alt ^ want->alt) & want->mask ||
	    c->slots.mask & ~c->counters)
		return false;
	for (i = 0; i < KPMU_NR_SLOTS; i++)
		if (c->slots.hw[i] != (want->mask & 1u << i ? want->hw[i] : NULL))
			return false;
	return true;
}

static bool indices_agree(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m;

	for (m = c->slots.mask; m; m &= m - 1)
		if (c->slots.hw[__ffs(m)]->idx != __ffs(m))
			return false;
	return true;
}

static bool selectors_agree(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m;

	for (m = c->slots.mask; m; m &= m - 1) {
		int i = __ffs(m);
		const struct kpmu_hw *hw = c->slots.hw[i];

		if (!(c->known & 1u << i) || !(c->kernel & 1u << i) != !hw->kernel ||
		    c->sel[i] != x86_selector(hw, i, c->slots.alt & 1u << i))
			return false;
	}
	return true;
}

/* An assignment that is known to be like another one is in force without changes */
static bool alikes_agree(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	return c->slots.like == want->like && (c->slots.mask || !c->slots.like);
}

/* Exactly the counters that have an event and are not halted are enabled */
static bool enables_agree(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	/*
	 * A PMI between the reads may halt counters but never restarts one: it sets bits in
	 * halted, then clears them in on.  So halted is read before on, and again after it:
	 * a counter that is not in on must be in halted by then.
	 */
	u32 halted = READ_ONCE(c->halted);
	u32 on = READ_ONCE(c->on);

	return !(on & ~c->slots.mask) && !(on & halted) &&
	       !(c->slots.mask & ~on & ~READ_ONCE(c->halted));
}

static bool global_ctrl(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	if (x86_pmu.version < 2)
		return true;
	return kpmu_rdmsr(x86_pmu.regs.ctrl) == x86_global_bits(x86_with_upper(c, c->on));
}

static bool evntsel(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m;

	for (m = c->known & X86_GP_MASK; m; m &= m - 1) {
		int i = __ffs(m);

		if (kpmu_rdmsr(MSR_GP_SEL(i)) !=
		    x86_sel_register(c, i, (c->on | c->pairs << 1) & 1u << i))
			return false;
	}
	return true;
}

static bool fixed_ctrl(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m;

	if (!(c->known & X86_FIXED_MASK))
		return true;
	for (m = c->known & X86_FIXED_MASK; m; m &= m - 1) {
		int i = __ffs(m);

		if ((c->fixed_ctrl >> (i - X86_FIXED) * 4 & 15) != c->sel[i])
			return false;
	}
	return kpmu_rdmsr(MSR_CORE_PERF_FIXED_CTR_CTRL) == c->fixed_ctrl;
}

static bool extra(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	const struct x86_extra_reg *e = x86_kinds[c->kind].model->extra;

	for (; e && e->reg; e++)
		if (c->extra_known & 1u << e->reg &&
		    kpmu_rdmsr(e->msr) != c->extra[e->reg - 1])
			return false;
	return true;
}

/* Branches are recorded if and only if an event on a counter asks for it */
static bool branches(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m, recorders = 0;

	for (m = c->slots.mask; m; m &= m - 1)
		if (c->slots.hw[__ffs(m)]->branches)
			recorders |= m & -m;
	if (c->recorders != recorders)
		return false;
	if (!recorders || c->lbr_switch)
		return !c->lbr_on;
	for (m = recorders; m; m &= m - 1)
		if ((u32)c->slots.hw[__ffs(m)]->branch_filter != c->lbr_filter)
			return false;
	return c->lbr_on && x86_pmu.lbr->is_on(c->lbr_filter);
}

/* Exactly the counters of precise events write records, with the right periods */
static bool precise(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m, found = 0;

	for (m = c->slots.mask; m; m &= m - 1)
		if (c->slots.hw[__ffs(m)]->precise)
			found |= m & -m;
	return c->precise == found && (!x86_pmu.precise || x86_pmu.precise->is_on(c));
}

/* Exactly the wide events have pairs */
static bool pairs(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m, found = 0;

	for (m = c->slots.mask; m; m &= m - 1)
		if (c->slots.hw[__ffs(m)]->wide)
			found |= m & -m;
	return c->pairs == found && c->special == (found | c->recorders | c->precise);
}

static const struct rule rules[] = {
	{ "owners", owners_agree },
	{ "idx", indices_agree },
	{ "selectors", selectors_agree },
	{ "alike", alikes_agree },
	{ "counting", enables_agree },
	{ "GLOBAL_CTRL", global_ctrl },
	{ "EVNTSEL", evntsel },
	{ "FIXED_CTR_CTRL", fixed_ctrl },
	{ "extra registers", extra },
	{ "branch records", branches },
	{ "precise events", precise },
	{ "pairs", pairs },
};

static const char *check_registers(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rules); i++)
		if (!rules[i].holds(c, want))
			return rules[i].name;
	return NULL;
}

/* A PMI during the check may change what was just read; then retry, but not forever */
#define MAX_TRIES	4

/**
 * x86_check() - .check of struct kpmu_core
 * @want: see kpmu_counters_check()
 *
 * Context: see kpmu_counters_check().
 * Return: see kpmu_counters_check().
 */
const char *x86_check(const struct kpmu_slots *want)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	const char *why;
	int tries;
	u32 turn;

	if (!READ_ONCE(c->ready))
		return want->mask | c->slots.mask ? "not ours" : NULL;
	for (tries = 0; tries < MAX_TRIES; tries++) {
		turn = READ_ONCE(c->turn);
		barrier();
		why = check_registers(c, want);
		barrier();
		if (!why || READ_ONCE(c->turn) == turn)
			return why;
	}
	return NULL;
}

/* Does a counter count at CPL 0, if GLOBAL_CTRL lets it? */
static bool selects_kernel(int i)
{
	if (i >= X86_FIXED)
		return kpmu_rdmsr(MSR_CORE_PERF_FIXED_CTR_CTRL) >> (i - X86_FIXED) * 4 & FIXED_OS;
	return !(~kpmu_rdmsr(MSR_GP_SEL(i)) & (SEL_EN | SEL_OS));
}

/**
 * x86_check_pmi() - .check_pmi of struct kpmu_core
 *
 * Context: see kpmu_counters_check_pmi().
 * Return: see kpmu_counters_check_pmi().
 */
bool x86_check_pmi(void)
{
	const struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	u32 m = c->counters;

	if (x86_pmu.version >= 2)
		m &= x86_global_slots(kpmu_rdmsr(x86_pmu.regs.ctrl));
	else if (x86_pmu.late_nmis)
		return true;
	for (; m; m &= m - 1)
		if (selects_kernel(__ffs(m)))
			return false;
	return true;
}
NOKPROBE_SYMBOL(x86_check_pmi);
