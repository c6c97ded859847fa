// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of an event fd: a table, a row each.  perf_event_open(2),
 * "perf_event ioctl calls".
 */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>

#include "../event/event.h"
#include "dev.h"

static long do_enable(struct kpmu_event *e, unsigned long arg)
{
	kpmu_event_control(e, KPMU_OP_ENABLE, arg & PERF_IOC_FLAG_GROUP);
	return 0;
}

static long do_disable(struct kpmu_event *e, unsigned long arg)
{
	kpmu_event_control(e, KPMU_OP_DISABLE, arg & PERF_IOC_FLAG_GROUP);
	return 0;
}

static long do_reset(struct kpmu_event *e, unsigned long arg)
{
	kpmu_event_control(e, KPMU_OP_RESET, arg & PERF_IOC_FLAG_GROUP);
	return 0;
}

static long do_id(struct kpmu_event *e, unsigned long arg)
{
	return put_user(e->id, (u64 __user *)arg);
}

/* On a counting event, which all are so far */
static long do_refuse(struct kpmu_event *e, unsigned long arg)
{
	return -EINVAL;
}

static long do_period(struct kpmu_event *e, unsigned long arg)
{
	u64 period;

	if (get_user(period, (u64 __user *)arg))
		return -EFAULT;
	return -EINVAL;
}

static long do_modify(struct kpmu_event *e, unsigned long arg)
{
	struct kpmu_attr attr;
	int err = kpmu_attr_copy(&attr, (void __user *)arg);

	if (err)
		return err;
	return attr.type == e->type ? -EOPNOTSUPP : -EINVAL;
}

static const struct ioctl_row {
	unsigned int cmd;
	long (*fn)(struct kpmu_event *e, unsigned long arg);
} rows[] = {
	{ PERF_EVENT_IOC_ENABLE, do_enable },
	{ PERF_EVENT_IOC_DISABLE, do_disable },
	{ PERF_EVENT_IOC_RESET, do_reset },
	{ PERF_EVENT_IOC_ID, do_id },
	{ PERF_EVENT_IOC_PERIOD, do_period },
	{ PERF_EVENT_IOC_REFRESH, do_refuse },
	{ PERF_EVENT_IOC_SET_OUTPUT, do_refuse },
	{ PERF_EVENT_IOC_SET_FILTER, do_refuse },
	{ PERF_EVENT_IOC_SET_BPF, do_refuse },
	{ PERF_EVENT_IOC_PAUSE_OUTPUT, do_refuse },
	{ PERF_EVENT_IOC_QUERY_BPF, do_refuse },
	{ PERF_EVENT_IOC_MODIFY_ATTRIBUTES, do_modify },
};

/**
 * kpmu_event_ioctl() - ioctl(2) on an event
 * @file: the event's
 * @cmd: see the table
 * @arg: its argument
 *
 * Context: task, may sleep.
 */
long kpmu_event_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].cmd == cmd)
			return rows[i].fn(file->private_data, arg);
	return -ENOTTY;
}
