// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost of branch stacks: of a sample, and of a switch between tasks with such events.  The argument
 * precedes the names of the rows.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"
#include "recorded.h"

static struct perf_event_attr branches(uint64_t type)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	attr.disabled = 0;
	attr.sample_period = 4 * SAMPLE_ROUNDS;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = type | PERF_SAMPLE_BRANCH_USER;
	return attr;
}

/* As bench_sample() in samples.c */
static void bench_sample(const char *name, uint64_t type)
{
	struct perf_event_attr attr = branches(type);
	double without = measure(op_sample).mean;
	struct cost c;
	void *ring;

	op_fd = ev_must(&attr, 0, -1, -1, 0);
	ring = map_ring(op_fd, RING_BYTES);
	c = measure(op_sample);
	c.mean -= without;
	prefixed_row(name, c);
	munmap(ring, RING_BYTES);
	close(op_fd);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		prefix = argv[1];
	bench_begin();
	no_throttle();
	/* work() is a loop: all entries are its conditional branch */
	bench_sample(is_amd() ? "sample with 16 branches" : "sample with 32 branches",
		     PERF_SAMPLE_BRANCH_ANY);
	bench_sample("same, filtered, with types",
		     PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_TYPE_SAVE);
	if (!is_amd())
		bench_sample("same, call stack", PERF_SAMPLE_BRANCH_CALL_STACK);
	sampled_switch("switch, 1 event with branches both sides", branches(PERF_SAMPLE_BRANCH_ANY));
	if (!is_amd())
		sampled_switch("same, call stacks", branches(PERF_SAMPLE_BRANCH_CALL_STACK));
	return 0;
}
