// SPDX-License-Identifier: GPL-2.0-only
/*
 * Number of samples that a reader receives per second, and number of lost records, if it reads
 * as fast as it can: lines "sustain | CPUs | requested rate per CPU | samples per second | lost".
 * Both numbers include all CPUs.  The number of lost records is not per second, but the total.
 *
 * The results depend on the speed of the host, so they are only an indication.  On a host with
 * two cores the four CPUs of the guest share them.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "event.h"
#include "ring.h"

#define MAX_CPUS	4
#define PAGES		64
#define SECONDS		2

static struct record rec;

static struct perf_event_attr sampled(int rate)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.freq = 1;
	a.sample_freq = rate;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	a.watermark = 1;
	a.wakeup_watermark = PAGES * 4096 / 4;
	return a;
}

/* Start a task that keeps @cpu busy until this program ends */
static pid_t busy(int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to(cpu);
	for (;;)
		work(100000);
}

struct tally {
	uint64_t samples, lost;
};

static void drain(struct ring *r, struct tally *t)
{
	while (ring_next(r, &rec)) {
		t->samples += rec.head.type == PERF_RECORD_SAMPLE;
		if (rec.head.type == PERF_RECORD_LOST)
			t->lost += record_u64(&rec, 8);
	}
	ring_consume(r);
}

static struct tally sustain(int cpus, int rate)
{
	struct perf_event_attr a = sampled(rate);
	struct pollfd p[MAX_CPUS];
	struct ring ring[MAX_CPUS];
	struct tally t = { 0, 0 };
	uint64_t end;
	int i;

	for (i = 0; i < cpus; i++) {
		p[i].fd = ev_must(&a, -1, i, -1, 0);
		p[i].events = POLLIN;
		ring_map(&ring[i], p[i].fd, &a, PAGES);
		ev_enable(p[i].fd);
	}
	end = now_ns() + SECONDS * 1000000000ULL;
	while (now_ns() < end) {
		poll(p, cpus, 50);
		for (i = 0; i < cpus; i++)
			drain(&ring[i], &t);
	}
	for (i = 0; i < cpus; i++) {
		ev_disable(p[i].fd);
		drain(&ring[i], &t);
		ring_unmap(&ring[i]);
		close(p[i].fd);
	}
	return t;
}

/* Argument: the number of CPUs */
int main(int argc, char **argv)
{
	static const int rates[] = { 1000, 4000, 10000, 20000 };
	int i, cpus = argc > 1 ? atoi(argv[1]) : 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	no_throttle();
	if (cpus < 1 || cpus > MAX_CPUS || cpus > nr_cpus())
		return 1;
	for (i = 0; i < cpus; i++)
		busy(i);
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		struct tally t = sustain(cpus, rates[i]);

		printf("sustain | %d | %d | %llu | %llu\n", cpus, rates[i],
		       (unsigned long long)t.samples / SECONDS,
		       (unsigned long long)t.lost);
	}
	return 0;
}
