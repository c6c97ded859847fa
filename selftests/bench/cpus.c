// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf stat -a: four events on each of four CPUs.  The cost per fd is the sum over all CPUs,
 * because the call may run code on the CPU of the event.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define CPUS	4
#define EVENTS	4
#define FDS	(CPUS * EVENTS)

static int fds[FDS];

static void open_all(void)
{
	static const uint64_t configs[EVENTS] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
		PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
	};
	int i;

	for (i = 0; i < FDS; i++) {
		struct perf_event_attr attr = counting(PERF_TYPE_HARDWARE,
						       configs[i / CPUS]);

		attr.read_format = FORMAT_TIMES;
		fds[i] = ev_must(&attr, -1, i % CPUS, -1, 0);
	}
}

static void read_all(void)
{
	uint64_t buf[3];
	int i;

	for (i = 0; i < FDS; i++)
		if (read(fds[i], buf, sizeof(buf)) != sizeof(buf))
			exit(1);
}

static void close_all(void)
{
	int i;

	for (i = 0; i < FDS; i++)
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

int main(void)
{
	struct trial t = { .before = closed, .op = open_all, .per = FDS, .tries = 30 };

	if (nr_cpus() < CPUS)
		return 1;
	bench_begin();
	cost_on(CPUS);
	row("4 CPUs x 4 events: open, per fd", measure_trial(&t));
	t.before = opened;
	t.op = read_all;
	row("4 CPUs x 4 events: read(), per fd", measure_trial(&t));
	t.op = close_all;
	row("4 CPUs x 4 events: close, per fd", measure_trial(&t));
	return 0;
}
