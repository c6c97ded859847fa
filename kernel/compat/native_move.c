// SPDX-License-Identifier: GPL-2.0-only
/* Moving a breakpoint of native perf, and those that child tasks have inherited from it. */
#include <linux/errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>

#include "ksym.h"

static int move_one(struct perf_event *event, struct perf_event_attr *to)
{
	int err;

	kpmu_ksym_call(KSYM__perf_event_disable, (unsigned long)event, 0, 0, 0);
	err = kpmu_ksym_call(KSYM_modify_user_hw_breakpoint_check, (unsigned long)event,
			     (unsigned long)to, false, 0);
	kpmu_ksym_call(KSYM__perf_event_enable, (unsigned long)event, 0, 0, 0);
	return err;
}

/*
 * The kernel's order of locks: the context's, then that of the children, which keeps them from being freed.
 * An event created by perf_event_create_kernel_counter() alone never moves to another context.
 */
static int move_family(struct perf_event *event, struct perf_event_attr *to)
{
	struct perf_event *child;
	int err;

	mutex_lock(&event->ctx->mutex);
	mutex_lock(&event->child_mutex);
	err = move_one(event, to);
	list_for_each_entry(child, &event->child_list, child_list) {
		if (err)
			break;
		err = move_one(child, to);
	}
	mutex_unlock(&event->child_mutex);
	mutex_unlock(&event->ctx->mutex);
	return err;
}

/**
 * kpmu_native_move() - move a breakpoint
 * @event: a native event of a breakpoint, enabled, from perf_event_create_kernel_counter()
 * @addr: its new address
 * @type: its new type, HW_BREAKPOINT_*
 * @len: its new length, HW_BREAKPOINT_LEN_*
 *
 * Context: task, may sleep.  perf_event_open(2), PERF_EVENT_IOC_MODIFY_ATTRIBUTES.
 * Return: 0; an error of the kernel for an invalid breakpoint, which is unchanged then; -EOPNOTSUPP if
 * the event is inherited and the kernel's functions were not found.
 */
int kpmu_native_move(struct perf_event *event, u64 addr, u32 type, u64 len)
{
	struct perf_event_attr to = event->attr;

	to.bp_addr = addr;
	to.bp_type = type;
	to.bp_len = len;
	if (!event->attr.inherit)
		return modify_user_hw_breakpoint(event, &to);
	if (!kpmu_ksym_has(KSYM__perf_event_disable) || !kpmu_ksym_has(KSYM__perf_event_enable) ||
	    !kpmu_ksym_has(KSYM_modify_user_hw_breakpoint_check))
		return -EOPNOTSUPP;
	return move_family(event, &to);
}
