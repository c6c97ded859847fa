/* SPDX-License-Identifier: GPL-2.0-only */
/* A user stack of known depth, for tests of call chains. */
#ifndef KPMU_TEST_FRAMES_H
#define KPMU_TEST_FRAMES_H

#include "harness.h"
#include "sampled.h"

/* A function that has a frame, and that calls others instead of jumping to them */
#define FRAME	__attribute__((noinline, noclone,			\
			       optimize("no-omit-frame-pointer",	\
					"no-optimize-sibling-calls")))

static volatile int touched;

FRAME static void go_down(int depth, int fd, void (*bottom)(int fd))
{
	if (depth)
		go_down(depth - 1, fd, bottom);
	else
		bottom(fd);
	touched++;
}

FRAME static void the_work(int fd)
{
	work_counted(fd, ROUNDS, 0);
	touched++;
}

static inline bool in_go_down(uint64_t ip)
{
	return ip - (uintptr_t)go_down < 128;
}

/* Return: how many of the addresses from @p to @end are in go_down() */
static inline int depth_of(const uint64_t *p, const uint64_t *end)
{
	int n = 0;

	for (; p < end; p++)
		n += in_go_down(*p);
	return n;
}

#endif
