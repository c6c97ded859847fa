// SPDX-License-Identifier: GPL-2.0-only
/* An inherited event and its copies in the children: reads and ioctls cover all of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define N	100000

static struct perf_event_attr insns(int disabled)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = disabled;
	a.inherit = 1;
	a.read_format = FORMAT_TIMES;
	return a;
}

static int on(struct worker *w, int disabled)
{
	struct perf_event_attr a = insns(disabled);

	return ev_must(&a, w->pid, -1, -1, 0);
}

/* Count on @fd of @n rounds of @w, less the count of one round */
static uint64_t seen(int fd, struct worker *w, uint64_t n)
{
	uint64_t a, b;

	a = ev_count(fd);
	worker_run(w, 1);
	b = ev_count(fd);
	worker_run(w, n);
	return ev_count(fd) - b - (b - a);
}

#define EXACT(got, want) do {						\
	uint64_t __g = got, __w = want;					\
									\
	EXPECT_GE(__g + SLACK(__w), __w);				\
	EXPECT_LE(__g, __w + SLACK(__w));				\
} while (0)

#define SEES_ALL(fd, w)	EXACT(seen(fd, w, N), worker_insns(N, 1))

static void sees_nothing(struct __test *_metadata, int fd, struct worker *w)
{
	struct ev_times a = ev_times(fd), b;

	worker_run(w, N);
	b = ev_times(fd);
	EXPECT_EQ(b.value, a.value);
	EXPECT_EQ(b.enabled, a.enabled);
	EXPECT_EQ(b.running, a.running);
}
#define SEES_NOTHING(fd, w) sees_nothing(_metadata, fd, w)

TEST(live_child)
{
	ROWS("H-01 F-25 H-13");
	struct worker top, kid;
	struct ev_times before;
	int fd;

	worker_start(&top);
	fd = on(&top, 0);
	worker_fork(&top, &kid);
	SEES_ALL(fd, &top);
	before = ev_times(fd);
	SEES_ALL(fd, &kid);
	SEES_ALL(fd, &kid);
	EXPECT_GT(ev_times(fd).enabled, before.enabled);
	EXPECT_TRUE(always_ran(fd));
	worker_stop(&kid);
	worker_stop(&top);
}

TEST(live_thread)
{
	ROWS("H-04 F-25");
	struct worker top, kid;
	int fd;

	worker_start(&top);
	fd = on(&top, 0);
	worker_add_thread(&top, &kid);
	SEES_ALL(fd, &top);
	SEES_ALL(fd, &kid);
	worker_stop(&kid);
	SEES_ALL(fd, &top);
	worker_stop(&top);
}

/* A child's count is folded into the parent event at exit, not lost or added twice */
TEST(folded_at_exit)
{
	ROWS("H-06 H-13");
	struct worker top, kid;
	struct ev_times before, after, last;
	int fd;

	worker_start(&top);
	fd = on(&top, 0);
	worker_fork(&top, &kid);
	worker_run(&kid, N);
	before = ev_times(fd);
	worker_stop(&kid);
	after = ev_times(fd);
	EXPECT_GE(after.value, before.value);
	EXPECT_LT(after.value, before.value + 5000);
	worker_reap(&top);
	worker_stop(&top);
	last = ev_times(fd);
	EXPECT_GE(last.value, after.value);
	EXPECT_LT(last.value, after.value + 5000);
	EXPECT_EQ(last.enabled, last.running);
	EXPECT_EQ(ev_times(fd).value, last.value);
}

TEST(existing_children)
{
	ROWS("H-02");
	struct worker top, old, young, new;
	int fd;

	worker_start(&top);
	worker_fork(&top, &old);
	fd = on(&top, 0);
	worker_fork(&old, &young);
	worker_fork(&top, &new);
	SEES_NOTHING(fd, &old);
	SEES_NOTHING(fd, &young);
	SEES_ALL(fd, &new);
	SEES_ALL(fd, &top);
	worker_stop(&young);
	worker_stop(&old);
	worker_stop(&new);
	worker_stop(&top);
}

/* Threads that exist at open are not counted, nor are the threads that they create */
TEST(existing_threads)
{
	ROWS("H-02 O-09");
	struct worker top, old, young, new;
	int fd;

	worker_start(&top);
	worker_add_thread(&top, &old);
	fd = on(&top, 0);
	worker_add_thread(&old, &young);
	worker_add_thread(&top, &new);
	SEES_NOTHING(fd, &old);
	SEES_NOTHING(fd, &young);
	SEES_ALL(fd, &new);
	worker_stop(&young);
	worker_stop(&old);
	worker_stop(&new);
	worker_stop(&top);
}

TEST(grandchildren)
{
	ROWS("H-03");
	struct worker top, kid, grand, great;
	int fd;

	worker_start(&top);
	fd = on(&top, 0);
	worker_fork(&top, &kid);
	worker_fork(&kid, &grand);
	SEES_ALL(fd, &grand);
	worker_stop(&kid);
	SEES_ALL(fd, &grand);
	worker_fork(&grand, &great);
	SEES_ALL(fd, &great);
	SEES_ALL(fd, &top);
	worker_stop(&great);
	worker_stop(&grand);
	worker_stop(&top);
}

/* The task that the event was opened on exits before its children */
TEST(first_task_gone)
{
	ROWS("H-06 H-03");
	struct worker top, kid, grand;
	uint64_t before;
	int fd;

	worker_start(&top);
	fd = on(&top, 0);
	worker_fork(&top, &kid);
	worker_run(&top, N);
	before = ev_count(fd);
	worker_stop(&top);
	EXPECT_GE(ev_count(fd), before);
	SEES_ALL(fd, &kid);
	worker_fork(&kid, &grand);
	SEES_ALL(fd, &grand);
	/* ioctls still reach the copies in the children */
	ev_disable(fd);
	SEES_NOTHING(fd, &kid);
	ev_enable(fd);
	SEES_ALL(fd, &kid);
	worker_stop(&grand);
	worker_stop(&kid);
}

/* The main thread exits, but the process and the inherited counts continue */
TEST(first_thread_gone)
{
	ROWS("H-04 H-06");
	struct worker top, kid, other;
	int fd;

	worker_start(&top);
	fd = on(&top, 0);
	worker_add_thread(&top, &kid);
	worker_leave(&top);
	SEES_ALL(fd, &kid);
	worker_add_thread(&kid, &other);
	SEES_ALL(fd, &other);
	worker_stop(&other);
	worker_stop(&kid);
	waitpid(top.pid, NULL, 0);
	EXPECT_TRUE(always_ran(fd));
}

TEST(disabled_at_fork)
{
	ROWS("H-12 I-33");
	struct worker top, kid, grand;
	int fd;

	worker_start(&top);
	fd = on(&top, 1);
	worker_fork(&top, &kid);
	SEES_NOTHING(fd, &kid);
	EXPECT_EQ(ev_count(fd), 0);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	ev_enable(fd);
	SEES_ALL(fd, &kid);
	SEES_ALL(fd, &top);
	ev_disable(fd);
	SEES_NOTHING(fd, &kid);
	SEES_NOTHING(fd, &top);
	/* A copy made while the event is disabled starts disabled */
	worker_fork(&kid, &grand);
	SEES_NOTHING(fd, &grand);
	ev_enable(fd);
	SEES_ALL(fd, &grand);
	worker_stop(&grand);
	worker_stop(&kid);
	worker_stop(&top);
}

TEST(enabled_at_fork)
{
	ROWS("H-12");
	struct worker top, kid;
	int fd;

	worker_start(&top);
	fd = on(&top, 1);
	ev_enable(fd);
	worker_fork(&top, &kid);
	SEES_ALL(fd, &kid);
	worker_stop(&kid);
	worker_stop(&top);
}

/* Enable, disable and read while the child runs, not while it sleeps */
TEST(control_running_child)
{
	ROWS("I-33");
	struct worker top, kid;
	struct ev_times a, b;
	int fd, i;

	worker_start(&top);
	fd = on(&top, 1);
	worker_fork(&top, &kid);
	for (i = 0; i < 10; i++) {
		worker_pin(&kid, i % nr_cpus());
		worker_go(&kid, 3000000);
		ev_enable(fd);
		ev_disable(fd);
		a = ev_times(fd);
		b = ev_times(fd);
		EXPECT_EQ(memcmp(&a, &b, sizeof(a)), 0);
		worker_wait(&kid);
		EXPECT_EQ(ev_count(fd), a.value);
		EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
		EXPECT_EQ(ev_count(fd), 0);
	}
	worker_stop(&kid);
	worker_stop(&top);
}

/* RESET clears the counts of live tasks.  Folded counts of exited children stay, as natively. */
TEST(reset)
{
	ROWS("I-33");
	struct worker top, dead, kid;
	struct ev_times t;
	uint64_t left;
	int fd;

	worker_start(&top);
	fd = on(&top, 0);
	worker_fork(&top, &kid);
	worker_run(&kid, N);
	worker_run(&top, N);
	ev_disable(fd);
	EXPECT_GE(ev_count(fd), 8 * N);
	t = ev_times(fd);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ev_count(fd), 0);
	EXPECT_EQ(ev_times(fd).enabled, t.enabled);

	ev_enable(fd);
	worker_fork(&top, &dead);
	worker_run(&dead, N);
	worker_stop(&dead);
	worker_run(&kid, N);
	ev_disable(fd);
	EXPECT_GE(ev_count(fd), 8 * N);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	left = ev_count(fd);
	EXPECT_GE(left, 4 * N);
	EXPECT_LT(left, 5 * N);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ev_count(fd), left);
	worker_stop(&kid);
	worker_stop(&top);
}

/*
 * Closing an event while children live removes its copies from them.  Another event on the same
 * tasks still counts exactly.
 */
TEST(close_while_children_live)
{
	ROWS("F-25 H-03");
	struct worker top, kid, grand, last;
	int fd[3], i, other;

	worker_start(&top);
	other = on(&top, 0);
	for (i = 0; i < 3; i++)
		fd[i] = on(&top, 0);
	worker_fork(&top, &kid);
	worker_fork(&kid, &grand);
	close(fd[0]);
	SEES_ALL(other, &grand);
	worker_stop(&grand);
	worker_reap(&kid);
	worker_go(&kid, 3000000);
	close(fd[1]);
	worker_wait(&kid);
	worker_fork(&kid, &last);
	SEES_ALL(other, &last);
	SEES_ALL(fd[2], &last);
	worker_stop(&last);
	close(fd[2]);
	SEES_ALL(other, &kid);
	worker_stop(&kid);
	SEES_ALL(other, &top);
	worker_stop(&top);
}

/* Time limit of the tests below, in ns, for machines where forks are slow */
#define STORM	10000000000ULL

/* Open and close inherited events concurrently with forks and exits of the target */
TEST(close_vs_fork)
{
	ROWS("H-11");
	struct clone_work w = { .clone = CLONE_FORK, .n = 1, .kids = 20 };
	struct perf_event_attr a = insns(0);
	pid_t pid = fork();
	uint64_t end = now_ns() + STORM;
	int i, k, fd[3];

	if (!pid)
		for (;;)
			clone_counted(-1, &w);
	for (i = 0; i < often(300) && (i < 20 || now_ns() < end); i++) {
		for (k = 0; k < 3; k++)
			fd[k] = ev_must(&a, pid, -1, -1, 0);
		for (k = 0; k < 3; k++) {
			EXPECT_TRUE(always_ran(fd[k]));
			EXPECT_EQ(ioctl(fd[k], i & 1 ? PERF_EVENT_IOC_DISABLE :
						       PERF_EVENT_IOC_RESET, 0), 0);
			close(fd[k]);
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * Read, enable and disable concurrently with forks and exits: the count never decreases, and
 * stops once the event is disabled.
 */
TEST(control_vs_fork)
{
	ROWS("I-33 F-25");
	struct clone_work w = { .clone = CLONE_FORK, .n = 1, .kids = 20 };
	struct perf_event_attr a = insns(0);
	uint64_t last = 0, v, end = now_ns() + STORM;
	pid_t pid = fork();
	int i, fd;

	if (!pid)
		for (;;)
			clone_counted(-1, &w);
	fd = ev_must(&a, pid, -1, -1, 0);
	for (i = 0; i < often(300) && (i < 20 || now_ns() < end); i++) {
		v = ev_count(fd);
		EXPECT_GE(v, last);
		last = v;
		EXPECT_EQ(ioctl(fd, i & 1 ? PERF_EVENT_IOC_ENABLE :
					    PERF_EVENT_IOC_DISABLE, 0), 0);
	}
	/* The first disable may miss a child whose fork is not complete, so disable again */
	ev_disable(fd);
	usleep(20000);
	ev_disable(fd);
	v = ev_count(fd);
	usleep(20000);
	EXPECT_EQ(ev_count(fd), v);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static _Atomic int begun, ended;
static int shared_fd;

#define END	-1

static void *switch_off(void *unused)
{
	int last = 0, n;

	pin_to(2);
	while ((n = begun) != END) {
		if (n == last)
			continue;
		ev_disable(shared_fd);
		ended = last = n;
	}
	return unused;
}

#define KIDS	6

/*
 * Enable and disable concurrently: in the end all events of the family are enabled or all are
 * disabled.  The root event's task runs on another CPU, so either call may be the first to
 * reach the children.
 */
TEST(enable_vs_disable)
{
	ROWS("I-33");
	int i, n, wrong = 0, rounds = often(400);
	uint64_t by_parent, by_kid;
	struct worker w, kid[KIDS];
	pthread_t t;

	if (nr_cpus() < 3)
		SKIP(return, "needs three CPUs");
	pin_to(1);
	worker_start(&w);
	worker_pin(&w, 0);
	shared_fd = on(&w, 0);
	for (i = 0; i < KIDS; i++)
		worker_fork(&w, &kid[i]);
	ASSERT_EQ(pthread_create(&t, NULL, switch_off, NULL), 0);
	for (n = 1; n <= rounds; n++) {
		worker_go(&w, 20000);
		begun = n;
		ev_enable(shared_fd);
		while (ended != n)
			sched_yield();
		worker_wait(&w);
		by_parent = ev_count(shared_fd);
		worker_run(&w, 1000);
		by_kid = ev_count(shared_fd);
		by_parent = by_kid - by_parent;
		worker_run(&kid[n % KIDS], 1000);
		by_kid = ev_count(shared_fd) - by_kid;
		wrong += !by_parent != !by_kid;
	}
	EXPECT_EQ(wrong, 0);
	begun = END;
	pthread_join(t, NULL);
	for (i = 0; i < KIDS; i++)
		worker_stop(&kid[i]);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
