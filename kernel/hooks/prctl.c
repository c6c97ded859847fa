// SPDX-License-Identifier: GPL-2.0-only
/*
 * prctl(PR_TASK_PERF_EVENTS_DISABLE) and _ENABLE.  The kernel's functions for them are diverted:
 * unlike a hook at their entry, a replacement may take the time that many events need.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/kernel.h>
#include <linux/printk.h>

#include "../compat/hook.h"
#include "../life/life.h"
#include "hooks.h"

static int enable_all(void);
static int disable_all(void);

static struct kpmu_divert calls[] = {
	{ .func = "perf_event_task_enable", .instead = enable_all, .feature = "prctl" },
	{ .func = "perf_event_task_disable", .instead = disable_all, .feature = "prctl" },
};

static struct kpmu_diverts call_set = {
	.table = calls, .n = ARRAY_SIZE(calls),
};

static int control_all(struct kpmu_divert *d, enum kpmu_op op)
{
	int ret = kpmu_divert_call(d, 0);

	kpmu_owner_control(op);
	kpmu_divert_done(d);
	return ret;
}

static int enable_all(void)
{
	return control_all(&calls[0], KPMU_OP_ENABLE);
}

static int disable_all(void)
{
	return control_all(&calls[1], KPMU_OP_DISABLE);
}

/**
 * kpmu_prctl_init() - enable and disable kpmu's events by prctl(2), too
 *
 * If that is not possible, only the events of native perf are.
 *
 * Context: module init, may sleep.
 */
void __init kpmu_prctl_init(void)
{
	int err = kpmu_diverts_register(&call_set);

	if (err)
		pr_notice("prctl(2) does not enable and disable events (%d)\n", err);
}

/**
 * kpmu_prctl_exit() - undo kpmu_prctl_init()
 *
 * Context: module exit, may sleep; waits for calls in progress.
 */
void kpmu_prctl_exit(void)
{
	kpmu_diverts_unregister(&call_set);
}
