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

/* Eight words; between user_read_access_begin() and user_read_access_end() */
#define GET_WORDS(to, from, fault)			\
	do {						\
		unsafe_get_user((to)[0], (from), fault);	\
		unsafe_get_user((to)[1], (from) + 1, fault);	\
		unsafe_get_user((to)[2], (from) + 2, fault);	\
		unsafe_get_user((to)[3], (from) + 3, fault);	\
		unsafe_get_user((to)[4], (from) + 4, fault);	\
		unsafe_get_user((to)[5], (from) + 5, fault);	\
		unsafe_get_user((to)[6], (from) + 6, fault);	\
		unsafe_get_user((to)[7], (from) + 7, fault);	\
	} while (0)

#define WORDS		(sizeof(struct kpmu_attr) / sizeof(u64))

static_assert(KPMU_ATTR_SIZE_VER0 == 8 * sizeof(u64));
static_assert(KPMU_ATTR_SIZE_VER7 == 16 * sizeof(u64));

/*
 * Copy an attr of a common size, in a third of the instructions that the general way takes.  False:
 * nothing is decided, the general way finds out what is wrong, if anything.
 */
static bool copy_known(struct kpmu_attr *attr, const void __user *from)
{
	const u64 __user *words = from;
	u64 *to = (u64 *)attr;
	u32 i = 8, size;

	might_fault();
	if (!user_read_access_begin(from, sizeof(*attr)))
		return false;
	unsafe_get_user(size, (const u32 __user *)from + 1, fault);
	if (size < KPMU_ATTR_SIZE_VER0 || size > sizeof(*attr) || size % sizeof(u64))
		goto fault;
	GET_WORDS(to, words, fault);
	if (size >= KPMU_ATTR_SIZE_VER7) {
		GET_WORDS(to + 8, words + 8, fault);
		i = 16;
	}
	for (; i < size / sizeof(u64); i++)
		unsafe_get_user(to[i], words + i, fault);
	user_read_access_end();
	/* No memset(), which costs more for the usual one word */
	for (; i < WORDS; i++)
		WRITE_ONCE(to[i], 0);
	/* It was read twice, and may have changed meanwhile */
	attr->size = size;
	return true;
fault:
	user_read_access_end();
	return false;
}

/* The general way: any size, and the error */
static noinline int copy_any(struct kpmu_attr *attr, struct kpmu_attr __user *uattr)
{
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
	return likely(copy_known(attr, from)) ? 0 : copy_any(attr, from);
}
