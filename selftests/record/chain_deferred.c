// SPDX-License-Identifier: GPL-2.0-only
/* Call chains whose user part is unwound when the task leaves the kernel. */
#define _GNU_SOURCE
#include <sys/utsname.h>

#include "attr.h"
#include "frames.h"
#include "harness.h"

#define CONTEXT_USER_DEFERRED	((uint64_t)-640)
#define RECORD_DEFERRED		22
#define DEPTH			6

static struct record rec;

/* System calls that each take several samples */
FRAME static void the_calls(int fd)
{
	ev_enable(fd);
	for (int i = 0; i < 20; i++)
		access("/proc/self/status", R_OK);
	ev_disable(fd);
	touched++;
}

/* The way back to user mode, with the unwinding, takes some thousand instructions after each sample */
static void sample_calls(struct perf_event_attr *a)
{
	sample_the_kernel(a);
	a->sample_period *= 3;
}

static bool kernel_defers(void)
{
	struct utsname u;
	int major, minor;

	uname(&u);
	return sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 19));
}

static struct perf_event_attr deferred_attr(int output)
{
	union any_attr x = {
		.a = sampled_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN),
	};

	any_flag(&x, F_DEFER_CALLCHAIN);
	if (output)
		any_flag(&x, F_DEFER_OUTPUT);
	return x.a;
}

static void must_defer(void)
{
	if (!kernel_defers())
		SKIP(return, "this kernel does not unwind user stacks later");
}

/* The cookie at the end of a sample's chain, 0 if there is none */
static uint64_t cookie_of(const struct parts *s)
{
	return s->nr >= 2 && s->chain[s->nr - 2] == CONTEXT_USER_DEFERRED ? s->chain[s->nr - 1] : 0;
}

/* The cookies of the samples seen so far, and whether the stack has come */
static struct {
	uint64_t cookie;
	bool came;
} seen[256];
static int nr_seen;

static int find_seen(uint64_t cookie)
{
	int i;

	for (i = 0; i < nr_seen && seen[i].cookie != cookie; i++)
		;
	return i;
}

static int nr_waiting(void)
{
	int n = 0;

	for (int i = 0; i < nr_seen; i++)
		n += !seen[i].came;
	return n;
}

/* A stack comes once, after the first sample that has its cookie; later samples may have it, too */
static bool take(uint64_t cookie)
{
	int i = find_seen(cookie);

	if (i == nr_seen || seen[i].came)
		return false;
	return seen[i].came = true;
}

/* Read all of the ring; the number of records of stacks, each of a sample before it */
static int match(struct __test *_metadata, struct ring *r, int *samples, int *deep)
{
	int stacks = 0;

	nr_seen = *samples = *deep = 0;
	while (ring_next(r, &rec)) {
		struct parts s;
		uint64_t cookie;

		if (rec.head.type == RECORD_DEFERRED) {
			uint64_t nr = record_u64(&rec, 8);
			const uint64_t *ips = (const uint64_t *)(rec.body + 16);

			EXPECT_EQ(16 + 8 * nr, record_size(r, &rec));
			EXPECT_EQ(PERF_RECORD_MISC_USER, rec.head.misc);
			EXPECT_TRUE(take(record_u64(&rec, 0)));
			*deep += depth_of(ips, ips + nr) == DEPTH + 1;
			stacks++;
		}
		if (rec.head.type != PERF_RECORD_SAMPLE)
			continue;
		s = record_sample(r, &rec);
		cookie = cookie_of(&s);
		++*samples;
		EXPECT_EQ(0, depth_of(s.chain, s.chain + s.nr));
		if (cookie && find_seen(cookie) == nr_seen) {
			ASSERT_LT(nr_seen, 256);
			seen[nr_seen].came = false;
			seen[nr_seen++].cookie = cookie;
		}
	}
	return stacks;
}

/* What match() has found in the ring of an event of this task, after @bottom at a known depth */
struct found {
	int samples, stacks, deep;
};

static struct found run(struct __test *_metadata, const struct perf_event_attr *a, void (*bottom)(int fd))
{
	int fd = ev_must(a, 0, -1, -1, 0);
	struct found f;
	struct ring r;

	ring_map(&r, fd, a, 64);
	go_down(DEPTH, fd, bottom);
	f.stacks = match(_metadata, &r, &f.samples, &f.deep);
	ring_unmap(&r);
	close(fd);
	return f;
}

TEST(refused_by_older_kernels)
{
	ROWS("U-06");
	struct perf_event_attr a = deferred_attr(0);

	EXPECT_EQ(kernel_defers() ? 0 : route_is_native() ? EINVAL : EOPNOTSUPP,
		  ev_errno(&a, 0, -1, -1, 0));
	a = deferred_attr(1);
	a.sample_type = 0;
	EXPECT_EQ(kernel_defers() ? 0 : route_is_native() ? EINVAL : EOPNOTSUPP,
		  ev_errno(&a, 0, -1, -1, 0));
}

/* Each sample of user mode has a stack of its own, which follows at once */
TEST(user_mode)
{
	ROWS("U-06 U-22 S-12");
	struct perf_event_attr a;
	struct found f;

	must_defer();
	a = deferred_attr(1);
	f = run(_metadata, &a, the_work);
	EXPECT_EQ(10, f.samples);
	EXPECT_EQ(10, f.stacks);
	EXPECT_EQ(10, f.deep);
	EXPECT_EQ(0, nr_waiting());
}

/* The samples of one system call have one stack */
TEST(kernel_mode)
{
	ROWS("U-06 U-22 S-12");
	struct perf_event_attr a;
	uint64_t end = patience();
	struct found f;

	must_defer();
	a = deferred_attr(1);
	sample_calls(&a);
	/* Where interrupts are slow, no two samples may have come in one call */
	do {
		f = run(_metadata, &a, the_calls);
	} while (f.samples == f.stacks && now_ns() < end);
	EXPECT_GE(f.stacks, 5);
	EXPECT_GT(f.samples, f.stacks);
	EXPECT_EQ(f.stacks, f.deep);
	/* That of the call that disables the event is not written */
	EXPECT_LE(nr_waiting(), 1);
}

/* An event of CPU 0 that asks for stacks; samples have their own attr */
static int open_side(union any_attr *side)
{
	must_defer();
	pin_to(0);
	side->a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	side->a.task = 1;
	side->a.disabled = 0;
	any_flag(side, F_DEFER_OUTPUT);
	return ev_must(&side->a, -1, 0, -1, 0);
}

/* The stacks go to the events that ask for them, on whatever task the samples were taken */
TEST(another_event_gets_the_stacks)
{
	ROWS("U-06");
	struct perf_event_attr a;
	union any_attr side;
	struct found f;
	struct ring out;
	int to;

	to = open_side(&side);
	a = deferred_attr(0);
	ring_map(&out, to, &side.a, 16);
	f = run(_metadata, &a, the_work);
	EXPECT_EQ(0, f.stacks);
	EXPECT_EQ(10, f.samples);
	EXPECT_EQ(10, nr_waiting());
	while (ring_find(&out, &rec, RECORD_DEFERRED))
		EXPECT_TRUE(take(record_u64(&rec, 0)));
	EXPECT_EQ(0, nr_waiting());
}

/* An event without a ring buffer that asks for them gets none */
TEST(no_room_for_the_stacks)
{
	ROWS("U-06");
	struct perf_event_attr a;
	union any_attr side;
	struct found f;
	int to;

	to = open_side(&side);
	a = deferred_attr(0);
	f = run(_metadata, &a, the_work);
	EXPECT_EQ(0, f.stacks);
	EXPECT_EQ(10, f.samples);
	EXPECT_EQ(10, nr_waiting());
	close(to);
}

FRAME static void more_work(int fd)
{
	work_counted(fd, 10 * ROUNDS, 0);
	touched++;
}

/* The ring is full: the samples that still fit keep cookies whose stacks never come */
TEST(full_ring)
{
	ROWS("U-06");
	struct perf_event_attr a;
	int fd, samples, deep, stacks;
	struct ring r;

	must_defer();
	a = deferred_attr(1);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 1);
	go_down(DEPTH, fd, more_work);
	stacks = match(_metadata, &r, &samples, &deep);
	printf("# %d samples, %d stacks\n", samples, stacks);
	EXPECT_GE(stacks, 5);
	EXPECT_LT(stacks, 100);
	EXPECT_LE(stacks, samples);
	EXPECT_EQ(stacks, deep);
	/* Each of the 100 samples or its stack is there, or both are lost */
	EXPECT_EQ(nr_waiting(), samples - stacks);
	ring_unmap(&r);
	close(fd);
}

TEST(without_user_part)
{
	ROWS("A-43");
	struct perf_event_attr a;
	struct found f;

	must_defer();
	a = deferred_attr(1);
	a.exclude_callchain_user = 1;
	f = run(_metadata, &a, the_work);
	EXPECT_EQ(0, f.stacks);
	EXPECT_EQ(10, f.samples);
	EXPECT_EQ(0, nr_waiting());
}

TEST_HARNESS_MAIN
