// SPDX-License-Identifier: GPL-2.0-only
/* Copy an attr from user space, by the size rules of perf_event_open(2). */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "attr.h"

static int report_newer_size(struct kpmu_attr __user *uattr)
{
	/* Report the size that this version supports; failure to do so is ignored */
	put_user((u32)sizeof(*uattr), &uattr->size);
	return -E2BIG;
}

/**
 * kpmu_attr_copy() - copy an attr of any published size
 * @attr: the copy; fields that the caller's version lacks are zeroed
 * @from: struct perf_event_attr in user memory
 *
 * A size of 0 means the first published size.  A larger attr than struct
 * kpmu_attr is accepted if the rest is zero.
 *
 * Context: may sleep.
 * Return: 0, -EFAULT, or -E2BIG with the supported size stored in the caller's attr.
 */
int kpmu_attr_copy(struct kpmu_attr *attr, void __user *from)
{
	struct kpmu_attr __user *uattr = from;
	u32 size;
	int err;

	if (get_user(size, &uattr->size))
		return -EFAULT;
	if (!size)
		size = KPMU_ATTR_SIZE_VER0;
	if (size < KPMU_ATTR_SIZE_VER0 || size > PAGE_SIZE)
		return report_newer_size(uattr);

	err = copy_struct_from_user(attr, sizeof(*attr), uattr, size);
	if (err)
		return err == -E2BIG ? report_newer_size(uattr) : err;
	attr->size = size;
	return 0;
}
