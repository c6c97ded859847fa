// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading counters from user space.  perf_event_open(2), "rdpmc instruction"; SDM
 * volume 2, RDPMC, and CR4.PCE.
 *
 * An mm may execute RDPMC while mm->context.perf_rdpmc_allowed is not 0; the kernel's own
 * perf increments the same count.  On a switch to such an mm the kernel sets CR4.PCE and
 * calls perf_clear_dirty_counters(), whose entry is hooked for x86_hide().
 */
#include <linux/jump_label.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <uapi/linux/perf_event.h>

#include "../../compat/ksym.h"
#include "counter.h"

static s64 offset_of(const struct kpmu_hw *hw)
{
	return local64_read(&hw->count) - x86_sign_extend(local64_read(&hw->prev));
}

/**
 * x86_user_view() - parameters for reading an event's counter from user space
 * @hw: the event, on a counter of this CPU
 * @width: set to the width of a counter in bits
 * @offset: set to the value to add to the counter's sign-extended value
 *
 * Folds do not change the offset, as they add the same delta to count and prev.
 *
 * User space sign-extends the offset too.  If it does not fit into the counter's width,
 * because the value of a free-running counter is low and the count is high, the counter is
 * set to another value.
 *
 * Context: owner of the event's context, IRQs off.
 * Return: RDPMC index plus 1.
 */
u32 x86_user_view(struct kpmu_hw *hw, u16 *width, s64 *offset)
{
	*width = x86_pmu.width;
	*offset = offset_of(hw);
	if (unlikely(*offset != x86_sign_extend(*offset)) && !hw->period &&
	    local64_read(&hw->count) < x86_pmu.sign - 2) {
		x86_counter_move(hw);
		*offset = offset_of(hw);
	}
	return x86_rdpmc_index(hw->idx) + 1;
}

/**
 * struct kpmu_grant - a permission for an mm to execute RDPMC
 * @node: entry in the list of all grants
 * @mm: the mm; exists as long as its mappings, which hold the references
 * @ref: number of mappings
 */
struct kpmu_grant {
	struct list_head node;
	struct mm_struct *mm;
	refcount_t ref;
};

static DEFINE_MUTEX(grants_lock);
static LIST_HEAD(grants);
static int knob = 1;
static bool guarded;

static void update_pce(void *unused)
{
	kpmu_cr4_update_pce();
}

static void allow_rdpmc(struct mm_struct *mm)
{
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_mask(mm_cpumask(mm), update_pce, NULL, 1);
}

static void forbid_rdpmc(struct mm_struct *mm)
{
	if (atomic_dec_and_test(&mm->context.perf_rdpmc_allowed))
		on_each_cpu_mask(mm_cpumask(mm), update_pce, NULL, 1);
}

/**
 * x86_rdpmc_guarded() - .rdpmc_guarded of struct kpmu_core
 * @yes: see kpmu_rdpmc_guarded()
 *
 * Context: see kpmu_rdpmc_guarded().
 */
void x86_rdpmc_guarded(bool yes)
{
	guarded = yes;
}

/**
 * x86_rdpmc_grant() - .rdpmc_grant of struct kpmu_core
 * @mm: see kpmu_rdpmc_grant()
 *
 * Context: see kpmu_rdpmc_grant().
 * Return: see kpmu_rdpmc_grant().
 */
struct kpmu_grant *x86_rdpmc_grant(struct mm_struct *mm)
{
	struct kpmu_grant *g;

	if (!guarded || !kpmu_ksym_has(KSYM_cr4_update_pce))
		return NULL;
	g = kmalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return NULL;
	g->mm = mm;
	refcount_set(&g->ref, 1);
	mutex_lock(&grants_lock);
	list_add(&g->node, &grants);
	if (knob)
		allow_rdpmc(mm);
	mutex_unlock(&grants_lock);
	return g;
}

/**
 * x86_rdpmc_share() - .rdpmc_share of struct kpmu_core
 * @grant: see kpmu_rdpmc_share()
 *
 * Context: see kpmu_rdpmc_share().
 */
void x86_rdpmc_share(struct kpmu_grant *grant)
{
	refcount_inc(&grant->ref);
}

/**
 * x86_rdpmc_drop() - .rdpmc_drop of struct kpmu_core
 * @grant: see kpmu_rdpmc_drop()
 *
 * Context: see kpmu_rdpmc_drop().
 */
void x86_rdpmc_drop(struct kpmu_grant *grant)
{
	if (!refcount_dec_and_test(&grant->ref))
		return;
	mutex_lock(&grants_lock);
	list_del(&grant->node);
	if (knob)
		forbid_rdpmc(grant->mm);
	mutex_unlock(&grants_lock);
	kfree(grant);
}

/**
 * x86_rdpmc_get() - .rdpmc_get of struct kpmu_core
 *
 * Context: see kpmu_rdpmc_get().
 * Return: see kpmu_rdpmc_get().
 */
int x86_rdpmc_get(void)
{
	return READ_ONCE(knob);
}

/**
 * x86_rdpmc_set() - .rdpmc_set of struct kpmu_core
 * @new: see kpmu_rdpmc_set()
 *
 * Context: see kpmu_rdpmc_set().
 * Return: see kpmu_rdpmc_set().
 */
int x86_rdpmc_set(unsigned long new)
{
	struct static_key *everybody =
		kpmu_ksym_data(KSYM_rdpmc_always_available_key);
	struct kpmu_grant *g;

	if (new > 2)
		return -EINVAL;
	if (new == 2 && !(everybody && guarded))
		return -EOPNOTSUPP;
	mutex_lock(&grants_lock);
	list_for_each_entry(g, &grants, node) {
		if (knob && !new)
			forbid_rdpmc(g->mm);
		else if (!knob && new)
			allow_rdpmc(g->mm);
	}
	if (knob != 2 && new == 2)
		static_key_slow_inc(everybody);
	else if (knob == 2 && new != 2)
		static_key_slow_dec(everybody);
	if (knob == 2 || new == 2)
		on_each_cpu(update_pce, NULL, 1);
	WRITE_ONCE(knob, new);
	mutex_unlock(&grants_lock);
	return 0;
}

/**
 * x86_rdpmc_exit() - restore the default setting, to end a permission for all tasks
 *
 * Context: task, may sleep; no grant is left.
 */
void x86_rdpmc_exit(void)
{
	x86_rdpmc_set(1);
}
