// SPDX-License-Identifier: GPL-2.0-only
/* Probes that stay attached for a while after their last user; see detach.h. */
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>

#include "compat.h"
#include "detach.h"

static unsigned int detach = 60;
module_param(detach, uint, 0444);
MODULE_PARM_DESC(detach, "seconds that an unused probe stays attached (default 60, at most 3600)");

/* Time in jiffies */
static unsigned long detach_time(void)
{
	return clamp(detach, 1u, 3600u) * HZ;
}

/**
 * kpmu_detach_kick() - private to DEFINE_KPMU_DETACH()
 * @work: .kick
 *
 * Context: interrupt.
 */
void kpmu_detach_kick(struct irq_work *work)
{
	struct kpmu_detach *d = container_of(work, struct kpmu_detach, kick);

	mod_delayed_work(KPMU_SYSTEM_WQ, &d->work, 0);
}

/**
 * kpmu_detach_work() - private to DEFINE_KPMU_DETACH()
 * @work: .work
 *
 * Context: work item, may sleep.
 */
void kpmu_detach_work(struct work_struct *work)
{
	struct kpmu_detach *d = container_of(to_delayed_work(work), struct kpmu_detach,
					     work);

	if (d->sweep())
		queue_delayed_work(KPMU_SYSTEM_WQ, &d->work, detach_time());
}

/**
 * kpmu_detach_later() - private to kpmu_use_end(): detach probes after a while without use
 * @d: what detaches them
 *
 * Context: task.
 */
void kpmu_detach_later(struct kpmu_detach *d)
{
	queue_delayed_work(KPMU_SYSTEM_WQ, &d->work, detach_time());
}

/**
 * kpmu_use_expired() - is it time to detach a probe?
 * @use: the use of the probe
 *
 * Context: any; new users are locked out if the probe is going to be detached.
 * Return: true if it has been unused for long enough.
 */
bool kpmu_use_expired(const struct kpmu_use *use)
{
	if (atomic_read(&use->users))
		return false;
	return READ_ONCE(use->calls) >= KPMU_DETACH_CALLS ||
	       time_after_eq(jiffies, READ_ONCE(use->since) + detach_time());
}

/**
 * kpmu_use_sweep() - a .sweep for an owner with one use
 * @use: the use
 * @lock: held to detach; new users take it, too
 * @detach: detaches
 *
 * Context: task, may sleep.
 * Return: true if it is unused, but not expired.
 */
bool kpmu_use_sweep(struct kpmu_use *use, struct mutex *lock, void (*detach)(void))
{
	bool left = false;

	mutex_lock(lock);
	if (kpmu_use_expired(use))
		detach();
	else
		left = !atomic_read(&use->users);
	mutex_unlock(lock);
	return left;
}

/**
 * kpmu_use_expire() - detach an unused probe soon: it was called too often
 * @use: the use of the probe
 *
 * Context: any, including NMI and under the run-queue lock.
 */
void kpmu_use_expire(struct kpmu_use *use)
{
	irq_work_queue(&use->by->kick);
}
NOKPROBE_SYMBOL(kpmu_use_expire);

/**
 * kpmu_detach_exit() - wait for work in progress
 * @d: whose probes are all detached, and not called any more
 *
 * Context: task, may sleep.
 */
void kpmu_detach_exit(struct kpmu_detach *d)
{
	irq_work_sync(&d->kick);
	cancel_delayed_work_sync(&d->work);
}
