/* SPDX-License-Identifier: GPL-2.0-only */
/* How the result of read(2) gets to its caller. */
#ifndef KPMU_COPY_H
#define KPMU_COPY_H

#include <linux/uaccess.h>

/**
 * kpmu_read_copy() - copy a small result word by word, which is faster than copy_to_user()
 * @buf: the caller's buffer
 * @words: the result
 * @n: its length in words
 *
 * Context: task, may sleep.
 * Return: bytes written; -EFAULT.
 */
static inline ssize_t kpmu_read_copy(char __user *buf, const u64 *words, int n)
{
	u64 __user *to = (u64 __user *)buf;
	int i;

	if (!user_access_begin(buf, n * sizeof(u64)))
		return -EFAULT;
	for (i = 0; i < n; i++)
		unsafe_put_user(words[i], to + i, fault);
	user_access_end();
	return n * sizeof(u64);
fault:
	user_access_end();
	return -EFAULT;
}

#endif
