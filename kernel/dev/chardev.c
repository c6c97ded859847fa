// SPDX-License-Identifier: GPL-2.0-only
/* The device /dev/kpmu. */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <uapi/linux/kpmu.h>

#include "../compat/compat.h"
#include "../life/life.h"
#include "dev.h"

static ushort mode = 0600;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "mode of /dev/kpmu (default 0600)");

static uint gid;
module_param(gid, uint, 0444);
MODULE_PARM_DESC(gid, "group of /dev/kpmu (default 0)");

/* The reason for the last failure is in file->private_data: a string that stays valid */
static long copy_why(struct file *file, void __user *arg)
{
	const char *text = READ_ONCE(file->private_data);
	struct kpmu_why why = { };

	if (text)
		strscpy(why.text, text, sizeof(why.text));
	return copy_to_user(arg, &why, sizeof(why)) ? -EFAULT : 0;
}

static_assert(sizeof(struct kpmu_open) == 32);

/* Word by word, which takes a third of the instructions of copy_from_user() */
static bool get_args(struct kpmu_open *args, const struct kpmu_open __user *arg)
{
	might_fault();
	if (!user_read_access_begin(arg, sizeof(*arg)))
		return false;
	unsafe_get_user(args->attr, &arg->attr, fault);
	unsafe_get_user(args->pid, &arg->pid, fault);
	unsafe_get_user(args->cpu, &arg->cpu, fault);
	unsafe_get_user(args->group_fd, &arg->group_fd, fault);
	unsafe_get_user(args->reserved, &arg->reserved, fault);
	unsafe_get_user(args->flags, &arg->flags, fault);
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

static long open_self(void __user *arg, const char **why)
{
	struct kpmu_open args;

	if (!get_args(&args, arg))
		return -EFAULT;
	if (args.reserved && !(args.flags & KPMU_OPEN_RESERVED))
		return -EINVAL;
	return kpmu_dev_open_event(&args, current, KPMU_OPEN_STRICT | KPMU_OPEN_RESERVED, why);
}

static long open_for(void __user *arg, const char **why)
{
	struct kpmu_open_for args;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.reserved || args.open.reserved)
		return -EINVAL;
	return kpmu_dev_open_for(&args, why);
}

/* A call that returns an fd, or an error whose reason is kept */
static __always_inline long get_fd(struct file *file, void __user *arg,
				   long (*call)(void __user *arg, const char **why))
{
	const char *why = "";
	long ret;

	WRITE_ONCE(file->private_data, NULL);
	ret = call(arg, &why);
	if (ret < 0)
		WRITE_ONCE(file->private_data, (void *)why);
	return ret;
}

static long dev_ioctl(struct file *file, unsigned int cmd, unsigned long number)
{
	void __user *arg = (void __user *)number;

	/* The most common one first: a switch compares with several */
	if (cmd == KPMU_IOC_OPEN)
		return get_fd(file, arg, open_self);
	switch (cmd) {
	case KPMU_IOC_OPEN_FOR:
		return get_fd(file, arg, open_for);
	case KPMU_IOC_OPEN_SET:
		return get_fd(file, arg, kpmu_dev_open_set);
	case KPMU_IOC_RESERVE:
		return get_fd(file, arg, kpmu_dev_reserve);
	case KPMU_IOC_HISTOGRAM:
		return get_fd(file, arg, kpmu_dev_histogram);
	case KPMU_IOC_WHY:
		return copy_why(file, arg);
	case KPMU_IOC_EXPLAIN:
		return kpmu_dev_explain(arg);
	case KPMU_IOC_INFO:
		return kpmu_dev_info(arg);
	case KPMU_IOC_TASK_ENABLE:
		kpmu_owner_control(KPMU_OP_ENABLE);
		return 0;
	case KPMU_IOC_TASK_DISABLE:
		kpmu_owner_control(KPMU_OP_DISABLE);
		return 0;
	default:
		return -ENOTTY;
	}
}

const struct file_operations kpmu_dev_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.unlocked_ioctl = dev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static dev_t number;
static struct cdev cdev;
static struct class *class;

static char *set_devnode(KPMU_DEVNODE_CONST struct device *dev, umode_t *m,
			 kuid_t *uid, kgid_t *g)
{
	/* The pointers are NULL when the node is removed */
	if (m)
		*m = mode & 0777;
	if (g)
		*g = KGIDT_INIT(gid);
	return NULL;
}

static const struct device_type type = { .name = "kpmu", .devnode = set_devnode };

static void release_device(struct device *dev)
{
	kfree(dev);
}

static struct device *device;

static int make_device(void)
{
	int err;

	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return -ENOMEM;
	device_initialize(device);
	device->class = class;
	device->type = &type;
	device->devt = number;
	device->release = release_device;
	err = dev_set_name(device, "kpmu") ?: device_add(device);
	if (err)
		put_device(device);
	return err;
}

/**
 * kpmu_chardev_init() - create /dev/kpmu
 *
 * Context: module init, after all that an open needs.
 * Return: 0 or an error.
 */
int __init kpmu_chardev_init(void)
{
	int err;

	err = alloc_chrdev_region(&number, 0, 1, "kpmu");
	if (err)
		return err;
	class = kpmu_class_create("kpmu");
	if (IS_ERR(class)) {
		err = PTR_ERR(class);
		goto err_class;
	}
	cdev_init(&cdev, &kpmu_dev_fops);
	cdev.owner = THIS_MODULE;
	err = cdev_add(&cdev, number, 1);
	if (err)
		goto err_cdev;
	err = make_device();
	if (err)
		goto err_device;
	return 0;

err_device:
	cdev_del(&cdev);
err_cdev:
	class_destroy(class);
err_class:
	unregister_chrdev_region(number, 1);
	return err;
}

/**
 * kpmu_chardev_exit() - remove /dev/kpmu
 *
 * Context: module exit.
 */
void kpmu_chardev_exit(void)
{
	device_unregister(device);
	cdev_del(&cdev);
	class_destroy(class);
	unregister_chrdev_region(number, 1);
}
