// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_HISTOGRAM: counting the samples of an event in a table, and the operations of its fd. */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include <uapi/linux/kpmu.h>

#include "../event/histogram.h"
#include "../event/sampling.h"
#include "dev.h"

static int release_histogram(struct inode *inode, struct file *file)
{
	struct kpmu_histogram *h = file->private_data;

	WRITE_ONCE(h->closed, true);
	kpmu_histogram_put(h);
	return 0;
}

static int mmap_histogram(struct file *file, struct vm_area_struct *vma)
{
	return kpmu_histogram_mmap(file->private_data, vma);
}

static const struct file_operations histogram_fops = {
	.owner = THIS_MODULE,
	.mmap = mmap_histogram,
	.release = release_histogram,
};

static bool makes_samples(const struct kpmu_event *e)
{
	const struct kpmu_sampling *s = e->sampling;

	return s && (e->se.hw.period || s->freq) && !s->aux_output && !e->se.hw.source->trace;
}

static int make_table(struct kpmu_event *e, const struct kpmu_open_histogram *a, int fd,
		      const char **why)
{
	struct kpmu_histogram *h = kpmu_histogram_new(a->by, a->order);
	struct file *file;
	int err;

	if (IS_ERR(h))
		return PTR_ERR(h);
	file = anon_inode_getfile("[kpmu_histogram]", &histogram_fops, h, O_RDONLY);
	if (IS_ERR(file)) {
		kpmu_histogram_put(h);
		return PTR_ERR(file);
	}
	err = kpmu_output_count(e, h);
	if (err) {
		*why = "the event has a ring buffer, or has had a histogram";
		fput(file);
		return err;
	}
	fd_install(fd, file);
	return fd;
}

static int of_event(struct kpmu_event *e, const struct kpmu_open_histogram *a, const char **why)
{
	int ret, fd;

	if (!makes_samples(e)) {
		*why = "the event makes no samples";
		return -EINVAL;
	}
	fd = get_unused_fd_flags(O_RDONLY | (a->flags & KPMU_HISTOGRAM_CLOEXEC ? O_CLOEXEC : 0));
	if (fd < 0)
		return fd;
	ret = make_table(e, a, fd, why);
	if (ret < 0)
		put_unused_fd(fd);
	return ret;
}

/**
 * kpmu_dev_histogram() - KPMU_IOC_HISTOGRAM
 * @arg: struct kpmu_open_histogram in user memory
 * @why: set to the reason for an error, a string literal
 *
 * Context: task, may sleep.
 * Return: the new fd; -EFAULT, -EINVAL, -EMFILE, -ENOMEM; -EBADF for an fd that is not an event's; -EBUSY,
 * see kpmu_output_count(); -EPERM, see kpmu_histogram_new().
 */
long kpmu_dev_histogram(void __user *arg, const char **why)
{
	struct kpmu_open_histogram args;
	struct kpmu_event *e;
	struct file *file;
	int ret = -EBADF;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.flags & ~KPMU_HISTOGRAM_CLOEXEC || args.by > KPMU_HISTOGRAM_TASK ||
	    args.order < KPMU_HISTOGRAM_MIN_ORDER || args.order > KPMU_HISTOGRAM_MAX_ORDER)
		return -EINVAL;
	file = fget(args.event);
	e = file ? kpmu_event_of_file(file) : NULL;
	if (e)
		ret = of_event(e, &args, why);
	if (file)
		fput(file);
	return ret;
}
