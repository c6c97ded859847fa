// SPDX-License-Identifier: GPL-2.0-only
/*
 * The context of a child that has exited is kept for the next child of the same parent
 * (kernel/life/kept.c).  No difference may be visible: counts and times begin with each child, and
 * what has changed in the parent since is inherited.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "stats.h"

enum { INSNS, LOADS, STORES, BRANCHES, NR };

static const struct perf_event_attr kinds[NR] = {
	[INSNS] = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS },
	[LOADS] = { .type = PERF_TYPE_RAW, .config = RAW_LOADS },
	[STORES] = { .type = PERF_TYPE_RAW, .config = RAW_STORES },
	[BRANCHES] = { .type = PERF_TYPE_RAW, .config = RAW_BRANCHES },
};

static int open_one(pid_t pid, int kind)
{
	struct perf_event_attr a = ev_attr(kinds[kind].type, kinds[kind].config);

	a.disabled = 0;
	a.inherit = 1;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, -1, -1, 0);
}

static void open_all(pid_t pid, int *fd)
{
	for (int i = 0; i < NR; i++)
		fd[i] = open_one(pid, i);
}

static __attribute__((noinline)) void child(uint64_t n)
{
	pid_t pid = fork();

	if (!pid) {
		work(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* What a child with @n rounds adds to an event, with what the parent does meanwhile */
static __attribute__((noinline)) uint64_t added(int fd, uint64_t n)
{
	uint64_t before = ev_times(fd).value;

	child(n);
	return ev_times(fd).value - before;
}

#define KIDS	20

/* Counts are those of each child, the contexts of which are one and the same */
TEST(counts)
{
	ROWS("H-06");
	uint64_t kept, base;
	int fd[NR];

	NEED_PMU();
	pin_to(0);
	open_all(0, fd);
	child(100);
	added(fd[LOADS], 100);
	base = added(fd[LOADS], 100);
	kept = stat_of("kept");
	for (int i = 0; i < KIDS; i++)
		EXPECT_EQ(added(fd[LOADS], 100 + i), base + i);
	kept = stat_of("kept") - kept;
	TH_LOG("%llu of %d contexts were kept ones", (unsigned long long)kept, KIDS);
	EXPECT_GE(kept, KIDS / 2);
	base = added(fd[INSNS], 100);
	for (int i = 0; i < KIDS; i++)
		EXPECT_EQ(added(fd[INSNS], 100 + i), base + 4 * i);
}

/* All run on one CPU: together no longer than the clock says */
TEST(times)
{
	ROWS("H-06");
	uint64_t start = now_ns();
	struct ev_times t;
	int fd[NR];

	NEED_PMU();
	pin_to(0);
	open_all(0, fd);
	for (int i = 0; i < KIDS; i++)
		child(20000);
	for (int i = 0; i < NR; i++) {
		t = ev_times(fd[i]);
		EXPECT_EQ(t.running, t.enabled);
		EXPECT_GT(t.enabled, 0);
		EXPECT_LE(t.enabled, now_ns() - start);
	}
}

/* An event that is off in the parent is off in the next child, and back on */
TEST(disabled_meanwhile)
{
	ROWS("H-06");
	int fd[NR];

	NEED_PMU();
	pin_to(0);
	open_all(0, fd);
	for (int i = 0; i < 5; i++) {
		child(100);
		ev_disable(fd[STORES]);
		EXPECT_EQ(added(fd[STORES], 1000), 0);
		EXPECT_GE(added(fd[LOADS], 1000), 1000);
		ev_enable(fd[STORES]);
		EXPECT_GE(added(fd[STORES], 1000), 1000);
		ioctl(fd[STORES], PERF_EVENT_IOC_RESET, 0);
		EXPECT_GE(added(fd[STORES], 1000), 1000);
	}
}

/* Roots are closed and opened between the children: what was kept of closed ones is not used */
TEST(closed_meanwhile)
{
	ROWS("H-06");
	int fd[NR];

	NEED_PMU();
	pin_to(0);
	open_all(0, fd);
	for (int i = 0; i < 3 * NR; i++) {
		child(100);
		close(fd[i % NR]);
		if (i & 1)
			child(100);
		fd[i % NR] = open_one(0, i % NR);
		EXPECT_GE(added(fd[LOADS], 1000), 1000);
		EXPECT_GE(added(fd[STORES], 1000), 1000);
		EXPECT_GE(added(fd[i % NR], 1000), 1000);
	}
	for (int i = 0; i < NR; i++)
		close(fd[i]);
	child(100);
}

/* A child that waits until the parent has enabled an event */
static pid_t waiting_child(int *go, uint64_t n)
{
	int p[2];
	pid_t pid;
	char c;

	if (pipe(p))
		exit(KSFT_FAIL);
	pid = fork();
	if (!pid) {
		close(p[1]);
		if (read(p[0], &c, 1) < 0)
			_exit(1);
		work(n);
		_exit(0);
	}
	close(p[0]);
	*go = p[1];
	return pid;
}

static void let_go(int go, pid_t pid)
{
	close(go);
	waitpid(pid, NULL, 0);
}

/* The next child inherits what was opened since, also what is off and changes no plan */
TEST(opened_meanwhile)
{
	ROWS("H-06");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int fd[NR], more, go;
	pid_t pid;

	NEED_PMU();
	pin_to(0);
	open_all(0, fd);
	child(100);
	child(100);
	a.inherit = 1;
	more = ev_must(&a, 0, -1, -1, 0);
	pid = waiting_child(&go, 1000);
	ev_enable(more);
	let_go(go, pid);
	EXPECT_GE(ev_count(more), 1000);
	child(100);
	EXPECT_GE(added(fd[LOADS], 1000), 1000);
}

/* A child with an event of its own: that keeps its count, and its context is not used again */
TEST(event_of_a_child)
{
	ROWS("H-06");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	int fd[NR], own, go;
	uint64_t count;
	pid_t pid;

	NEED_PMU();
	pin_to(0);
	open_all(0, fd);
	for (int i = 0; i < 4; i++) {
		child(100);
		pid = waiting_child(&go, 1000);
		a.disabled = i & 1;
		own = ev_must(&a, pid, -1, -1, 0);
		let_go(go, pid);
		count = ev_count(own);
		if (i & 1)
			EXPECT_EQ(count, 0);
		else
			EXPECT_GE(count, 1000);
		EXPECT_GE(added(fd[LOADS], 1000), 1000);
		EXPECT_EQ(ev_count(own), count);
		close(own);
	}
}

/* A child is a parent, too: its context, which was kept, has the generation of the one that was its model */
TEST(children_of_children)
{
	ROWS("H-06");
	uint64_t before, base = 0;
	int fd[NR];
	pid_t pid;

	NEED_PMU();
	pin_to(0);
	open_all(0, fd);
	for (int i = 0; i < 8; i++) {
		before = ev_times(fd[LOADS]).value;
		pid = fork();
		if (!pid) {
			for (int k = 0; k < 4; k++)
				child(1000 + i);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		before = ev_times(fd[LOADS]).value - before;
		if (i < 2)
			base = before - 4 * i;
		else
			EXPECT_EQ(before, base + 4 * i);
	}
}

/* Two parents fork in turn, each with events of its own */
TEST(two_parents)
{
	ROWS("H-06");
	int fd[NR], other[NR], go[2], done[2];
	uint64_t before, after;
	pid_t pid;
	char c = 0;

	NEED_PMU();
	pin_to(0);
	if (pipe(go) || pipe(done))
		exit(KSFT_FAIL);
	pid = fork();
	if (!pid) {
		close(go[1]);
		while (read(go[0], &c, 1) == 1) {
			child(500);
			if (write(done[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	open_all(pid, other);
	open_all(0, fd);
	for (int i = 0; i < KIDS; i++) {
		before = ev_times(other[LOADS]).value;
		after = added(fd[LOADS], 1000);
		/* The other process may execute some instructions until it blocks */
		EXPECT_LT(ev_times(other[LOADS]).value - before, 500);
		EXPECT_GE(after, 1000);
		before = ev_times(fd[STORES]).value;
		if (write(go[1], &c, 1) != 1 || read(done[0], &c, 1) != 1)
			exit(KSFT_FAIL);
		after = ev_times(fd[STORES]).value - before;
		EXPECT_LT(after, 500);
	}
	close(go[1]);
	waitpid(pid, NULL, 0);
}

#define MANY	200

/* A process on CPU 0 with the events, which forks children when told to, and an observer on CPU 1 */
static pid_t start_forker(int *fd, int *go, int *done)
{
	int p[2], q[2];
	uint64_t n;
	pid_t pid;

	if (nr_cpus() < 2)
		SKIP(return 0, "needs two CPUs");
	pin_to(1);
	if (pipe(p) || pipe(q))
		exit(KSFT_FAIL);
	pid = fork();
	if (!pid) {
		close(p[1]);
		pin_to(0);
		while (read(p[0], &n, sizeof(n)) == sizeof(n)) {
			for (int i = 0; i < MANY / slow(); i++)
				child(n);
			if (write(q[1], &n, sizeof(n)) != sizeof(n))
				_exit(1);
		}
		_exit(0);
	}
	close(p[0]);
	fcntl(q[0], F_SETFL, O_NONBLOCK);
	*go = p[1];
	*done = q[0];
	open_all(pid, fd);
	return pid;
}

/* Read all the time meanwhile.  Returns how much the loads have increased. */
static uint64_t read_while(struct __test *_metadata, const int *fd, int go, int done, uint64_t n)
{
	uint64_t last[NR] = {}, now, start = ev_times(fd[LOADS]).value;
	int reads = 0, less = 0;

	if (write(go, &n, sizeof(n)) != sizeof(n))
		exit(KSFT_FAIL);
	while (read(done, &n, sizeof(n)) != sizeof(n)) {
		for (int i = 0; i < NR; i++) {
			now = ev_times(fd[i]).value;
			less += now < last[i];
			last[i] = now;
		}
		reads++;
	}
	TH_LOG("%d reads", reads);
	EXPECT_EQ(less, 0);
	return ev_times(fd[LOADS]).value - start;
}

/* Reads visit children that exit meanwhile, whose contexts are used again: no count is lost or doubled */
TEST(read_meanwhile)
{
	ROWS("H-06 H-07");
	uint64_t one, two;
	int fd[NR], go, done;
	pid_t pid;

	NEED_PMU();
	pid = start_forker(fd, &go, &done);
	read_while(_metadata, fd, go, done, 100);
	one = read_while(_metadata, fd, go, done, 100);
	two = read_while(_metadata, fd, go, done, 1100);
	EXPECT_EQ(two - one, 1000ull * (MANY / slow()));
	close(go);
	waitpid(pid, NULL, 0);
}

/* The observer disables and enables the family, which visits children as well */
TEST(control_meanwhile)
{
	ROWS("H-06 H-07");
	uint64_t n = 2000, before;
	int fd[NR], go, done;
	pid_t pid;

	NEED_PMU();
	pid = start_forker(fd, &go, &done);
	if (write(go, &n, sizeof(n)) != sizeof(n))
		exit(KSFT_FAIL);
	while (read(done, &n, sizeof(n)) != sizeof(n)) {
		ev_disable(fd[LOADS]);
		before = ev_times(fd[LOADS]).value;
		sched_yield();
		EXPECT_EQ(ev_times(fd[LOADS]).value, before);
		ev_enable(fd[LOADS]);
		close(fd[STORES]);
		fd[STORES] = open_one(pid, STORES);
	}
	EXPECT_GT(ev_times(fd[LOADS]).value, 0);
	close(go);
	waitpid(pid, NULL, 0);
}

TEST_HARNESS_MAIN
