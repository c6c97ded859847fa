// SPDX-License-Identifier: GPL-2.0-only
/* The counters of drivers' PMUs; see drivers.h and Documentation/writing-a-pmu-driver.rst. */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/static_call.h>

#include "drivers.h"
#include "period.h"
#include "pmu.h"

/**
 * struct driven - the drivers' counters of this CPU
 * @mask: counters with an event
 * @halted: those whose event does not count, see kpmu_drivers_halt()
 * @missed: those with an overflow interrupt that found no event
 * @hw: the event of each counter in @mask, else NULL
 * @stop: stops the events of @halted that still count
 */
struct driven {
	u32 mask;
	u32 halted;
	u32 missed;
	struct kpmu_hw *hw[KPMU_NR_SLOTS];
	struct irq_work stop;
};

static DEFINE_PER_CPU(struct driven, driven);

DEFINE_STATIC_KEY_FALSE(kpmu_drivers_key);

/* Slots that drivers' PMUs have; under the lock of the table of PMUs */
static u32 taken;

u32 kpmu_own_slots __ro_after_init;

/**
 * kpmu_drivers_slots() - slots of the counters of drivers' PMUs
 *
 * Context: any.
 * Return: a bit each.
 */
u32 kpmu_drivers_slots(void)
{
	return READ_ONCE(taken);
}

static u32 slots_of(const struct kpmu_pmu *pmu)
{
	return GENMASK(pmu->nr_counters - 1, 0) << pmu->first;
}

/**
 * kpmu_drivers_take_slots() - give a driver's PMU slots for its counters
 * @pmu: the PMU; sets .first
 *
 * Context: task, may sleep; under the lock of the table of PMUs.
 * Return: 0; -ENOSPC if there are not enough in a row that neither the CPU's own counters nor
 * other PMUs use.
 */
int kpmu_drivers_take_slots(struct kpmu_pmu *pmu)
{
	int last = KPMU_NR_SLOTS - pmu->nr_counters;

	if (!pmu->nr_counters)
		return 0;
	for (pmu->first = 0; pmu->first <= last; pmu->first++) {
		if ((taken | kpmu_own_slots) & slots_of(pmu))
			continue;
		taken |= slots_of(pmu);
		static_branch_inc(&kpmu_drivers_key);
		return 0;
	}
	return -ENOSPC;
}

/**
 * kpmu_drivers_return_slots() - undo kpmu_drivers_take_slots()
 * @pmu: the PMU; no event of it is left
 *
 * Context: task, may sleep; under the lock of the table of PMUs.
 */
void kpmu_drivers_return_slots(struct kpmu_pmu *pmu)
{
	if (!pmu->nr_counters)
		return;
	taken &= ~slots_of(pmu);
	static_branch_dec(&kpmu_drivers_key);
}

/**
 * kpmu_drivers_place() - convert the counters that an event may use into slots
 * @hw: the event after its source's .init, which numbers counters from 0; all if it sets none
 * @pmu: the driver's PMU
 * @why: set to the reason of an error
 *
 * Context: any.
 * Return: 0; -EINVAL if the driver allows a counter that the PMU does not have.
 */
int kpmu_drivers_place(struct kpmu_hw *hw, const struct kpmu_pmu *pmu, const char **why)
{
	u32 all = pmu->nr_counters ? GENMASK(pmu->nr_counters - 1, 0) : 0;

	if (hw->allowed & ~all || hw->extra_reg) {
		*why = "the PMU's driver requires a counter that does not exist";
		return -EINVAL;
	}
	hw->allowed = (hw->allowed ?: all) << pmu->first;
	hw->first = pmu->first;
	return 0;
}

/*
 * Stop an event.  An overflow interrupt (NMI) that comes meanwhile must not find it, and read what
 * the counter counted afterwards.
 */
static void stop_source(struct driven *d, struct kpmu_hw *hw, int slot)
{
	WRITE_ONCE(d->hw[slot], NULL);
	barrier();
	hw->source->stop(hw);
	barrier();
	hw->runs = false;
}

/* Stop the events of halted counters.  Hard interrupt */
static void stop_halted(struct irq_work *work)
{
	struct driven *d = container_of(work, struct driven, stop);
	u32 m;

	for (m = READ_ONCE(d->halted); m; m &= m - 1) {
		struct kpmu_hw *hw = d->hw[__ffs(m)];

		if (!hw || !hw->runs)
			continue;
		stop_source(d, hw, __ffs(m));
		WRITE_ONCE(d->hw[__ffs(m)], hw);
	}
}

#define MAX_STARTS	8

/*
 * Likewise for the start.  If an interrupt came before the event could be found, the counter is
 * started anew; not for ever, as the counter of a broken driver may never stop to raise interrupts.
 */
static void start_source(struct driven *d, struct kpmu_hw *hw, int slot)
{
	u32 bit = 1u << slot;
	int n;

	WRITE_ONCE(d->hw[slot], NULL);
	for (n = 0; n < MAX_STARTS; n++) {
		if (n)
			stop_source(d, hw, slot);
		this_cpu_and(driven.missed, ~bit);
		hw->source->start(hw);
		barrier();
		/* Not before: an NMI that reads the event would add to it since its last stop */
		hw->runs = true;
		barrier();
		WRITE_ONCE(d->hw[slot], hw);
		barrier();
		if (likely(!(READ_ONCE(d->missed) & bit)))
			break;
	}
}

static void start_driven(struct driven *d, struct kpmu_hw *hw, int slot)
{
	hw->idx = slot;
	hw->hint = slot;
	d->mask |= 1u << slot;
	start_source(d, hw, slot);
}

static void stop_driven(struct driven *d, int slot)
{
	struct kpmu_hw *hw = d->hw[slot];

	if (hw->runs)
		stop_source(d, hw, slot);
	WRITE_ONCE(d->hw[slot], NULL);
	hw->idx = -1;
	d->mask &= ~(1u << slot);
	this_cpu_and(driven.halted, ~(1u << slot));
}

/**
 * kpmu_drivers_apply() - kpmu_drivers_commit() if there are such PMUs
 * @want: the plan's slots
 *
 * Context: IRQs off; NMIs may interrupt it.
 */
void kpmu_drivers_apply(const struct kpmu_slots *want)
{
	struct driven *d = this_cpu_ptr(&driven);
	u32 m;

	/* First all that leave: an event may have moved to the counter of another */
	for (m = d->mask; m; m &= m - 1) {
		int i = __ffs(m);

		if (!(want->driven & 1u << i) || want->hw[i] != d->hw[i])
			stop_driven(d, i);
	}
	for (m = want->driven & ~d->mask; m; m &= m - 1) {
		int i = __ffs(m);

		start_driven(d, want->hw[i], i);
	}
}

/**
 * kpmu_drivers_halt() - stop an event until kpmu_drivers_resume(), or until it leaves its counter
 * @hw: the event; ignored if it is not on a counter
 *
 * It stops as soon as IRQs are on, if the driver has not done so: this may have interrupted an
 * operation of the driver.
 *
 * Context: IRQs off or NMI, on the event's CPU.
 */
void kpmu_drivers_halt(struct kpmu_hw *hw)
{
	int slot = READ_ONCE(hw->idx);

	if (slot < 0)
		return;
	this_cpu_or(driven.halted, 1u << slot);
	irq_work_queue(this_cpu_ptr(&driven.stop));
}
NOKPROBE_SYMBOL(kpmu_drivers_halt);

/**
 * kpmu_drivers_resume() - restart an event stopped by kpmu_drivers_halt()
 * @hw: the event; ignored if it was not stopped
 *
 * Context: IRQs off, on the event's CPU.
 */
void kpmu_drivers_resume(struct kpmu_hw *hw)
{
	if (hw->idx < 0 || !(this_cpu_read(driven.halted) & 1u << hw->idx))
		return;
	this_cpu_and(driven.halted, ~(1u << hw->idx));
	if (hw->runs)		/* in kpmu's view; the driver may have stopped it in the overflow */
		stop_source(this_cpu_ptr(&driven), hw, hw->idx);
	start_source(this_cpu_ptr(&driven), hw, hw->idx);
}

/**
 * kpmu_drivers_halted() - iterate over the events that kpmu_drivers_halt() stopped
 * @from: first slot to look at
 * @at: set to the slot found
 *
 * Context: IRQs off or NMI.
 * Return: the event, NULL if there is none from @from on.
 */
struct kpmu_hw *kpmu_drivers_halted(int from, int *at)
{
	struct driven *d = this_cpu_ptr(&driven);
	u64 m = (u64)READ_ONCE(d->halted) >> from << from;

	for (; m; m &= m - 1) {
		struct kpmu_hw *hw;

		*at = __ffs(m);
		hw = READ_ONCE(d->hw[*at]);
		if (hw)
			return hw;
	}
	return NULL;
}
NOKPROBE_SYMBOL(kpmu_drivers_halted);

/**
 * kpmu_drivers_check() - check this CPU's drivers' counters against the last commit
 * @want: the slots last committed
 *
 * Context: IRQs off.
 * Return: name of the first rule that is violated, NULL if none is.
 */
const char *kpmu_drivers_check(const struct kpmu_slots *want)
{
	const struct driven *d = this_cpu_ptr(&driven);
	int i;

	if (!static_key_enabled(&kpmu_drivers_key.key))
		return want->driven ? "no driver" : NULL;
	if (d->mask != want->driven || d->halted & ~d->mask)
		return "drivers' counters";
	for (i = 0; i < KPMU_NR_SLOTS; i++) {
		struct kpmu_hw *hw = d->hw[i];

		if (hw != (want->driven & 1u << i ? want->hw[i] : NULL))
			return "event of a driver's counter";
		if (hw && (hw->idx != i || (!hw->runs && !(d->halted & 1u << i))))
			return "state of a driver's counter";
	}
	return NULL;
}

static bool no_driver_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	return false;
}

DEFINE_STATIC_CALL(driver_overflow, no_driver_overflow);

/**
 * kpmu_drivers_init() - set the overflow callback and the slots in use
 * @fn: overflow callback
 * @own: slots of the CPU's own counters
 *
 * Context: module init, before the first event.
 */
void __init kpmu_drivers_init(kpmu_overflow_fn fn, u32 own)
{
	int cpu;

	static_call_update(driver_overflow, fn);
	kpmu_own_slots = own;
	for_each_possible_cpu(cpu)
		per_cpu(driven, cpu).stop = IRQ_WORK_INIT_HARD(stop_halted);
}

/**
 * kpmu_drivers_exit() - wait for work in progress
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_drivers_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(driven, cpu).stop);
}

/**
 * kpmu_pmu_event() - for drivers: the event of a counter that has raised an overflow interrupt
 * @pmu: the PMU; its source has .interrupt set
 * @counter: number of the counter, from 0
 *
 * Context: IRQs off or NMI (only if the source has .nmi set), on the CPU of the counter.
 * Return: the event, NULL if the counter has none.
 */
struct kpmu_hw *kpmu_pmu_event(const struct kpmu_pmu *pmu, int counter)
{
	struct kpmu_hw *hw = READ_ONCE(*this_cpu_ptr(&driven.hw[pmu->first + counter]));

	if (!hw)
		this_cpu_or(driven.missed, 1u << (pmu->first + counter));
	return hw;
}
EXPORT_SYMBOL_GPL(kpmu_pmu_event);
NOKPROBE_SYMBOL(kpmu_pmu_event);

/**
 * kpmu_pmu_report() - for drivers: report an overflow that is due
 * @hw: the event, whose count is up to date
 * @hit: what is known about the overflow; sets .period
 *
 * Context: as kpmu_pmu_event().
 * Return: false if the event is not to count until its .start is called again; true to program its
 * counter for hw->next.
 */
bool kpmu_pmu_report(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	bool halt;

	hit->period = hw->period + kpmu_period_skip(hw, local64_read(&hw->count));
	halt = static_call(driver_overflow)(hw, hit);
	if (halt)
		kpmu_drivers_halt(hw);
	kpmu_period_due(hw, hw->next + hw->period);
	return !halt;
}
EXPORT_SYMBOL_GPL(kpmu_pmu_report);
NOKPROBE_SYMBOL(kpmu_pmu_report);

/**
 * kpmu_pmu_overflow() - for drivers: report an overflow interrupt of a counter
 * @pmu: the PMU; its source has .interrupt set
 * @counter: number of the counter, from 0
 * @regs: registers at the interrupt
 *
 * Reads the count.  If an overflow is due, it is handled completely: sample, signal, REFRESH,
 * throttling, frequency.  Several periods that have passed are one overflow.  Afterwards the driver
 * programs the counter for hw->next of the returned event.
 *
 * Context: IRQs off or NMI (only if the source has .nmi set), on the CPU of the counter.
 * Return: the event, NULL if the counter has none.
 */
struct kpmu_hw *kpmu_pmu_overflow(const struct kpmu_pmu *pmu, int counter, struct pt_regs *regs)
{
	struct kpmu_hw *hw = kpmu_pmu_event(pmu, counter);
	struct kpmu_hit hit = { .regs = regs };

	if (hw && hw->runs && hw->period && kpmu_period_left(hw, hw->source->read(hw)) <= 0)
		kpmu_pmu_report(hw, &hit);
	return hw;
}
EXPORT_SYMBOL_GPL(kpmu_pmu_overflow);
NOKPROBE_SYMBOL(kpmu_pmu_overflow);
