// SPDX-License-Identifier: GPL-2.0-only
/* Branch stacks of tasks: call stacks, task switches, and events that share the records. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "branch.h"
#include "msr.h"
#include "task.h"

/* What the CPU says of its branch records is what can be had of them */
TEST(depth_of_the_cpu)
{
	unsigned int a = 0, b, c, d = 0;
	bool legacy = false;
	uint64_t caps;

	ROWS("S-15 U-48");
	if (is_amd())
		__get_cpuid(0x80000022, &a, &b, &c, &d);
	else
		__get_cpuid_count(7, 0, &a, &b, &c, &d);
	if (!is_amd() && pmu_version() >= 2 && msr_read(0, MSR_PERF_CAPABILITIES, &caps))
		legacy = caps & 0x3f;
	if (!(is_amd() ? a & 2 : d >> 19 & 1 || legacy))
		SKIP(return, "it says nothing of branch records");
	EXPECT_EQ(branch_depth(), is_amd() ? 16 : 32);
}

static int nothing(void)
{
	return 0;
}

/* All of calls_counted(): a number of frames, the innermost first */
static bool is_nested(const struct stack *s, int frames)
{
	int i;

	if (s->nr < frames) {
		print_stack(s);
		return false;
	}
	for (i = 0; i < frames; i++) {
		const struct branch *b = &s->b[i];
		bool last = i == frames - 1;

		if (b->to != (uintptr_t)nest_ ||
		    (!last && b->from != (uintptr_t)nested_call)) {
			print_stack(s);
			return false;
		}
	}
	return true;
}

/* Events of the caller, or of CPU @cpu if it is not negative */
static struct stack nested_on(const struct perf_event_attr *a, int cpu, long depth,
			      int (*inside)(void))
{
	int fd = ev_must(a, cpu < 0 ? 0 : -1, cpu, -1, 0);
	struct stack s;
	struct ring r;

	ring_map(&r, fd, a, 64);
	calls_counted(fd, depth, inside);
	s = last_stack(&r);
	ring_unmap(&r);
	close(fd);
	return s;
}

static struct stack nested(const struct perf_event_attr *a, long depth, int (*inside)(void))
{
	struct stack s;
	long before;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = switches();
		s = nested_on(a, -1, depth, inside);
		if (switches() == before)
			break;
	}
	return s;
}

/* @depth calls of nested, then the sample among the nops: what did not return is on the stack */
TEST(call_stack)
{
	struct perf_event_attr a;
	struct stack s;
	int i;

	ROWS("A-77 S-19");
	NEED_BRANCHES();
	NOT_ON_AMD();
	a = branch_attr(3000, PERF_SAMPLE_BRANCH_CALL_STACK);
	s = nested(&a, 7, nothing);
	ASSERT_EQ(s.samples, 1 + !exact());
	EXPECT_TRUE(is_nested(&s, 7));
	EXPECT_EQ(s.b[6].from + CALL_LEN, (uintptr_t)calls_returned);
	/* More than fit: the innermost, but one entry was that of the call that has returned */
	s = nested(&a, 50, nothing);
	EXPECT_EQ(s.nr, DEPTH - 1);
	for (i = 0; i < DEPTH - 1; i++)
		EXPECT_EQ(s.b[i].from, (uintptr_t)nested_call);
}

static int go_to_sleep(void)
{
	usleep(20000);
	return 0;
}

/* The stack of a task outlasts a switch to other tasks */
TEST(call_stack_after_sleep)
{
	struct perf_event_attr a;
	struct stack s;

	ROWS("A-77");
	NEED_BRANCHES();
	NOT_ON_AMD();
	a = branch_attr(3500, PERF_SAMPLE_BRANCH_CALL_STACK);
	s = nested_on(&a, -1, 7, go_to_sleep);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_nested(&s, 7));
}

/* Likewise if only the CPU has an event */
TEST(call_stack_of_a_cpu)
{
	struct perf_event_attr a;
	struct stack s;

	ROWS("A-77");
	NEED_BRANCHES();
	NOT_ON_AMD();
	pin_to(0);
	a = branch_attr(3500, PERF_SAMPLE_BRANCH_CALL_STACK);
	s = nested_on(&a, 0, 7, go_to_sleep);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_nested(&s, 7));
}

extern const char work_[] __asm__("work");

/* The call stack of a task replaces that of another one, which runs while the first sleeps */
TEST(call_stacks_of_two_tasks)
{
	struct perf_event_attr a;
	struct stack s;
	pid_t other;

	ROWS("A-77");
	NEED_BRANCHES();
	NOT_ON_AMD();
	pin_to(0);
	a = branch_attr(3500, PERF_SAMPLE_BRANCH_CALL_STACK);
	other = fork();
	if (!other) {
		/* It sleeps in 12 frames, again and again */
		for (;;)
			nested_on(&a, -1, 12, go_to_sleep);
	}
	usleep(100000);
	s = nested_on(&a, -1, 7, go_to_sleep);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_nested(&s, 7));
	EXPECT_LT(s.nr, 12);
}

/* After a switch no branch of another task is left: here those of the loop in work() */
TEST(cleared_by_a_switch)
{
	struct perf_event_attr a;
	struct worker w;
	struct stack s;
	struct ring r;
	uint64_t j;
	int fd, i, here;

	ROWS("S-15");
	NEED_BRANCHES();
	pin_to(0);
	worker_start(&w);
	worker_pin(&w, 0);
	/* Of the CPU: it records the other task, too */
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	fd = ev_must(&a, -1, 0, -1, 0);
	ring_map(&r, fd, &a, 256);
	for (i = here = 0; i < 20; i++) {
		ev_enable(fd);
		worker_run(&w, 1000);
		branches_counted(fd);
		s = last_stack(&r);
		ring_consume(&r);
		if (!s.samples || s.ip < (uintptr_t)sled_before || s.ip > (uintptr_t)sled_after)
			continue;
		for (j = 0; j < s.nr; j++)
			EXPECT_GE(s.b[j].from - (uintptr_t)work_, 64);
		/* Fewer, if there was another switch in between */
		if (s.nr < LISTED)
			continue;
		here++;
		EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	}
	EXPECT_GT(here, 0);
	worker_stop(&w);
}

/*
 * A sample has branches of its own task only, also if its event overflows in a task switch.  The
 * loop in work() is interrupted, so the newest branches that the worker leaves are of this loop.
 */
TEST(overflow_in_a_switch)
{
	static const struct timespec nap = { .tv_nsec = 100000 };
	static struct record rec;
	struct perf_event_attr a;
	struct sched_param first = { .sched_priority = 1 };
	struct worker w;
	struct parts p;
	struct ring r;
	uint64_t j;
	int fd, fo, i, samples = 0, of_others = 0;

	ROWS("S-15");
	NEED_BRANCHES();
	pin_to(0);
	worker_start(&w);
	worker_pin(&w, 0);
	/* Branches are recorded while the worker runs */
	a = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY);
	fo = ev_must(&a, w.pid, -1, -1, 0);
	ev_enable(fo);
	/* Instructions of the kernel, so that periods end in the code that switches tasks */
	a = branch_attr(2003, PERF_SAMPLE_BRANCH_ANY);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ASSERT_EQ(sched_setscheduler(0, SCHED_FIFO, &first), 0);
	worker_go(&w, 100000000);
	ev_enable(fd);
	for (i = 0; i < 2000; i++)
		nanosleep(&nap, NULL);
	ev_disable(fd);
	first.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &first);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		p = record_sample(&r, &rec);
		samples++;
		for (j = 0; j < p.nr_branches; j++)
			of_others += ((const struct branch *)p.branches)[j].from -
				     (uintptr_t)work_ < 64;
	}
	EXPECT_GT(samples, 100);
	EXPECT_EQ(of_others, 0);
	close(fo);
	worker_stop(&w);
}

/* Events on counters at the same time have one filter: pinned ones do not fit together */
TEST(two_filters)
{
	struct perf_event_attr a, b;
	uint64_t val;
	int fa, fb;

	ROWS("S-19");
	NEED_BRANCHES();
	a = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_COND);
	b = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY_CALL);
	a.pinned = b.pinned = 1;
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, -1, 0);
	ev_enable(fa);
	ev_enable(fb);
	work(100);
	EXPECT_EQ(read(fa, &val, 8), 8);
	EXPECT_EQ(read(fb, &val, 8), 0);	/* in error state */
	close(fb);
	/* The same filter is shared */
	fb = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fb);
	work(100);
	EXPECT_EQ(read(fb, &val, 8), 8);
	close(fb);
	/* An event without branches does not mind */
	b.sample_type = PERF_SAMPLE_IP;
	b.branch_sample_type = 0;
	fb = ev_must(&b, 0, -1, -1, 0);
	ev_enable(fb);
	work(100);
	EXPECT_EQ(read(fb, &val, 8), 8);
	/* Nor can a group contain both */
	a.pinned = 0;
	close(fa);
	close(fb);
	fa = ev_must(&a, 0, -1, -1, 0);
	b = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY_CALL);
	EXPECT_EQ(ev_errno(&b, 0, -1, fa, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, fa, 0), 0);
}

/* Flexible events with different filters take turns */
TEST(filters_take_turns)
{
	struct perf_event_attr a, b;
	uint64_t until;
	int fa, fb;

	ROWS("S-19");
	NEED_BRANCHES();
	a = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_COND);
	b = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY_CALL);
	a.read_format = b.read_format = FORMAT_TIMES;
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, -1, 0);
	ev_enable(fa);
	ev_enable(fb);
	for (until = patience(); now_ns() < until;) {
		work(10000);
		if (ev_times(fa).running && ev_times(fb).running)
			break;
	}
	EXPECT_GT(ev_times(fa).running, 0);
	EXPECT_GT(ev_times(fb).running, 0);
	EXPECT_LE(ev_times(fa).running + ev_times(fb).running,
		  ev_times(fa).enabled + 1000000000ULL);
}

/* A child's samples have its branches */
TEST(inherited)
{
	struct perf_event_attr a;
	struct stack s;
	struct ring r;
	int fd, status;
	pid_t pid;

	ROWS("S-15");
	NEED_BRANCHES();
	pin_to(0);
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	a.inherit = 1;
	/* With inherit, the ring buffer must be that of one CPU */
	fd = ev_must(&a, 0, 0, -1, 0);
	ring_map(&r, fd, &a, 64);
	pid = fork();
	if (!pid) {
		/* Acts on the child's event, too */
		counted_undisturbed(fd);
		_exit(0);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	s = last_stack(&r);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
}

/* The call stack of a child outlasts a switch, too: it is kept from the fork on */
TEST(inherited_call_stack)
{
	struct perf_event_attr a;
	struct stack s;
	struct ring r;
	int fd, status;
	pid_t pid;

	ROWS("S-15 A-77");
	NEED_BRANCHES();
	NOT_ON_AMD();
	pin_to(0);
	a = branch_attr(3500, PERF_SAMPLE_BRANCH_CALL_STACK);
	a.inherit = 1;
	fd = ev_must(&a, 0, 0, -1, 0);
	ring_map(&r, fd, &a, 64);
	pid = fork();
	if (!pid) {
		calls_counted(fd, 7, go_to_sleep);
		_exit(0);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	s = last_stack(&r);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_nested(&s, 7));
}

TEST_HARNESS_MAIN
