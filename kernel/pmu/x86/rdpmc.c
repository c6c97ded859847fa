// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters read by user space.  perf_event_open(2), "rdpmc instruction"; SDM
 * volume 2, RDPMC, and CR4.PCE.
 *
 * An mm may execute RDPMC while its count in mm->context says so; the kernel's
 * switch of mm looks at it, and the kernel's own perf adds to the same count.  Where it
 * lets an mm execute RDPMC it calls perf_clear_dirty_counters(), and there we are told.
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
#include "msr.h"

static s64 sign_extend(u64 raw)
{
	int shift = 64 - x86_pmu.width;

	return (s64)(raw << shift) >> shift;
}

static s64 offset_of(const struct kpmu_hw *hw)
{
	return local64_read(&hw->count) - sign_extend(local64_read(&hw->prev));
}

/**
 * x86_user_view() - how user space reads an event's counter
 * @hw: the event, on a counter of this CPU
 * @width: set to the bits of a counter
 * @offset: set to what is to be added to the counter's sign-extended value
 *
 * A fold changes none of it, for it moves count and prev alike.
 *
 * Programs sign-extend the offset too.  Where a free-running counter stands so low, and
 * the count is so high, that it would not survive that, the counter is moved.
 *
 * Context: IRQs off, the context's owner.
 */
u32 x86_user_view(struct kpmu_hw *hw, u16 *width, s64 *offset)
{
	*width = x86_pmu.width;
	*offset = offset_of(hw);
	if (unlikely(*offset != sign_extend(*offset)) && !hw->period &&
	    local64_read(&hw->count) < x86_pmu.sign - 2) {
		x86_counter_move(hw);
		*offset = offset_of(hw);
	}
	return x86_rdpmc_index(hw->idx) + 1;
}

/**
 * x86_user_jump() - the counter of a mapped event got another value
 * @hw: the event
 * @from: what the counter had gone to
 * @to: what it was set to
 *
 * Only the difference is certain here: what we interrupted may be about to fold,
 * or to write the page, which it will find out by hw->jumps.
 *
 * Context: NMI; or IRQs off, and none can come for this event.
 */
void x86_user_jump(struct kpmu_hw *hw, u64 from, u64 to)
{
	struct perf_event_mmap_page *page = hw->page;
	u32 lock = READ_ONCE(page->lock);

	WRITE_ONCE(hw->jumps, hw->jumps + 1);
	if (!page->index)
		return;
	/* An odd lock is that of the interrupted writer, and stays odd until it is done */
	WRITE_ONCE(page->lock, lock | 1);
	smp_wmb();	/* readers see the lock change first */
	page->offset += sign_extend(from) - sign_extend(to);
	smp_wmb();	/* and last */
	if (!(lock & 1))
		WRITE_ONCE(page->lock, lock + 2);
}

/**
 * struct kpmu_grant - an mm that may execute RDPMC
 * @node: in the list of all
 * @mm: the mm; a mapping of it holds us, so it is there
 * @ref: mappings
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

static void allow(struct mm_struct *mm)
{
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_mask(mm_cpumask(mm), update_pce, NULL, 1);
}

static void forbid(struct mm_struct *mm)
{
	if (atomic_dec_and_test(&mm->context.perf_rdpmc_allowed))
		on_each_cpu_mask(mm_cpumask(mm), update_pce, NULL, 1);
}

/* See source.h */
void kpmu_rdpmc_guarded(bool yes)
{
	guarded = yes;
}

/* See source.h */
struct kpmu_grant *kpmu_rdpmc_grant(struct mm_struct *mm)
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
		allow(mm);
	mutex_unlock(&grants_lock);
	return g;
}

/**
 * kpmu_rdpmc_share() - another mapping of the same mm
 * @grant: the grant
 */
void kpmu_rdpmc_share(struct kpmu_grant *grant)
{
	refcount_inc(&grant->ref);
}

/**
 * kpmu_rdpmc_drop() - the mapping is gone
 * @grant: the grant
 *
 * Context: task, may sleep.
 */
void kpmu_rdpmc_drop(struct kpmu_grant *grant)
{
	if (!refcount_dec_and_test(&grant->ref))
		return;
	mutex_lock(&grants_lock);
	list_del(&grant->node);
	if (knob)
		forbid(grant->mm);
	mutex_unlock(&grants_lock);
	kfree(grant);
}

int kpmu_rdpmc_get(void)
{
	return READ_ONCE(knob);
}

/* See source.h */
int kpmu_rdpmc_set(unsigned long new)
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
			forbid(g->mm);
		else if (!knob && new)
			allow(g->mm);
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

void x86_rdpmc_exit(void)
{
	kpmu_rdpmc_set(1);
}
