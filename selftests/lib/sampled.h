/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of exactly counted work, for tests of the contents of samples. */
#ifndef KPMU_TEST_SAMPLED_H
#define KPMU_TEST_SAMPLED_H

#include <unistd.h>

#include "event.h"
#include "pair.h"

#define PERIOD	1000
#define ROUNDS	2510			/* 10,043 instructions: 10 samples, also if they are late */

/* A count at a sample, which on hardware comes some instructions late */
#define EXPECT_COUNT(expected, got) do {			\
	EXPECT_GE(got, expected);				\
	EXPECT_LE(got, (expected) + SLACK(expected));		\
} while (0)

extern const char work_counted_[] __asm__("work_counted");

static inline bool in_work(uint64_t ip)
{
	return ip - (uintptr_t)work_counted_ < 64;
}

static inline struct perf_event_attr sampled_attr(uint64_t sample_type)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	no_throttle();
	a.sample_period = PERIOD;
	a.sample_type = sample_type;
	return a;
}

/* Open the event, map its ring buffer, run the counted work */
static inline int sampled(struct ring *r, const struct perf_event_attr *a)
{
	int fd = ev_must(a, 0, -1, -1, 0);

	ring_map(r, fd, a, 64);
	work_counted(fd, ROUNDS, 0);
	return fd;
}

/*
 * Sample kernel mode instead of user mode.  The exit from the PMI counts as kernel
 * instructions.  A kernel with debug checks may need more than a period for it, and would
 * make no progress; hence the longer period there.
 */
static inline void sample_the_kernel(struct perf_event_attr *a)
{
	a->sample_period *= slow() * slow();
	a->exclude_kernel = 0;
	a->exclude_user = 1;
}

/* sampled() for the kernel side of @calls system calls instead of the counted work */
static inline int sampled_kernel(struct ring *r, struct perf_event_attr *a,
				 int calls)
{
	int fd;

	sample_the_kernel(a);
	fd = ev_must(a, 0, -1, -1, 0);
	ring_map(r, fd, a, 64);
	ev_enable(fd);
	while (calls--)
		getppid();
	ev_disable(fd);
	return fd;
}

#endif
