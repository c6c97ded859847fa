/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes that stay attached for a while after their last user.
 *
 * Attaching a probe patches kernel text, and after it is detached, work items wait for grace periods
 * of SRCU: some 80,000 instructions, as many as 3,000 calls of a probe that returns at once.  So a
 * probe without users is detached only after it has been called KPMU_DETACH_CALLS times, or after a
 * minute (module parameter detach), whichever is first.  The calls of an unused probe then cost
 * about as much as attaching it once more would have, and never more.
 */
#ifndef KPMU_DETACH_H
#define KPMU_DETACH_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#define KPMU_DETACH_CALLS	3000

/**
 * struct kpmu_detach - what detaches the unused probes of one owner
 * @sweep: detach the probes of which kpmu_use_expired() is true, and return whether others are
 *	unused; called in task context, may sleep
 * @kick: private to detach.c
 * @work: private to detach.c
 */
struct kpmu_detach {
	bool (*sweep)(void);
	struct irq_work kick;
	struct delayed_work work;
};

/**
 * struct kpmu_use - the use of one probe
 * @users: number of users
 * @calls: calls of the probe since its last user; approximate
 * @since: jiffies at which the last user left
 * @by: detaches the probe
 */
struct kpmu_use {
	atomic_t users;
	unsigned int calls;
	unsigned long since;
	struct kpmu_detach *by;
};

void kpmu_detach_kick(struct irq_work *work);
void kpmu_detach_work(struct work_struct *work);

/* Define a struct kpmu_detach whose unused probes are detached by @fn */
#define DEFINE_KPMU_DETACH(name, fn)						\
	struct kpmu_detach name = {						\
		.sweep = fn,							\
		.kick = IRQ_WORK_INIT(kpmu_detach_kick),			\
		.work = __DELAYED_WORK_INITIALIZER((name).work, kpmu_detach_work, 0), \
	}

void kpmu_detach_later(struct kpmu_detach *d);
bool kpmu_use_expired(const struct kpmu_use *use);
bool kpmu_use_sweep(struct kpmu_use *use, struct mutex *lock, void (*detach)(void));
void kpmu_use_expire(struct kpmu_use *use);
void kpmu_detach_exit(struct kpmu_detach *d);

/**
 * kpmu_use_end() - a user of a probe leaves
 * @use: the use of the probe; .users counts the leaving user
 *
 * Context: task.
 */
static inline void kpmu_use_end(struct kpmu_use *use)
{
	/* Before the probe can be unused, or an old count could detach it at once */
	if (atomic_read(&use->users) == 1) {
		WRITE_ONCE(use->calls, 0);
		WRITE_ONCE(use->since, jiffies);
	}
	if (atomic_dec_and_test(&use->users) && !delayed_work_pending(&use->by->work))
		kpmu_detach_later(use->by);
}

/**
 * kpmu_use_none() - in a probe: is it unused?
 * @use: the use of the probe
 *
 * CPUs may overwrite each other's count.  It still passes through every value, so one of them
 * sees the last.
 *
 * Context: any, including NMI and under the run-queue lock.
 * Return: true if the probe has no users and should return; the call is then counted.
 */
static __always_inline bool kpmu_use_none(struct kpmu_use *use)
{
	unsigned int calls;

	if (likely(atomic_read(&use->users)))
		return false;
	calls = READ_ONCE(use->calls) + 1;
	WRITE_ONCE(use->calls, calls);
	if (unlikely(calls == KPMU_DETACH_CALLS))
		kpmu_use_expire(use);
	return true;
}

#endif
