// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records are complete and in order, for a reader that runs concurrently with the writer and
 * with writers that interrupt each other; wakeups are raised when they are due.
 *
 * If data_head were published too early, the reader would see data from one lap before:
 * misaligned records, or records with an older time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "harness.h"
#include "sampled.h"
#include "task.h"

#define PAGE	4096
#define WHOLE	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
		 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)

static struct record rec;

/* An event, and the values by which its samples are recognized */
struct source {
	int fd;
	uint64_t id, period, last, found;
	pid_t tid;
};

static void source_is(struct source *s, int fd, uint64_t period, pid_t tid)
{
	*s = (struct source) {
		.fd = fd, .id = ev_id(fd), .period = period, .tid = tid,
	};
}

static uint64_t lost(const struct source *s, uint64_t *count)
{
	uint64_t v[2] = { 0, -1 };

	if (read(s->fd, v, sizeof(v)) != sizeof(v))
		v[1] = -1;
	*count = v[0];
	return v[1];
}

/* Check the sample's values, and that it is not older than the source's previous sample */
static bool is_whole(struct source *s, const struct parts *p)
{
	bool ok = p->tid == s->tid && p->time >= s->last &&
		  p->period == s->period;

	if (!ok)
		printf("# tid %u period %lu time %lu after %lu ip %lx\n", p->tid,
		       p->period, p->time, s->last, p->ip);
	s->last = p->time;
	s->found++;
	return ok;
}

/* Parse the sample in rec to *@p and check it against its source, one of @s */
static bool take_one(struct ring *r, struct source *s, int nr, struct parts *p)
{
	int i;

	*p = record_sample(r, &rec);
	for (i = 0; i < nr; i++)
		if (s[i].id == p->identifier)
			return is_whole(&s[i], p);
	printf("# no event has the id %lu\n", p->identifier);
	return false;
}

/* A ring of one page, not a multiple of the sample size: samples wrap at its end */
TEST(reader_on_another_cpu)
{
	ROWS("R-03 R-02 R-24");
	struct perf_event_attr a = sampled_attr(WHOLE);
	uint64_t end = patience(), count = 0, told = 0, gone;
	struct worker w;
	struct source s;
	struct parts p;
	struct ring r;
	bool done;
	int fd;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	if (!exact())
		SKIP(return, "the number of samples is not exact");
	ASSERT_EQ(pin_to(0), 0);
	worker_start(&w);
	worker_pin(&w, nr_cpus() - 1);
	a.read_format = PERF_FORMAT_LOST;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	source_is(&s, fd, PERIOD, w.pid);
	ring_map(&r, fd, &a, 1);
	ev_enable(fd);
	worker_go(&w, 1000000);
	do {
		done = worker_done(&w);
		while (ring_next(&r, &rec)) {
			if (rec.head.type == PERF_RECORD_SAMPLE)
				ASSERT_TRUE(take_one(&r, &s, 1, &p));
			else if (rec.head.type == PERF_RECORD_LOST)
				told += record_u64(&rec, 8);
			ring_consume(&r);
		}
	} while (!done && now_ns() < end);
	worker_wait(&w);
	worker_stop(&w);
	while (ring_next(&r, &rec))
		if (rec.head.type == PERF_RECORD_SAMPLE)
			ASSERT_TRUE(take_one(&r, &s, 1, &p));
		else if (rec.head.type == PERF_RECORD_LOST)
			told += record_u64(&rec, 8);
	gone = lost(&s, &count);
	printf("# %lu samples, %lu lost\n", s.found, gone);
	EXPECT_GE(count, 4000000);
	EXPECT_GT(s.found, 0);
	EXPECT_EQ(s.found + gone, count / PERIOD);
	EXPECT_LE(told, gone);
}

/* Address range of a kernel function, by /proc/kallsyms: it ends at the next symbol */
static bool find_function(const char *name, uint64_t *from, uint64_t *to)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[300], type, symbol[200];
	unsigned long at;

	*from = 0;
	*to = -1;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %c %199s", &at, &type, symbol) == 3 &&
		    !strcmp(symbol, name))
			*from = at;
	if (f)
		rewind(f);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx", &at) == 1 && at > *from && at < *to)
			*to = at;
	if (f)
		fclose(f);
	return *from;
}

static int software(uint64_t config, uint64_t period, int output)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, config);
	int fd;

	/* Without the kernel, the clock would take no sample when it interrupts a writer */
	a.exclude_kernel = 0;
	a.sample_period = period;
	a.sample_type = WHOLE;
	a.read_format = PERF_FORMAT_LOST;
	fd = ev_must(&a, 0, -1, -1, 0);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output)) {
		printf("# SET_OUTPUT: %s\n", strerror(errno));
		exit(1);
	}
	return fd;
}

enum { NMI, FAULT, CLOCK, SOURCES };

/* NMI samples kernel instructions, FAULT page faults, CLOCK cpu-clock; all share one ring */
static void open_all(struct source *s, struct ring *r)
{
	struct perf_event_attr a = sampled_attr(WHOLE);
	uint64_t clock = 1000000 * slow();

	a.read_format = PERF_FORMAT_LOST;
	sample_the_kernel(&a);
	source_is(&s[NMI], ev_must(&a, 0, -1, -1, 0), a.sample_period, getpid());
	ring_map(r, s[NMI].fd, &a, 64);
	source_is(&s[FAULT], software(PERF_COUNT_SW_PAGE_FAULTS, 1, s[NMI].fd), 1,
		  getpid());
	source_is(&s[CLOCK], software(PERF_COUNT_SW_CPU_CLOCK, clock, s[NMI].fd),
		  clock, getpid());
}

/*
 * Samples are written to one ring by page faults in task context, by cpu-clock in a timer
 * interrupt and by a counter in an NMI.  The test runs until an NMI interrupts the
 * writing of a sample.
 */
TEST(writers_that_interrupt_each_other)
{
	ROWS("R-25 R-24");
	const int pages = 50;
	uint64_t end = patience(), from, to, count, gone, nested = 0;
	struct source s[SOURCES];
	struct parts p;
	struct ring r;
	int i, rounds = 0;
	char *m;

	if (!find_function(route_is_native() ? "perf_output_copy" : "kpmu_sample_write",
			   &from, &to))
		SKIP(return, "the kernel does not say where it writes");
	no_throttle();
	ASSERT_EQ(pin_to(0), 0);
	open_all(s, &r);
	m = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(m, MAP_FAILED);
	for (i = 0; i < SOURCES; i++)
		ev_enable(s[i].fd);
	while (rounds++ < 40 || (!nested && now_ns() < end)) {
		for (i = 0; i < pages; i++)
			m[i * PAGE] = 1;
		madvise(m, pages * PAGE, MADV_DONTNEED);
		while (ring_next(&r, &rec)) {
			if (rec.head.type != PERF_RECORD_SAMPLE)
				continue;
			ASSERT_TRUE(take_one(&r, s, SOURCES, &p));
			nested += p.identifier == s[NMI].id && p.ip >= from &&
				  p.ip < to;
		}
		ring_consume(&r);
	}
	for (i = 0; i < SOURCES; i++)
		ev_disable(s[i].fd);
	while (ring_next(&r, &rec))
		if (rec.head.type == PERF_RECORD_SAMPLE)
			ASSERT_TRUE(take_one(&r, s, SOURCES, &p));
	printf("# %d rounds, samples: %lu by NMI, %lu of them within another, %lu of faults, %lu of the clock\n",
	       rounds - 1, s[NMI].found, nested, s[FAULT].found, s[CLOCK].found);
	EXPECT_GT(nested, 0);
	gone = lost(&s[FAULT], &count);
	EXPECT_EQ(s[FAULT].found + gone, count);
	EXPECT_GE(count, pages * (rounds - 1));
}

/* Poll after each 16-byte sample; @at: samples that make the fd readable, 0-terminated */
static void wakes(struct __test *_metadata, int watermark, int wakeup, int samples,
		  const int *at)
{
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP);
	struct pollfd p = { .events = POLLIN };
	struct ring r;
	int n;

	a.watermark = watermark;
	a.wakeup_events = wakeup;
	p.fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, p.fd, &a, 1);
	for (n = 1; n <= samples; n++) {
		work_counted(p.fd, PERIOD / 4, 0);
		p.revents = 0;
		EXPECT_EQ(poll(&p, 1, 0), n == *at);
		EXPECT_EQ(p.revents, n == *at ? POLLIN : 0);
		at += n == *at;
	}
	EXPECT_EQ(*at, 0);
	EXPECT_EQ(r.page->data_head, 16 * samples);
	ring_unmap(&r);
	close(p.fd);
}

TEST(wakeup_thresholds)
{
	ROWS("R-14 R-15 R-16");
	static const int mark[] = { 5, 9, 13, 0 }, third[] = { 3, 6, 0 },
			 half[] = { 129, 0 }, all[] = { 1, 2, 3, 4, 5, 0 };

	if (!exact())
		SKIP(return, "the number of samples is not exact");
	/* More than 64 bytes since the last wakeup */
	wakes(_metadata, 1, 64, 16, mark);
	wakes(_metadata, 0, 3, 8, third);
	wakes(_metadata, 0, 1, 5, all);
	/* No threshold given: more than half of the 4 KiB ring */
	wakes(_metadata, 0, 0, 200, half);
}

TEST_HARNESS_MAIN
