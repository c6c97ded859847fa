// SPDX-License-Identifier: GPL-2.0-only
/* Lab 3: width and wrap.  Documentation/labs/3.rst says what each function has to do. */
#include "lab.h"

/* Events between two values of a counter of @width bits that has wrapped at most once */
u64 count_delta(u64 prev, u64 now, u32 width)
{
	/* SOLUTION: the difference, modulo 2 to the power of width */
	return (now - prev) & GENMASK_ULL(width - 1, 0);
	/* SKELETON: return now - prev; */
	/* END */
}

/* Set general counter 0 to any value of WIDTH bits */
void counter_write(u64 value)
{
	/* SOLUTION: IA32_PMC0 takes 32 bits only and extends their sign; use its full-width alias */
	lab_wrmsr(0x4c1, value & GENMASK_ULL(WIDTH - 1, 0));
	/* SKELETON: lab_wrmsr(0xc1, value); */
	/* END */
}

/* Set the counter so that it wraps after c->left events, and remember its value */
static void count_arm(struct count *c)
{
	/* SOLUTION: by counter_write(); c->prev is the value in WIDTH bits */
	u64 start = -c->left & GENMASK_ULL(WIDTH - 1, 0);

	counter_write(start);
	local64_set(&c->prev, start);
	/* END */
}

/* Begin to count from 0 on.  The grader has written the selector, and enables the counter then. */
void count_start(struct count *c, u64 left)
{
	c->left = left;
	local64_set(&c->total, 0);
	count_arm(c);
}

/*
 * The count up to now.  At each of its instructions the counter may wrap, and count_wrapped() is
 * called in an NMI.
 */
u64 count_read(struct count *c)
{
	/*
	 * SOLUTION: read prev and the counter; exchange prev for the counter's value if it is still the
	 * same, else begin again; then add the difference to the total
	 */
	u64 prev, now;

	do {
		prev = local64_read(&c->prev);
		now = lab_rdmsr(0xc1);
	} while (local64_cmpxchg(&c->prev, prev, now) != prev);
	local64_add(count_delta(prev, now, WIDTH), &c->total);
	/* END */
	return local64_read(&c->total);
}

/* In the NMI: the counter has wrapped and has gone on from 0.  It is disabled at the moment. */
void count_wrapped(struct count *c)
{
	/* SOLUTION: add what it has counted to the total, and set it to wrap once more */
	count_read(c);
	count_arm(c);
	/* END */
}
