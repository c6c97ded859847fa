// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records that do not tell which of several events have caused them.  Before format 3, a record names all
 * counters that have overflowed, including those that wait for their next event.  Such a record is no
 * sample, and each of the events gets a LOST_SAMPLES record.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/klog.h>

#include "precise.h"

#define SYSLOG_ACTION_READ_ALL	3

#define NR	2

struct found {
	int samples;
	bool wrong;		/* a LOST_SAMPLES record */
	uint64_t lost, lost_records, count;
	uint64_t first;		/* address of the first sample */
};

/* Format 2; native perf of every kernel prints the format when it starts */
static bool is_vague(void)
{
	static char log[1 << 20];
	int n = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);

	return n > 0 && strstr(log, "PEBS fmt2");
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

/* Each record is one of both events: both lose all */
TEST(same_instruction)
{
	struct perf_event_attr a[NR];
	struct found f[NR];
	int i, n = N / (PERIOD + 1);

	ROWS("D-24");
	NEED_FIXED();
	make_pair(a, 0, 0);
	pair_of(a, f);
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(f[i].samples, is_vague() ? 0 : n);
		EXPECT_FALSE(f[i].wrong);
		EXPECT_EQ(f[i].lost, is_vague() ? n : 0);
		/* All records were read at once */
		EXPECT_EQ(f[i].lost_records, is_vague());
	}
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

/* With an interrupt for each record, there is a LOST_SAMPLES record in each, and sampling goes on */
TEST(single_records)
{
	struct perf_event_attr a[NR];
	struct found f[NR];
	int i, n = N / (PERIOD + 1);

	ROWS("D-24");
	NEED_FIXED();
	make_pair(a, 0, 1);
	pair_of(a, f);
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(f[i].samples, is_vague() ? 0 : n);
		/* Natively, the counters of both start at 0 after the first one, instead of a period before it */
		if (route_is_native() && is_vague())
			n = 1;
		EXPECT_EQ(f[i].lost, is_vague() ? n : 0);
		EXPECT_EQ(f[i].lost_records, f[i].lost);
		EXPECT_FALSE(f[i].wrong);
	}
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
