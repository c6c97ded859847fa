// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commit: make the counters of this CPU be what a plan says, writing only
 * the difference.  SDM volume 3, IA32_PERF_GLOBAL_CTRL and following.
 *
 * Counting events do not own the value of their counter.  Counters run freely;
 * an event remembers the value at which it got the counter and adds
 * the distance.  So events come and go with reads, not writes: a
 * switch between two tasks with the same selectors writes at most GLOBAL_CTRL.
 * An idle counter's value is not trusted either: whoever takes it reads it first, so
 * it does no harm if somebody else let it run meanwhile (the kernel's own
 * handler does, for its tracing PMUs).
 *
 * A value that runs freely holds what was counted for other tasks.  So a task that may
 * execute RDPMC finds counters that were set anew: kpmu_counters_hide() at the switch
 * of mm, and prepare() for those whose value its user pages tell.
 *
 * Everything here runs with IRQs off, but PMIs come as NMIs at any point.
 * Order makes that safe: a counter's owner changes while the counter stands
 * still, except for counters that do not count the kernel, which stand still
 * as long as we are here.
 */
#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>

#include "../../trace/stats.h"
#include "counter.h"

DEFINE_PER_CPU(struct x86_cpu, x86_cpu);

/*
 * Add what was counted since the last fold.  An NMI may fold in between, and set
 * the counter back to the very value it had: so @prev has, above the counter's
 * bits, how often that happened.
 */
static __always_inline void fold(struct kpmu_hw *hw, int idx)
{
	u64 prev, raw;

	do {
		prev = local64_read(&hw->prev);
		raw = x86_counter_read(idx);
	} while (local64_cmpxchg(&hw->prev, prev,
				 raw | (prev & ~x86_pmu.value)) != prev);
	local64_add((raw - prev) & x86_pmu.value, &hw->count);
}

/**
 * x86_read() - an event's count, now
 * @hw: the event; if it is on a counter, then of this CPU
 *
 * Context: IRQs off.
 */
u64 x86_read(struct kpmu_hw *hw)
{
	if (hw->idx >= 0)
		fold(hw, hw->idx);
	return local64_read(&hw->count);
}

/* Version 1 has no GLOBAL_CTRL: each selector has its own switch */
static noinline void enable_each(struct x86_cpu *c, u32 on)
{
	u32 diff = c->on ^ on;

	for (; diff; diff &= diff - 1) {
		int i = __ffs(diff);

		x86_wrmsr(MSR_GP_SEL(i),
			  on & 1u << i ? c->sel[i] : c->sel[i] & ~SEL_EN);
	}
}

static __always_inline void enable(struct x86_cpu *c, u32 on)
{
	on &= ~READ_ONCE(c->halted);
	if (c->on == on)
		return;
	if (x86_pmu.version >= 2) {
		/* A PMI that comes before the write restores what is to be */
		WRITE_ONCE(c->on, on);
		x86_global_write(on);
		/* It has halted one, and we have let it go on */
		if (unlikely(on & READ_ONCE(c->halted)))
			x86_go_on_now(c);
	} else {
		enable_each(c, on);
		c->on = on;
	}
}

/**
 * x86_go_on_now() - let those count again that are to
 * @c: this CPU's shadow
 *
 * Context: NMI.  See x86_go_on().
 */
void x86_go_on_now(struct x86_cpu *c)
{
	u32 on = c->on & ~c->halted;

	if (x86_pmu.version < 2)
		enable_each(c, on);
	else
		x86_global_write(on);
	c->on = on;
}

/*
 * While a counter is set, standing still, other counters may go on.  Their PMIs must not find it
 * half set: neither as one that has wrapped, nor where they read the counts of a group.
 */
static __always_inline int hide_counter(struct x86_cpu *c, struct kpmu_hw *hw)
{
	int idx = hw->idx;

	WRITE_ONCE(c->slots.hw[idx], NULL);
	WRITE_ONCE(hw->idx, -1);
	barrier();
	return idx;
}

static __always_inline void show_counter(struct x86_cpu *c, struct kpmu_hw *hw, int idx)
{
	barrier();
	WRITE_ONCE(hw->idx, idx);
	WRITE_ONCE(c->slots.hw[idx], hw);
}

/* See source.h */
void x86_set_period(struct kpmu_hw *hw, u64 period)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	int idx = hw->idx;

	if (idx < 0) {
		hw->period = period;
		hw->next = local64_read(&hw->count) + period;
		return;
	}
	enable(c, c->on & ~(1u << idx));
	fold(hw, idx);
	hide_counter(c, hw);
	hw->period = period;
	hw->next = local64_read(&hw->count) + period;
	x86_aim(hw, idx);
	show_counter(c, hw, idx);
	enable(c, c->slots.mask);
}

/* See source.h */
void x86_reset(struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	int idx = hw->idx;

	if (idx < 0 || !hw->period) {
		kpmu_source_reset(hw, x86_read(hw));
		return;
	}
	enable(c, c->on & ~(1u << idx));
	fold(hw, idx);
	hide_counter(c, hw);
	kpmu_source_reset(hw, local64_read(&hw->count));
	x86_aim(hw, idx);
	show_counter(c, hw, idx);
	enable(c, c->slots.mask);
}

/* Set the counter, standing still, of an event that only counts to a place of its own */
static void move(struct x86_cpu *c, struct kpmu_hw *hw, int idx)
{
	u64 from, to;

	fold(hw, idx);
	from = local64_read(&hw->prev);
	to = x86_far(hw);
	hide_counter(c, hw);
	local64_set(&hw->prev, to);
	x86_counter_write(idx, to);
	if (hw->page)
		x86_user_jump(hw, from, to);
	show_counter(c, hw, idx);
}

/**
 * x86_counter_move() - set the counter of an event that only counts to x86_far()
 * @hw: the event, on a counter of this CPU
 *
 * Context: IRQs off, the context's owner.
 */
void x86_counter_move(struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	enable(c, c->on & ~(1u << hw->idx));
	move(c, hw, hw->idx);
	enable(c, c->slots.mask);
}

static void hide(struct x86_cpu *c, int idx)
{
	struct kpmu_hw *hw = c->slots.hw[idx];

	if (hw) {
		if (!hw->shown && !hw->period)
			move(c, hw, idx);
	} else if (x86_counter_read(idx) != x86_pmu.start) {
		x86_counter_write(idx, x86_pmu.start);
	}
}

/* See source.h */
void kpmu_counters_hide(void)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	u32 m;

	if (!c->ready)
		return;
	enable(c, c->on & ~c->kernel);
	for (m = x86_pmu.counters; m; m &= m - 1)
		hide(c, __ffs(m));
	enable(c, c->slots.mask);
}

/* See source.h */
void kpmu_counters_halt(const struct kpmu_hw *hw)
{
	if (hw->idx >= 0)
		this_cpu_or(x86_cpu.halted, 1u << hw->idx);
}

/* See source.h */
void kpmu_counters_resume(const struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	if (hw->idx < 0 || !(READ_ONCE(c->halted) & 1u << hw->idx))
		return;
	this_cpu_and(x86_cpu.halted, ~(1u << hw->idx));
	enable(c, c->slots.mask);
}

/* See source.h */
void kpmu_counters_settle(void)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	/* Not c->slots.mask: this may have interrupted a commit */
	if (c->on & READ_ONCE(c->halted))
		enable(c, c->on);
}

/* See source.h */
struct kpmu_hw *kpmu_counters_halted(int from, int *at)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	u64 m = (u64)READ_ONCE(c->halted) >> from << from;
	struct kpmu_hw *hw;

	for (; m; m &= m - 1) {
		*at = __ffs(m);
		hw = READ_ONCE(c->slots.hw[*at]);
		if (hw)
			return hw;
	}
	return NULL;
}
NOKPROBE_SYMBOL(kpmu_counters_halted);

/* The selector with the event code that goes with the other extra register */
static noinline u64 alt_selector(const struct kpmu_hw *hw)
{
	const struct x86_extra_reg *e = x86_pmu.model->extra;

	while (e->reg != 3 - hw->extra_reg)
		e++;
	return (hw->sel & ~SEL_CODE) | e->code;
}

/* The selector an event needs on a counter: PERFEVTSEL, or 4 fixed bits */
static __always_inline u64 selector(const struct kpmu_hw *hw, int idx, bool alt)
{
	if (idx >= X86_FIXED)
		return hw->fixed;
	return unlikely(alt) ? alt_selector(hw) : hw->sel;
}

/**
 * x86_selector() - the selector that an event needs on a counter
 * @hw: the event
 * @idx: the counter
 * @alt: it uses the other one of extra registers 1 and 2
 *
 * Context: any.
 */
u64 x86_selector(const struct kpmu_hw *hw, int idx, bool alt)
{
	return selector(hw, idx, alt);
}

static noinline void write_extra(struct x86_cpu *c, const struct kpmu_hw *hw,
				 bool alt)
{
	const struct x86_extra_reg *e;
	int reg = alt ? 3 - hw->extra_reg : hw->extra_reg;

	if (c->extra_known & 1u << reg && c->extra[reg - 1] == hw->extra)
		return;
	c->extra_known |= 1u << reg;
	c->extra[reg - 1] = hw->extra;
	for (e = x86_pmu.model->extra; e->reg != reg; e++)
		;
	x86_wrmsr(e->msr, hw->extra);
}

static noinline void write_selector(struct x86_cpu *c, struct kpmu_hw *hw,
				    int idx, u64 sel)
{
	u32 bit = 1u << idx;

	c->sel[idx] = sel;
	c->known |= bit;
	c->kernel = hw->kernel ? c->kernel | bit : c->kernel & ~bit;
	if (idx >= X86_FIXED) {
		int shift = (idx - X86_FIXED) * 4;

		/* Written once for all of them, by the caller */
		c->fixed_ctrl &= ~(15ULL << shift);
		c->fixed_ctrl |= sel << shift;
	} else {
		x86_wrmsr(MSR_GP_SEL(idx),
			  x86_pmu.version >= 2 ? sel : sel & ~SEL_EN);
	}
	kpmu_stat_inc(selectors);
}

/* What few events need: an extra register, or a counter that tells of nothing else */
static noinline void prepare(struct x86_cpu *c, struct kpmu_hw *hw, int idx, bool alt)
{
	if (hw->extra_reg)
		write_extra(c, hw, alt);
	if (!hw->shown || hw->period)
		return;
	/* Where the event has left it, unless something else has counted here */
	if ((x86_counter_read(idx) ^ local64_read(&hw->prev)) & x86_pmu.value)
		x86_counter_write(idx, x86_far(hw));
}

/* Give a counter, standing still, to an event */
static void start(struct x86_cpu *c, struct kpmu_hw *hw, int idx, u64 sel,
		  bool alt)
{
	u64 raw;

	if (unlikely(hw->rare))
		prepare(c, hw, idx, alt);
	if (c->sel[idx] != sel || !(c->known & 1u << idx))
		write_selector(c, hw, idx, sel);

	if (hw->period) {
		x86_aim(hw, idx);
	} else {
		/* Keep the sign bit set: users sign-extend, the wrap is our alarm */
		raw = x86_counter_read(idx);
		if (unlikely(!(raw & x86_pmu.sign))) {
			raw = x86_pmu.start;
			x86_counter_write(idx, raw);
		}
		local64_set(&hw->prev, raw);
	}
	hw->idx = idx;
	hw->hint = idx;
	WRITE_ONCE(c->slots.hw[idx], hw);
}

static void stop(struct x86_cpu *c, int idx)
{
	struct kpmu_hw *hw = c->slots.hw[idx];

	fold(hw, idx);
	hw->idx = -1;
	WRITE_ONCE(c->slots.hw[idx], NULL);
	if (unlikely(c->halted))
		this_cpu_and(x86_cpu.halted, ~(1u << idx));
}

/*
 * Counters that must stand still while they change hands: those that count the
 * kernel, those that get another selector, and those that get another value.
 */
static u32 must_stop(const struct x86_cpu *c, const struct kpmu_slots *want,
		     u32 changed)
{
	u32 off = changed & (c->kernel | want->alt), left = changed & c->on & ~off;

	for (; left; left &= left - 1) {
		int i = __ffs(left);

		if (want->hw[i]->period ||
		    c->sel[i] != selector(want->hw[i], i, false))
			off |= 1u << i;
	}
	return off;
}

/* Counters whose owner is not the wanted one */
static u32 find_changed(const struct x86_cpu *c, const struct kpmu_slots *want)
{
	u32 m, changed = (c->slots.alt ^ want->alt) & want->mask & c->slots.mask;

	for (m = want->mask; m; m &= m - 1) {
		int i = __ffs(m);

		if (c->slots.hw[i] != want->hw[i])
			changed |= 1u << i;
	}
	return changed;
}

/* See source.h */
void kpmu_commit(const struct kpmu_slots *want)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	u32 changed = find_changed(c, want);
	u32 stopped = c->slots.mask & (~want->mask | changed);
	u64 fixed;
	u32 m;

	if (!(stopped | changed))
		return;
	if (unlikely(!c->ready))
		x86_cpu_setup(c);

	fixed = c->fixed_ctrl;
	enable(c, c->on & want->mask & ~must_stop(c, want, changed));
	for (m = stopped; m; m &= m - 1)
		stop(c, __ffs(m));
	for (m = changed; m; m &= m - 1) {
		int i = __ffs(m);
		bool alt = want->alt & 1u << i;

		start(c, want->hw[i], i, selector(want->hw[i], i, alt), alt);
	}
	if (c->fixed_ctrl != fixed)
		x86_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, c->fixed_ctrl);
	c->slots.mask = want->mask;
	c->slots.alt = want->alt;
	enable(c, want->mask);
	kpmu_stat_inc(commits);
	trace_kpmu_commit(stopped, changed, want->mask);
}
