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
	int rest;

	if (!user_access_begin(buf, n * sizeof(u64)))
		return -EFAULT;
	for (rest = n; rest >= 4; rest -= 4, to += 4, words += 4) {
		unsafe_put_user(words[0], to, fault);
		unsafe_put_user(words[1], to + 1, fault);
		unsafe_put_user(words[2], to + 2, fault);
		unsafe_put_user(words[3], to + 3, fault);
	}
	if (rest & 2) {
		unsafe_put_user(words[0], to, fault);
		unsafe_put_user(words[1], to + 1, fault);
	}
	if (rest & 1)
		unsafe_put_user(words[rest - 1], to + rest - 1, fault);
	user_access_end();
	return n * sizeof(u64);
fault:
	user_access_end();
	return -EFAULT;
}

#endif
