// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks that share a CPU and whose events need the same counters: the counters pass from the
 * events of one task to those of the other at each switch.  Each task's counts must be exact.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/kpmu-read.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define NR	4
#define RUNS	6
#define N	300000

/* Counts per round of work() */
static const struct {
	uint32_t type;
	uint64_t config, per;
} kinds[NR] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 4 },
	{ PERF_TYPE_RAW, RAW_LOADS, 1 },
	{ PERF_TYPE_RAW, RAW_STORES, 1 },
	{ PERF_TYPE_RAW, RAW_BRANCHES, 1 },
};

/* A worker and its events; an event that counts several workers has the rounds of all */
struct side {
	struct worker w;
	int fd[NR];
	uint64_t last[NR], fixed[NR];
};

static struct perf_event_attr attr_of(int i)
{
	struct perf_event_attr a = ev_attr(kinds[i].type, kinds[i].config);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

static void start_side(struct side *s)
{
	worker_start(&s->w);
	worker_pin(&s->w, 0);
}

/* Open the events of a side, with or without inherit, as one group or as single events */
static void open_side(struct side *s, bool inherit, bool group)
{
	struct perf_event_attr a;
	int i;

	for (i = 0; i < NR; i++) {
		a = attr_of(i);
		a.inherit = inherit;
		s->fd[i] = ev_must(&a, s->w.pid, -1, group && i ? s->fd[0] : -1, 0);
	}
}

/* Counts since the last call */
static uint64_t since(struct side *s, int i)
{
	uint64_t now = ev_times(s->fd[i]).value, d = now - s->last[i];

	s->last[i] = now;
	return d;
}

/* The user instructions around the work of a command are constant; measure them */
static void calibrate(struct side *s, struct worker *kid)
{
	int i;

	worker_run(&s->w, 1);
	if (kid)
		worker_run(kid, 1);
	for (i = 0; i < NR; i++)
		since(s, i);
	worker_run(&s->w, 1);
	if (kid)
		worker_run(kid, 1);
	for (i = 0; i < NR; i++)
		s->fixed[i] = since(s, i) - kinds[i].per * (kid ? 2 : 1);
}

/* Number of events of a side that have not counted exactly @rounds; @off was off */
static int wrong(struct side *s, uint64_t rounds, int off)
{
	int i, n = 0;

	for (i = 0; i < NR; i++) {
		uint64_t got = since(s, i), want = s->fixed[i] + kinds[i].per * rounds;

		if (i == off)
			want = 0;
		if (got + SLACK(want) >= want && got <= want + SLACK(want))
			continue;
		printf("# event %d: %llu, not %llu\n", i, (unsigned long long)got,
		       (unsigned long long)want);
		n++;
	}
	return n;
}

/* Two workers work at the same time on one CPU, so each preempts the other */
static void run_both(struct worker *a, uint64_t n, struct worker *b, uint64_t m)
{
	worker_go(a, n);
	worker_go(b, m);
	worker_wait(a);
	worker_wait(b);
}

static struct side a, b;

static int run_sides(int off)
{
	int i, n = 0;

	for (i = 0; i < RUNS; i++) {
		run_both(&a.w, N * (i + 1), &b.w, N * (RUNS - i));
		n += wrong(&a, N * (i + 1), -1) + wrong(&b, N * (RUNS - i), off);
	}
	return n;
}

static void start_both(bool group)
{
	start_side(&a);
	start_side(&b);
	open_side(&a, false, group);
	open_side(&b, false, group);
	calibrate(&a, NULL);
	calibrate(&b, NULL);
}

TEST(each_task_has_its_counts)
{
	ROWS("H-13");

	start_both(false);
	EXPECT_EQ(run_sides(-1), 0);
	EXPECT_TRUE(always_ran(a.fd[0]));
	EXPECT_TRUE(always_ran(b.fd[NR - 1]));
}

TEST(groups)
{
	start_both(true);
	EXPECT_EQ(run_sides(-1), 0);
}

/* The parent's event counts both; events without inherit count each alone */
TEST(parent_and_child)
{
	ROWS("H-01 H-13");
	struct worker kid = { 0 }, kid2 = { 0 };
	struct perf_event_attr at = attr_of(3);
	uint64_t one, two;
	int i, own, other;

	start_side(&a);
	open_side(&a, true, false);
	ev_disable(a.fd[3]);	/* leaves a counter to @own and @other */
	worker_fork(&a.w, &kid);
	worker_pin(&kid, 0);
	worker_run(&kid, 1);
	own = ev_must(&at, a.w.pid, -1, -1, 0);
	other = ev_must(&at, kid.pid, -1, -1, 0);
	calibrate(&a, &kid);
	a.fixed[3] = 0;
	for (i = 0; i < RUNS; i++) {
		one = ev_times(own).value;
		two = ev_times(other).value;
		run_both(&a.w, N * (i + 1), &kid, N * (RUNS - i));
		EXPECT_EQ(wrong(&a, N * (RUNS + 1), 3), 0);
		/* The branches of a command with n rounds are the same in both */
		one = ev_times(own).value - one - N * (i + 1);
		two = ev_times(other).value - two - N * (RUNS - i);
		EXPECT_LE(one, two + SLACK(N));
		EXPECT_LE(two, one + SLACK(N));
	}
	/* A child of a child, and one that ends meanwhile */
	worker_fork(&kid, &kid2);
	worker_pin(&kid2, 0);
	worker_run(&kid2, 1);
	for (i = 0; i < NR; i++)
		since(&a, i);
	run_both(&kid, N, &kid2, N);
	EXPECT_EQ(wrong(&a, 2 * N, 3), 0);
	worker_stop(&kid2);
}

/* One side samples: its counter must be set, and must overflow where it should */
TEST(one_samples)
{
	struct perf_event_attr at = attr_of(0);

	no_throttle();
	start_both(false);
	close(b.fd[0]);
	at.sample_period = 10007;
	b.fd[0] = ev_must(&at, b.w.pid, -1, -1, 0);
	calibrate(&b, NULL);
	EXPECT_EQ(run_sides(-1), 0);
}

TEST(member_is_off)
{
	start_both(true);
	ev_disable(b.fd[2]);
	since(&b, 2);
	EXPECT_EQ(run_sides(2), 0);
	ev_enable(b.fd[2]);
	since(&b, 2);
	EXPECT_EQ(run_sides(-1), 0);
}

/* Enabled, disabled and read while both work; the other events must not notice */
TEST(changed_meanwhile)
{
	struct perf_event_attr at = attr_of(1);
	int i, k, more;

	start_both(false);
	more = ev_must(&at, b.w.pid, -1, -1, 0);
	for (i = 0; i < RUNS; i++) {
		worker_go(&a.w, 4 * N);
		worker_go(&b.w, 4 * N);
		for (k = 0; k < 20; k++) {
			ev_disable(more);
			ev_times(a.fd[k % NR]);
			ev_enable(more);
			ev_times(b.fd[k % NR]);
		}
		worker_wait(&a.w);
		worker_wait(&b.w);
		EXPECT_EQ(wrong(&a, 4 * N, -1), 0);
		EXPECT_EQ(wrong(&b, 4 * N, -1), 0);
	}
}

/* An event of the CPU occupies a counter of both plans */
TEST(with_an_event_of_the_cpu)
{
	struct perf_event_attr at = attr_of(1);
	uint64_t before, both;
	int fd;

	at.read_format = 0;
	start_side(&a);
	start_side(&b);
	fd = ev_must(&at, -1, 0, -1, 0);
	open_side(&a, false, false);
	open_side(&b, false, false);
	calibrate(&a, NULL);
	calibrate(&b, NULL);
	before = ev_count(fd);
	both = ev_times(a.fd[1]).value + ev_times(b.fd[1]).value;
	EXPECT_EQ(run_sides(-1), 0);
	both = ev_times(a.fd[1]).value + ev_times(b.fd[1]).value - both;
	EXPECT_GE(ev_count(fd) - before + SLACK(both), both);
}

/* The value that the user page yields equals that of read(2), between two reads of it */
static bool page_right(int fd, const struct perf_event_mmap_page *p)
{
	uint64_t before = ev_times(fd).value, after, got;
	uint32_t seq, index;
	int shift;

	do {
		seq = __kpmu_load(p->lock);
		__kpmu_barrier();
		index = __kpmu_load(p->index);
		got = __kpmu_load(p->offset);
		if (index) {
			shift = 64 - p->pmc_width;
			got += (int64_t)(__kpmu_rdpmc(index - 1) << shift) >> shift;
		}
		__kpmu_barrier();
	} while (seq & 1 || __kpmu_load(p->lock) != seq);
	after = ev_times(fd).value;
	if (before <= got && got <= after)
		return true;
	printf("# read %llu, page %llu (index %u), read %llu\n", (unsigned long long)before,
	       (unsigned long long)got, index, (unsigned long long)after);
	return false;
}

/* This task reads its user pages between switches to a task with the same events */
TEST(user_page)
{
	struct perf_event_mmap_page *p[2];
	uint64_t end = now_ns() + 300000000ull;
	int i, fd[NR], bad = 0, reads = 0;

	pin_to(0);
	start_side(&b);
	open_side(&b, false, false);
	calibrate(&b, NULL);
	for (i = 0; i < NR; i++) {
		struct perf_event_attr at = attr_of(i);

		fd[i] = ev_must(&at, 0, -1, -1, 0);
	}
	worker_go(&b.w, 20 * N);
	for (i = 0; i < 2; i++) {
		p[i] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd[2 * i], 0);
		ASSERT_NE(p[i], MAP_FAILED);
	}
	while (now_ns() < end || reads < 1000) {
		work(1000);
		bad += !page_right(fd[0], p[0]) + !page_right(fd[2], p[1]);
		reads++;
	}
	munmap(p[1], 4096);
	for (i = 0; i < 1000; i++) {
		work(1000);
		bad += !page_right(fd[0], p[0]);
	}
	EXPECT_EQ(bad, 0);
	worker_wait(&b.w);
	EXPECT_EQ(wrong(&b, 20 * N, -1), 0);
}

/*
 * More events than counters on both sides.  Events with inherit, so that the child's are copies;
 * no event may count more than there was.
 */
TEST(multiplexed)
{
	ROWS("H-13");
	enum { M = 12 };
	struct perf_event_attr at = attr_of(1);
	struct worker kid = { 0 };
	uint64_t most = 2 * (RUNS * N + 100000);
	struct ev_times t;
	int i, fd[M];

	start_side(&a);
	at.inherit = 1;
	for (i = 0; i < M; i++)
		fd[i] = ev_must(&at, a.w.pid, -1, -1, 0);
	worker_fork(&a.w, &kid);
	worker_pin(&kid, 0);
	run_both(&a.w, RUNS * N, &kid, RUNS * N);
	for (i = 0; i < M; i++) {
		t = ev_times(fd[i]);
		EXPECT_LE(t.running, t.enabled);
		EXPECT_LE(t.value, most);
	}
}

TEST_HARNESS_MAIN
