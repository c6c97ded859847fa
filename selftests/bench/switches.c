// SPDX-License-Identifier: GPL-2.0-only
/*
 * What events add to a task switch, net: two tasks take turns on a CPU, with events
 * on both sides or on one.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

static void bench_group(const char *name, int nr, bool both)
{
	pid_t pid = partner_start();
	int first;

	first = open_group(0, nr, 0);
	if (both)
		open_group(pid, nr, 0);
	row(name, net_switch());
	close_from(first);
	partner_end(pid);
}

/* Four clocks and faults on both sides: no counters */
static void bench_soft(void)
{
	static const uint64_t configs[] = {
		PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
		PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
	};
	pid_t pid = partner_start();
	int i, fd, first = -1;

	for (i = 0; i < 8; i++) {
		struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE,
						       configs[i % 4]);

		fd = ev_must(&attr, i < 4 ? 0 : pid, -1, -1, 0);
		if (first < 0)
			first = fd;
	}
	row("4 software events both sides", net_switch());
	close_from(first);
	partner_end(pid);
}

/* Less than this is nothing: so much may two measurements of the same differ */
#define NOISE	5

static void bench_none(struct cost idle)
{
	struct cost c = { 0 };
	int i;

	/* Hooks go some time after the last event, when there is time for it */
	for (i = 0; i < 10; i++) {
		sleep(2);
		c = minus(switch_without_events(), idle);
		if (c.insns <= NOISE)
			break;
	}
	row("no kpmu event exists", c);
}

int main(void)
{
	struct cost idle;

	bench_begin();
	idle = switch_without_events();
	bench_group("4 events both sides, per switch", 4, true);
	bench_group("4 events one side, per switch", 4, false);
	bench_group("1 event both sides", 1, true);
	bench_soft();
	bench_none(idle);
	return 0;
}
