/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of drivers' PMUs (struct kpmu_pmu.nr_counters).  They have slots as the CPU's own
 * counters have: those that the CPU does not use.  So plans, groups and rotation treat both in the
 * same way; only what makes an event count is different: its source's .start and .stop.
 */
#ifndef KPMU_DRIVERS_H
#define KPMU_DRIVERS_H

#include <linux/jump_label.h>

#include "counters.h"

struct kpmu_pmu;

/* A driver's PMU with counters exists */
DECLARE_STATIC_KEY_FALSE(kpmu_drivers_key);

/* Slots of the CPU's own counters; constant once set by kpmu_drivers_init() */
extern u32 kpmu_own_slots;

void kpmu_drivers_init(kpmu_overflow_fn fn, u32 own);
void kpmu_drivers_exit(void);
u32 kpmu_drivers_slots(void);
int kpmu_drivers_take_slots(struct kpmu_pmu *pmu);
void kpmu_drivers_return_slots(struct kpmu_pmu *pmu);
int kpmu_drivers_place(struct kpmu_hw *hw, const struct kpmu_pmu *pmu, const char **why);
void kpmu_drivers_apply(const struct kpmu_slots *want);
void kpmu_drivers_halt(struct kpmu_hw *hw);
void kpmu_drivers_resume(struct kpmu_hw *hw);
struct kpmu_hw *kpmu_drivers_halted(int from, int *at);
const char *kpmu_drivers_check(const struct kpmu_slots *want);

/**
 * kpmu_drivers_commit() - start and stop the events of drivers' counters according to a plan
 * @want: the plan's slots
 *
 * Context: as kpmu_commit(), and after it.
 */
static __always_inline void kpmu_drivers_commit(const struct kpmu_slots *want)
{
	if (static_branch_unlikely(&kpmu_drivers_key))
		kpmu_drivers_apply(want);
}

/**
 * kpmu_hw_is_driven() - does an event use a counter of a driver's PMU?
 * @hw: the event
 *
 * Context: any.
 * Return: true if it does, whether it is on a counter or not.
 */
static inline bool kpmu_hw_is_driven(const struct kpmu_hw *hw)
{
	return unlikely(hw->source->owner) && hw->allowed;
}

/**
 * kpmu_counter_halt() - stop an event's counter until kpmu_counter_resume()
 * @hw: the event; ignored if it is not on a counter
 *
 * Context: as kpmu_counters_halt().
 */
static inline void kpmu_counter_halt(struct kpmu_hw *hw)
{
	if (kpmu_hw_is_driven(hw))
		kpmu_drivers_halt(hw);
	else
		kpmu_counters_halt(hw);
}

/**
 * kpmu_counter_resume() - restart an event's counter
 * @hw: the event; ignored if its counter was not stopped
 *
 * A counter of the core PMU restarts with kpmu_counters_restart(), so that those of a group restart together.
 *
 * Context: IRQs off, on the event's CPU.
 */
static inline void kpmu_counter_resume(struct kpmu_hw *hw)
{
	if (kpmu_hw_is_driven(hw))
		kpmu_drivers_resume(hw);
	else
		kpmu_counters_resume(hw);
}

#endif
