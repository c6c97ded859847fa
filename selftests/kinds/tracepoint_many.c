// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits that count more than 1.  A hit of sched_stat_runtime adds the nanoseconds for which a task
 * has run, up to those of a whole tick.
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

/* Maximum number of overflows in a tick: RATE / HZ, rounded up */
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
 * Count the samples between each UNTHROTTLE record and the next one.  The last of them follows
 * the THROTTLE record.  Return: the number of such cycles; @fewest and @most are set to the
 * samples of one.
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

static int count_samples(struct ring *r, int *throttled)
{
	int n = 0;

	*throttled = 0;
	while (ring_next(r, &rec)) {
		n += rec.head.type == PERF_RECORD_SAMPLE;
		*throttled += rec.head.type == PERF_RECORD_THROTTLE;
	}
	return n;
}

/* There is one sample for each period, even if one hit contains several periods */
TEST(each_period)
{
	ROWS("A-03");
	struct perf_event_attr a = runtime(100000);
	int fd, throttled, samples;
	struct ring r;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	spin(100 * MS);
	ev_disable(fd);
	EXPECT_GE(ev_count(fd), 10 * MS);
	samples = count_samples(&r, &throttled);
	EXPECT_LE(samples, ev_count(fd) / 100000);
	/* On a host that stopped the guest for long, a hit has more periods than a tick may have samples */
	if (!throttled)
		EXPECT_EQ(samples, ev_count(fd) / 100000);
	ring_unmap(&r);
	close(fd);
	/* A period longer than a hit: nothing is throttled */
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

/* Hits with millions of overflows, while overflows may take @percent of the time */
static void hits(struct __test *_metadata, int percent)
{
	struct perf_event_attr a = runtime(1);
	uint64_t end = patience();
	int fd, n = 0, fewest = 0, most = 0;
	struct ring r;

	throttle_at(RATE, percent);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ev_enable(fd);
	/* Two cycles take at least three ticks; a busy host may run the guest for few ticks */
	while (n < 2 && now_ns() < end) {
		spin((percent ? 2000 : 200) * MS);
		n += cycles(&r, &fewest, &most);
	}
	ev_disable(fd);
	printf("# %d times from %d to %d samples\n", n, fewest, most);
	EXPECT_GE(n, 2);
	EXPECT_EQ(fewest, per_tick());
	close(fd);
	no_throttle();
}

/* A hit with millions of overflows is throttled at the maximum of a tick */
TEST(throttled)
{
	ROWS("V-19 D-22");
	hits(_metadata, 0);
}

/* If this took longer than allowed, the event does not count the hits of the ticks that follow */
TEST(paused)
{
	ROWS("V-19 D-22");
	if (route_is_native())
		SKIP(return, "upstream pauses for one tick");
	hits(_metadata, 1);
}

/* With SAMPLE_PERIOD a hit is one sample: not throttled, although it counts millions */
TEST(one_sample_per_hit)
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

/* Many events of an unprivileged user cannot stall a CPU, even with a huge rate limit */
TEST(unprivileged_flood)
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
