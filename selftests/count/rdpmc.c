// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events read in user space by RDPMC: the count is that of read(2), to the instruction.
 *
 * The number of user instructions between a read(2) and the read loop that follows it is
 * always the same, unless the loop retries.  So the two counts differ by a constant,
 * whatever happens to the event in between.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static __thread unsigned int retries;
#define KPMU_READ_RETRY() (retries++)
#include <linux/kpmu-read.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define PAGE	4096
#define N	1000

struct pair {
	struct ev_times by_read;
	struct kpmu_value by_self;
	struct ev_times after;
	bool smooth;		/* the read loop did not retry */
};

static struct perf_event_mmap_page *map(int fd)
{
	void *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("# mmap: %s\n", strerror(errno));
		exit(KSFT_FAIL);
	}
	return p;
}

static int insns(int group_fd)
{
	return ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
			     group_fd);
}

/* Not inlined, so that all callers execute the same instructions */
static __attribute__((noinline)) void take(int fd,
					   const struct perf_event_mmap_page *p,
					   struct pair *r)
{
	retries = 0;
	if (read(fd, &r->by_read, sizeof(r->by_read)) < 0 ||
	    kpmu_read_self(p, &r->by_self) ||
	    read(fd, &r->after, sizeof(r->after)) < 0)
		exit(KSFT_FAIL);
	r->smooth = !retries;
}

/*
 * The constant between read(2) and the read loop.  Measured while the event is on a counter
 * all the time.
 */
static uint64_t distance(int fd, const struct perf_event_mmap_page *p)
{
	struct pair r;
	int i;

	for (i = 0; i < 100; i++) {
		take(fd, p, &r);
		if (r.smooth && r.by_read.running - r.after.running ==
				r.by_read.enabled - r.after.enabled)
			return r.by_self.value - r.by_read.value;
	}
	printf("# the event never counts\n");
	exit(KSFT_FAIL);
}

static bool between(uint64_t a, uint64_t x, uint64_t b)
{
	return a <= x && x <= b;
}

/*
 * Is a time of the read loop between those of read(2)?  Without a TSC of constant frequency, which KVM hides from
 * guests that may move, the page cannot be brought up to date: then it has the time of the last switch.
 */
static bool in_time(const struct perf_event_mmap_page *p, uint64_t a, uint64_t x, uint64_t b)
{
	bool stale = !exact() && !p->cap_user_time;

	return (stale || a <= x) && x <= b;
}

struct tally {
	unsigned int counting, waiting, other, wrong;
};

/*
 * Compare the read loop once with read(2) before and after it.  The expected count is exact
 * if the event was on a counter all the time or not at all, else it is a range.
 */
static void compare(int fd, const struct perf_event_mmap_page *p, uint64_t dist,
		    struct tally *t)
{
	uint64_t enabled, running;
	struct pair r;
	bool ok;

	take(fd, p, &r);
	enabled = r.after.enabled - r.by_read.enabled;
	running = r.after.running - r.by_read.running;
	ok = between(r.by_read.value, r.by_self.value, r.after.value) &&
	     in_time(p, r.by_read.enabled, r.by_self.enabled, r.after.enabled) &&
	     in_time(p, r.by_read.running, r.by_self.running, r.after.running);
	if (!running) {
		t->waiting++;
		ok = ok && r.by_self.value == r.by_read.value;
	} else if (running == enabled && r.smooth) {
		t->counting++;
		ok = ok && r.by_self.value - r.by_read.value == dist;
	} else {
		t->other++;
	}
	if (ok)
		return;
	t->wrong++;
	printf("# read %llu/%llu/%llu self %llu/%llu/%llu read %llu/%llu/%llu distance %llu retries %u\n",
	       (long long)r.by_read.value, (long long)r.by_read.enabled,
	       (long long)r.by_read.running, (long long)r.by_self.value,
	       (long long)r.by_self.enabled, (long long)r.by_self.running,
	       (long long)r.after.value, (long long)r.after.enabled,
	       (long long)r.after.running, (long long)dist, retries);
}

/* A test is conclusive after more than this number of comparisons */
#define ENOUGH	50

/* Continue for two seconds; on a busy machine longer, until enough comparisons were made */
static bool more(uint64_t begin, unsigned int seen)
{
	uint64_t passed = now_ns() - begin;

	return passed < 2000000000ULL ||
	       (seen <= ENOUGH && passed < 40000000000ULL * slow());
}

static void report(const char *what, const struct tally *t)
{
	printf("# %s: %u counting, %u waiting, %u between, %u wrong\n", what,
	       t->counting, t->waiting, t->other, t->wrong);
}

TEST(steady)
{
	ROWS("P-01 P-02 M-06 M-07 M-12 M-17");
	int fd = insns(-1), i;
	struct perf_event_mmap_page *p = map(fd);
	struct tally t = { 0 };
	uint64_t dist;

	ev_enable(fd);
	dist = distance(fd, p);
	for (i = 0; i < 1000; i++)
		compare(fd, p, dist, &t);
	report("steady", &t);
	EXPECT_EQ(t.wrong, 0);
	EXPECT_GT(t.counting, ENOUGH);
}

/* Count exact work with the read loop alone, without read(2) */
TEST(read_loop_only)
{
	ROWS("P-01 P-02");
	int fd = insns(-1), i, n = 0;
	struct perf_event_mmap_page *p = map(fd);
	struct kpmu_value a, b;
	uint64_t few = 0, many;

	ev_enable(fd);
	for (i = 0; i < 1000 && n < 50; i++) {
		retries = 0;
		kpmu_read_self(p, &a);
		work(1);
		kpmu_read_self(p, &b);
		few = b.value - a.value;
		kpmu_read_self(p, &a);
		work(N);
		kpmu_read_self(p, &b);
		many = b.value - a.value;
		if (retries)
			continue;
		EXPECT_EQ(many - few, 4 * (N - 1));
		n++;
	}
	EXPECT_EQ(n, 50);
}

TEST(fixed_and_general)
{
	ROWS("P-01 M-06");
	struct perf_event_attr raw = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int fd[2], i, j;
	struct perf_event_mmap_page *p[2];
	struct tally t = { 0 };
	uint64_t dist[2];

	raw.read_format = FORMAT_TIMES;
	fd[0] = insns(-1);
	fd[1] = ev_must(&raw, 0, -1, -1, 0);
	for (i = 0; i < 2; i++) {
		p[i] = map(fd[i]);
		ev_enable(fd[i]);
		dist[i] = distance(fd[i], p[i]);
	}
	EXPECT_NE(p[0]->index, p[1]->index);
	for (j = 0; j < 200; j++)
		for (i = 0; i < 2; i++)
			compare(fd[i], p[i], dist[i], &t);
	report("two events", &t);
	EXPECT_EQ(t.wrong, 0);
	EXPECT_GT(t.counting, ENOUGH);
}

TEST(disable_enable)
{
	ROWS("P-01 M-05 M-07 M-08");
	int fd = insns(-1), i;
	struct perf_event_mmap_page *p = map(fd);
	struct tally t = { 0 };
	struct ev_times r;
	struct kpmu_value v;
	uint64_t dist;

	ev_enable(fd);
	dist = distance(fd, p);
	for (i = 0; i < 300; i++) {
		ev_disable(fd);
		/* A disabled event is stopped, so both ways read the same count and times */
		r = ev_times(fd);
		EXPECT_EQ(kpmu_read_self(p, &v), 0);
		EXPECT_EQ(v.value, r.value);
		EXPECT_EQ(v.enabled, r.enabled);
		EXPECT_EQ(v.running, r.running);
		if (i % 3 == 0)
			ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		ev_enable(fd);
		compare(fd, p, dist, &t);
	}
	report("off and on", &t);
	EXPECT_EQ(t.wrong, 0);
	EXPECT_GT(t.counting, ENOUGH);
}

TEST(migrating)
{
	ROWS("P-03 P-09");
	int fd = insns(-1), i, cpus = nr_cpus();
	struct perf_event_mmap_page *p = map(fd);
	struct tally t = { 0 };
	uint64_t dist;

	if (cpus < 2)
		SKIP(return, "one CPU");
	ev_enable(fd);
	dist = distance(fd, p);
	for (i = 0; i < 400; i++) {
		pin_to(i % cpus);
		compare(fd, p, dist, &t);
		if (i % 7 == 0)
			usleep(100);
	}
	report("migrating", &t);
	EXPECT_EQ(t.wrong, 0);
	EXPECT_GT(t.counting, ENOUGH);
}

/* Another thread migrates the reader, also in the middle of its read loop */
static void *push_around(void *arg)
{
	pid_t tid = (intptr_t)arg;
	int i, cpus = nr_cpus();

	for (i = 0;; i++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(i % cpus, &set);
		sched_setaffinity(tid, sizeof(set), &set);
		usleep(300);
	}
	return NULL;
}

TEST(migrated_by_other)
{
	ROWS("P-03 P-09 M-05");
	int fd = insns(-1);
	struct perf_event_mmap_page *p = map(fd);
	struct tally t = { 0 };
	uint64_t dist, begin;
	pthread_t other;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	ev_enable(fd);
	/* Before distance(): with threads, read() of the C library executes more instructions */
	pthread_create(&other, NULL, push_around, (void *)(intptr_t)getpid());
	dist = distance(fd, p);
	begin = now_ns();
	while (more(begin, t.counting))
		compare(fd, p, dist, &t);
	report("pushed around", &t);
	EXPECT_EQ(t.wrong, 0);
	EXPECT_GT(t.counting, ENOUGH);
}

#define MANY	10

TEST(multiplexed)
{
	ROWS("M-17 M-18 P-01 P-03 M-19");
	struct perf_event_attr raw = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	struct perf_event_mmap_page *p[MANY];
	struct tally t = { 0 };
	uint64_t dist, begin;
	int fd[MANY], i;

	raw.read_format = FORMAT_TIMES;
	for (i = 0; i < MANY; i++) {
		fd[i] = ev_must(&raw, 0, -1, -1, 0);
		p[i] = map(fd[i]);
	}
	ev_enable(fd[0]);
	dist = distance(fd[0], p[0]);
	for (i = 1; i < MANY; i++)
		ev_enable(fd[i]);
	begin = now_ns();
	for (i = 0; more(begin, t.counting < t.waiting ? t.counting : t.waiting);
	     i = (i + 1) % MANY)
		compare(fd[i], p[i], dist, &t);
	report("multiplexed", &t);
	EXPECT_EQ(t.wrong, 0);
	EXPECT_GT(t.counting, ENOUGH);
	EXPECT_GT(t.waiting, ENOUGH);
}

/* Disabled after multiplexing, each event reads the same count and times both ways */
TEST(multiplexed_then_disabled)
{
	ROWS("M-08 M-18");
	struct perf_event_attr raw = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	struct perf_event_mmap_page *p[MANY];
	struct kpmu_value v;
	struct ev_times r;
	int fd[MANY], i;
	uint64_t end;

	raw.read_format = FORMAT_TIMES;
	for (i = 0; i < MANY; i++) {
		fd[i] = ev_must(&raw, 0, -1, -1, 0);
		p[i] = map(fd[i]);
		ev_enable(fd[i]);
	}
	end = now_ns() + 200000000ULL;
	while (now_ns() < end)
		work(1000);
	for (i = 0; i < MANY; i++) {
		ev_disable(fd[i]);
		r = ev_times(fd[i]);
		EXPECT_EQ(kpmu_read_self(p[i], &v), 0);
		EXPECT_EQ(v.value, r.value);
		EXPECT_EQ(v.enabled, r.enabled);
		EXPECT_EQ(v.running, r.running);
	}
}

/* time_zero converts the TSC to the clock of event timestamps */
TEST(time_zero)
{
	ROWS("M-13 M-20 M-21");
	int fd = insns(-1);
	struct perf_event_mmap_page *p = map(fd);
	uint64_t cyc, ns, t, back, quot, rem, before;

	ev_enable(fd);
	if (!p->cap_user_time_zero)
		SKIP(return, "this clock is not made of the TSC");
	before = now_ns();
	cyc = __kpmu_rdtsc();
	ns = p->time_zero + kpmu_tsc_to_ns(cyc, p->time_mult, p->time_shift);
	t = ns - p->time_zero;
	quot = t / p->time_mult;
	rem = t % p->time_mult;
	back = (quot << p->time_shift) + (rem << p->time_shift) / p->time_mult;
	EXPECT_LE(back, cyc);
	EXPECT_LE(cyc - back, 1 + ((1ULL << p->time_shift) / p->time_mult));
	/* local_clock() starts at boot, CLOCK_MONOTONIC somewhat later during boot */
	EXPECT_LE(ns, now_ns() + 40000000000ULL);
	EXPECT_GE(ns + 1000000000ULL, before);
}

static sigjmp_buf env;

static void caught(int sig)
{
	siglongjmp(env, 1);
}

/* Does RDPMC fault? */
static bool faults(void)
{
	signal(SIGSEGV, caught);
	if (sigsetjmp(env, 1))
		return true;
	__kpmu_rdpmc(0);
	return false;
}

static int in_child(bool (*fn)(void))
{
	int status;

	fflush(NULL);
	if (!fork())
		_exit(fn());
	wait(&status);
	return WEXITSTATUS(status);
}

TEST(only_while_mapped)
{
	ROWS("P-04 P-07");
	int fd, other;
	void *p, *q;

	EXPECT_TRUE(faults());
	fd = insns(-1);
	EXPECT_TRUE(faults());
	p = map(fd);
	EXPECT_FALSE(faults());
	other = insns(-1);
	q = map(other);
	munmap(p, PAGE);
	EXPECT_FALSE(faults());
	close(other);
	EXPECT_FALSE(faults());
	munmap(q, PAGE);
	EXPECT_TRUE(faults());
	map(fd);
	EXPECT_FALSE(faults());
	/* fork(2) does not copy the mapping; the child's exit must not revoke our permission */
	in_child(faults);
	EXPECT_FALSE(faults());
}

TEST(moved_mapping)
{
	ROWS("P-07 P-04");
	void *p = map(insns(-1)), *q;
	void *to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	q = mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT_TRUE(q == to);
	EXPECT_FALSE(faults());
	munmap(q, PAGE);
	EXPECT_TRUE(faults());
}

/* Two threads of one mm on two CPUs: CR4.PCE of both CPUs must follow the mapping */
struct sync {
	pthread_barrier_t barrier;
	bool first, second;
};

static void *other_thread(void *arg)
{
	struct sync *s = arg;

	pin_to(1);
	s->first = faults();
	pthread_barrier_wait(&s->barrier);
	/* the main thread maps the event here */
	pthread_barrier_wait(&s->barrier);
	__kpmu_rdpmc(0);
	pthread_barrier_wait(&s->barrier);
	/* the main thread unmaps it here */
	pthread_barrier_wait(&s->barrier);
	s->second = faults();
	return NULL;
}

TEST(threads)
{
	ROWS("P-09 P-04 P-07");
	struct sync s = { .first = false };
	pthread_t t;
	void *p;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	pin_to(0);
	pthread_barrier_init(&s.barrier, NULL, 2);
	pthread_create(&t, NULL, other_thread, &s);
	pthread_barrier_wait(&s.barrier);
	p = map(insns(-1));
	pthread_barrier_wait(&s.barrier);
	pthread_barrier_wait(&s.barrier);
	munmap(p, PAGE);
	pthread_barrier_wait(&s.barrier);
	pthread_join(t, NULL);
	EXPECT_TRUE(s.first);
	EXPECT_TRUE(s.second);
}

/* exec(2) drops the mapping.  RDPMC faults in the new program, so probe() exits with 1 */
TEST(revoked_by_exec)
{
	ROWS("P-04");
	int status;

	fflush(NULL);
	if (!fork()) {
		map(insns(-1));
		__kpmu_rdpmc(0);
		setenv("RDPMC_PROBE", "1", 1);
		execl("/proc/self/exe", "rdpmc", NULL);
		_exit(99);
	}
	wait(&status);
	EXPECT_EQ(WEXITSTATUS(status), 1);
}

static void __attribute__((constructor)) probe(void)
{
	if (getenv("RDPMC_PROBE"))
		_exit(faults());
}

static const char *knob(void)
{
	return route_is_native() ? "/sys/bus/event_source/devices/cpu/rdpmc" :
				   "/sys/bus/kpmu/devices/cpu/rdpmc";
}

TEST(pmu_type)
{
	ROWS("Y-08 Y-09 Y-18");
	EXPECT_EQ(read_long(route_is_native() ?
			    "/sys/bus/event_source/devices/cpu/type" :
			    "/sys/bus/kpmu/devices/cpu/type"), PERF_TYPE_RAW);
}

TEST(knob_1)
{
	ROWS("Y-10 P-04");
	EXPECT_EQ(read_long(knob()), 1);
	EXPECT_EQ(write_long(knob(), 3), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write_long(knob(), -1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(read_long(knob()), 1);
}

TEST(knob_0)
{
	ROWS("P-06 Y-10");
	int before = insns(-1), fd;
	struct perf_event_mmap_page *p, *old = map(before);
	bool f;

	EXPECT_FALSE(faults());
	ASSERT_EQ(write_long(knob(), 0), 0);
	f = faults();
	fd = insns(-1);
	p = map(fd);
	ev_enable(fd);
	EXPECT_EQ((int)p->cap_user_rdpmc, 0);
	EXPECT_EQ(p->index, 0);
	EXPECT_TRUE(faults());
	ASSERT_EQ(write_long(knob(), 1), 0);
	EXPECT_TRUE(f);
	/* RDPMC is allowed again with the existing mapping */
	EXPECT_FALSE(faults());
	munmap(old, PAGE);
	munmap(p, PAGE);
	EXPECT_TRUE(faults());
}

TEST(knob_2)
{
	ROWS("P-05 Y-10 N-14");
	bool f;
	int child;

	ASSERT_EQ(write_long(knob(), 2), 0);
	f = faults();
	child = in_child(faults);
	ASSERT_EQ(write_long(knob(), 1), 0);
	EXPECT_FALSE(f);
	EXPECT_EQ(child, 0);
	EXPECT_TRUE(faults());
	EXPECT_EQ(in_child(faults), 1);
}

/* Reads of the event by itself that are not between those by read(2) */
static int wrong_reads(int fd, const struct perf_event_mmap_page *p)
{
	int i, wrong = 0;
	struct pair r;

	for (i = 0; i < 200; i++) {
		take(fd, p, &r);
		wrong += !between(r.by_read.value, r.by_self.value, r.after.value) ||
			 !in_time(p, r.by_read.enabled, r.by_self.enabled, r.after.enabled);
	}
	return wrong;
}

/* An event of a CPU is not inherited, even if it has the flag */
TEST(of_a_cpu)
{
	ROWS("M-27 P-10 P-01");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_mmap_page *p;
	int fd, inherit;

	a.read_format = FORMAT_TIMES;
	pin_to(0);
	for (inherit = 0; inherit < 2; inherit++) {
		a.inherit = inherit;
		fd = ev_must(&a, -1, 0, -1, 0);
		p = map(fd);
		ev_enable(fd);
		EXPECT_EQ((int)p->cap_user_rdpmc, 1);
		EXPECT_EQ(wrong_reads(fd, p), 0);
		close(fd);
	}
}

TEST_HARNESS_MAIN
