// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpus CPUS EVENTS - perf stat -a: EVENTS events on each of CPUS CPUs.  The cost per fd is the sum
 * over all CPUs, because the call may run code on the CPU of the event.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define MAX	8

static int cpus, events, nr;
static int fds[MAX * MAX];

/* More than four general counters are multiplexed */
static void open_all(void)
{
	static const uint64_t configs[MAX] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
		PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
		PERF_COUNT_HW_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_MISSES,
		PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
	};
	int i;

	for (i = 0; i < nr; i++) {
		struct perf_event_attr attr = counting(PERF_TYPE_HARDWARE,
						       configs[i / cpus]);

		attr.read_format = FORMAT_TIMES;
		fds[i] = ev_must(&attr, -1, i % cpus, -1, 0);
	}
}

static void read_all(void)
{
	uint64_t buf[3];
	int i;

	for (i = 0; i < nr; i++)
		if (read(fds[i], buf, sizeof(buf)) != sizeof(buf))
			exit(1);
}

static void close_all(void)
{
	int i;

	for (i = 0; i < nr; i++)
		close(fds[i]);
	fds[0] = 0;
}

static void closed(void)
{
	if (fds[0])
		close_all();
	usleep(50000);
}

static void opened(void)
{
	if (!fds[0])
		open_all();
	usleep(50000);
}

static void tell(const char *what, const struct trial *t)
{
	char name[64];

	snprintf(name, sizeof(name), "%d CPUs x %d events: %s, per fd", cpus, events,
		 what);
	row(name, measure_trial(t));
}

int main(int argc, char **argv)
{
	struct trial t = { .before = closed, .op = open_all, .tries = 200 };

	cpus = argc == 3 ? atoi(argv[1]) : 0;
	events = argc == 3 ? atoi(argv[2]) : 0;
	if (cpus < 1 || cpus > MAX || events < 1 || events > MAX || nr_cpus() < cpus)
		return 1;
	nr = cpus * events;
	t.per = nr;
	bench_begin();
	cost_on(cpus);
	tell("open", &t);
	t.before = opened;
	t.op = read_all;
	tell("read()", &t);
	t.op = close_all;
	tell("close", &t);
	return 0;
}
