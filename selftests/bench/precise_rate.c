// SPDX-License-Identifier: GPL-2.0-only
/*
 * precise_rate CPUS - cost of a sample of a precise event with everything that it causes:
 * interrupts, wakeups and the reader's system calls.  On each CPU there is a busy task, with an
 * event that has a large buffer.  This program reads all rings; it has no event itself, because
 * reading a sample takes more instructions than a period has.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost.h"
#include "event.h"
#include "ring.h"
#include "task.h"

#define MAX	4
#define PAGES	64
#define ROUNDS	100000		/* of a task, four instructions each */
#define PERIOD	99		/* the next instruction causes the record */
#define SAMPLES	(4 * ROUNDS / (PERIOD + 1))

static struct worker workers[MAX];
static struct pollfd fds[2 * MAX];	/* those of the tasks, then the events */
static struct ring rings[MAX];
static int cpus;
static bool with_events;
static uint64_t found;

static void open_all(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int i;

	a.precise_ip = 2;
	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	a.watermark = 1;
	a.wakeup_watermark = PAGES * 4096 / 4;
	for (i = 0; i < cpus; i++) {
		struct pollfd *p = &fds[cpus + i];

		p->fd = ev_must(&a, workers[i].pid, -1, -1, 0);
		p->events = POLLIN;
		ring_map(&rings[i], p->fd, &a, PAGES);
		ev_enable(p->fd);
	}
}

static void read_rings(void)
{
	int i;

	for (i = 0; with_events && i < cpus; i++) {
		found += ring_count(&rings[i], PERF_RECORD_SAMPLE);
		ring_consume(&rings[i]);
	}
}

static void run_all(void)
{
	int i, left = cpus;

	for (i = 0; i < cpus; i++) {
		fds[i].fd = workers[i].from;
		worker_go(&workers[i], ROUNDS);
	}
	while (left) {
		poll(fds, with_events ? 2 * cpus : cpus, -1);
		for (i = 0; i < cpus; i++) {
			if (fds[i].fd < 0 || !(fds[i].revents & POLLIN))
				continue;
			worker_wait(&workers[i]);
			fds[i].fd = -1;
			left--;
		}
		read_rings();
	}
}

int main(int argc, char **argv)
{
	struct trial t = { .op = run_all, .tries = 10 };
	struct cost without;
	char name[64];
	int i;

	cpus = argc == 2 ? atoi(argv[1]) : 0;
	if (cpus < 1 || cpus > MAX || nr_cpus() < cpus)
		return 1;
	t.per = cpus * SAMPLES;
	bench_begin();
	no_throttle();
	for (i = 0; i < cpus; i++) {
		worker_start(&workers[i]);
		worker_pin(&workers[i], i);
		fds[i].events = POLLIN;
	}
	cost_on(cpus);
	without = measure_trial(&t);
	with_events = true;
	open_all();
	snprintf(name, sizeof(name), "%d CPU%s: precise sample and its reader", cpus,
		 cpus > 1 ? "s" : "");
	row(name, minus(measure_trial(&t), without));
	/* Without the samples the figure would mean nothing */
	return found < t.per;
}
