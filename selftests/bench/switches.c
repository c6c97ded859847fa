// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost that events add to a task switch: two tasks alternate on a CPU, and either both have
 * events or only one.
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

/* Both tasks have one event of each of the @nr kinds, which need no counter */
static void bench_both(const char *name, const struct perf_event_attr *kind, int nr)
{
	pid_t pid = partner_start();
	int i, fd, first = -1;

	for (i = 0; i < 2 * nr; i++) {
		fd = ev_must(&kind[i % nr], i < nr ? 0 : pid, -1, -1, 0);
		if (first < 0)
			first = fd;
	}
	row(name, net_switch());
	close_from(first);
	partner_end(pid);
}

/* Events of the CPU, none of a task: each counts the switch and goes on */
static void bench_cpu_wide(void)
{
	struct perf_event_attr a = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	pid_t pid = partner_start();
	int i, fd, first = -1;

	sleep(3);	/* the empty context of this task goes */
	for (i = 0; i < 4; i++) {
		fd = ev_must(&a, -1, 0, -1, 0);
		if (first < 0)
			first = fd;
	}
	row("4 events of the CPU that count switches", net_switch());
	close_from(first);
	partner_end(pid);
}

/* Two clocks, and two software events that count hits */
static void bench_soft(void)
{
	static const uint64_t configs[] = {
		PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
		PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
	};
	struct perf_event_attr kind[4];
	int i;

	for (i = 0; i < 4; i++)
		kind[i] = counting(PERF_TYPE_SOFTWARE, configs[i]);
	bench_both("4 software events both sides", kind, 4);
}

/*
 * Sampled tracepoints get their hits from an event of native perf, the tap.  A task switch also
 * starts and stops this delivery, see kernel/pmu/host/gate.c.
 */
static void bench_tracepoints(void)
{
	static const char *const names[] = {
		"syscalls/sys_enter_getppid", "syscalls/sys_exit_getppid",
	};
	struct perf_event_attr kind[2];
	char path[128];
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", names[i]);
		kind[i] = counting(PERF_TYPE_TRACEPOINT, read_long(path));
	}
	bench_both("2 counted tracepoints both sides", kind, 2);
	for (i = 0; i < 2; i++)
		kind[i].sample_period = 1;
	bench_both("2 sampled tracepoints both sides", kind, 2);
}

/* In instructions: two measurements of the same operation may differ by this much */
#define NOISE	5

static void bench_none(struct cost idle)
{
	struct cost c = { 0 };
	int i;

	/* A delayed work item detaches the switch hook, a second or more after the last close */
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
	bench_cpu_wide();
	bench_tracepoints();
	bench_none(idle);
	return 0;
}
