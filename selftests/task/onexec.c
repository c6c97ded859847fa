// SPDX-License-Identifier: GPL-2.0-only
/* enable_on_exec and remove_on_exec.  The executed program's counts are known exactly. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define N	100000
#define TINY	"/tmp/kpmu-tiny"

static struct perf_event_attr insns(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.read_format = FORMAT_TIMES;
	return a;
}

static struct perf_event_attr on_exec(void)
{
	struct perf_event_attr a = insns();

	a.enable_on_exec = 1;
	return a;
}

#define EXACT(got, want) do {						\
	uint64_t __g = got, __w = want;					\
									\
	EXPECT_GE(__g + SLACK(__w), __w);				\
	EXPECT_LE(__g, __w + SLACK(__w));				\
} while (0)

static void reap(struct worker *w)
{
	waitpid(w->pid, NULL, 0);
	close(w->to);
	close(w->from);
}

TEST(enable_on_exec)
{
	ROWS("J-01 A-32 O-24");
	struct perf_event_attr a = on_exec();
	struct ev_times t;
	struct worker w;
	int fd;

	tiny_install(TINY, N, 0755);
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, N);
	t = ev_times(fd);
	EXPECT_EQ(t.value, 0);
	EXPECT_EQ(t.enabled, 0);
	/* Counts from the first instruction of the new program to the last */
	worker_exec(&w, TINY);
	EXACT(ev_count(fd), TINY_INSNS(N));
	t = ev_times(fd);
	EXPECT_GT(t.enabled, 0);
	EXPECT_EQ(t.running, t.enabled);
	reap(&w);
	EXACT(ev_count(fd), TINY_INSNS(N));
}

/* An event that was opened disabled can be enabled by ioctl, by prctl and by exec */
TEST(three_ways_to_enable)
{
	ROWS("A-17");
	struct perf_event_attr a = insns();
	uint64_t before, once, twice;
	struct worker w;
	int fd;

	fd = ev_must(&a, 0, -1, -1, 0);
	work(N);
	EXPECT_EQ(ev_times(fd).value, 0);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	work_counted(fd, N, 0);
	EXACT(ev_count(fd), WORK_INSNS(N));
	EXPECT_GT(ev_times(fd).enabled, 0);

	/* The prctl enables the events that the task itself has opened */
	worker_start(&w);
	fd = worker_opens(&w);
	worker_run(&w, N);
	EXPECT_EQ(ev_times(fd).value, 0);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	worker_prctl(&w, PR_TASK_PERF_EVENTS_ENABLE);
	worker_run(&w, 1);
	before = ev_count(fd);
	worker_run(&w, 1);
	once = ev_count(fd) - before;
	worker_run(&w, N);
	twice = ev_count(fd) - before - once;
	EXACT(twice, once + worker_insns(N, 1));
	worker_stop(&w);

	tiny_install(TINY, N, 0755);
	a.enable_on_exec = 1;
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, N);
	EXPECT_EQ(ev_times(fd).value, 0);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	worker_exec(&w, TINY);
	EXACT(ev_count(fd), TINY_INSNS(N));
	reap(&w);
}

/* Without enable_on_exec, a disabled event stays disabled */
TEST(without_enable_on_exec)
{
	ROWS("J-01 J-02");
	struct perf_event_attr a = insns();
	struct worker w;
	int fd;

	tiny_install(TINY, N, 0755);
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_exec(&w, TINY);
	EXPECT_EQ(ev_count(fd), 0);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	reap(&w);
}

/* A failed exec does not enable the event */
TEST(failed_exec)
{
	ROWS("J-01");
	struct perf_event_attr a = on_exec();
	struct worker w;
	int fd;

	tiny_install(TINY, N, 0755);
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	tiny_install("/tmp/kpmu-not-executable", N, 0644);
	EXPECT_TRUE(worker_fails_exec(&w, "/tmp/kpmu-not-executable"));
	EXPECT_TRUE(worker_fails_exec(&w, "/tmp/kpmu-not-there"));
	worker_run(&w, N);
	EXPECT_EQ(ev_count(fd), 0);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	worker_exec(&w, TINY);
	EXACT(ev_count(fd), TINY_INSNS(N));
	reap(&w);
}

/* An exec enables only the events of the task that calls it */
TEST(exec_of_another)
{
	ROWS("J-02");
	struct perf_event_attr a = on_exec();
	struct worker one, two;
	int fd1, fd2, self;

	tiny_install(TINY, N, 0755);
	worker_start(&one);
	worker_start(&two);
	fd1 = ev_must(&a, one.pid, -1, -1, 0);
	fd2 = ev_must(&a, two.pid, -1, -1, 0);
	self = ev_must(&a, 0, -1, -1, 0);
	worker_exec(&one, TINY);
	EXACT(ev_count(fd1), TINY_INSNS(N));
	worker_run(&two, N);
	EXPECT_EQ(ev_count(fd2), 0);
	EXPECT_EQ(ev_count(self), 0);
	worker_exec(&two, TINY);
	EXACT(ev_count(fd2), TINY_INSNS(N));
	EXACT(ev_count(fd1), TINY_INSNS(N));
	EXPECT_EQ(ev_times(self).enabled, 0);
	reap(&one);
	reap(&two);
}

/* Only the first exec enables the event */
TEST(once)
{
	ROWS("J-02");
	struct perf_event_attr a = on_exec();
	struct worker w;
	uint64_t v;
	int fd;

	tiny_install(TINY, N, 0755);
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_exec_self(&w);
	worker_run(&w, N);
	EXPECT_GE(ev_count(fd), 4 * N);
	ev_disable(fd);
	v = ev_count(fd);
	worker_exec_self(&w);
	worker_run(&w, N);
	EXPECT_EQ(ev_count(fd), v);
	worker_exec(&w, TINY);
	EXPECT_EQ(ev_count(fd), v);
	reap(&w);
}

/* The event is already enabled: the exec changes nothing, but clears enable_on_exec */
TEST(already_enabled)
{
	ROWS("J-02");
	struct perf_event_attr a = on_exec();
	struct worker w;
	uint64_t v;
	int fd;

	tiny_install(TINY, N, 0755);
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	ev_enable(fd);
	worker_run(&w, N);
	v = ev_count(fd);
	EXPECT_GE(v, 4 * N);
	worker_exec_self(&w);
	EXPECT_GT(ev_count(fd), v);
	ev_disable(fd);
	v = ev_count(fd);
	worker_exec(&w, TINY);
	EXPECT_EQ(ev_count(fd), v);
	reap(&w);
}

static const struct {
	uint32_t type;
	uint64_t config, want;
} kinds[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, TINY_INSNS(N) },
	{ PERF_TYPE_RAW, RAW_BRANCHES, TINY_BRANCHES(N) },
	{ PERF_TYPE_RAW, RAW_LOADS, 0 },
	{ PERF_TYPE_RAW, RAW_STORES, 0 },
};

/* An exec that enables the leader also starts its siblings */
TEST(group_by_its_leader)
{
	ROWS("J-01");
	struct worker w;
	int i, fd[4];

	tiny_install(TINY, N, 0755);
	worker_start(&w);
	for (i = 0; i < 4; i++) {
		struct perf_event_attr a = ev_attr(kinds[i].type, kinds[i].config);

		a.disabled = !i;
		a.enable_on_exec = !i;
		a.read_format = FORMAT_TIMES;
		fd[i] = ev_must(&a, w.pid, -1, i ? fd[0] : -1, 0);
	}
	worker_run(&w, N);
	worker_exec(&w, TINY);
	for (i = 0; i < 4; i++) {
		EXACT(ev_count(fd[i]), kinds[i].want);
		EXPECT_EQ(ev_times(fd[i]).enabled, ev_times(fd[0]).enabled);
	}
	reap(&w);
}

/* All events of a group are disabled: the exec enables only those with enable_on_exec */
TEST(members_of_a_group)
{
	ROWS("J-01 J-02");
	struct worker w;
	int i, fd[4];

	tiny_install(TINY, N, 0755);
	worker_start(&w);
	for (i = 0; i < 4; i++) {
		struct perf_event_attr a = ev_attr(kinds[i % 2].type,
						   kinds[i % 2].config);

		a.enable_on_exec = i < 2;
		fd[i] = ev_must(&a, w.pid, -1, i ? fd[0] : -1, 0);
	}
	worker_exec(&w, TINY);
	for (i = 0; i < 4; i++)
		EXACT(ev_count(fd[i]), i < 2 ? kinds[i].want : 0);
	reap(&w);
}

/* An exec enables more events than there are counters, all at the same time */
TEST(many)
{
	ROWS("J-01");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	enum { M = 16 };
	struct ev_times t;
	struct worker w;
	int i, fd[M];

	tiny_install(TINY, 50000000, 0755);
	a.enable_on_exec = 1;
	a.read_format = FORMAT_TIMES;
	worker_start(&w);
	for (i = 0; i < M; i++)
		fd[i] = ev_must(&a, w.pid, -1, -1, 0);
	worker_exec(&w, TINY);
	for (i = 0; i < M; i++) {
		t = ev_times(fd[i]);
		EXPECT_GT(t.enabled, 0);
		EXPECT_GT(t.running, 0);
		EXPECT_LE(t.value, TINY_BRANCHES(50000000));
		EXPECT_EQ(t.enabled, ev_times(fd[0]).enabled);
	}
	reap(&w);
}

/* As perf stat does: the event is disabled, and an exec of a child enables the child's copy */
TEST(copy_in_a_child)
{
	ROWS("J-01 H-12");
	struct perf_event_attr a = on_exec();
	struct worker top, kid, other;
	int fd;

	tiny_install(TINY, N, 0755);
	a.inherit = 1;
	worker_start(&top);
	fd = ev_must(&a, top.pid, -1, -1, 0);
	worker_fork(&top, &kid);
	worker_fork(&top, &other);
	worker_run(&kid, N);
	EXPECT_EQ(ev_count(fd), 0);
	worker_exec(&kid, TINY);
	EXACT(ev_count(fd), TINY_INSNS(N));
	worker_reap(&top);
	/* The other copies are not enabled */
	worker_run(&other, N);
	worker_run(&top, N);
	EXACT(ev_count(fd), TINY_INSNS(N));
	worker_exec(&other, TINY);
	EXACT(ev_count(fd), 2 * TINY_INSNS(N));
	worker_stop(&top);
	EXACT(ev_count(fd), 2 * TINY_INSNS(N));
}

/* An inherited event counts a child both before and after its exec */
TEST(inherited_through_exec)
{
	ROWS("J-03 H-01");
	struct perf_event_attr a = insns();
	struct worker top, kid;
	uint64_t v;
	int fd;

	tiny_install(TINY, N, 0755);
	a.inherit = 1;
	a.disabled = 0;
	worker_start(&top);
	fd = ev_must(&a, top.pid, -1, -1, 0);
	worker_fork(&top, &kid);
	v = ev_count(fd);
	worker_exec(&kid, TINY);
	EXPECT_GE(ev_count(fd), v + TINY_INSNS(N));
	EXPECT_LT(ev_count(fd), v + TINY_INSNS(N) + 10000);
	EXPECT_TRUE(always_ran(fd));
	worker_stop(&top);
}

TEST(remove_on_exec)
{
	ROWS("A-62 J-06");
	struct perf_event_attr a = insns();
	struct ev_times before, after;
	struct pollfd p = { .events = POLLIN };
	struct worker w;
	int fd, stays;

	tiny_install(TINY, N, 0755);
	a.disabled = 0;
	worker_start(&w);
	stays = ev_must(&a, w.pid, -1, -1, 0);
	a.remove_on_exec = 1;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, N);
	before = ev_times(fd);
	EXPECT_GE(before.value, 4 * N);
	worker_exec(&w, TINY);
	after = ev_times(fd);
	/* Counts the few instructions up to the exec, and none of TINY's */
	EXPECT_GE(after.value, before.value);
	EXPECT_LT(after.value, before.value + 5000);
	EXPECT_EQ(ev_count(stays) - after.value, TINY_INSNS(N));
	p.fd = fd;
	EXPECT_EQ(poll(&p, 1, 0), 1);
	EXPECT_EQ(p.revents, POLLHUP);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	EXPECT_EQ(ev_count(fd), after.value);
	reap(&w);
	EXPECT_EQ(ev_times(fd).enabled, after.enabled);
	EXPECT_EQ(ev_times(fd).running, after.running);
}

TEST(remove_on_failed_exec)
{
	ROWS("A-62");
	struct perf_event_attr a = insns();
	struct worker w;
	uint64_t v;
	int fd;

	tiny_install("/tmp/kpmu-not-executable", N, 0644);
	a.disabled = 0;
	a.remove_on_exec = 1;
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	EXPECT_TRUE(worker_fails_exec(&w, "/tmp/kpmu-not-executable"));
	v = ev_count(fd);
	worker_run(&w, N);
	EXPECT_GE(ev_count(fd), v + 4 * N);
	worker_stop(&w);
}

/* An event removed at exec cannot be enabled again */
TEST(removed_for_good)
{
	ROWS("A-62");
	struct perf_event_attr a = insns();
	struct worker w;
	uint64_t v;
	int fd;

	a.disabled = 0;
	a.remove_on_exec = 1;
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_exec_self(&w);
	v = ev_count(fd);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	worker_run(&w, N);
	EXPECT_EQ(ev_count(fd), v);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ev_count(fd), 0);
	worker_stop(&w);
	EXPECT_EQ(ev_count(fd), 0);
}

/* One in error state can be read again once it is removed: nothing can enable it any more */
TEST(removed_in_error)
{
	ROWS("A-62 Q-08");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int i, fd, n = counters_general();
	struct worker w;
	uint64_t v;

	tiny_install(TINY, N, 0755);
	a.disabled = 0;
	a.pinned = 1;
	worker_start(&w);
	for (i = 0; i < n; i++)
		ev_must(&a, w.pid, -1, -1, 0);
	a.remove_on_exec = 1;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, N);
	EXPECT_EQ(read(fd, &v, sizeof(v)), 0);
	worker_exec(&w, TINY);
	EXPECT_EQ(read(fd, &v, sizeof(v)), sizeof(v));
	EXPECT_EQ(v, 0);
	reap(&w);
}

/* In a group, only the event with remove_on_exec is removed: first the sibling, then the leader */
TEST(remove_from_a_group)
{
	ROWS("A-62");
	struct perf_event_attr a = insns(), b = insns();
	struct worker w;
	uint64_t v, l;
	int leader, member;

	tiny_install(TINY, N, 0755);
	a.disabled = 0;
	b.disabled = 0;
	b.remove_on_exec = 1;
	worker_start(&w);
	leader = ev_must(&a, w.pid, -1, -1, 0);
	member = ev_must(&b, w.pid, -1, leader, 0);
	worker_run(&w, N);
	v = ev_count(member);
	l = ev_count(leader);
	worker_exec(&w, TINY);
	EXPECT_LT(ev_count(member), v + 5000);
	EXPECT_GE(ev_count(leader), l + TINY_INSNS(N));
	reap(&w);

	worker_start(&w);
	a.remove_on_exec = 1;
	b.remove_on_exec = 0;
	leader = ev_must(&a, w.pid, -1, -1, 0);
	member = ev_must(&b, w.pid, -1, leader, 0);
	worker_run(&w, N);
	v = ev_count(member);
	l = ev_count(leader);
	worker_exec(&w, TINY);
	EXPECT_LT(ev_count(leader), l + 5000);
	EXPECT_GE(ev_count(member), v + TINY_INSNS(N));
	reap(&w);
}

/* Number of events in the group that a read of @fd shows */
static uint64_t group_size(int fd)
{
	uint64_t v[8] = { 0 };

	return read(fd, v, sizeof(v)) < 0 ? 0 : v[0];
}

/* What exec has removed is no longer in a group: neither a sibling, nor the leader */
TEST(removed_leaves_the_group)
{
	ROWS("A-62 J-06");
	struct perf_event_attr a = insns(), b = insns();
	struct worker w;
	int leader, member;

	tiny_install(TINY, N, 0755);
	a.disabled = b.disabled = 0;
	a.read_format = b.read_format = PERF_FORMAT_GROUP;
	b.remove_on_exec = 1;
	worker_start(&w);
	leader = ev_must(&a, w.pid, -1, -1, 0);
	member = ev_must(&b, w.pid, -1, leader, 0);
	EXPECT_EQ(group_size(leader), 2);
	worker_exec(&w, TINY);
	EXPECT_EQ(group_size(leader), 1);
	EXPECT_EQ(group_size(member), 1);
	reap(&w);

	worker_start(&w);
	leader = ev_must(&b, w.pid, -1, -1, 0);
	member = ev_must(&a, w.pid, -1, leader, 0);
	worker_exec(&w, TINY);
	EXPECT_EQ(group_size(leader), 1);
	EXPECT_EQ(group_size(member), 1);
	reap(&w);
}

/*
 * remove_on_exec removes the inherited copy only from the child that calls exec, and folds its
 * counts into the parent event.
 */
TEST(remove_inherited)
{
	ROWS("A-62 H-06");
	struct perf_event_attr a = insns();
	struct worker top, kid, other;
	uint64_t v;
	int fd;

	tiny_install(TINY, N, 0755);
	a.disabled = 0;
	a.inherit = 1;
	a.remove_on_exec = 1;
	worker_start(&top);
	fd = ev_must(&a, top.pid, -1, -1, 0);
	worker_fork(&top, &kid);
	worker_fork(&top, &other);
	worker_run(&kid, N);
	v = ev_count(fd);
	worker_exec(&kid, TINY);
	EXPECT_GE(ev_count(fd), v);
	EXPECT_LT(ev_count(fd), v + 5000);
	v = ev_count(fd);
	worker_run(&other, N);
	EXPECT_GE(ev_count(fd), v + 4 * N);
	worker_run(&top, N);
	EXPECT_GE(ev_count(fd), v + 8 * N);
	worker_stop(&other);
	worker_stop(&top);
}

/* Executing a set-UID program detaches events from the task, even with enable_on_exec */
static void set_uid(struct __test *_metadata, struct perf_event_attr a)
{
	struct worker w;
	uint64_t v;
	int fd, i;

	a.inherit = 1;
	tiny_install(TINY, N, 04755);
	set_paranoid(2);
	for (i = 0; i < 2; i++) {
		worker_start_as(&w, 65534);
		/* Observe as root first, then as the target's own user */
		if (i)
			drop_privilege();
		fd = ev_must(&a, w.pid, -1, -1, 0);
		worker_run(&w, N);
		v = ev_count(fd);
		worker_exec(&w, TINY);
		EXPECT_GE(ev_count(fd), v);
		EXPECT_LT(ev_count(fd), v + 5000);
		reap(&w);
	}
}

TEST(set_uid_detaches)
{
	ROWS("U-46");
	struct perf_event_attr a = insns();

	a.disabled = 0;
	set_uid(_metadata, a);
}

TEST(set_uid_and_enable_on_exec)
{
	ROWS("U-46");
	set_uid(_metadata, on_exec());
}

TEST_HARNESS_MAIN
