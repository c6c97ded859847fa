// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost of precise events: of a sample whose record causes an interrupt, of one whose record waits in
 * the buffer, and of a switch between tasks with such events.  The argument precedes the names of the
 * rows.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"
#include "recorded.h"

#define BATCH	10000		/* samples of an op: many buffers */
#define ROUNDS	25		/* of work() for a sample */

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

static struct perf_event_attr single(void)
{
	struct perf_event_attr attr = precise(0);

	attr.wakeup_events = 1;
	return attr;
}

static struct perf_event_attr imprecise(void)
{
	struct perf_event_attr attr = precise(0);

	attr.precise_ip = 0;
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

int main(int argc, char **argv)
{
	if (argc > 1)
		prefix = argv[1];
	bench_begin();
	no_throttle();
	bench_sample("precise sample, an interrupt each", 0, 1);
	bench_sample("precise sample, large buffer", 0, 0);
	bench_sample("same, with address, source and weight",
		     PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT, 0);
	sampled_switch("switch, 1 precise event both sides", precise(0));
	sampled_switch("switch, 1 precise event, an interrupt each", single());
	sampled_switch("switch, 1 event that is not precise", imprecise());
	return 0;
}
