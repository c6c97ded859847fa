// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost of precise events: of a sample whose record causes an interrupt, of one whose record waits in
 * the buffer, and of a switch between tasks with such events.  The argument precedes the names of the
 * rows.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define BATCH	1000		/* samples of an op: several buffers */
#define ROUNDS	250		/* of work() for a sample */

static const char *prefix = "";

static void prefixed_row(const char *name, struct cost c)
{
	char full[100];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	row(full, c);
}

static struct perf_event_attr precise(uint64_t type)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	attr.disabled = 0;
	attr.precise_ip = 2;
	attr.sample_period = 4 * ROUNDS - 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_PERIOD | type;
	return attr;
}

static void op_batch(void)
{
	work(BATCH * ROUNDS);
}

static const struct trial batch = { .op = op_batch, .per = BATCH, .tries = 10 };

static void bench_sample(const char *name, uint64_t type, int single)
{
	struct perf_event_attr attr = precise(type);
	struct cost without = measure_trial(&batch);
	void *ring;

	attr.wakeup_events = single ? 1 << 20 : 0;
	op_fd = ev_must(&attr, 0, -1, -1, 0);
	ring = map_ring(op_fd, RING_BYTES);
	prefixed_row(name, minus(measure_trial(&batch), without));
	munmap(ring, RING_BYTES);
	close(op_fd);
}

static void bench_switch(const char *name)
{
	struct perf_event_attr attr = precise(0);
	pid_t pid = partner_start();
	int first;

	attr.sample_period = 1ULL << 40;
	first = ev_must(&attr, 0, -1, -1, 0);
	ev_must(&attr, pid, -1, -1, 0);
	prefixed_row(name, net_switch());
	close_from(first);
	partner_end(pid);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		prefix = argv[1];
	bench_begin();
	no_throttle();
	bench_sample("precise sample, an interrupt each", 0, 1);
	bench_sample("same, large buffer", 0, 0);
	bench_sample("same, with address, source and weight",
		     PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT, 0);
	bench_switch("switch, 1 precise event both sides");
	return 0;
}
