// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sharing IBS with the kernel's own perf, which reserves nothing: it writes the registers when
 * one of its events is scheduled in.  So the functions that do are diverted.  While an event of
 * kpmu exists, new events of native perf get EBUSY, and those that it already has do not count.
 *
 * The other way round, an event of kpmu gets EBUSY while a sampler is enabled on any CPU.  An
 * event of native perf that is on no CPU at this moment is not seen; it counts again when kpmu's
 * are gone.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "../../../compat/hook.h"
#include "../msr.h"
#include "ibs.h"

static int init_native(void *event);
static int add_native(void *event, int flags);
static void start_native(void *event, int flags);

static struct kpmu_divert ibs_rivals[] = {
	{ .func = "perf_ibs_init", .instead = init_native,
	  .feature = "instruction-based sampling" },
	{ .func = "perf_ibs_add", .instead = add_native,
	  .feature = "instruction-based sampling" },
	{ .func = "perf_ibs_start", .instead = start_native,
	  .feature = "instruction-based sampling" },
};

static struct kpmu_diverts ibs_rival_set = { .table = ibs_rivals, .n = ARRAY_SIZE(ibs_rivals) };

/* Events of kpmu that use IBS */
atomic_t ibs_users = ATOMIC_INIT(0);
static DEFINE_MUTEX(ibs_lock);

/* The kernel's perf has used IBS, as far as is known: its interrupt handler must be called */
atomic_t ibs_native_used = ATOMIC_INIT(1);

/* Replaces perf_ibs_init(), which is also called for events of other PMUs */
static int init_native(void *event)
{
	int err = kpmu_divert_call(&ibs_rivals[0], (unsigned long)event);

	if (!err && atomic_read(&ibs_users)) {
		pr_notice_ratelimited("the kernel's perf requested IBS, but events of kpmu hold it\n");
		err = -EBUSY;
	}
	kpmu_divert_done(&ibs_rivals[0]);
	return err;
}

/* Replaces perf_ibs_add() */
static int add_native(void *event, int flags)
{
	int err = -ENOSPC;

	if (!atomic_read(&ibs_users))
		err = kpmu_divert_call2(&ibs_rivals[1], (unsigned long)event, flags);
	kpmu_divert_done(&ibs_rivals[1]);
	return err;
}

/* Replaces perf_ibs_start() */
static void start_native(void *event, int flags)
{
	/* Before its first interrupt, which comes to this CPU */
	if (!atomic_read(&ibs_native_used))
		atomic_set(&ibs_native_used, 1);
	if (!atomic_read(&ibs_users))
		kpmu_divert_call2(&ibs_rivals[2], (unsigned long)event, flags);
	kpmu_divert_done(&ibs_rivals[2]);
}

static void look_at_this_cpu(void *found)
{
	int i;

	for (i = 0; i < IBS_UNITS; i++)
		if (kpmu_rdmsr(ibs_units[i].msr) & ibs_units[i].enable)
			WRITE_ONCE(*(bool *)found, true);
}

/**
 * ibs_get() - .get of events of IBS
 * @hw: the event
 * @target: what it is to count
 * @why: set to a description of the error
 *
 * Context: task, may sleep.
 * Return: 0; -EBUSY if the kernel's perf uses IBS; -EOPNOTSUPP if it cannot be kept from it.
 */
int ibs_get(struct kpmu_hw *hw, const struct kpmu_target *target, const char **why)
{
	bool found = false;

	if (!ibs_rivals[0].ok || !ibs_rivals[1].ok || !ibs_rivals[2].ok) {
		*why = "the kernel's perf cannot be kept from using IBS at the same time";
		return -EOPNOTSUPP;
	}
	mutex_lock(&ibs_lock);
	if (atomic_inc_return(&ibs_users) == 1) {
		/* From here on the kernel's perf starts nothing new */
		on_each_cpu(look_at_this_cpu, &found, true);
		if (found)
			atomic_dec(&ibs_users);
	}
	mutex_unlock(&ibs_lock);
	if (!found)
		return 0;
	*why = "the kernel's perf uses IBS";
	pr_notice_ratelimited("the kernel's perf uses IBS\n");
	return -EBUSY;
}

/**
 * ibs_put() - .put of events of IBS
 * @hw: the event
 *
 * Context: task.
 */
void ibs_put(struct kpmu_hw *hw)
{
	atomic_dec(&ibs_users);
}

/**
 * ibs_rivals_init() - intercept the kernel's perf
 *
 * Context: module init, may sleep.
 * Return: 0 or an error.
 */
int __init ibs_rivals_init(void)
{
	int err = kpmu_diverts_register(&ibs_rival_set);
	bool found = false;

	if (err || !ibs_rivals[2].ok)
		return err;
	/* From here on start_native() sets it */
	atomic_set(&ibs_native_used, 0);
	on_each_cpu(look_at_this_cpu, &found, true);
	if (found)
		atomic_set(&ibs_native_used, 1);
	return 0;
}

/**
 * ibs_rivals_exit() - undo ibs_rivals_init()
 *
 * Context: task, may sleep; no event is left.
 */
void ibs_rivals_exit(void)
{
	kpmu_diverts_unregister(&ibs_rival_set);
}
