// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of precise events whose samples are written together, because they consist of single
 * words.  They must be the same as those of an event with a field that prevents that
 * (CODE_PAGE_SIZE).
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/wait.h>

#include "precise.h"

#define SEPARATELY	PERF_SAMPLE_CODE_PAGE_SIZE
#define RECORDS		512

/* What of a sample does not differ between two runs, if everything is right */
struct same {
	uint16_t misc;
	int bytes;
	uint64_t ip, addr, period;
	uint32_t pid, tid, cpu;
	bool id, stream_id, identifier;
};

struct samples {
	struct same of[RECORDS];
	int nr;
	uint64_t last, lost_records, lost;
	bool ordered;
};

static uint64_t id_of(int fd)
{
	uint64_t id = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) ? 0 : id;
}

static void see(struct samples *s, const struct ring *r, const struct record *rec, uint64_t id)
{
	struct parts p = record_sample(r, rec);
	uint64_t type = r->attr.sample_type;

	if (s->nr == RECORDS)
		return;
	s->ordered &= p.time >= s->last && !p.time == !(type & PERF_SAMPLE_TIME);
	s->last = p.time;
	s->of[s->nr++] = (struct same){
		.misc = rec->head.misc,
		.bytes = rec->head.size - (type & SEPARATELY ? 8 : 0),
		.ip = p.ip, .addr = p.addr, .period = p.period,
		.pid = p.pid, .tid = p.tid, .cpu = p.cpu,
		.id = p.id == (type & PERF_SAMPLE_ID ? id : 0),
		.stream_id = !p.stream_id == !(type & PERF_SAMPLE_STREAM_ID),
		.identifier = p.identifier == (type & PERF_SAMPLE_IDENTIFIER ? id : 0),
	};
}

static void see_all(struct samples *s, struct ring *r, uint64_t id)
{
	static struct record rec;

	while (ring_next(r, &rec)) {
		if (rec.head.type == PERF_RECORD_SAMPLE)
			see(s, r, &rec, id);
		if (rec.head.type == PERF_RECORD_LOST) {
			s->lost_records++;
			s->lost += record_u64(&rec, 8);
		}
	}
	ring_consume(r);
}

/* Run the row @runs times, and read the ring of @pages after each if @reads, else at the end */
static struct samples sample(struct perf_event_attr a, uint64_t more, int pages, int runs,
			     bool reads)
{
	struct samples s;
	struct ring r;
	int i, fd, try;
	long before;

	a.sample_type |= more;
	for (try = 0; try < TRIES; try++) {
		memset(&s, 0, sizeof(s));
		s.ordered = true;
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, pages);
		before = switches();
		for (i = 0; i < runs; i++) {
			rising_counted(fd);
			if (reads)
				see_all(&s, &r, id_of(fd));
		}
		see_all(&s, &r, id_of(fd));
		ring_unmap(&r);
		close(fd);
		if (switches() == before)
			break;
	}
	return s;
}

static struct samples batched, separate;

static int compare(struct perf_event_attr a, int pages, int runs, bool reads)
{
	int i;

	batched = sample(a, 0, pages, runs, reads);
	separate = sample(a, SEPARATELY, pages, runs, reads);
	if (batched.nr != separate.nr || !batched.ordered || !separate.ordered)
		return -1;
	for (i = 0; i < batched.nr; i++)
		if (memcmp(&batched.of[i], &separate.of[i], sizeof(struct same)))
			return -1 - i;
	return batched.nr;
}

static const uint64_t words[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR,
	PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD,
};

#define NR_WORDS	((int)ARRAY_SIZE(words))

/* Each field alone, each one missing, all, and none */
TEST(fields)
{
	struct perf_event_attr a;
	uint64_t all = 0;
	int i, level;

	ROWS("S-02 S-03 S-04 S-05 S-06 S-07 S-08 S-09 S-10");
	NEED_PRECISE();
	pin_to(0);
	for (i = 0; i < NR_WORDS; i++)
		all |= words[i];
	for (level = 1; level <= 2; level++) {
		a = precise_attr(RAW_INSNS, level, all);
		a.sample_period = 97;
		for (i = 0; i < 2 * NR_WORDS + 2; i++) {
			a.sample_type = i < NR_WORDS ? words[i] :
					i < 2 * NR_WORDS ? all & ~words[i - NR_WORDS] :
					i == 2 * NR_WORDS ? all : 0;
			EXPECT_EQ(compare(a, 16, 1, false), N / (97 + step_of(level) - PERIOD));
		}
	}
}

/* The buffer of records is larger than a batch, and the ring ends within a record */
TEST(wrap)
{
	struct perf_event_attr a;
	int i, n, step;

	ROWS("R-24 A-37");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_TIME);
	a.sample_period = 79;
	step = 79 + step_of(2) - PERIOD;
	n = N / step;
	/* With precise distribution the remainder of one run belongs to the next one */
	EXPECT_GE(compare(a, 1, 9, true), 9 * n);
	EXPECT_EQ(batched.lost, 0);
	for (i = 0; i < n; i++)
		EXPECT_EQ(batched.of[i].ip, nth_inc((i + 1) * step));
}

/* A ring that is full: the same samples are lost, and counted in the same records */
TEST(full_ring)
{
	struct perf_event_attr a;
	int n;

	ROWS("R-05 R-06 R-07");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD);
	a.sample_period = 15;
	n = N / (15 + step_of(2) - PERIOD);
	batched = sample(a, 0, 1, 2, true);
	/* 127 records of 32 bytes; the next time after the LOST record, for which there is room */
	EXPECT_EQ(batched.nr, 2 * 127);
	EXPECT_EQ(batched.lost_records, 1);
	EXPECT_EQ(batched.lost, n - 127);
	/* 102 of 40 bytes; the next time one less */
	separate = sample(a, SEPARATELY, 1, 2, true);
	EXPECT_EQ(separate.lost_records, 1);
	EXPECT_EQ(separate.nr, 2 * 102 - 1);
	EXPECT_EQ(separate.lost, n - 102);
}

/* Number of samples that read(2) reports as lost */
TEST(lost_count)
{
	struct perf_event_attr a;
	uint64_t values[2];
	struct ring r;
	int fd, n;

	ROWS("F-14");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD);
	a.sample_period = 15;
	a.read_format = PERF_FORMAT_LOST;
	n = N / (15 + step_of(2) - PERIOD);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 1);
	rising_counted(fd);
	ASSERT_EQ(read(fd, values, sizeof(values)), sizeof(values));
	EXPECT_EQ(values[1], n - 127);
	ring_unmap(&r);
	close(fd);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

/* The reader is woken if and only if the samples pass the watermark */
TEST(watermark)
{
	struct perf_event_attr a;
	struct ring r;
	int fd, n, more;

	ROWS("R-14 A-34");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD);
	a.sample_period = 79;
	a.watermark = 1;
	n = N / (79 + step_of(2) - PERIOD);
	for (more = 0; more < 2; more++) {
		a.wakeup_watermark = 32 * (n + (more ? 20 : -5));
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 16);
		rising_counted(fd);
		/* Counts the samples so far, in which the row is once */
		EXPECT_GE(ev_count(fd), N - 200);
		EXPECT_EQ(readable(fd), !more);
		EXPECT_FALSE(readable(fd));
		ring_unmap(&r);
		close(fd);
	}
}

/* Events that exclude the kernel have no kernel addresses; others have both, marked as such */
TEST(modes)
{
	struct perf_event_attr a;
	static struct record rec;
	int fd, i, of[2], kernel;
	struct ring r;

	ROWS("A-24 B-03");
	NEED_PRECISE();
	for (kernel = 0; kernel < 2; kernel++) {
		of[0] = of[1] = 0;
		a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID);
		a.exclude_kernel = !kernel;
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 64);
		ev_enable(fd);
		/* On a slow kernel a system call has many more instructions than the loop around it */
		for (i = 0; i < 200; i++) {
			getppid();
			work(50);
		}
		ev_disable(fd);
		while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
			bool high = (int64_t)record_sample(&r, &rec).ip < 0;

			EXPECT_EQ(rec.head.misc & PERF_RECORD_MISC_CPUMODE_MASK,
				  high ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
			of[high]++;
		}
		EXPECT_GT(of[0], 0);
		if (kernel)
			EXPECT_GT(of[1], 20);
		else
			EXPECT_EQ(of[1], 0);
		ring_unmap(&r);
		close(fd);
	}
}

/* Two events in one ring: each one's samples are complete and in order */
TEST(shared_ring)
{
	struct perf_event_attr a;
	static struct record rec;
	uint64_t ids[2], last[2] = { 0, 0 };
	int fds[2], i, of[2] = { 0, 0 };
	struct ring r;

	ROWS("I-15");
	NEED_PRECISE();
	if (cpu_model() == CPU_ICELAKE)
		SKIP(return, "two counters of instructions differ in precise distribution");
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_ID);
	fds[0] = ev_must(&a, 0, -1, -1, 0);
	a.sample_period = 1013;
	a.disabled = 0;
	fds[1] = ev_must(&a, 0, -1, fds[0], 0);
	ring_map(&r, fds[0], &a, 64);
	ASSERT_EQ(ioctl(fds[1], PERF_EVENT_IOC_SET_OUTPUT, fds[0]), 0);
	for (i = 0; i < 2; i++)
		ids[i] = id_of(fds[i]);
	rising_counted(fds[0]);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&r, &rec);

		i = p.id == ids[1];
		EXPECT_EQ(p.id, ids[i]);
		EXPECT_GT(p.ip, last[i]);
		last[i] = p.ip;
		of[i]++;
	}
	EXPECT_EQ(of[0], N / step_of(2));
	EXPECT_EQ(of[1], N / (1013 + step_of(2) - PERIOD));
	ring_unmap(&r);
	close(fds[1]);
	close(fds[0]);
}

/* A ring that is filled backward has the same samples, the newest first */
TEST(backward)
{
	struct perf_event_attr a;
	struct perf_event_header *h;
	struct ring r;
	int fd, i, n, step;

	ROWS("R-09");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, 0);
	a.write_backward = 1;
	step = step_of(2);
	n = N / step;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 4);
	rising_counted(fd);
	EXPECT_EQ(r.page->data_head, -16ULL * n);
	for (i = 0; i < n; i++) {
		h = (void *)(r.data + r.size - 16 * (i + 1));
		EXPECT_EQ(h->type, PERF_RECORD_SAMPLE);
		EXPECT_EQ(*(uint64_t *)(h + 1), nth_inc((i + 1) * step));
	}
	ring_unmap(&r);
	close(fd);
}

TEST_HARNESS_MAIN
