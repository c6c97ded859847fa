// SPDX-License-Identifier: GPL-2.0-only
/* Cost of a sample. */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

/*
 * The minimum comes from tries without a tick.  The mean includes ticks, so subtract the mean
 * without an event.  @op makes no system call: without an event only ticks run kernel code.
 */
static void bench_sample(const char *name, void (*op)(void), uint64_t more)
{
	double without = measure(op).mean;
	void *ring = open_sample(more);
	struct cost c = measure(op);

	c.mean -= without;
	row(name, c);
	munmap(ring, RING_BYTES);
	close(op_fd);
}

/* Stack frames as in a program with frame pointers; the innermost is the last element */
struct frame {
	struct frame *next;
	void *ret;
};

#define FRAMES	8

/* On the stack of main() */
static struct frame *frames;

static void link_frames(struct frame *on_stack)
{
	int i;

	frames = on_stack;
	for (i = 0; i < FRAMES; i++) {
		frames[i].next = i ? &frames[i - 1] : NULL;
		frames[i].ret = op_sample;
	}
}

static void op_one_frame(void)
{
	sample_at((uintptr_t)&frames[0]);
}

static void op_frames(void)
{
	sample_at((uintptr_t)&frames[FRAMES - 1]);
}

int main(void)
{
	struct frame on_stack[FRAMES];

	bench_begin();
	/* A throttled event would write no samples until the next tick */
	no_throttle();
	bench_sample("overflow sample, IP+TID+TIME+PERIOD", op_sample, 0);
	link_frames(on_stack);
	bench_sample("same with callchain", op_one_frame, PERF_SAMPLE_CALLCHAIN);
	bench_sample("same, 8 frames", op_frames, PERF_SAMPLE_CALLCHAIN);
	bench_sample("same, program without frame pointers", op_no_frame,
		     PERF_SAMPLE_CALLCHAIN);
	return 0;
}
