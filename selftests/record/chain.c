// SPDX-License-Identifier: GPL-2.0-only
/* Call chains. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "frames.h"
#include "harness.h"

#define DEPTH	10

static struct record rec;

FRAME static void the_calls(int fd)
{
	int i;

	ev_enable(fd);
	for (i = 0; i < 300 * slow(); i++)
		getppid();
	ev_disable(fd);
	touched++;
}

static struct perf_event_attr chain_attr(void)
{
	return sampled_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
}

static void run(struct ring *r, const struct perf_event_attr *a,
		void (*bottom)(int fd))
{
	int fd = ev_must(a, 0, -1, -1, 0);

	ring_map(r, fd, a, 64);
	go_down(DEPTH, fd, bottom);
}

TEST(user_chains)
{
	ROWS("S-12 U-22");
	struct perf_event_attr a = chain_attr();
	struct ring r;
	int n;

	run(&r, &a, the_work);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		ASSERT_GE(s.nr, 2 + DEPTH);
		EXPECT_EQ(s.chain[0], PERF_CONTEXT_USER);
		EXPECT_EQ(s.chain[1], s.ip);
		/*
		 * work_counted() sets up no frame, so the frame pointer is that of
		 * the_work(), and the first return address is in the caller of the_work().
		 */
		EXPECT_EQ(depth_of(s.chain, s.chain + s.nr), DEPTH + 1);
		EXPECT_TRUE(in_go_down(s.chain[2]));
		EXPECT_EQ(s.chain[3], s.chain[4]);
	}
	EXPECT_EQ(n, 10);
}

/* Samples in kernel mode: the kernel's frames first, then the user's */
TEST(kernel_chains)
{
	ROWS("S-12 U-22 S-03");
	struct perf_event_attr a = chain_attr();
	struct ring r;
	int n = 0, half = 0, i;

	sample_the_kernel(&a);
	run(&r, &a, the_calls);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);

		if (rec.head.misc != PERF_RECORD_MISC_KERNEL)
			continue;
		ASSERT_GE(s.nr, 2);
		EXPECT_EQ(s.chain[0], PERF_CONTEXT_KERNEL);
		EXPECT_EQ(s.chain[1], s.ip);
		for (i = 1; i < s.nr && s.chain[i] != PERF_CONTEXT_USER; i++)
			EXPECT_LT((int64_t)s.chain[i], -4096);
		/* No user part while the task is being scheduled in and is not yet current */
		half += i == s.nr;
		n += depth_of(s.chain + i, s.chain + s.nr) >= DEPTH;
	}
	EXPECT_GE(n, 5);
	EXPECT_LE(half, n / 4);
}

/* exclude_callchain_kernel, exclude_callchain_user, and both */
TEST(excluded)
{
	ROWS("A-42 A-43 A-44");
	struct perf_event_attr a = chain_attr();
	int i, what, n;
	struct ring r;

	sample_the_kernel(&a);
	for (what = 1; what < 4; what++) {
		a.exclude_callchain_kernel = what & 1;
		a.exclude_callchain_user = what >> 1;
		run(&r, &a, the_calls);
		for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE);) {
			struct parts s = record_sample(&r, &rec);

			if (rec.head.misc != PERF_RECORD_MISC_KERNEL)
				continue;
			n++;
			if (what == 3) {
				EXPECT_EQ(s.nr, 0);
				continue;
			}
			if (what == 1 && !s.nr)
				continue;
			ASSERT_GE(s.nr, 2);
			EXPECT_EQ(s.chain[0], what == 1 ? PERF_CONTEXT_USER :
							  PERF_CONTEXT_KERNEL);
			EXPECT_EQ((int64_t)s.chain[1] < 0, what == 2);
			for (i = 1; i < s.nr; i++)
				EXPECT_NE(s.chain[i], what == 1 ?
					  PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER);
		}
		EXPECT_GE(n, 5);
	}
}

/* sample_max_stack limits the frames; context markers are not counted */
TEST(limited)
{
	ROWS("A-82 A-83 U-23");
	struct perf_event_attr a = chain_attr();
	struct ring r;
	int n, max;

	for (max = 1; max < 8; max += 3) {
		a.sample_max_stack = max;
		run(&r, &a, the_work);
		for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++)
			EXPECT_EQ(record_sample(&r, &rec).nr, 1 + max);
		EXPECT_EQ(n, 10);
	}
	a.sample_max_stack = 2;
	sample_the_kernel(&a);
	run(&r, &a, the_calls);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE);) {
		struct parts s = record_sample(&r, &rec);

		if (rec.head.misc != PERF_RECORD_MISC_KERNEL)
			continue;
		/* At most two frames and two context markers; the user part may be a marker only */
		EXPECT_LE(s.nr, 4);
		n++;
	}
	EXPECT_GE(n, 5);
}

/*
 * Are there ten chains of @words entries each, and is the limit locked (EBUSY) while their
 * event exists?
 */
static bool chains_have(uint64_t words)
{
	struct perf_event_attr a = chain_attr();
	int fd = ev_must(&a, 0, -1, -1, 0), n = 0;
	struct ring r;
	bool busy;

	ring_map(&r, fd, &a, 64);
	go_down(DEPTH, fd, the_work);
	busy = write_long(sysctl_file("perf_event_max_stack"), 127) &&
	       errno == EBUSY;
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE))
		n += record_sample(&r, &rec).nr == words;
	ring_unmap(&r);
	close(fd);
	return busy && n == 10;
}

/* Set a sysctl.  EBUSY is retried: events of an exited test may not be freed yet */
static bool set_limit(const char *name, long to)
{
	uint64_t until = patience();

	while (write_long(sysctl_file(name), to))
		if (errno != EBUSY || now_ns() > until)
			return false;
	return read_long(sysctl_file(name)) == to;
}

/* The sysctls that limit the frames and the context markers of every chain */
TEST(sysctl_limits)
{
	ROWS("Y-05 U-23 E-37 A-82");
	struct perf_event_attr a = chain_attr();

	ASSERT_TRUE(set_limit("perf_event_max_stack", 3));
	a.sample_max_stack = 4;
	EXPECT_EQ(ev_open(&a, 0, -1, -1, 0), -1);
	EXPECT_EQ(errno, EOVERFLOW);
	EXPECT_TRUE(chains_have(1 + 3));
	EXPECT_TRUE(set_limit("perf_event_max_stack", 300));
	a.sample_max_stack = 300;
	close(ev_must(&a, 0, -1, -1, 0));
	EXPECT_TRUE(set_limit("perf_event_max_stack", 127));
	EXPECT_EQ(read_long(sysctl_file("perf_event_max_contexts_per_stack")), 8);
	EXPECT_TRUE(set_limit("perf_event_max_contexts_per_stack", 0));
	EXPECT_TRUE(chains_have(0));
	EXPECT_TRUE(set_limit("perf_event_max_contexts_per_stack", 8));
	EXPECT_EQ(write_long(sysctl_file("perf_event_max_stack"), -1), -1);
	EXPECT_EQ(errno, EINVAL);
}

/* Work with a frame pointer of @bp */
static __attribute__((noinline, noclone)) void work_at(const void *bp)
{
	__asm__ volatile("push %%rbp\n\tmov %0, %%rbp\n\tmov $20000, %%ecx\n"
			 "1:\tdec %%rcx\n\tjnz 1b\n\tpop %%rbp"
			 : : "r" (bp) : "rcx", "memory", "cc");
}

/* Two pages; the second one is not accessible, but was written, so that page tables have it */
static char *half_accessible(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	memset(p, 0, 8192);
	return mprotect(p + 4096, 4096, PROT_NONE) ? NULL : p;
}

#define FAR		(1UL << 40)	/* from the program, its libraries and its stack */
#define HUGE		(1UL << 21)
#define A_CALLER	0x1234567

static void *map_at(uintptr_t at, size_t size)
{
	void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A frame at @at, whose caller's is at @next */
static void *link_frame(void *at, void *next)
{
	void **frame = at;

	frame[0] = next;
	frame[1] = (void *)A_CALLER;
	return at;
}

/* Number of frames after the first in all samples of work with this frame pointer; -1 if they differ */
static int frames_from(const void *bp)
{
	struct perf_event_attr a = chain_attr();
	int fd = ev_must(&a, 0, -1, -1, 0), nr = -2;
	struct ring r;

	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	work_at(bp);
	ev_disable(fd);
	while (nr != -1 && ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&r, &rec);

		if (p.ip - (uintptr_t)work_at >= 128)
			continue;
		nr = nr == -2 || nr == (int)p.nr - 2 ? (int)p.nr - 2 : -1;
		for (int i = 2; i < (int)p.nr; i++)
			if (p.chain[i] != A_CALLER)
				nr = -1;
	}
	ring_unmap(&r);
	close(fd);
	return nr;
}

/* A frame anywhere in memory is found; where no memory is, or none that may be read, the chain ends */
TEST(frames_anywhere)
{
	ROWS("S-12");
	char *far = map_at(FAR, 2 * HUGE), *other = map_at(FAR << 2, 4096), *half = half_accessible();
	char *untouched = map_at(FAR << 3, 4096);
	static void *here[2];

	ASSERT_TRUE(far && other && half && untouched);
	EXPECT_EQ(frames_from(NULL), 0);
	EXPECT_EQ(frames_from((void *)8), 0);
	EXPECT_EQ(frames_from((void *)0x12345678), 0);
	EXPECT_EQ(frames_from((void *)(FAR << 1)), 0);
	EXPECT_EQ(frames_from((void *)0x7fffffffe000), 0);
	EXPECT_EQ(frames_from((void *)0x7ffffffffff8), 0);
	EXPECT_EQ(frames_from((void *)0x800000000000), 0);
	EXPECT_EQ(frames_from((void *)0xffffffff81000000), 0);
	EXPECT_EQ(frames_from((void *)-8), 0);
	/* Mapped, but not written yet, or not readable; across the end of what is */
	EXPECT_EQ(frames_from(untouched), 0);
	EXPECT_EQ(frames_from(far), 0);
	EXPECT_EQ(frames_from(half + 4096), 0);
	EXPECT_EQ(frames_from(half + 4096 - 8), 0);
	EXPECT_EQ(frames_from(link_frame(half, half + 4096)), 1);
	EXPECT_EQ(frames_from(link_frame(here, NULL)), 1);
	EXPECT_EQ(frames_from(link_frame(here, (void *)(FAR << 1))), 1);
	link_frame(here, NULL);
	EXPECT_EQ(frames_from(link_frame(other, here)), 2);
	madvise(far, 2 * HUGE, MADV_HUGEPAGE);
	EXPECT_EQ(frames_from(link_frame(far + HUGE, other)), 3);
	EXPECT_EQ(frames_from(link_frame(far + 2 * HUGE - 16, far + HUGE)), 4);
	munmap(far, 2 * HUGE);
	munmap(other, 4096);
	munmap(untouched, 4096);
	munmap(half, 8192);
}

/* An event hit while a chain is collected for another event must not modify that chain */
TEST(nested_collection)
{
	struct perf_event_attr a = chain_attr(), b = ev_attr(PERF_TYPE_TRACEPOINT, 0);
	char *half = half_accessible();
	struct ring ra, rb;
	int fd, hit, n = 0;
	long id = read_long("/sys/kernel/tracing/events/exceptions/page_fault_kernel/id");

	if (id < 0)
		id = read_long("/sys/kernel/debug/tracing/events/exceptions/page_fault_kernel/id");
	if (id < 0)
		SKIP(return, "no tracepoint of page faults");
	ASSERT_TRUE(half);
	b.config = id;
	b.exclude_kernel = 0;
	b.exclude_hv = 0;
	b.sample_period = 1;
	b.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&ra, fd, &a, 64);
	hit = ev_must(&b, 0, -1, -1, 0);
	ring_map(&rb, hit, &b, 64);
	ev_enable(hit);
	ev_enable(fd);
	/* To read this frame page-faults in the kernel */
	work_at(half + 4096);
	ev_disable(fd);
	ev_disable(hit);
	while (ring_find(&ra, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&ra, &rec);

		if (p.ip - (uintptr_t)work_at >= 128)
			continue;
		n++;
		ASSERT_EQ(p.nr, 2);
		EXPECT_EQ(p.chain[0], PERF_CONTEXT_USER);
		EXPECT_EQ(p.chain[1], p.ip);
	}
	EXPECT_GE(n, 20);
	EXPECT_GE(ring_count(&rb, PERF_RECORD_SAMPLE), n);
}

TEST_HARNESS_MAIN
