// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hit that counts for many: sched_stat_runtime counts the nanoseconds that a task ran, all
 * of a tick's at once.
 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

#define MS	1000000ULL
#define RATE	30000

static struct record rec;

static struct perf_event_attr runtime(uint64_t period)
{
	static const char *const files[] = {
		"/sys/kernel/tracing/events/sched/sched_stat_runtime/id",
		"/sys/kernel/debug/tracing/events/sched/sched_stat_runtime/id",
	};
	struct perf_event_attr a;
	long id = read_long(files[0]);

	if (id < 0)
		id = read_long(files[1]);
	if (id < 0)
		exit(KSFT_FAIL);
	a = ev_attr(PERF_TYPE_TRACEPOINT, id);
	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_ID;
	return a;
}

/* Overflows that a tick may have: the rate, by the kernel's HZ */
static int per_tick(void)
{
	struct timespec res;

	clock_getres(CLOCK_MONOTONIC_COARSE, &res);
	return (RATE + 1000000000 / res.tv_nsec - 1) / (1000000000 / res.tv_nsec);
}

static void spin(uint64_t ns)
{
	uint64_t start = now_ns();

	while (now_ns() - start < ns)
		;
}

/*
 * Samples from one letting go to the next: the last of them follows the record that
 * throttles.  Return: how many times there was a first and a last one.
 */
static int cycles(struct ring *r, int *fewest, int *most)
{
	int n = -1, found = 0;

	*fewest = 1 << 30;
	*most = 0;
	while (ring_next(r, &rec)) {
		if (rec.head.type == PERF_RECORD_SAMPLE && n >= 0)
			n++;
		if (rec.head.type != PERF_RECORD_UNTHROTTLE)
			continue;
		if (n >= 0) {
			found++;
			*fewest = n < *fewest ? n : *fewest;
			*most = n > *most ? n : *most;
		}
		n = 0;
	}
	return found;
}

/* A sample for each period, however many are in one hit */
TEST(each_period)
{
	ROWS("A-03");
	struct perf_event_attr a = runtime(100000);
	int fd, throttled;
	struct ring r;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	spin(100 * MS);
	ev_disable(fd);
	EXPECT_GE(ev_count(fd), 10 * MS);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), ev_count(fd) / 100000);
	ring_unmap(&r);
	close(fd);
	/* The rest of a period is not forgotten between two hits */
	a.sample_period = 30 * MS;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	spin(200 * MS);
	ev_disable(fd);
	throttled = ring_count(&r, PERF_RECORD_THROTTLE);
	EXPECT_EQ(throttled, 0);
	ring_unmap(&r);
	close(fd);
}

/* Millions of overflows in one hit: throttled at the last one that a tick may have */
TEST(throttled)
{
	ROWS("V-19 D-22");
	struct perf_event_attr a = runtime(1);
	uint64_t end = patience();
	int fd, n = 0, fewest = 0, most = 0;
	struct ring r;

	throttle_at(RATE, 0);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ev_enable(fd);
	/* Two cycles are three ticks at least, of which a busy machine gives few */
	while (n < 2 && now_ns() < end) {
		spin(200 * MS);
		n += cycles(&r, &fewest, &most);
	}
	ev_disable(fd);
	printf("# %d times from %d to %d samples\n", n, fewest, most);
	EXPECT_GE(n, 2);
	EXPECT_EQ(fewest, per_tick());
	close(fd);
	no_throttle();
}

/* One sample a hit is not throttled, even if each hit counts for millions */
TEST(one_each)
{
	ROWS("V-19");
	struct perf_event_attr a = runtime(1);
	struct ring r;
	int fd;

	throttle_at(RATE, 0);
	a.sample_type |= PERF_SAMPLE_PERIOD;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	spin(100 * MS);
	ev_disable(fd);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_THROTTLE), 0);
	no_throttle();
}

/* However many events a user has, and whatever the limits are, others get on */
TEST(by_nobody)
{
	struct perf_event_attr a = runtime(1);
	uint64_t began;
	int i, fd;

	if (route_is_native())
		SKIP(return, "upstream limits each event only");
	set_paranoid(1);
	throttle_at(1000000000, 25);
	drop_privilege();
	for (i = 0; i < 20; i++) {
		fd = ev_must(&a, 0, -1, -1, 0);
		ev_enable(fd);
	}
	began = now_ns();
	for (i = 0; i < 50; i++)
		usleep(1000);
	spin(50 * MS);
	EXPECT_LT(now_ns() - began, patience() - began);
}

TEST_HARNESS_MAIN
