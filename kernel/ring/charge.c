// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of rings counts as locked memory and is limited as such.  perf_event_open(2),
 * /proc/sys/kernel/kpmu/perf_event_mlock_kb.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/mm_types.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "ring.h"

/* In KiB: 128 pages of records and the user page */
int kpmu_sysctl_mlock_kb = 512 + PAGE_SIZE / 1024;

/* Number of pages that can still be charged to the user; more are charged to the mm */
static unsigned long room_of_user(const struct user_struct *user)
{
	unsigned long limit = READ_ONCE(kpmu_sysctl_mlock_kb);
	unsigned long used = atomic_long_read(&user->locked_vm);

	limit = (limit >> (PAGE_SHIFT - 10)) * num_online_cpus();
	return used < limit ? limit - used : 0;
}

/* See ring.h */
int kpmu_ring_charge(struct kpmu_ring_charged *c, struct mm_struct *mm,
		     unsigned long pages, bool limited)
{
	struct user_struct *user = current_user();
	unsigned long free = min(pages, room_of_user(user)), extra = pages - free;
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (limited && atomic64_read(&mm->pinned_vm) + extra > limit &&
	    !capable(CAP_IPC_LOCK))
		return -EPERM;
	c->user = get_uid(user);
	c->mm = mm;
	mmgrab(mm);
	c->user_pages = free;
	c->mm_pages = extra;
	atomic_long_add(free, &user->locked_vm);
	atomic64_add(extra, &mm->pinned_vm);
	return 0;
}

/**
 * kpmu_ring_uncharge() - undo kpmu_ring_charge()
 * @c: filled in by kpmu_ring_charge()
 *
 * Context: task.
 */
void kpmu_ring_uncharge(struct kpmu_ring_charged *c)
{
	atomic_long_sub(c->user_pages, &c->user->locked_vm);
	atomic64_sub(c->mm_pages, &c->mm->pinned_vm);
	free_uid(c->user);
	mmdrop(c->mm);
	c->user = NULL;
}
