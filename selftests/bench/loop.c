// SPDX-License-Identifier: GPL-2.0-only
/* loop WHAT N: perform one operation N times, for observation from outside the guest. */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "cost.h"
#include "event.h"
#include "ops.h"

static int nr = 1;

static void start_nothing(void)
{
}

static void start_group(void)
{
	op_fd = open_group(0, nr, nr == 4 ? GROUP_FORMAT : 0);
}

static void start_open(void)
{
	op_attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);
}

/* As perf record's dummy event, and cold each time */
static void start_dummy(void)
{
	op_attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	op_attr.mmap = 1;
	op_attr.comm = 1;
	op_attr.task = 1;
}

static void op_open_cold(void)
{
	op_open();
	op_cold();
}

static void start_breakpoint(void)
{
	op_attr = counting(PERF_TYPE_BREAKPOINT, 0);
	op_attr.bp_type = HW_BREAKPOINT_W;
	op_attr.bp_addr = (long)&nr;
	op_attr.bp_len = HW_BREAKPOINT_LEN_4;
}

static void start_sample(void)
{
	open_sample(0);
}

static void start_chain(void)
{
	open_sample(PERF_SAMPLE_CALLCHAIN);
}

static void start_fault(void)
{
	fault_page();
	op_fd = open_soft(PERF_COUNT_SW_PAGE_FAULTS, -1);
}

static void start_hit(void)
{
	struct perf_event_attr attr = counting(PERF_TYPE_TRACEPOINT,
					       read_long(TRACEPOINT));

	ev_must(&attr, 0, -1, -1, 0);
}

static void start_one_side(void)
{
	partner_start();
	start_group();
}

static void start_both_sides(void)
{
	open_group(partner_start(), nr, 0);
	start_group();
}

static void start_family(void)
{
	static const uint64_t configs[] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
		PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
	};
	int i;

	for (i = 0; i < nr; i++) {
		struct perf_event_attr attr = counting(PERF_TYPE_HARDWARE, configs[i]);

		attr.inherit = 1;
		ev_must(&attr, 0, -1, -1, 0);
	}
}

static void start_inherited(void)
{
	start_family();
	partner_start();
}

static void start_ring(void)
{
	struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1ULL << 40;
	op_fd = ev_must(&attr, 0, -1, -1, 0);
}

/* A ring of the operation's number of pages, and the user page */
static void op_ring(void)
{
	size_t bytes = (1 + nr) * sysconf(_SC_PAGESIZE);

	munmap(map_ring(op_fd, bytes), bytes);
}

static void start_mapped(void)
{
	struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	int i;

	attr.sample_period = 1ULL << 40;
	for (i = 0; i < nr; i++)
		map_ring(ev_must(&attr, 0, -1, -1, 0), 2 * sysconf(_SC_PAGESIZE));
	partner_start();
}

/* As the row "switch in one leaf" of bench_cgroups; without events if there are no levels */
static void start_leaf(void)
{
	static struct cgroup level[9];
	int i;

	cgroup_v2();
	cgroup_root(&level[0]);
	for (i = 0; i < 8; i++) {
		struct perf_event_attr attr = i % 2 ?
			counting(PERF_TYPE_RAW, RAW_BRANCHES) :
			counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

		cgroup_make(&level[i + 1], &level[i], "loop");
		if (i < nr)
			ev_must(&attr, level[i + 1].fd, 0, -1, PERF_FLAG_PID_CGROUP);
	}
	cgroup_add(&level[8], getpid());
	partner_start();
}

static const struct {
	const char *name;
	int nr;
	void (*start)(void);
	void (*op)(void);
} all[] = {
	{ "bare", 0, start_nothing, op_bare },
	{ "read", 1, start_group, op_read },
	{ "read4", 4, start_group, op_read },
	{ "toggle", 1, start_group, op_toggle },
	{ "toggle4", 4, start_group, op_toggle_group },
	{ "open", 1, start_open, op_open },
	{ "cold", 0, start_nothing, op_cold },
	{ "cold-open-dummy", 0, start_dummy, op_open_cold },
	{ "open-breakpoint", 1, start_breakpoint, op_open },
	{ "sample", 1, start_sample, op_sample },
	{ "chain", 1, start_chain, op_no_frame },
	{ "fault", 1, start_fault, op_fault },
	{ "read-fault", 1, start_fault, op_read },
	{ "hit", 1, start_hit, op_bare },
	{ "switch", 1, start_one_side, op_pingpong },
	{ "switch4", 4, start_one_side, op_pingpong },
	{ "switch-both", 1, start_both_sides, op_pingpong },
	{ "switch4-both", 4, start_both_sides, op_pingpong },
	{ "switch4-kids", 4, start_inherited, op_pingpong },
	{ "ring4096", 4096, start_ring, op_ring },
	{ "switch100-mapped", 100, start_mapped, op_pingpong },
	{ "switch-leaf", 0, start_leaf, op_pingpong },
	{ "switch-leaf8", 8, start_leaf, op_pingpong },
	{ "fork", 0, start_nothing, op_fork },
	{ "fork4-kids", 4, start_family, op_fork },
	{ "vfork", 0, start_nothing, op_vfork },
	{ "vfork4-kids", 4, start_family, op_vfork },
};

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;
	unsigned int i;

	bench_begin();
	for (i = 0; n && i < ARRAY_SIZE(all); i++) {
		if (strcmp(argv[1], all[i].name))
			continue;
		nr = all[i].nr;
		all[i].start();
		while (n--)
			all[i].op();
		return 0;
	}
	fprintf(stderr, "usage: loop WHAT N; WHAT is one of");
	for (i = 0; i < ARRAY_SIZE(all); i++)
		fprintf(stderr, " %s", all[i].name);
	fprintf(stderr, "\n");
	return 1;
}
