// SPDX-License-Identifier: GPL-2.0-only
/* System sleep (S3): precise events and the memory of their records. */
#define _GNU_SOURCE
#include "nap.h"
#include "precise.h"

/* Samples of the row of instructions so far, each at its instruction */
static int of_row(struct ring *r, int step)
{
	int i, n = collect(r), found = 0;

	for (i = 0; i < n; i++)
		if (seen[i].ip - (uintptr_t)rising_start < INC_LEN * N)
			found += seen[i].ip == nth_inc((found + 1) * step) ? 1 : N;
	ring_consume(r);
	return found;
}

/* An event that waits for the records of many samples, of a task that stays on the boot CPU */
TEST(samples)
{
	struct perf_event_attr a;
	struct ring r;
	int fd, new;

	ROWS("A-37");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TIME);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	rising_counted(fd);
	EXPECT_GE(of_row(&r, step_of(2)), N / step_of(2));
	if (!nap())
		SKIP(return, "the machine does not go to sleep");
	/* The distance to the next sample remains */
	rising_counted(fd);
	EXPECT_GE(collect(&r), N / step_of(2));
	ring_unmap(&r);
	close(fd);
	/* A new event is exact again, and so is one on a CPU that was offline meanwhile */
	for (new = 0; new < nr_cpus(); new++) {
		pin_to(new);
		EXPECT_EQ(of_rising(&a), N / step_of(2));
		EXPECT_EQ(seen[0].ip, nth_inc(step_of(2)));
	}
}

/* An event that counts while the machine goes to sleep */
TEST(enabled_meanwhile)
{
	struct perf_event_attr a;
	struct ring r;
	int fd, n;

	ROWS("A-37");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, 0);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ev_enable(fd);
	rising();
	if (!nap())
		SKIP(return, "the machine does not go to sleep");
	rising();
	ev_disable(fd);
	n = 0;
	for (int found = collect(&r), i = 0; i < found; i++)
		n += seen[i].ip - (uintptr_t)rising < INC_LEN * (N + 1);
	/* The row is known to be in the first samples; that after sleep, if there are few between */
	EXPECT_GE(n, N / step_of(2));
	ring_unmap(&r);
	close(fd);
}

TEST_HARNESS_MAIN
