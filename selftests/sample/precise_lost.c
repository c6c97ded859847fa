// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records that do not tell which of several events have caused them.  Before format 3, a record names all
 * counters that have overflowed, including those that wait for their next event.  Such a record is no
 * sample, and each of the events gets a LOST_SAMPLES record.
 */
#define _GNU_SOURCE
#include <string.h>

#include "msr.h"
#include "precise.h"

#define NR	2

struct found {
	int samples;
	bool wrong;		/* a LOST_SAMPLES record */
	uint64_t lost, lost_records, count;
	uint64_t first;		/* address of the first sample */
};

static bool is_vague(void)
{
	uint64_t caps;

	return msr_read(0, MSR_PERF_CAPABILITIES, &caps) && (caps >> 8 & 15) == 2;
}

/* Formats 2 and 3 */
#define NEED_FIXED() do {						\
	NEED_PRECISE();							\
	if (is_adaptive())						\
		SKIP(return, "on this CPU, records tell which events have caused them"); \
} while (0)

static void look(struct found *f, struct ring *r, int fd)
{
	static struct record rec;

	while (ring_next(r, &rec)) {
		if (rec.head.type == PERF_RECORD_SAMPLE) {
			struct parts p = record_sample(r, &rec);

			if (!f->samples++)
				f->first = p.ip;
		} else if (rec.head.type == PERF_RECORD_LOST_SAMPLES) {
			struct whose w = record_whose(r, &rec);

			f->wrong |= record_size(r, &rec) != 8 || rec.head.misc ||
				    w.id != ev_id(fd) || w.tid != getpid();
			f->lost += record_u64(&rec, 0);
			f->lost_records++;
		}
	}
	f->count = ev_count(fd);
}

/* Two events in a group, with a ring each, over the row of instructions.  False: the task was switched */
static bool run_pair(const struct perf_event_attr a[NR], struct found f[NR])
{
	struct ring r[NR];
	int fd[NR], i;
	long before;

	for (i = 0; i < NR; i++) {
		struct perf_event_attr at = a[i];

		at.sample_id_all = 1;
		at.sample_type |= PERF_SAMPLE_ID | PERF_SAMPLE_TID;
		at.disabled = !i;
		fd[i] = ev_must(&at, 0, -1, i ? fd[0] : -1, 0);
		ring_map(&r[i], fd[i], &at, 64);
		f[i] = (struct found){ };
	}
	before = switches();
	rising_counted(fd[0]);
	for (i = 0; i < NR; i++)
		look(&f[i], &r[i], fd[i]);
	for (i = NR - 1; i >= 0; i--) {
		ring_unmap(&r[i]);
		close(fd[i]);
	}
	return switches() == before;
}

static void pair_of(const struct perf_event_attr a[NR], struct found f[NR])
{
	int i;

	for (i = 0; i < TRIES && !run_pair(a, f); i++)
		;
}

static void make_pair(struct perf_event_attr a[NR], int periods, int single)
{
	int i;

	for (i = 0; i < NR; i++) {
		a[i] = precise_attr(RAW_INSNS, 2, 0);
		a[i].sample_period += i * periods;
		a[i].wakeup_events = single;
	}
}

/* Two events whose records are the same: both lose all samples, which is told in @records of theirs */
static void lose_all(struct __test *_metadata, int single, int lost, int records)
{
	struct perf_event_attr a[NR];
	struct found f[NR];
	int i;

	make_pair(a, 0, single);
	pair_of(a, f);
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(f[i].samples, is_vague() ? 0 : N / (PERIOD + 1));
		EXPECT_EQ(f[i].lost, is_vague() ? lost : 0);
		EXPECT_EQ(f[i].lost_records, is_vague() ? records : 0);
		EXPECT_FALSE(f[i].wrong);
	}
}

/* All records are read at once */
TEST(same_instruction)
{
	ROWS("D-24");
	NEED_FIXED();
	lose_all(_metadata, 0, N / (PERIOD + 1), 1);
}

/*
 * With an interrupt for each record, there is a LOST_SAMPLES record in each, and sampling goes on.  Natively,
 * the counters of both start at 0 after the first one, instead of a period before it.
 */
TEST(single_records)
{
	int n = route_is_native() ? 1 : N / (PERIOD + 1);

	ROWS("D-24");
	NEED_FIXED();
	lose_all(_metadata, 1, n, n);
}

/* Lost samples throttle the events as if they were samples; only one of the two has a ring */
TEST(throttled)
{
	struct perf_event_attr a[NR];
	int fd[NR], i, runs = 0, throttles = 0;
	static struct record rec;
	struct ring r;
	uint64_t end;

	ROWS("D-24");
	NEED_FIXED();
	if (!is_vague())
		SKIP(return, "on this CPU, records tell which events have caused them");
	make_pair(a, 0, 1);
	throttle_at(1000, 0);
	for (i = 0; i < NR; i++) {
		a[i].disabled = !i;
		fd[i] = ev_must(&a[i], 0, -1, i ? fd[0] : -1, 0);
	}
	ring_map(&r, fd[0], &a[0], 64);
	/* One run may have ended before two samples are lost in one tick */
	end = patience();
	do {
		rising_counted(fd[0]);
		runs++;
		while (ring_next(&r, &rec))
			throttles += rec.head.type == PERF_RECORD_THROTTLE;
	} while (!throttles && now_ns() < end);
	EXPECT_GT(throttles, 0);
	/* The counters have stood still */
	EXPECT_LT(ev_count(fd[0]), runs * N);
	ring_unmap(&r);
	no_throttle();
	for (i = NR - 1; i >= 0; i--)
		close(fd[i]);
}

/*
 * Once, the second event's counter overflows at the instruction that causes the first event's record,
 * which thus names both.  The next instruction causes a record of the second event alone.
 */
TEST(next_instruction)
{
	struct perf_event_attr a[NR];
	struct found f[NR];

	ROWS("D-24");
	NEED_FIXED();
	make_pair(a, 1, 0);
	pair_of(a, f);
	EXPECT_EQ(f[0].samples, N / (PERIOD + 1) - is_vague());
	EXPECT_EQ(f[0].lost, is_vague());
	EXPECT_EQ(f[0].first, nth_inc((1 + is_vague()) * (PERIOD + 1)));
	EXPECT_EQ(f[1].samples, N / (PERIOD + 2));
	EXPECT_EQ(f[1].lost, is_vague());
	EXPECT_EQ(f[1].first, nth_inc(PERIOD + 2));
}

/* As upstream, the period of such a record is not counted */
TEST(count)
{
	struct perf_event_attr a[NR];
	struct found f[NR];
	uint64_t all;

	ROWS("D-24");
	NEED_FIXED();
	make_pair(a, 1, 0);
	/* So far apart that no record names both */
	a[1].sample_period = 2 * N;
	pair_of(a, f);
	all = f[0].count;
	EXPECT_EQ(f[0].lost, 0);
	make_pair(a, 1, 0);
	pair_of(a, f);
	EXPECT_EQ(f[0].count, all - is_vague() * PERIOD);
}

/*
 * With a frequency, the period begins at 1, and records of both events name both.  They are throttled, and
 * the period grows: there are samples of each in the end.
 */
TEST(frequency)
{
	struct perf_event_attr a[NR];
	struct found f[NR];
	uint64_t end;
	int i, fd[NR];
	struct ring r[NR];

	ROWS("D-24");
	NEED_FIXED();
	if (route_is_native() && is_vague())
		SKIP(return, "upstream's counters are not set again after such a record");
	make_pair(a, 0, 0);
	for (i = 0; i < NR; i++) {
		a[i].freq = 1;
		a[i].sample_freq = 1000 + 300 * i;
		a[i].disabled = !i;
		fd[i] = ev_must(&a[i], 0, -1, i ? fd[0] : -1, 0);
		ring_map(&r[i], fd[i], &a[i], 64);
		f[i] = (struct found){ };
	}
	end = patience();
	ev_enable(fd[0]);
	while (now_ns() < end && (f[0].samples < 10 || f[1].samples < 10)) {
		rising();
		for (i = 0; i < NR; i++) {
			look(&f[i], &r[i], fd[i]);
			ring_consume(&r[i]);
		}
	}
	for (i = 0; i < NR; i++)
		EXPECT_GE(f[i].samples, 10);
}

/* Without another event, nothing is lost; the time of a sample is that of its interrupt */
TEST(alone)
{
	struct perf_event_attr a;
	int i, n, single;

	ROWS("A-37");
	NEED_FIXED();
	for (single = 0; single < 2; single++) {
		a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TIME);
		a.wakeup_events = single;
		n = of_rising(&a);
		EXPECT_EQ(n, N / step_of(2));
		for (i = 0; i < n; i++) {
			EXPECT_EQ(seen[i].ip, nth_inc((i + 1) * step_of(2)));
			EXPECT_GT(seen[i].time, i ? seen[i - 1].time : 0);
		}
	}
}

TEST_HARNESS_MAIN
