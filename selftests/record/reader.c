// SPDX-License-Identifier: GPL-2.0-only
/* The ring as seen by its reader: lifetime, write direction, lost records, wakeups, rate. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "sampled.h"
#include "task.h"

#define PAGE	4096

static struct record rec;

static bool ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents == POLLIN;
}

/* A sampling event without a ring still counts; a ring can be mapped later */
TEST(without_a_ring)
{
	ROWS("O-03 O-27 N-12");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	int fd = ev_must(&a, 0, -1, -1, 0);
	struct ring r;

	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ev_count(fd), WORK_INSNS(ROUNDS));
	ring_map(&r, fd, &a, 8);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ev_count(fd), 2 * WORK_INSNS(ROUNDS));
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 10);
}

/* The ring outlives the fd while it is mapped */
TEST(outlives_the_fd)
{
	ROWS("O-29");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	struct ring r;
	int fd = sampled(&r, &a);

	close(fd);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 10);
	EXPECT_EQ(r.page->data_size, 64 * PAGE);
}

/* write_backward fills the ring from the end down, so the newest sample is read first */
TEST(backward_ring)
{
	ROWS("A-53 R-09");
	const int size = 8 + 8 + 8, n = 1000;
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_TIME |
						PERF_SAMPLE_PERIOD);
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t head, at, last = -1;
	int fd, found = 0;

	a.write_backward = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	/* Read-only, so old samples are overwritten.  A page holds 170 of the 1,000 */
	page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(page, MAP_FAILED);
	data = (uint8_t *)page + PAGE;
	EXPECT_EQ(page->data_head, 0);
	work_counted(fd, n * PERIOD / 4, 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0);
	head = page->data_head;
	if (exact())
		EXPECT_EQ(head, -(uint64_t)size * n);
	for (at = head; at - head + size <= PAGE; at += size) {
		uint64_t word[3];
		int i;

		for (i = 0; i < 3; i++)
			memcpy(&word[i], data + (at + 8 * i) % PAGE, 8);
		EXPECT_EQ((uint32_t)word[0], PERF_RECORD_SAMPLE);
		EXPECT_EQ(word[0] >> 48, size);
		EXPECT_EQ(word[2], PERIOD);
		EXPECT_LT(word[1], last);
		last = word[1];
		found++;
	}
	EXPECT_EQ(found, PAGE / size);
}

/* read(2) counts lost samples at once; the ring reports them when there is room again */
TEST(lost)
{
	ROWS("F-14");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	int fd, in_ring, told = 0;
	uint64_t v[2];
	struct ring r;

	a.read_format = PERF_FORMAT_LOST;
	a.sample_period = 100;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 1);
	ASSERT_EQ(read(fd, v, 16), 16);
	EXPECT_EQ(v[1], 0);
	work_counted(fd, 25000, 0);
	ASSERT_EQ(read(fd, v, 16), 16);
	in_ring = ring_count(&r, PERF_RECORD_SAMPLE);
	/* A ring is never filled to its last byte */
	EXPECT_EQ(in_ring, PAGE / 16 - 1);
	EXPECT_EQ(in_ring + v[1], v[0] / 100);
	ring_skip(&r);
	ring_consume(&r);
	work_counted(fd, 100, 0);
	if (ring_find(&r, &rec, PERF_RECORD_LOST))
		told = record_u64(&rec, 8);
	EXPECT_EQ(told, v[1]);
}

static volatile int signals;

static void on_signal(int sig)
{
	signals++;
}

/* A paused ring takes no samples, but overflows still raise SIGIO */
TEST(paused)
{
	ROWS("R-13");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	int fd = ev_must(&a, 0, -1, -1, 0);
	struct ring r;

	ring_map(&r, fd, &a, 8);
	signal(SIGIO, on_signal);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETFL, O_ASYNC);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_GE(signals, 10);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_GE(ring_count(&r, PERF_RECORD_SAMPLE), 10);
}

/* Inherited and not bound to a CPU: several CPUs would write to the ring, so no mmap */
TEST(inherited)
{
	ROWS("R-19");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	int fd;

	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	fd = ev_must(&a, 0, 0, -1, 0);
	EXPECT_NE(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
}

/*
 * With attr.watermark the threshold is wakeup_watermark, in bytes; without, wakeup_events, in
 * samples.  A threshold of 0 means half of the ring, as natively; by the manual, wakeup_events 0
 * means 1 (DIFF-03).  A row with 4 samples: the first three cause no wakeup.
 */
TEST(wakeup_conditions)
{
	ROWS("N-06");
	static const struct {
		int watermark, wakeup, samples;
	} rows[] = {
		{ 0, 0, 4 }, { 0, 1, 1 }, { 0, 3, 3 }, { 1, 3, 1 }, { 1, 40, 3 },
	};
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	struct ring r;
	int i, n, fd;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		a.watermark = rows[i].watermark;
		a.wakeup_events = rows[i].wakeup;
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 1);
		for (n = 1; n < 4; n++) {
			work_counted(fd, PERIOD / 4, 0);
			if (ready(fd))
				break;
		}
		EXPECT_EQ(n, rows[i].samples);
		ring_unmap(&r);
		close(fd);
	}
}

/* New records are normal data, too (POLLRDNORM), as upstream reports from 6.14 on */
TEST(poll_normal_data)
{
	ROWS("V-01");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	struct pollfd p = { .events = POLLIN | POLLRDNORM };
	struct ring r;

	a.wakeup_events = 1;
	p.fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, p.fd, &a, 1);
	work_counted(p.fd, PERIOD / 4, 0);
	EXPECT_EQ(poll(&p, 1, 0), 1);
	EXPECT_EQ(p.revents, POLLIN | POLLRDNORM);
}

/* A pinned event that finds no counter is in error state */
TEST(in_error)
{
	ROWS("U-31");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	struct pollfd p = { .events = POLLIN };
	int i, n = counters_general();

	ASSERT_EQ(pin_to(0), 0);
	a.pinned = 1;
	a.disabled = 0;
	for (i = 0; i < n + 1; i++)
		p.fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(read(p.fd, &(uint64_t){ 0 }, 8), 0);
	EXPECT_EQ(poll(&p, 1, 0), 1);
	EXPECT_EQ(p.revents, POLLERR);
}

/* REFRESH by 0, or of a member, is accepted; its effect is unspecified */
TEST(refresh_zero)
{
	ROWS("V-13");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	int fd = ev_must(&a, 0, -1, -1, 0), member = ev_must(&a, 0, -1, fd, 0);

	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 0), 0);
	EXPECT_EQ(ioctl(member, PERF_EVENT_IOC_REFRESH, 1), 0);
	work(ROUNDS);
	ev_disable(fd);
	work_counted(fd, ROUNDS, 0);
}

/*
 * Samples that contain a copy of the user stack: with few of them every page of a large ring is
 * written.  The stack has a pattern, which differs from sample to sample.
 */
#define MARKS	1200			/* words, a little more than a dump */
#define MOST_STACK	8192

static uint32_t round_nr;

static __attribute__((noinline)) void sample_marks(int fd)
{
	volatile uint64_t marks[MARKS];
	uint64_t i, period = PERIOD;

	/* Counted from now: one sample a call, also if it is late, as a call is longer than a period */
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	round_nr++;
	for (i = 0; i < MARKS; i++)
		marks[i] = (uint64_t)round_nr << 32 | (i + 1);
	work_counted(fd, PERIOD / 4 + 25, 0);
	/* So that the array is on the stack until here */
	asm volatile("" : : "r" (marks) : "memory");
}

/* Is the dump from a certain word on the pattern of sample @nr, and does it hold most of it? */
static bool holds_marks(const uint8_t *stack, uint64_t bytes, uint32_t nr)
{
	uint64_t word, want = (uint64_t)nr << 32 | 1;
	int at, n = bytes / 8, found = 0;

	for (at = 0; at < n && found < MARKS; at++) {
		memcpy(&word, stack + at * 8, 8);
		if (word == want + found)
			found++;
		else if (found)
			return false;
	}
	return found >= n / 2;
}

static struct perf_event_attr marks_attr(int pages, bool backward)
{
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_PERIOD |
						PERF_SAMPLE_STACK_USER);

	a.sample_stack_user = pages < 8 ? pages * PAGE / 4 : MOST_STACK;
	a.write_backward = backward;
	return a;
}

/* Bytes of each of these samples */
static uint64_t marks_size(const struct perf_event_attr *a)
{
	return 8 + 8 + 8 + a->sample_stack_user + 8;
}

static bool is_marks(const struct ring *r, uint32_t nr)
{
	struct parts p = record_sample(r, &rec);

	return p.stack_dyn == p.stack_size && holds_marks(p.stack, p.stack_size, nr);
}

/* Number of records from the reader's position on, if they are samples @from and following */
static int read_marks(struct ring *r, uint32_t from)
{
	int n = 0;

	while (ring_next(r, &rec))
		if (!is_marks(r, from + n++))
			return -1;
	return n;
}

/* Copy the record at a position, of a ring that is not read from its start to its head */
static void copy_record(const struct ring *r, uint64_t pos, uint64_t size)
{
	uint64_t i;

	for (i = 0; i < size; i += 8)
		memcpy((uint8_t *)&rec + i, r->data + (pos + i) % r->size, 8);
}

/* A ring that its reader empties: half of it is written and read, three times */
static void read_along(struct __test *_metadata, int pages)
{
	struct perf_event_attr a = marks_attr(pages, false);
	int fd = ev_must(&a, 0, -1, -1, 0), turn, i, n;
	struct ring r;

	ring_map(&r, fd, &a, pages);
	n = pages * PAGE / 2 / marks_size(&a) + 1;
	for (turn = 0; turn < 3; turn++) {
		uint32_t first = round_nr + 1;

		for (i = 0; i < n; i++)
			sample_marks(fd);
		EXPECT_EQ(read_marks(&r, first), n);
		ring_consume(&r);
	}
	ring_unmap(&r);
	close(fd);
}

/* A ring that is overwritten, and full when it is read: the latest records are in it */
static void read_late(struct __test *_metadata, int pages, bool backward)
{
	struct perf_event_attr a = marks_attr(pages, backward);
	int fd = ev_must(&a, 0, -1, -1, 0), i, fit, n;
	const uint64_t size = marks_size(&a);
	struct ring r;

	ring_map_read_only(&r, fd, &a, pages);
	fit = pages * PAGE / size;
	n = fit + fit / 2 + 1;
	for (i = 0; i < n; i++)
		sample_marks(fd);
	EXPECT_EQ(r.page->data_head, backward ? -(n * size) : n * size);
	for (i = 0; i < fit; i++) {
		/* The newest record is the first of a ring that is filled from its end down */
		copy_record(&r, r.page->data_head + (backward ? i : -i - 1) * size, size);
		EXPECT_EQ(rec.head.size, size);
		EXPECT_TRUE(is_marks(&r, round_nr - i));
	}
	ring_unmap(&r);
	close(fd);
}

/* Every page of a ring is where the writer writes, whatever the number of pages */
TEST_TIMEOUT(of_any_size, 120)
{
	ROWS("M-01 R-09 A-53");
	int pages;

	for (pages = 1; pages <= 512; pages *= 2) {
		read_along(_metadata, pages);
		read_late(_metadata, pages, false);
		read_late(_metadata, pages, true);
	}
}

/* A ring is unmapped, and mapped with another size, while its event writes on another CPU */
TEST(unmapped_while_written)
{
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	int n, fd, seen = 0;
	struct worker w;
	struct ring r;

	no_throttle();
	ASSERT_EQ(pin_to(0), 0);
	worker_start(&w);
	pin_task(w.pid, nr_cpus() > 1);
	a.disabled = 0;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	for (n = 0; n < often(200); n++) {
		bool done, got;

		/* with one CPU the worker may be done before the ring is mapped */
		if (n % 2)
			worker_go(&w, 20000);
		ring_map(&r, fd, &a, 1 << n % 8);
		if (!(n % 2))
			worker_go(&w, 20000);
		do {
			done = worker_done(&w);
			got = ring_next(&r, &rec);
		} while (!got && !done);
		seen += got && rec.head.type == PERF_RECORD_SAMPLE;
		ring_unmap(&r);
		worker_wait(&w);
	}
	EXPECT_GE(seen, n / 2);
	worker_stop(&w);
}

/*
 * sample_freq is the number of samples per second of running time; the period is adjusted to
 * it.  While the host stops the virtual CPU, time passes without instructions, so samples are
 * missing.
 */
TEST(frequency)
{
	ROWS("A-29 A-30");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_PERIOD);
	uint64_t period, last = 0, at, second;
	int fd, n = 0, changes = 0, off = exact_time() ? 100 : 600;
	struct ring r;

	a.freq = 1;
	a.sample_freq = 1000;
	a.read_format = FORMAT_TIMES;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	/* Half a second to find the period, then one second to measure the rate */
	while (ev_times(fd).running < 500000000)
		work(10000);
	ring_skip(&r);
	at = ev_times(fd).running;
	while ((second = ev_times(fd).running - at) < 1000000000)
		work(10000);
	ev_disable(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		period = record_u64(&rec, 0);
		changes += period != last;
		last = period;
		n++;
	}
	printf("# %d samples in %lu ms, %d periods\n", n, second / 1000000,
	       changes);
	/* Only -icount hides stops of the virtual CPU, so only then there is a lower bound */
	if (exact_time())
		EXPECT_GE(n * 1000000000.0 / second, 1000 - off);
	EXPECT_GT(n, 10);
	EXPECT_LE(n * 1000000000.0 / second, 1000 + off);
	EXPECT_GT(changes, 1);
}

TEST_HARNESS_MAIN
