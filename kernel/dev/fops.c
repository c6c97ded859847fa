// SPDX-License-Identifier: GPL-2.0-only
/*
 * File operations of an event fd; its ioctls are one table row each.  perf_event_open(2),
 * "perf_event ioctl calls".
 */
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../compat/ksym.h"
#include "../life/life.h"
#include "../sampling/follow.h"
#include "dev.h"

/**
 * kpmu_event_of_file() - get the event of a file
 * @file: any file
 *
 * Context: any.
 * Return: the event, held by the file; NULL if it is not an event's file.
 */
struct kpmu_event *kpmu_event_of_file(struct file *file)
{
	return file->f_op == &kpmu_event_fops ? file->private_data : NULL;
}

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
	return put_user(e->se.id, (u64 __user *)arg);
}

static long do_refresh(struct kpmu_event *e, unsigned long arg)
{
	return kpmu_event_refresh(e, arg);
}

static long do_period(struct kpmu_event *e, unsigned long arg)
{
	u64 period;

	if (copy_from_user(&period, (void __user *)arg, sizeof(period)))
		return -EFAULT;
	return kpmu_event_period(e, period);
}

static long do_set_output(struct kpmu_event *e, unsigned long arg)
{
	struct kpmu_event *to;
	struct file *file;
	long err;

	if (arg == -1UL)
		return kpmu_output_redirect(e, NULL);
	file = fget(arg);
	if (!file)
		return -EBADF;
	to = kpmu_event_of_file(file);
	err = to ? kpmu_output_redirect(e, to) : -EBADF;
	fput(file);
	return err;
}

static long do_pause_output(struct kpmu_event *e, unsigned long arg)
{
	return kpmu_output_pause(e, arg);
}

static long do_set_filter(struct kpmu_event *e, unsigned long arg)
{
	char *filter = strndup_user((const char __user *)arg, PAGE_SIZE);
	long err;

	if (IS_ERR(filter))
		return PTR_ERR(filter);
	err = kpmu_event_filter(e, filter);
	kfree(filter);
	return err;
}

static long do_set_bpf(struct kpmu_event *e, unsigned long arg)
{
	return kpmu_event_set_bpf(e, arg);
}

static long do_query_bpf(struct kpmu_event *e, unsigned long arg)
{
	return kpmu_event_query_bpf(e, (void __user *)arg);
}

static long do_modify(struct kpmu_event *e, unsigned long arg)
{
	struct kpmu_attr attr;
	const char *why;
	int err;

	err = kpmu_attr_copy(&attr, (void __user *)arg);
	if (!err)
		err = kpmu_attr_check(&attr, NULL, KPMU_ATTR_SHAPE, &why);
	if (err)
		return err;
	return kpmu_event_modify(e, &attr);
}

/* Indexed by the ioctl's number, from FIRST_ROW on; event_ioctl() itself has those before it */
#define FIRST_ROW	_IOC_NR(PERF_EVENT_IOC_REFRESH)
static const struct ioctl_row {
	unsigned int cmd;
	long (*fn)(struct kpmu_event *e, unsigned long arg);
} rows[] = {
	{ PERF_EVENT_IOC_REFRESH, do_refresh },
	{ PERF_EVENT_IOC_RESET, do_reset },
	{ PERF_EVENT_IOC_PERIOD, do_period },
	{ PERF_EVENT_IOC_SET_OUTPUT, do_set_output },
	{ PERF_EVENT_IOC_SET_FILTER, do_set_filter },
	{ PERF_EVENT_IOC_ID, do_id },
	{ PERF_EVENT_IOC_SET_BPF, do_set_bpf },
	{ PERF_EVENT_IOC_PAUSE_OUTPUT, do_pause_output },
	{ PERF_EVENT_IOC_QUERY_BPF, do_query_bpf },
	{ PERF_EVENT_IOC_MODIFY_ATTRIBUTES, do_modify },
};

static long event_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct kpmu_event *e = file->private_data;
	unsigned int row = _IOC_NR(cmd) - FIRST_ROW;
	int err;

	if (unlikely(e->label)) {
		err = kpmu_lsm_write(e->label);
		if (err)
			return err;
	}
	/* The most common ones, without an indirect call */
	if (cmd == PERF_EVENT_IOC_ENABLE)
		return do_enable(e, arg);
	if (cmd == PERF_EVENT_IOC_DISABLE)
		return do_disable(e, arg);
	if (row >= ARRAY_SIZE(rows) || rows[row].cmd != cmd)
		return -ENOTTY;
	return rows[row].fn(e, arg);
}

/* A 32-bit caller: for some ioctls the size of a pointer is part of the number */
static long event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(PERF_EVENT_IOC_SET_FILTER):
	case _IOC_NR(PERF_EVENT_IOC_ID):
	case _IOC_NR(PERF_EVENT_IOC_QUERY_BPF):
	case _IOC_NR(PERF_EVENT_IOC_MODIFY_ATTRIBUTES):
		if (_IOC_SIZE(cmd) == sizeof(compat_uptr_t)) {
			cmd &= ~IOCSIZE_MASK;
			cmd |= sizeof(void *) << IOCSIZE_SHIFT;
		}
	}
	return event_ioctl(file, cmd, arg);
}

static ssize_t event_read(struct file *file, char __user *buf, size_t len,
			  loff_t *pos)
{
	struct kpmu_event *e = file->private_data;
	int err = unlikely(e->label) ? kpmu_lsm_read(e->label) : 0;

	return err ?: kpmu_event_read(e, buf, len);
}

static int event_release(struct inode *inode, struct file *file)
{
	struct kpmu_event *e = file->private_data;

	if (unlikely(!e))
		return 0;	/* its open has failed */
	kpmu_owner_clear(e);
	kpmu_event_close(e);
	return 0;
}

static __poll_t event_poll(struct file *file, struct poll_table_struct *wait)
{
	return kpmu_output_poll(file->private_data, file, wait);
}

static int event_fasync(int fd, struct file *file, int on)
{
	struct kpmu_event *e = file->private_data;
	int ret = fasync_helper(fd, file, on, &e->fasync);

	return ret < 0 ? ret : 0;
}

const struct file_operations kpmu_event_fops = {
	.owner = THIS_MODULE,
	.read = event_read,
	.poll = event_poll,
	.mmap = kpmu_event_mmap,
	.release = event_release,
	.unlocked_ioctl = event_ioctl,
	.compat_ioctl = event_compat_ioctl,
	.fasync = event_fasync,
};
