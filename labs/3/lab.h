/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 3: a 64-bit count on a narrow counter.  Documentation/labs/3.rst */
#ifndef LAB_3_H
#define LAB_3_H

#include <asm/local64.h>

#include "kernel.h"

/* Bits of a counter, from lab 1 */
#define WIDTH	40

/**
 * struct count - what general counter 0 has counted, in 64 bits
 * @total: events up to the last time that the counter was read
 * @prev: the counter's value at that time
 * @left: after so many events the counter wraps, and its interrupt comes
 */
struct count {
	local64_t total;
	local64_t prev;
	u64 left;
};

u64 count_delta(u64 prev, u64 now, u32 width);
void counter_write(u64 value);
void count_start(struct count *c, u64 left);
u64 count_read(struct count *c);
void count_wrapped(struct count *c);

#endif
