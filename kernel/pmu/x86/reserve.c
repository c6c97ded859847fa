// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters are reserved with the first hardware event.  The kernel's own perf uses the
 * same two bitmaps, so the first of the two gets all counters and the other gets EBUSY.
 *
 * The counters are not released with the last event but when they are requested elsewhere,
 * or when no event has been closed for a while: reserving and releasing costs more than
 * the rest of an open and close, and programs often open and close repeatedly.  rival.c
 * intercepts the requests; where that does not work, the counters are released at once.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <asm/nmi.h>

#include "../../compat/ksym.h"
#include "counter.h"
#include "lbr.h"
#include "precise.h"

/* Serialises reserving and releasing.  IRQs stay on: IPIs are sent with the lock held */
static DEFINE_SPINLOCK(reserve_lock);

/* Number of events that need the counters; -1 while they are not reserved */
static atomic_t users = ATOMIC_INIT(-1);
static bool keep, guarded;
/* Number of requests by others in progress: x86_yield_begin() to x86_yield_end() */
static int asking;

/*
 * Reserve in both bitmaps, by the legacy MSR numbers: the bitmaps do not include the MSRs
 * for full-width writes.
 */
static bool reserve_all(void)
{
	int i;

	for (i = 0; i < x86_pmu.gp; i++) {
		if (!reserve_perfctr_nmi(MSR_GP_COUNTER(i)))
			break;
		if (!reserve_evntsel_nmi(MSR_GP_SEL(i))) {
			release_perfctr_nmi(MSR_GP_COUNTER(i));
			break;
		}
	}
	if (i == x86_pmu.gp)
		return true;
	while (i--) {
		release_evntsel_nmi(MSR_GP_SEL(i));
		release_perfctr_nmi(MSR_GP_COUNTER(i));
	}
	return false;
}

static void release_all(void)
{
	int i;

	for (i = 0; i < x86_pmu.gp; i++) {
		release_evntsel_nmi(MSR_GP_SEL(i));
		release_perfctr_nmi(MSR_GP_COUNTER(i));
	}
}

static noinline int reserve_first(const char **why)
{
	enum kpmu_holder holder = KPMU_HELD_BY_NONE;

	if (!guarded) {
		*why = "other users of the counters cannot be kept from them; see the kernel log";
		return -EOPNOTSUPP;
	}
	*why = "the counters are taken; see the kernel log";
	spin_lock(&reserve_lock);
	if (!atomic_inc_unless_negative(&users)) {
		holder = x86_rival();
		if (!holder && (asking || !reserve_all()))
			holder = x86_rival_guess();
		if (!holder)
			atomic_set(&users, 1);
	}
	spin_unlock(&reserve_lock);
	if (!holder)
		return 0;
	pr_notice_ratelimited("%s\n", x86_holder_text[holder]);
	/* Upstream's errno, which says that events are not possible beside such a virtual machine */
	return holder == KPMU_HELD_BY_VM ? -EOPNOTSUPP : -EBUSY;
}

static __always_inline int reserve(const char **why)
{
	return likely(atomic_inc_unless_negative(&users)) ? 0 : reserve_first(why);
}

/**
 * x86_holder() - .holder of struct kpmu_core
 *
 * While no holder of the counters is known, they are reserved for a moment to find out whether
 * the bitmaps have another user.  The kernel's own perf waits meanwhile (x86_yield_begin()).
 *
 * Context: task, IRQs on.
 * Return: the holder; KPMU_HELD_BY_NONE also if kpmu has the counters but no event needs them.
 */
enum kpmu_holder x86_holder(void)
{
	enum kpmu_holder holder = KPMU_HELD_BY_NONE;

	if (!x86_pmu.version)
		return holder;
	spin_lock(&reserve_lock);
	if (atomic_read(&users) > 0)
		holder = KPMU_HELD_BY_EVENTS;
	else if (atomic_read(&users) < 0)
		holder = x86_rival();
	if (holder == KPMU_HELD_BY_NONE && atomic_read(&users) < 0) {
		if (asking || !reserve_all())
			holder = x86_rival_guess();
		else
			release_all();
	}
	spin_unlock(&reserve_lock);
	return holder;
}

static __always_inline void unreserve(void)
{
	if (atomic_dec_and_test(&users) && !keep)
		x86_release();
}

static int take_branches(struct kpmu_hw *hw, const struct kpmu_target *target)
{
	if (!target->task && hw->branches & KPMU_BRANCHES_KEPT) {
		int err = x86_stacks_get();

		if (err)
			return err;
		hw->branches |= KPMU_BRANCHES_OF_ALL;
	}
	static_branch_deferred_inc(&kpmu_branches_key);
	return 0;
}

static void release_branches(const struct kpmu_hw *hw)
{
	static_branch_slow_dec_deferred(&kpmu_branches_key);
	if (hw->branches & KPMU_BRANCHES_OF_ALL)
		x86_stacks_put();
}

/**
 * x86_get() - reserve the counters for an event, and the branch records if it needs them
 * @hw: the event
 * @target: what it is to count
 * @why: set to a description of the error
 *
 * Context: task.
 * Return: 0; -EBUSY if they are reserved elsewhere, with the holder in the kernel log;
 * -EOPNOTSUPP if that is a virtual machine, or if other users cannot be kept from using them at the
 * same time; -ENOMEM.
 */
int x86_get(struct kpmu_hw *hw, const struct kpmu_target *target,
	    const char **why)
{
	int err = reserve(why);

	if (err)
		return err;
	if (unlikely(hw->precise))
		err = x86_pmu.precise->get(why);
	if (!err && unlikely(hw->branches)) {
		err = take_branches(hw, target);
		if (err && hw->precise)
			x86_pmu.precise->put();
	}
	if (!err && unlikely(hw->wide))
		static_branch_deferred_inc(&x86_ctrl_key);
	if (!err && unlikely(hw->large) && !target->task) {
		hw->drained = true;
		static_branch_deferred_inc(&kpmu_branches_key);
	}
	if (err)
		unreserve();
	return err;
}

/**
 * x86_offline() - .offline of struct kpmu_core
 *
 * Context: see kpmu_counters_offline().
 */
void x86_offline(void)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	x86_cpu_clear(c);
	c->lvtpc = false;	/* reset with the CPU */
	x86_kind_offline();
}

static void clear_this_cpu(void *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	x86_cpu_clear(this_cpu_ptr(&x86_cpu));
	local_irq_restore(flags);
}

static bool is_ready(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(x86_cpu, cpu).ready);
}

static bool yield_locked(void)
{
	if (atomic_cmpxchg(&users, 0, -1) == 0) {
		/* Restore GLOBAL_CTRL and clear the other registers, on all CPUs in use */
		on_each_cpu_cond(is_ready, clear_this_cpu, NULL, true);
		release_all();
	}
	return atomic_read(&users) < 0;
}

/**
 * x86_release() - .release of struct kpmu_core
 *
 * Context: see kpmu_counters_yield().
 */
void x86_release(void)
{
	if (atomic_read(&users))
		return;
	spin_lock(&reserve_lock);
	yield_locked();
	spin_unlock(&reserve_lock);
}

/**
 * x86_yield_begin() - release the counters for a user outside kpmu
 *
 * Context: task, IRQs on.
 * Return: true if released; then kpmu does not reserve them until x86_yield_end().  False if a
 * kpmu event needs them.
 */
bool x86_yield_begin(void)
{
	bool ok;

	spin_lock(&reserve_lock);
	ok = yield_locked();
	asking += ok;
	spin_unlock(&reserve_lock);
	return ok;
}

/**
 * x86_yield_end() - the attempt to reserve the counters after x86_yield_begin() is over
 *
 * Context: task.
 */
void x86_yield_end(void)
{
	spin_lock(&reserve_lock);
	asking--;
	spin_unlock(&reserve_lock);
}

/**
 * x86_put() - release the counters of an event
 * @hw: the event
 *
 * Context: task, may sleep.
 */
void x86_put(struct kpmu_hw *hw)
{
	if (unlikely(hw->branches))
		release_branches(hw);
	if (unlikely(hw->drained))
		static_branch_slow_dec_deferred(&kpmu_branches_key);
	if (unlikely(hw->wide))
		static_branch_slow_dec_deferred(&x86_ctrl_key);
	if (unlikely(hw->precise))
		x86_pmu.precise->put();
	unreserve();
}

/**
 * x86_retain() - set whether the counters stay reserved after the last event
 * @on: true if all other users of the counters go through x86_yield_begin()
 * @safe: users that the bitmaps do not cover do too; if false, no event gets the counters
 *
 * Context: task, IRQs on.
 */
void x86_retain(bool on, bool safe)
{
	keep = on;
	guarded = safe;
	x86_release();
}
