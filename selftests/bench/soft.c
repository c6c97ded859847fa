// SPDX-License-Identifier: GPL-2.0-only
/* Cost of hits of software events and tracepoints, and of system calls on such events. */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

/* Cost of @op while an event counts its hits, minus its cost without the event */
static void bench_hit(const char *name, void (*op)(void), uint32_t type,
		      uint64_t config)
{
	struct perf_event_attr attr = counting(type, config);
	struct cost without = measure(op);
	int fd = ev_must(&attr, 0, -1, -1, 0);

	row(name, minus(measure(op), without));
	close(fd);
}

int main(void)
{
	int i;

	bench_begin();
	fault_page();
	bench_hit("page fault, counted", op_fault, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_PAGE_FAULTS);
	op_fd = open_soft(PERF_COUNT_SW_PAGE_FAULTS, -1);
	row("read() software event", net(measure(op_read), 1));
	close(op_fd);
	op_fd = open_soft(PERF_COUNT_SW_TASK_CLOCK, -1);
	for (i = 0; i < 3; i++)
		open_soft(PERF_COUNT_SW_TASK_CLOCK, op_fd);
	row("read() task-clock", net(measure(op_read), 1));
	row("disable + enable, group of 4 clocks",
	    net(measure(op_toggle_group), 2));
	close_from(op_fd);
	/* Last, as its probe stays attached for a while, and makes other system calls dearer */
	bench_hit("tracepoint hit, counted", op_bare, PERF_TYPE_TRACEPOINT,
		  read_long(TRACEPOINT));
	return 0;
}
