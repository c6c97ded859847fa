// SPDX-License-Identifier: GPL-2.0-only
/* Cost of operations on many events or on one of many, and of further open and mmap() calls. */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define MAX	4096
#define RINGS	256
#define RING	(2 * 4096)

static int fds[MAX];
static void *rings[RINGS];

static void open_all(const struct perf_event_attr *attr, int n)
{
	int i;

	for (i = 0; i < n; i++)
		fds[i] = ev_must(attr, 0, -1, -1, 0);
}

static void close_all(int n)
{
	while (n--)
		close(fds[n]);
}

static void op_prctl(void)
{
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
}

static void bench_prctl(void)
{
	const struct trial off = { .op = op_prctl, .per = MAX, .tries = 5 };
	struct perf_event_attr attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);

	attr.disabled = 1;
	open_all(&attr, MAX);
	row("prctl(off), 4,096 events that are, each", measure_trial(&off));
	close_all(MAX);
}

static void enable_one(void)
{
	ev_enable(op_fd);
}

static void disable_one(void)
{
	ev_disable(op_fd);
}

/*
 * Disable the last event, which waits for a counter.  With native perf one rotation of that many
 * events costs hundreds of times as much as the call.  Many tries, so that one rotation does not
 * dominate the mean.
 */
static void bench_disable(void)
{
	const struct trial one = {
		.before = enable_one, .op = disable_one, .per = 1, .tries = 1000,
	};
	struct perf_event_attr attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);

	open_all(&attr, 1024);
	op_fd = fds[1023];
	row("disable 1 of 1,024 enabled", measure_trial(&one));
	close_all(1024);
}

static void bench_breakpoint(void)
{
	static uint64_t watched;

	op_attr = counting(PERF_TYPE_BREAKPOINT, 0);
	op_attr.exclude_kernel = 1;
	op_attr.bp_type = HW_BREAKPOINT_W;
	op_attr.bp_addr = (uintptr_t)&watched;
	op_attr.bp_len = HW_BREAKPOINT_LEN_8;
	row("open + close, breakpoint", measure(op_open));
}

static void bench_fault_counter(void)
{
	op_attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	row("open + close, page-faults", measure(op_open));
}

static void map_all(void)
{
	int i;

	for (i = 0; i < RINGS; i++)
		rings[i] = map_ring(fds[i], RING);
}

static void unmap_all(void)
{
	int i;

	for (i = 0; i < RINGS; i++) {
		munmap(rings[i], RING);
		rings[i] = NULL;
	}
}

static void unmap_if_mapped(void)
{
	if (rings[0])
		unmap_all();
}

static void map_if_not(void)
{
	if (!rings[0])
		map_all();
}

/* bench_begin() locks all memory, so mmap() also populates the pages */
static void bench_rings(void)
{
	const struct trial map = {
		.before = unmap_if_mapped, .op = map_all, .per = RINGS, .tries = 10,
	};
	const struct trial unmap = {
		.before = map_if_not, .op = unmap_all, .per = RINGS, .tries = 10,
		.later = 8000,
	};
	struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE,
					       PERF_COUNT_SW_DUMMY);

	attr.sample_period = 1;
	open_all(&attr, RINGS);
	row("mmap() of 256 rings of 1+1 pages, each", measure_trial(&map));
	row("munmap() of them, each", measure_trial(&unmap));
	close_all(RINGS);
}

int main(void)
{
	struct rlimit files = { MAX + 100, MAX + 100 };

	bench_begin();
	setrlimit(RLIMIT_NOFILE, &files);
	bench_fault_counter();
	bench_breakpoint();
	bench_rings();
	bench_disable();
	bench_prctl();
	return 0;
}
