// SPDX-License-Identifier: GPL-2.0-only
/* Groups and read formats of inherited events; inherit_thread and inherit_stat. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/ioctl.h>

#include "attr.h"
#include "clone.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define N	100000

/* Events of a worker's group: instructions, loads, stores, branches; counts per round of work */
static const struct {
	uint32_t type;
	uint64_t config;
	unsigned int a_round;
} kinds[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 4 },
	{ PERF_TYPE_RAW, RAW_LOADS, 1 },
	{ PERF_TYPE_RAW, RAW_STORES, 1 },
	{ PERF_TYPE_RAW, RAW_BRANCHES, 1 },
};

static struct perf_event_attr kind(int i, uint64_t format)
{
	struct perf_event_attr a = ev_attr(kinds[i].type, kinds[i].config);

	a.disabled = 0;
	a.inherit = 1;
	a.read_format = format;
	return a;
}

#define EXACT(got, want) do {						\
	uint64_t __g = got, __w = want;					\
									\
	EXPECT_GE(__g + SLACK(__w), __w);				\
	EXPECT_LE(__g, __w + SLACK(__w));				\
} while (0)

#define GROUPED	(FORMAT_TIMES | PERF_FORMAT_GROUP | PERF_FORMAT_ID)

struct group_read {
	uint64_t nr, enabled, running;
	struct {
		uint64_t value, id;
	} v[8];
};

static struct group_read group_read(int fd)
{
	struct group_read r = { 0 };

	if (read(fd, &r, sizeof(r)) < 24) {
		printf("# read of a group: %s\n", strerror(errno));
		exit(1);
	}
	return r;
}

TEST(read_group_of_live_children)
{
	ROWS("H-07 U-13 F-25");
	struct worker top, kid, grand, *all[] = { &top, &kid, &grand };
	struct group_read a, b, c;
	int i, k, fd[4];

	worker_start(&top);
	for (i = 0; i < 4; i++) {
		struct perf_event_attr attr = kind(i, GROUPED);

		fd[i] = ev_must(&attr, top.pid, -1, i ? fd[0] : -1, 0);
	}
	worker_fork(&top, &kid);
	worker_fork(&kid, &grand);
	for (k = 0; k < 3; k++) {
		a = group_read(fd[0]);
		worker_run(all[k], 1);
		b = group_read(fd[0]);
		worker_run(all[k], N);
		c = group_read(fd[0]);
		ASSERT_EQ(c.nr, 4);
		EXPECT_EQ(c.enabled, c.running);
		EXPECT_GT(c.enabled, b.enabled);
		for (i = 0; i < 4; i++) {
			EXPECT_EQ(c.v[i].id, ev_id(fd[i]));
			EXACT(c.v[i].value - b.v[i].value -
			      (b.v[i].value - a.v[i].value),
			      (uint64_t)kinds[i].a_round * (N - 1));
		}
	}
	/* Sum of an exited child and live tasks */
	a = group_read(fd[0]);
	worker_stop(&grand);
	b = group_read(fd[0]);
	for (i = 0; i < 4; i++) {
		EXPECT_GE(b.v[i].value, a.v[i].value);
		EXPECT_LT(b.v[i].value, a.v[i].value + 5000);
	}
	worker_stop(&kid);
	worker_stop(&top);
}

/* If the group differs between parent and child, the group cannot be summed: ECHILD */
TEST(member_added_after_the_fork)
{
	ROWS("U-13");
	struct perf_event_attr a = kind(0, GROUPED), b = kind(1, FORMAT_TIMES);
	struct worker top, kid, later;
	struct group_read r, s;
	uint64_t before;
	int leader, member;

	worker_start(&top);
	leader = ev_must(&a, top.pid, -1, -1, 0);
	worker_fork(&top, &kid);
	EXPECT_EQ(group_read(leader).nr, 1);
	member = ev_must(&b, top.pid, -1, leader, 0);
	EXPECT_EQ(read(leader, &r, sizeof(r)), -1);
	EXPECT_EQ(errno, ECHILD);
	/* The length is checked first */
	EXPECT_EQ(read(leader, &r, 8), -1);
	EXPECT_EQ(errno, ENOSPC);
	/* The new sibling has no copy in this child; the next child inherits it */
	before = ev_count(member);
	worker_run(&kid, N);
	EXPECT_EQ(ev_count(member), before);
	worker_fork(&top, &later);
	before = ev_count(member);
	worker_run(&later, N);
	EXPECT_GE(ev_count(member), before + N);
	EXPECT_EQ(read(leader, &r, sizeof(r)), -1);
	worker_stop(&kid);
	worker_reap(&top);
	r = group_read(leader);
	EXPECT_EQ(r.nr, 2);
	worker_run(&later, N);
	s = group_read(leader);
	EXPECT_GE(s.v[0].value, r.v[0].value + 4 * N);
	EXPECT_GE(s.v[1].value, r.v[1].value + N);
	worker_stop(&later);
	worker_stop(&top);
}

TEST(member_closed_after_the_fork)
{
	ROWS("U-13");
	struct perf_event_attr a = kind(0, GROUPED), b = kind(1, GROUPED);
	struct worker top, kid;
	struct group_read r;
	uint64_t before;
	int leader, member;

	worker_start(&top);
	leader = ev_must(&a, top.pid, -1, -1, 0);
	member = ev_must(&b, top.pid, -1, leader, 0);
	worker_fork(&top, &kid);
	EXPECT_EQ(group_read(leader).nr, 2);
	close(member);
	/* Closing the sibling removed it from parent and child */
	r = group_read(leader);
	EXPECT_EQ(r.nr, 1);
	before = r.v[0].value;
	worker_run(&kid, N);
	EXPECT_GE(group_read(leader).v[0].value, before + 4 * N);
	worker_stop(&kid);
	worker_stop(&top);
}

/* Closing the leader makes its sibling a leader, in the children too */
TEST(leader_closed_after_the_fork)
{
	ROWS("H-01");
	struct perf_event_attr a = kind(0, FORMAT_TIMES), b = kind(1, FORMAT_TIMES);
	struct worker top, kid;
	uint64_t before;
	int leader, member;

	worker_start(&top);
	leader = ev_must(&a, top.pid, -1, -1, 0);
	member = ev_must(&b, top.pid, -1, leader, 0);
	worker_fork(&top, &kid);
	before = ev_count(member);
	worker_run(&kid, N);
	EXPECT_GE(ev_count(member), before + N);
	close(leader);
	before = ev_count(member);
	worker_run(&kid, N);
	EXPECT_GE(ev_count(member), before + N);
	worker_run(&top, N);
	EXPECT_GE(ev_count(member), before + 2 * N);
	EXPECT_TRUE(always_ran(member));
	worker_stop(&kid);
	worker_stop(&top);
}

TEST(flag_group_reaches_children)
{
	ROWS("I-33");
	struct worker top, kid;
	uint64_t before[4];
	int i, fd[4];

	worker_start(&top);
	for (i = 0; i < 4; i++) {
		struct perf_event_attr a = kind(i, FORMAT_TIMES);

		a.disabled = 1;
		fd[i] = ev_must(&a, top.pid, -1, i ? fd[0] : -1, 0);
	}
	worker_fork(&top, &kid);
	worker_run(&kid, N);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(ev_count(fd[i]), 0);
	/* Enable only the leader: its siblings stay disabled, in the child as well */
	ev_enable(fd[0]);
	worker_run(&kid, N);
	EXPECT_GE(ev_count(fd[0]), 4 * N);
	for (i = 1; i < 4; i++)
		EXPECT_EQ(ev_count(fd[i]), 0);
	EXPECT_EQ(ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0);
	worker_run(&kid, N);
	for (i = 0; i < 4; i++)
		EXPECT_GE(ev_count(fd[i]), kinds[i].a_round * N);
	EXPECT_EQ(ioctl(fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP), 0);
	for (i = 0; i < 4; i++)
		before[i] = ev_count(fd[i]);
	worker_run(&kid, N);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(ev_count(fd[i]), before[i]);
	EXPECT_EQ(ioctl(fd[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP), 0);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(ev_count(fd[i]), 0);
	worker_stop(&kid);
	worker_stop(&top);
}

TEST(member_off_at_the_fork)
{
	ROWS("H-12");
	struct perf_event_attr a = kind(0, FORMAT_TIMES), b = kind(1, FORMAT_TIMES);
	struct worker top, kid;
	int leader, member;
	uint64_t before;

	worker_start(&top);
	leader = ev_must(&a, top.pid, -1, -1, 0);
	b.disabled = 1;
	member = ev_must(&b, top.pid, -1, leader, 0);
	worker_fork(&top, &kid);
	worker_run(&kid, N);
	EXPECT_GE(ev_count(leader), 4 * N);
	EXPECT_EQ(ev_count(member), 0);
	ev_enable(member);
	worker_run(&kid, N);
	before = ev_count(member);
	EXPECT_GE(before, N);
	EXPECT_LT(before, N + 10000);
	worker_stop(&kid);
	worker_stop(&top);
}

TEST(every_read_format)
{
	ROWS("U-13 F-25 H-07");
	struct worker top, kid;
	uint64_t format;

	worker_start(&top);
	for (format = 0; format < 32; format++) {
		struct perf_event_attr a = kind(0, format), b = kind(1, format);
		int len, m, leader, member;
		uint64_t v[16], w[16], at;

		if (format & PERF_FORMAT_LOST && ev_errno(&a, 0, -1, -1, 0))
			continue;	/* unknown to this kernel */
		leader = ev_must(&a, top.pid, -1, -1, 0);
		member = ev_must(&b, top.pid, -1, leader, 0);
		worker_fork(&top, &kid);
		m = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
		at = !!(format & PERF_FORMAT_GROUP);
		len = at ? 1 + 2 * m : m;
		len += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED);
		len += !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
		if (at) {
			at += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED);
			at += !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
		}
		EXPECT_EQ(read(leader, v, sizeof(v)), len * 8);
		worker_run(&kid, N);
		EXPECT_EQ(read(leader, w, sizeof(w)), len * 8);
		EXPECT_GE(w[at] - v[at], 4 * N);
		EXPECT_LT(w[at] - v[at], 4 * N + 10000);
		if (format & PERF_FORMAT_GROUP) {
			EXPECT_GE(w[at + m] - v[at + m], N);
			EXPECT_LT(w[at + m] - v[at + m], N + 10000);
		}
		/* The ID is that of the parent event, not of an inherited copy */
		if (format & PERF_FORMAT_ID)
			EXPECT_EQ(w[format & PERF_FORMAT_GROUP ? at + 1 : len - 1 -
				    !!(format & PERF_FORMAT_LOST)], ev_id(leader));
		worker_stop(&kid);
		worker_reap(&top);
		close(member);
		close(leader);
	}
	worker_stop(&top);
}

TEST(leader_and_members_agree)
{
	ROWS("U-14");
	struct perf_event_attr a = kind(0, 0), b = kind(1, 0);
	int leader;

	leader = ev_must(&a, 0, -1, -1, 0);
	b.inherit = 0;
	EXPECT_EQ(ev_errno(&b, 0, -1, leader, 0), EINVAL);
	b.inherit = 1;
	EXPECT_EQ(ev_errno(&b, 0, -1, leader, 0), 0);
	close(leader);
	a.inherit = 0;
	leader = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(ev_errno(&b, 0, -1, leader, 0), EINVAL);
	b.inherit = 0;
	EXPECT_EQ(ev_errno(&b, 0, -1, leader, 0), 0);
}

TEST(inherit_thread_needs_inherit)
{
	ROWS("H-05");
	union any_attr x;

	any_init(&x);
	any_flag(&x, F_INHERIT_THREAD);
	EXPECT_EQ(any_errno(&x), EINVAL);
	any_flag(&x, F_INHERIT);
	EXPECT_EQ(any_errno(&x), 0);
}

/* inherit_thread: only threads inherit, not child processes and their threads */
TEST(inherit_thread)
{
	ROWS("H-05 A-61");
	struct perf_event_attr a = kind(0, FORMAT_TIMES);
	struct worker top, thread, second, kid, of_kid, of_thread;
	uint64_t before;
	int fd;

	a.inherit_thread = 1;
	worker_start(&top);
	fd = ev_must(&a, top.pid, -1, -1, 0);
	worker_add_thread(&top, &thread);
	worker_add_thread(&thread, &second);
	worker_fork(&top, &kid);
	worker_add_thread(&kid, &of_kid);
	worker_fork(&thread, &of_thread);
	before = ev_count(fd);
	worker_run(&kid, N);
	worker_run(&of_kid, N);
	worker_run(&of_thread, N);
	EXPECT_EQ(ev_count(fd), before);
	worker_run(&thread, N);
	EXPECT_GE(ev_count(fd), before + 4 * N);
	worker_run(&second, N);
	EXPECT_GE(ev_count(fd), before + 8 * N);
	EXPECT_LT(ev_count(fd), before + 8 * N + 10000);
	worker_stop(&of_thread);
	worker_stop(&of_kid);
	worker_stop(&kid);
	worker_stop(&second);
	worker_stop(&thread);
	worker_stop(&top);
}

static struct clone_word words[20];

TEST(inherit_thread_exact)
{
	ROWS("H-05 A-61");
	struct perf_event_attr a = kind(0, FORMAT_TIMES);
	struct clone_work w = { .n = N, .kids = 20, .words = words };
	int fd;

	a.disabled = 1;
	a.inherit_thread = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	w.clone = CLONE_FORK;
	clone_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(20));
	w.clone = CLONE_THREADS;
	threads_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(20) + THREADS_SELF(20) + THREADS_KIDS(N, 20));
}

/* inherit_stat: the sum is exact when tasks of one family switch on one CPU */
TEST(inherit_stat)
{
	ROWS("H-06");
	struct perf_event_attr a = kind(0, FORMAT_TIMES);
	struct clone_work w = { .clone = CLONE_FORK, .n = 3000000, .kids = 8 };
	int fd;

	a.disabled = 1;
	a.inherit_stat = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(pin_to(nr_cpus() - 1), 0);
	clone_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(8) + CLONE_KIDS(w.n, 8));
	EXPECT_TRUE(always_ran(fd));
	/* Without inherit, inherit_stat has no effect and is accepted */
	a.inherit = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

/*
 * Without inherit_stat: the tasks of a family have equivalent contexts, which native perf swaps
 * at a task switch.  The sum must be exact, and an unrelated task must not be counted.
 */
TEST(family_on_one_cpu)
{
	ROWS("H-06 H-13");
	struct perf_event_attr a = kind(0, FORMAT_TIMES);
	struct worker top, kid[4], other;
	struct ev_times before, after;
	uint64_t v[3] = { 0 };
	int i, round, fd;

	worker_start(&other);
	worker_pin(&other, nr_cpus() - 1);
	worker_start(&top);
	worker_pin(&top, nr_cpus() - 1);
	fd = ev_must(&a, top.pid, -1, -1, 0);
	for (i = 0; i < 4; i++)
		worker_fork(&top, &kid[i]);
	for (round = 0; round < 3; round++) {
		uint64_t n = round == 2 ? 2000001 : 1;

		worker_go(&other, n);
		for (i = 0; i < 4; i++)
			worker_go(&kid[i], n);
		for (i = 0; i < 4; i++)
			worker_wait(&kid[i]);
		worker_wait(&other);
		v[round] = ev_count(fd);
	}
	EXACT(v[2] - v[1] - (v[1] - v[0]), 4 * worker_insns(2000001, 1));
	before = ev_times(fd);
	worker_run(&other, N);
	after = ev_times(fd);
	EXPECT_EQ(after.value, before.value);
	EXPECT_EQ(after.enabled, before.enabled);
	for (i = 0; i < 4; i++)
		worker_stop(&kid[i]);
	worker_stop(&top);
	worker_stop(&other);
}

/* A pinned event in error state does not count in a new child; ENABLE starts both copies */
TEST(pinned_in_error)
{
	ROWS("H-12");
	struct perf_event_attr a = kind(1, FORMAT_TIMES), b = kind(1, FORMAT_TIMES);
	int n = counters_general(), i, fd[16], last;
	struct worker top, kid;
	uint64_t v[3];

	worker_start(&top);
	a.pinned = 1;
	a.inherit = 0;
	for (i = 0; i < n; i++)
		fd[i] = ev_must(&a, top.pid, -1, -1, 0);
	b.pinned = 1;
	last = ev_must(&b, top.pid, -1, -1, 0);
	worker_run(&top, 1);
	EXPECT_EQ(read(last, v, sizeof(v)), 0);
	worker_fork(&top, &kid);
	worker_run(&kid, N);
	EXPECT_EQ(read(last, v, sizeof(v)), 0);
	for (i = 0; i < n; i++)
		close(fd[i]);
	ev_enable(last);
	worker_run(&kid, N);
	EXPECT_GE(ev_count(last), N);
	EXPECT_LT(ev_count(last), 2 * N);
	worker_stop(&kid);
	worker_stop(&top);
}

/*
 * inherit is accepted on CPU events and has no effect.  A task event cannot join the group of a
 * CPU event.
 */
TEST(leader_of_a_cpu)
{
	ROWS("E-25");
	struct perf_event_attr a = kind(0, 0);
	int cpu = ev_must(&a, -1, 0, -1, 0);

	EXPECT_EQ(ev_errno(&a, 0, -1, cpu, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, 0, cpu, 0), EINVAL);
	close(ev_must(&a, -1, 0, cpu, 0));
}

TEST_HARNESS_MAIN
