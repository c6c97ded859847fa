// SPDX-License-Identifier: GPL-2.0-only
/*
 * The AUX area, filled by the source fault_trace: 16 bytes per page fault, the faulting
 * address and the instruction's address.  There is no such source in native perf.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define PAGE		4096
#define ENTRY		16
#define PER_PAGE	(PAGE / ENTRY)	/* faults that fill a page of the area */
#define START_PAUSED	1
#define PAUSE		2
#define RESUME		4

struct trace {
	int fd;
	struct ring ring;
	const uint64_t *word;	/* mapped AUX area */
	uint64_t words;
};

static struct record rec;
static char *pages;		/* see prepare(): the first access to each page faults */

static struct perf_event_attr trace_attr(void)
{
	struct perf_event_attr a =
		ev_attr(read_long("/sys/bus/kpmu/devices/fault_trace/type"), 0);

	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	a.sample_id_all = 1;
	return a;
}

static void set_action(struct perf_event_attr *a, uint32_t action)
{
	memcpy((char *)a + 116, &action, sizeof(action));
}

static void *map_at(struct perf_event_mmap_page *p, int fd, uint64_t offset,
		    uint64_t size, int prot)
{
	p->aux_offset = offset;
	p->aux_size = size;
	return mmap(NULL, size, prot, MAP_SHARED, fd, offset);
}

static void open_trace(struct trace *t, struct perf_event_attr *a, pid_t pid,
		       int cpu, int nr_pages, int prot)
{
	uint64_t size = (uint64_t)nr_pages * PAGE;

	t->fd = ev_must(a, pid, cpu, -1, 0);
	ring_map(&t->ring, t->fd, a, 8);
	t->words = size / 8;
	t->word = map_at(t->ring.page, t->fd, 9 * PAGE, size, prot);
	if (t->word == MAP_FAILED) {
		perror("AUX area");
		exit(1);
	}
}

static void open_self(struct trace *t, int nr_pages, int prot)
{
	struct perf_event_attr a = trace_attr();

	open_trace(t, &a, 0, -1, nr_pages, prot);
}

static __attribute__((noinline)) void touch(int from, int to)
{
	for (; from < to; from++)
		((volatile char *)pages)[from * PAGE] = 1;
}

/*
 * Map @n untouched pages.  Everything else that traced() accesses is faulted in here, so only
 * these pages fault there.
 */
static void prepare(int fd, int n)
{
	pages = mmap(NULL, (n + 1) * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, (n + 1) * PAGE, MADV_NOHUGEPAGE);
	touch(n, n + 1);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void traced(struct trace *t, int from, int to)
{
	ev_enable(t->fd);
	touch(from, to);
	ev_disable(t->fd);
}

/* The fields of a PERF_RECORD_AUX */
struct chunk {
	uint64_t offset, size, flags;
};

static bool next_chunk(struct trace *t, struct chunk *c)
{
	if (!ring_find(&t->ring, &rec, PERF_RECORD_AUX))
		return false;
	c->offset = record_u64(&rec, 0);
	c->size = record_u64(&rec, 8);
	c->flags = record_u64(&rec, 16);
	return true;
}

/*
 * Compare the entries from @from to @to - 1 with faults of consecutive pages from @page on.
 * Return: the number of entries that differ.
 */
static int entries_wrong(const struct trace *t, int from, int to, int page)
{
	int wrong = 0;

	for (; from < to; from++, page++) {
		const uint64_t *w = &t->word[from * 2 % t->words];

		wrong += w[0] != (uintptr_t)pages + (uint64_t)page * PAGE ||
			 w[1] - (uintptr_t)touch >= 128;
	}
	return wrong;
}

#define SKIP_NATIVE() do {						\
	if (route_is_native())						\
		SKIP(return, "fault_trace is a source of kpmu");	\
} while (0)

TEST(full_trace)
{
	ROWS("X-01 X-02 X-10 X-14 D-25 D-26 D-28 U-11 M-25");
	const int n = 100;
	uint64_t told = 0;
	struct trace t;
	struct chunk c;

	SKIP_NATIVE();
	open_self(&t, 4, PROT_READ | PROT_WRITE);
	prepare(t.fd, n);
	traced(&t, 0, n);
	EXPECT_EQ(ev_count(t.fd), n);
	/* One ITRACE_START, which names the traced thread */
	ASSERT_TRUE(ring_next(&t.ring, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_ITRACE_START);
	EXPECT_EQ(record_size(&t.ring, &rec), 8);
	EXPECT_EQ(record_u32(&rec, 0), getpid());
	EXPECT_EQ(record_u32(&rec, 4), getpid());
	EXPECT_EQ(record_whose(&t.ring, &rec).pid, getpid());
	while (next_chunk(&t, &c)) {
		EXPECT_EQ(record_size(&t.ring, &rec), 24);
		EXPECT_EQ(record_whose(&t.ring, &rec).tid, getpid());
		EXPECT_EQ(c.offset, told);
		EXPECT_EQ(c.flags, 0);
		told += c.size;
	}
	EXPECT_EQ(told, n * ENTRY);
	EXPECT_EQ(t.ring.page->aux_head, n * ENTRY);
	EXPECT_EQ(entries_wrong(&t, 0, n, 0), 0);
	EXPECT_FALSE(ring_next(&t.ring, &rec));
	EXPECT_EQ(offsetof(struct perf_event_mmap_page, aux_head), 1056);
}

/* Without trace data there is no AUX record */
TEST(no_trace)
{
	ROWS("D-25");
	struct trace t;

	SKIP_NATIVE();
	open_self(&t, 1, PROT_READ | PROT_WRITE);
	prepare(t.fd, 1);
	traced(&t, 0, 0);
	traced(&t, 0, 0);
	EXPECT_EQ(ring_count(&t.ring, PERF_RECORD_AUX), 0);
	EXPECT_EQ(t.ring.page->aux_head, 0);
}

static int map_errno(struct trace *t, uint64_t offset, uint64_t size)
{
	return map_at(t->ring.page, t->fd, offset, size,
		      PROT_READ | PROT_WRITE) == MAP_FAILED ? errno : 0;
}

/* AUX records must cover @all bytes in chunks of @size; a schedule-out ends a chunk early */
static void check_chunks(struct __test *_metadata, struct trace *t, uint64_t size,
			 uint64_t all)
{
	uint64_t told = 0;
	struct chunk c;
	int whole = 0;

	while (next_chunk(t, &c)) {
		EXPECT_EQ(c.offset, told);
		EXPECT_LE(c.size, size);
		EXPECT_EQ(c.flags, 0);
		told += c.size;
		whole += c.size == size;
	}
	EXPECT_EQ(told, all);
	EXPECT_GE(whole, all / size / 4);
}

/*
 * The AUX mapping cannot be split.  A moved mapping still shows the area.  Unmapping the last
 * one frees the area.
 */
TEST(mremap_and_partial_munmap)
{
	ROWS("X-03");
	const uint64_t size = 4 * PAGE;
	struct trace t;
	void *to;

	SKIP_NATIVE();
	open_self(&t, 4, PROT_READ | PROT_WRITE);
	prepare(t.fd, 8);
	EXPECT_EQ(mprotect((char *)t.word + 2 * PAGE, 2 * PAGE, PROT_READ), -1);
	EXPECT_EQ(errno, EINVAL);
	to = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	to = mremap((void *)t.word, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT_TRUE(to != MAP_FAILED);
	t.word = to;
	EXPECT_EQ(map_errno(&t, 32 * PAGE, size), EINVAL);
	traced(&t, 0, 4);
	check_chunks(_metadata, &t, 4 * ENTRY, 4 * ENTRY);
	EXPECT_EQ(entries_wrong(&t, 0, 4, 0), 0);
	ASSERT_EQ(munmap(to, size), 0);
	EXPECT_EQ(map_errno(&t, 32 * PAGE, size), 0);
}

TEST(mmap_arguments)
{
	ROWS("X-03 X-04 X-05");
	struct perf_event_attr a = trace_attr(), soft;
	struct trace t;
	void *p;

	SKIP_NATIVE();
	soft = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	t.fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, t.fd, 9 * PAGE),
		  MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	ring_map(&t.ring, t.fd, &a, 8);
	EXPECT_EQ(map_errno(&t, 8 * PAGE, PAGE), EINVAL);
	EXPECT_EQ(map_errno(&t, 9 * PAGE, 3 * PAGE), EINVAL);
	/* Refused: not the aux_size and aux_offset of the user page */
	t.ring.page->aux_offset = 9 * PAGE;
	t.ring.page->aux_size = 2 * PAGE;
	EXPECT_EQ(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, t.fd, 9 * PAGE),
		  MAP_FAILED);
	EXPECT_EQ(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, t.fd, 10 * PAGE),
		  MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(map_errno(&t, 16 * PAGE, 2 * PAGE), 0);
	/* An existing AUX area can only be mapped again at its own offset and size */
	EXPECT_EQ(map_errno(&t, 32 * PAGE, 2 * PAGE), EINVAL);
	EXPECT_EQ(map_errno(&t, 16 * PAGE, 4 * PAGE), EINVAL);
	EXPECT_EQ(map_errno(&t, 16 * PAGE, 2 * PAGE), 0);
	/* Refused: the source of this event writes no trace data */
	t.fd = ev_must(&soft, 0, -1, -1, 0);
	ring_map(&t.ring, t.fd, &soft, 8);
	EXPECT_EQ(map_errno(&t, 9 * PAGE, PAGE), EOPNOTSUPP);
	p = map_at(t.ring.page, t.fd, 9 * PAGE, 0, PROT_READ);
	EXPECT_EQ(p, MAP_FAILED);
}

TEST(limited)
{
	ROWS("X-06");
	struct perf_event_attr a = trace_attr();
	struct rlimit none = { 0, 0 };
	struct trace t;
	int log = 0;

	SKIP_NATIVE();
	set_paranoid(2);
	t.fd = ev_must(&a, 0, -1, -1, 0);
	while ((1 << (log + 1)) <= 129 * nr_cpus() - 9)
		log++;
	drop_privilege();
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	ring_map(&t.ring, t.fd, &a, 8);
	EXPECT_EQ(map_errno(&t, 16 * PAGE, (2UL << log) * PAGE), EPERM);
	EXPECT_EQ(map_errno(&t, 16 * PAGE, (1UL << log) * PAGE), 0);
}

TEST(not_writable)
{
	ROWS("M-28");
	struct trace t;
	pid_t pid;
	int status;

	SKIP_NATIVE();
	open_self(&t, 1, PROT_READ | PROT_WRITE);
	pid = fork();
	if (!pid) {
		struct perf_event_mmap_page *p;

		/* fork(2) does not copy the mapping of the AUX area */
		p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd,
			 9 * PAGE);
		signal(SIGBUS, SIG_DFL);
		p->data_tail = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

TEST(watermark)
{
	ROWS("X-11 A-81");
	struct perf_event_attr a = trace_attr();
	struct pollfd poll_in = { .events = POLLIN };
	const int few = 8, n = 100 * few;
	struct trace t;

	SKIP_NATIVE();
	a.aux_watermark = few * ENTRY;
	open_trace(&t, &a, 0, -1, 4, PROT_READ | PROT_WRITE);
	prepare(t.fd, n);
	poll_in.fd = t.fd;
	traced(&t, 0, few - 1);
	EXPECT_EQ(poll(&poll_in, 1, 0), 0);
	traced(&t, few - 1, n);
	EXPECT_EQ(poll(&poll_in, 1, 1000), 1);
	EXPECT_EQ(poll_in.revents, POLLIN);
	check_chunks(_metadata, &t, few * ENTRY, n * ENTRY);
	EXPECT_EQ(entries_wrong(&t, 0, n, 0), 0);
}

/* The default watermark is half of the AUX area */
TEST(default_watermark)
{
	ROWS("X-11");
	struct trace t;

	SKIP_NATIVE();
	open_self(&t, 1, PROT_READ | PROT_WRITE);
	prepare(t.fd, PER_PAGE);
	traced(&t, 0, PER_PAGE);
	check_chunks(_metadata, &t, PAGE / 2, PAGE);
}

TEST(full)
{
	ROWS("X-07 X-10 D-27");
	struct trace t;
	struct chunk c;
	uint64_t told = 0, cut = 0;

	SKIP_NATIVE();
	open_self(&t, 1, PROT_READ | PROT_WRITE);
	prepare(t.fd, 3 * PER_PAGE);
	traced(&t, 0, PER_PAGE + 50);
	EXPECT_EQ(ev_count(t.fd), PER_PAGE + 50);
	while (next_chunk(&t, &c)) {
		EXPECT_EQ(c.offset, told);
		told += c.size;
		cut += c.flags & PERF_AUX_FLAG_TRUNCATED;
	}
	EXPECT_EQ(told, PAGE);
	EXPECT_EQ(cut, 1);
	EXPECT_EQ(entries_wrong(&t, 0, PER_PAGE, 0), 0);
	/* Unread data is not overwritten; advancing aux_tail makes room */
	traced(&t, PER_PAGE + 50, PER_PAGE + 60);
	EXPECT_EQ(t.ring.page->aux_head, PAGE);
	EXPECT_EQ(entries_wrong(&t, 0, PER_PAGE, 0), 0);
	__atomic_store_n(&t.ring.page->aux_tail, 20 * ENTRY, __ATOMIC_RELEASE);
	traced(&t, PER_PAGE + 60, PER_PAGE + 80);
	EXPECT_EQ(t.ring.page->aux_head, PAGE + 20 * ENTRY);
	EXPECT_EQ(entries_wrong(&t, PER_PAGE, PER_PAGE + 20, PER_PAGE + 60), 0);
	EXPECT_EQ(entries_wrong(&t, 20, PER_PAGE, 20), 0);
}

/* An invalid aux_tail must do no harm */
TEST(invalid_tail)
{
	ROWS("X-07");
	static const uint64_t tails[] = { 1, ~0ULL, 1ULL << 63, 1ULL << 32 };
	struct trace t;
	int i;

	SKIP_NATIVE();
	open_self(&t, 1, PROT_READ | PROT_WRITE);
	prepare(t.fd, 4 * 600);
	for (i = 0; i < ARRAY_SIZE(tails); i++) {
		t.ring.page->aux_tail = tails[i];
		traced(&t, i * 600, (i + 1) * 600);
	}
	EXPECT_EQ(ev_count(t.fd), 4 * 600);
	EXPECT_LE(t.ring.page->aux_head, 2 * PAGE);
}

TEST(overwritten)
{
	ROWS("X-08 X-09 D-27 U-10");
	const int n = PER_PAGE + 50;
	uint64_t end = 0;
	struct trace t;
	struct chunk c;

	SKIP_NATIVE();
	open_self(&t, 1, PROT_READ);
	prepare(t.fd, n);
	traced(&t, 0, n);
	/* The record written when the event stops covers the unreported data still in the area */
	while (next_chunk(&t, &c)) {
		EXPECT_EQ(c.flags, PERF_AUX_FLAG_OVERWRITE);
		EXPECT_LE(c.size, PAGE);
		end = c.offset + c.size;
	}
	EXPECT_EQ(end, n * ENTRY);
	EXPECT_EQ(t.ring.page->aux_head, n * ENTRY);
	EXPECT_EQ(entries_wrong(&t, 50, n, 50), 0);
}

TEST(in_samples)
{
	ROWS("S-43 A-84 X-13");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_PAGE_FAULTS);
	const int n = 20, step = 5, room = 64 + 8;
	struct trace t;
	struct ring r;
	int fd, i;

	SKIP_NATIVE();
	open_self(&t, 1, PROT_READ);
	a.disabled = 0;
	a.sample_period = step;
	a.sample_type = PERF_SAMPLE_AUX | PERF_SAMPLE_ADDR;
	a.aux_sample_size = room;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	fd = ev_must(&a, 0, -1, t.fd, 0);
	ring_map(&r, fd, &a, 8);
	prepare(t.fd, n);
	traced(&t, 0, n);
	/* The newest trace data, with or without the entry of the sampled fault */
	for (i = 1; ring_find(&r, &rec, PERF_RECORD_SAMPLE); i++) {
		struct parts s = record_sample(&r, &rec);
		int words = s.aux_size / 8;
		uint64_t last;

		EXPECT_EQ(s.addr, (uintptr_t)pages + (i * step - 1) * PAGE);
		/* The first sample may come before there is as much trace data */
		EXPECT_LE(s.aux_size, room);
		if (i > 1)
			EXPECT_EQ(s.aux_size, room);
		ASSERT_GE(words, 8);
		last = s.aux[words - 2];
		EXPECT_TRUE(last == s.addr || last == s.addr - PAGE);
		EXPECT_EQ(s.aux[words - 4], last - PAGE);
	}
	EXPECT_EQ(i - 1, n / step);
}

static int actor(struct trace *t, uint64_t period, uint32_t action)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_PAGE_FAULTS);

	a.disabled = 0;
	a.sample_period = period;
	set_action(&a, action);
	return ev_must(&a, 0, -1, t->fd, 0);
}

TEST(paused_and_resumed)
{
	ROWS("U-07 U-08");
	struct perf_event_attr a = trace_attr(), soft;
	struct trace t;
	int first;

	SKIP_NATIVE();
	set_action(&a, START_PAUSED);
	open_trace(&t, &a, 0, -1, 1, PROT_READ | PROT_WRITE);
	soft = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	soft.sample_period = 1;
	set_action(&soft, PAUSE | RESUME);
	EXPECT_EQ(ev_errno(&soft, 0, -1, t.fd, 0), EINVAL);
	set_action(&soft, PAUSE);
	EXPECT_EQ(ev_errno(&soft, 0, -1, -1, 0), EINVAL);
	actor(&t, 10, RESUME);
	actor(&t, 15, PAUSE);
	prepare(t.fd, 19);
	traced(&t, 0, 19);
	EXPECT_EQ(ev_count(t.fd), 19);
	/* Traced from the 10th to the 15th fault; either of the two may be excluded */
	EXPECT_GE(t.ring.page->aux_head, 4 * ENTRY);
	EXPECT_LE(t.ring.page->aux_head, 6 * ENTRY);
	first = (t.word[0] - (uintptr_t)pages) / PAGE;
	EXPECT_TRUE(first == 9 || first == 10);
	EXPECT_EQ(entries_wrong(&t, 0, 4, first), 0);
}

TEST(refused)
{
	ROWS("U-07 A-57");
	struct perf_event_attr a = trace_attr();

	SKIP_NATIVE();
	a.inherit = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	a = trace_attr();
	a.config = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = trace_attr();
	a.aux_output = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
}

/* Trace of another task: an AUX record is written each time the task is scheduled out */
TEST(of_a_task)
{
	ROWS("X-14 D-26");
	struct perf_event_attr a = trace_attr();
	uint64_t told = 0;
	struct worker w;
	struct trace t;
	struct chunk c;

	SKIP_NATIVE();
	worker_start(&w);
	a.exclude_kernel = 0;
	open_trace(&t, &a, w.pid, -1, 16, PROT_READ | PROT_WRITE);
	ev_enable(t.fd);
	worker_exec_self(&w);	/* causes an unknown number of page faults */
	worker_run(&w, 1000);
	worker_stop(&w);
	ASSERT_TRUE(ring_next(&t.ring, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_ITRACE_START);
	EXPECT_EQ(record_u32(&rec, 0), w.pid);
	while (next_chunk(&t, &c)) {
		EXPECT_EQ(c.offset, told);
		told += c.size;
	}
	EXPECT_EQ(told, t.ring.page->aux_head);
	EXPECT_EQ(told, ev_count(t.fd) * ENTRY);
	EXPECT_GT(told, 20 * ENTRY);
}

TEST(of_a_cpu)
{
	ROWS("X-01 X-14");
	struct perf_event_attr a = trace_attr();
	struct trace t;
	int i, seen = 0;

	SKIP_NATIVE();
	ASSERT_EQ(pin_to(0), 0);
	open_trace(&t, &a, -1, 0, 16, PROT_READ | PROT_WRITE);
	prepare(t.fd, 10);
	traced(&t, 0, 10);
	for (i = 0; i < ev_count(t.fd); i++)
		seen += t.word[2 * i] - (uintptr_t)pages < 10 * PAGE;
	EXPECT_EQ(seen, 10);
	EXPECT_EQ(t.ring.page->aux_head, ev_count(t.fd) * ENTRY);
}

/*
 * While tracing, unmap the AUX area and map it again (i == 0), unmap the ring (1), or close
 * the fd (2).
 */
TEST(teardown_order)
{
	ROWS("X-01");
	struct trace t;
	int fd, i;

	SKIP_NATIVE();
	for (i = 0; i < 3; i++) {
		open_self(&t, 2, PROT_READ | PROT_WRITE);
		prepare(t.fd, 300);
		ev_enable(t.fd);
		touch(0, 100);
		if (i == 0)
			munmap((void *)t.word, t.words * 8);
		if (i == 1)
			ring_unmap(&t.ring);
		if (i == 2) {
			fd = t.fd;
			close(fd);
		}
		touch(100, 300);
		if (i == 0) {
			t.word = map_at(t.ring.page, t.fd, 9 * PAGE, PAGE,
					PROT_READ | PROT_WRITE);
			ASSERT_NE((void *)t.word, MAP_FAILED);
			munmap((void *)t.word, PAGE);
			ring_unmap(&t.ring);
		} else {
			munmap((void *)t.word, t.words * 8);
			if (i == 2)
				ring_unmap(&t.ring);
		}
		if (i < 2) {
			EXPECT_EQ(ev_count(t.fd), 300);
			close(t.fd);
		}
	}
}

TEST_HARNESS_MAIN
