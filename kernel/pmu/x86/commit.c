// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commit: program the counters of this CPU according to a plan, writing only the
 * differences.  SDM volume 3, IA32_PERF_GLOBAL_CTRL and following.
 *
 * Counting (non-sampling) events do not set the value of their counter.  Counters run
 * freely; an event records the counter's value when it is scheduled in and adds the
 * difference.  So scheduling in and out takes reads, not writes: a switch between two
 * tasks with the same selectors writes at most GLOBAL_CTRL, or nothing if it can hand over
 * the counters (handover.h).  The value of an idle counter
 * is not relied upon: it is read when an event gets the counter, so it does not matter if
 * the counter has been running meanwhile (the PMI handler of the kernel's own perf may
 * enable it, for its tracing PMUs).
 *
 * The value of a free-running counter includes what was counted for other tasks.  So
 * counters are set to a new value before a task that may execute RDPMC runs:
 * x86_hide() does it at the switch of mm, and prepare() for the counters that
 * the task reads through its user pages.
 *
 * All of this runs with IRQs off, but may be interrupted by PMIs (NMIs) at any point.
 * That is safe because, except in a handover, the event of a counter is changed only while
 * the counter is stopped.  Counters that do not count at CPL 0 need not be stopped for it, as they do not
 * count while the kernel runs.
 */
#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>

#include "../../trace/stats.h"
#include "handover.h"
#include "lbr.h"
#include "precise.h"

/*
 * A counter is stopped while it is set, but other counters may continue to count.  Their PMIs
 * must not see the counter half set: neither take it for one that has wrapped, nor read it for
 * the counts of a group.
 */
static __always_inline void hide_counter(struct x86_cpu *c, struct kpmu_hw *hw)
{
	int idx = hw->idx;

	/* A PMI may halt it nevertheless, with its group */
	c->hidden_idx = idx;
	barrier();
	WRITE_ONCE(c->hidden, hw);
	WRITE_ONCE(c->slots.hw[idx], NULL);
	WRITE_ONCE(hw->idx, -1);
	barrier();
}

static __always_inline void show_counter(struct x86_cpu *c, struct kpmu_hw *hw, int idx)
{
	barrier();
	WRITE_ONCE(hw->idx, idx);
	WRITE_ONCE(c->slots.hw[idx], hw);
	WRITE_ONCE(c->hidden, NULL);
}

/**
 * x86_set_period() - .set_period of the CPU's counters
 * @hw: the event
 * @period: events from one overflow to the next, counted from now
 *
 * The event's counter is stopped while it is set.
 *
 * Context: owner of the event's context, IRQs off; on the CPU of hw->idx.
 */
void x86_set_period(struct kpmu_hw *hw, u64 period)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	int idx = hw->idx;

	if (idx < 0) {
		kpmu_period_start(hw, period, local64_read(&hw->count));
		return;
	}
	x86_enable_counters(c, c->on & ~(1u << idx));
	if (unlikely(hw->precise))
		x86_precise_stop(c);
	x86_fold(hw, idx);
	hide_counter(c, hw);
	kpmu_period_start(hw, period, local64_read(&hw->count));
	x86_aim(hw, idx);
	show_counter(c, hw, idx);
	if (unlikely(hw->precise))
		x86_pmu.precise->update(c);
	x86_enable_counters(c, c->slots.mask);
}

/**
 * x86_reset() - .reset of the CPU's counters: set the count to 0
 * @hw: the event
 *
 * The distance to the next overflow stays the same, so a sampling event's counter must be
 * set to match the new count.
 *
 * Context: owner of the event's context, IRQs off; on the CPU of hw->idx.
 */
void x86_reset(struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	int idx = hw->idx;

	if (idx < 0 || !hw->period) {
		kpmu_source_reset(hw, x86_read(hw));
		return;
	}
	x86_enable_counters(c, c->on & ~(1u << idx));
	if (unlikely(hw->precise))
		x86_precise_stop(c);
	x86_fold(hw, idx);
	hide_counter(c, hw);
	/* An overflow that is due is not lost: its PMI finds nothing, so there is another one */
	if (kpmu_period_left(hw, local64_read(&hw->count)) <= 0)
		kpmu_period_due(hw, local64_read(&hw->count) + 1);
	kpmu_source_reset(hw, local64_read(&hw->count));
	x86_aim(hw, idx);
	show_counter(c, hw, idx);
	x86_enable_counters(c, c->slots.mask);
}

/* Set the counter of a counting event to x86_far(); the counter is stopped */
static void move_counter(struct x86_cpu *c, struct kpmu_hw *hw, int idx)
{
	u64 from, to;

	x86_fold(hw, idx);
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
 * x86_counter_move() - set the counter of a counting event to x86_far()
 * @hw: the event, on a counter of this CPU
 *
 * Context: owner of the event's context, IRQs off.
 */
void x86_counter_move(struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	x86_enable_counters(c, c->on & ~(1u << hw->idx));
	move_counter(c, hw, hw->idx);
	x86_enable_counters(c, c->slots.mask);
}

static void hide_event(struct x86_cpu *c, int idx)
{
	struct kpmu_hw *hw = c->slots.hw[idx];

	if (hw) {
		if (!hw->shown && !hw->period)
			move_counter(c, hw, idx);
	} else if (x86_counter_read(idx) != x86_pmu.start && !(c->pairs << 1 & 1u << idx)) {
		x86_counter_write(idx, x86_pmu.start);
	}
}

/**
 * x86_hide() - .hide of struct kpmu_core
 *
 * Context: see kpmu_counters_hide().
 */
void x86_hide(void)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	u32 m;

	if (!c->ready)
		return;
	x86_enable_counters(c, c->on & ~c->kernel);
	for (m = c->counters; m; m &= m - 1)
		hide_event(c, __ffs(m));
	x86_enable_counters(c, c->slots.mask);
}

/**
 * x86_halted() - .halted of struct kpmu_core
 * @from: see kpmu_counters_halted()
 * @at: see kpmu_counters_halted()
 *
 * Context: see kpmu_counters_halted().
 * Return: see kpmu_counters_halted().
 */
struct kpmu_hw *x86_halted(int from, int *at)
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
NOKPROBE_SYMBOL(x86_halted);

static noinline void write_extra(struct x86_cpu *c, const struct kpmu_hw *hw,
				 bool alt)
{
	const struct x86_extra_reg *e;
	int reg = alt ? 3 - hw->extra_reg : hw->extra_reg;

	if (c->extra_known & 1u << reg && c->extra[reg - 1] == hw->extra)
		return;
	c->extra_known |= 1u << reg;
	c->extra[reg - 1] = hw->extra;
	for (e = x86_kind_of(hw)->model->extra; e->reg != reg; e++)
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

		/* The caller writes the register once for all fixed counters */
		c->fixed_ctrl &= ~((15ULL | FIXED_ADAPTIVE) << shift);
		c->fixed_ctrl |= (sel | (hw->precise ? FIXED_ADAPTIVE : 0)) << shift;
	} else {
		x86_wrmsr(MSR_GP_SEL(idx), x86_sel_register(c, idx, false));
	}
	kpmu_stat_inc(selectors);
}

/*
 * For hw->rare: write the extra register; note that branches are to be recorded; take the second
 * counter; remove other events' counts from the counter
 */
static noinline void prepare(struct x86_cpu *c, struct kpmu_hw *hw, int idx, bool alt)
{
	if (hw->extra_reg)
		write_extra(c, hw, alt);
	if (hw->branches | hw->precise | hw->wide)
		c->special |= 1u << idx;
	if (hw->branches)
		c->recorders |= 1u << idx;
	if (hw->precise)
		c->precise |= 1u << idx;
	if (hw->wide)
		x86_pmu.pairs->join(c, idx);
	if (!hw->shown || hw->period)
		return;
	/* The value still is the event's own, unless something else has counted meanwhile */
	if ((x86_counter_read(idx) ^ local64_read(&hw->prev)) & x86_pmu.value)
		x86_counter_write(idx, x86_far(hw));
}

/* Schedule an event in on a counter that is stopped */
static __always_inline void start_event(struct x86_cpu *c, struct kpmu_hw *hw, int idx, u64 sel,
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
		/* Keep the sign bit set: user space sign-extends, and a wrap must raise a PMI */
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

static __always_inline void stop_counter(struct x86_cpu *c, int idx)
{
	struct kpmu_hw *hw = c->slots.hw[idx];

	x86_fold(hw, idx);
	hw->idx = -1;
	WRITE_ONCE(c->slots.hw[idx], NULL);
	if (unlikely(c->halted | c->special)) {
		this_cpu_and(x86_cpu.halted, ~(1u << idx));
		c->special &= ~(1u << idx);
		c->recorders &= ~(1u << idx);
		c->precise &= ~(1u << idx);
		if (c->pairs & 1u << idx)
			x86_pmu.pairs->part(c, idx);
	}
}

/*
 * Counters that must be stopped while their event changes: those that count at CPL 0,
 * those that get another selector or extra register, and those that are set to a value.
 */
static u32 must_stop(const struct x86_cpu *c, const struct kpmu_slots *want,
		     u32 changed)
{
	u32 off = changed & (c->kernel | want->alt), left = changed & c->on & ~off;

	for (; left; left &= left - 1) {
		int i = __ffs(left);

		if (want->hw[i]->period ||
		    c->sel[i] != x86_selector(want->hw[i], i, false))
			off |= 1u << i;
	}
	return off;
}

/* Counters whose event, or whose choice of extra register, changes */
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

static noinline void enable_after_handover(struct x86_cpu *c, const struct kpmu_slots *want)
{
	x86_enable_counters(c, want->mask);
	trace_kpmu_handover(want->mask);
}

/*
 * An NMI may have halted counters with the group of an event that it found there.  A function of its own,
 * called last, enables them: so no registers are saved here for that rare case.
 */
static __always_inline void finish_handover(struct x86_cpu *c, const struct kpmu_slots *want)
{
	if (unlikely(c->on != want->mask))
		enable_after_handover(c, want);
	else
		trace_kpmu_handover(want->mask);
}

/* Hand the counters over if @want is like the assignment in force, which is not known yet */
static noinline bool hand_over_first(struct x86_cpu *c, struct kpmu_slots *want)
{
	if (!x86_is_alike(c, want))
		return false;
	x86_hand_over(c, want);
	x86_mark_alike(c, want);
	finish_handover(c, want);
	return true;
}

/* Start the events of @changed on stopped counters; afterwards @want only has to be enabled */
static __always_inline void start_changed(struct x86_cpu *c, const struct kpmu_slots *want,
					  u32 changed)
{
	u64 fixed = c->fixed_ctrl;

	for (; changed; changed &= changed - 1) {
		int i = __ffs(changed);
		bool alt = want->alt & 1u << i;

		start_event(c, want->hw[i], i, x86_selector(want->hw[i], i, alt), alt);
	}
	if (c->fixed_ctrl != fixed)
		x86_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, c->fixed_ctrl);
	c->slots.like = want->like;
	c->slots.mask = want->mask;
	c->slots.alt = want->alt;
}

/* Update what belongs to c->special; those before were @recorders and @precise */
static noinline void update_special(struct x86_cpu *c, u32 recorders, u32 precise, u32 stopped)
{
	if (recorders | c->recorders)
		x86_lbr_update(c, recorders & c->recorders & ~stopped);
	if (precise | c->precise)
		x86_pmu.precise->update(c);
}

/* Change counters while events are on some that have more than a counter */
static noinline void change_special(struct x86_cpu *c, const struct kpmu_slots *want, u32 stopped,
				    u32 changed)
{
	u32 recorders = c->recorders, precise = c->precise, m;

	x86_enable_counters(c, c->on & want->mask & ~must_stop(c, want, changed));
	if (precise)
		x86_precise_stop(c);
	for (m = stopped; m; m &= m - 1)
		stop_counter(c, __ffs(m));
	start_changed(c, want, changed);
	update_special(c, recorders, precise, stopped);
}

static __always_inline void change_plain(struct x86_cpu *c, const struct kpmu_slots *want,
					 u32 stopped, u32 changed)
{
	u32 m;

	/* If none is to be stopped, those that change are not on */
	if (stopped)
		x86_enable_counters(c, c->on & want->mask &
				    ~(changed ? must_stop(c, want, changed) : 0));
	for (m = stopped; m; m &= m - 1)
		stop_counter(c, __ffs(m));
	start_changed(c, want, changed);
	if (unlikely(c->special))
		update_special(c, 0, 0, stopped);
}

/* Change only the counters whose event changes */
static noinline void commit_changes(struct x86_cpu *c, struct kpmu_slots *want)
{
	u32 changed = find_changed(c, want);
	u32 stopped = c->slots.mask & (~want->mask | changed);

	if (!(stopped | changed)) {
		c->slots.like = want->like;
		return;
	}
	/* Counters of sampling events are not handed over */
	if (c->slots.mask == want->mask && !want->hw[__ffs(changed)]->period &&
	    hand_over_first(c, want))
		return;
	if (unlikely(!c->ready))
		x86_cpu_setup(c);
	if (unlikely(c->special))
		change_special(c, want, stopped, changed);
	else
		change_plain(c, want, stopped, changed);
	x86_enable_counters(c, want->mask);
	kpmu_stat_inc(commits);
	trace_kpmu_commit(stopped, changed, want->mask);
}

static noinline void commit_alike(struct x86_cpu *c, struct kpmu_slots *want)
{
	if (likely(x86_hand_over(c, want)))
		finish_handover(c, want);
	else
		commit_changes(c, want);
}

/**
 * x86_commit() - .commit of struct kpmu_core
 * @want: see kpmu_commit()
 *
 * Context: see kpmu_commit().
 */
void x86_commit(struct kpmu_slots *want)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	/*
	 * Both are not inline, so that no registers are saved here as well.  The PMI that has halted
	 * a counter may have come since the last commit: see finish_handover().
	 */
	if (want->like && want->like == c->slots.like)
		commit_alike(c, want);
	else
		commit_changes(c, want);
}
