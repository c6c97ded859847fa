// SPDX-License-Identifier: GPL-2.0-only
/* File operations of an event fd. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "../compat/ksym.h"
#include "../event/family.h"
#include "../hooks/hooks.h"
#include "../life/life.h"
#include "../sched/sched.h"
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

static ssize_t event_read(struct file *file, char __user *buf, size_t len,
			  loff_t *pos)
{
	struct kpmu_event *e = file->private_data;
	int err = unlikely(e->label) ? kpmu_lsm_read(e->label) : 0;

	return err ?: kpmu_event_read(e, buf, len);
}

/**
 * kpmu_event_close() - end an event that has no fd (any more)
 * @e: the event, attached
 *
 * Context: task, may sleep.
 */
void kpmu_event_close(struct kpmu_event *e)
{
	kpmu_event_detach(e);
	if (e->family)
		kpmu_family_close(e);
	kpmu_output_end(e);
	kpmu_event_unhook(e);
	kpmu_event_put(e);
	kpmu_hooks_linger();
}

static int event_release(struct inode *inode, struct file *file)
{
	kpmu_owner_clear(file->private_data);
	kpmu_event_close(file->private_data);
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
	.unlocked_ioctl = kpmu_event_ioctl,
	.compat_ioctl = kpmu_event_compat_ioctl,
	.fasync = event_fasync,
};
