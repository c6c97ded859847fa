// SPDX-License-Identifier: GPL-2.0-only
/* Precise events that are reset, throttled, and read by the samples of another one. */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "precise.h"

static struct record rec;

#define SHORT	61

/* Branches: those before RESET end @shift after the first @SHORT ones; return: the samples */
static int sampled_across(unsigned long request, int shift, uint64_t *count)
{
	struct perf_event_attr a = precise_attr(RAW_BRANCHES, 2, 0);
	uint64_t id;
	struct ring r;
	int fd, n;

	a.sample_period = SHORT;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	work(SHORT / 2 + shift);
	ioctl(fd, request, &id);
	work(10 * SHORT);
	ev_disable(fd);
	*count = ev_count(fd);
	n = ring_count(&r, PERF_RECORD_SAMPLE);
	ring_unmap(&r);
	close(fd);
	return n;
}

/*
 * A RESET sets the count to 0, and no sample is lost or added, wherever in a period it comes: also
 * after the counter has overflowed, and before the next event, which causes the record.
 */
TEST(reset)
{
	int shift, i, with = 0, without = 0;
	uint64_t count, all, after = 0;
	long before;

	ROWS("I-08 A-36");
	NEED_PRECISE();
	for (shift = 0; shift < SHORT + 2; shift++) {
		/* A task switch between an overflow and its record moves the sample */
		for (i = 0; i < TRIES; i++) {
			before = switches();
			without = sampled_across(PERF_EVENT_IOC_ID, shift, &all);
			with = sampled_across(PERF_EVENT_IOC_RESET, shift, &count);
			if (switches() == before)
				break;
		}
		EXPECT_EQ(with, without);
		EXPECT_LT(count, all);
		if (shift)
			EXPECT_LE(count - after + 2, 4);
		after = count;
	}
}

/* An interrupt for each record, and too many of them: ticks are at most 10 ms apart */
TEST(throttled)
{
	struct perf_event_attr a;
	int fd, since = 0, most = 0, throttled = 0, let_go = 0, times = 0;
	uint64_t end = patience();
	struct ring r;

	ROWS("V-19 D-22 A-36");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	a.wakeup_events = 1;
	throttle_at(1000, 99);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	while (throttled < 2 && now_ns() < end) {
		work_counted(fd, 3000000, 0);
		times++;
		for (; ring_next(&r, &rec); ) {
			since = rec.head.type == PERF_RECORD_SAMPLE ? since + 1 : 0;
			most = since > most ? since : most;
			throttled += rec.head.type == PERF_RECORD_THROTTLE;
			let_go += rec.head.type == PERF_RECORD_UNTHROTTLE;
		}
		ring_consume(&r);
	}
	no_throttle();
	EXPECT_GE(throttled, 2);
	EXPECT_GE(let_go, throttled - 1);
	EXPECT_LE(let_go, throttled);
	EXPECT_LE(most, 12);
	/* It does not count meanwhile */
	EXPECT_LT(ev_count(fd), times * WORK_INSNS(3000000) / 10 * 9);
}

/* A precise event whose count is in the samples of one that is not, which has other periods */
TEST(read_by_another)
{
	struct perf_event_attr a, b;
	uint64_t last = 0;
	struct ring ra, rb;
	int fa, fb, n = 0;

	ROWS("S-11 A-36");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 0, PERF_SAMPLE_READ);
	a.read_format = PERF_FORMAT_GROUP;
	b = precise_attr(RAW_INSNS, 2, 0);
	b.sample_period = 1 << 20;
	b.disabled = 0;
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, fa, 0);
	ring_map(&ra, fa, &a, 64);
	ring_map(&rb, fb, &b, 64);
	rising_counted(fa);
	while (ring_find(&ra, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&ra, &rec);

		ASSERT_EQ(p.read[0], 2);
		/* Both count the same instructions */
		EXPECT_LE(p.read[2] - p.read[1] + 2, 4);
		EXPECT_GT(p.read[2], last);
		last = p.read[2];
		n++;
	}
	EXPECT_GE(n, N / PERIOD);
	EXPECT_GE(ev_count(fb), last);
}

TEST_HARNESS_MAIN
