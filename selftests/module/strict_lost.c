// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strict events of users without CAP_PERFMON: those with precedence can take their counters, and then
 * the events say so.  Strict events under load.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "harness.h"
#include "module.h"
#include "ring.h"
#include "strict.h"
#include "task.h"

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

/* A child without privileges that opens strict events on itself, and says what happens to them */
struct user {
	pid_t pid;
	int to, from;
};

static void user_start(struct user *u, void (*fn)(int in, int out))
{
	int a[2], b[2];

	if (pipe(a) || pipe(b))
		exit(1);
	ev_device();
	fflush(stdout);
	u->pid = fork();
	if (!u->pid) {
		drop_privilege();
		fn(a[0], b[1]);
		_exit(0);
	}
	close(a[0]);
	close(b[1]);
	u->to = a[1];
	u->from = b[0];
}

static int user_says(struct user *u)
{
	char c = 0;

	return read(u->from, &c, 1) == 1 ? c : -1;
}

static void user_go(struct user *u)
{
	if (write(u->to, "g", 1) != 1)
		exit(1);
}

static void say(int out, char c)
{
	if (write(out, &c, 1) != 1)
		_exit(1);
}

static void wait_go(int in)
{
	char c;

	if (read(in, &c, 1) != 1)
		_exit(1);
}

/* The last THROTTLE record that says that the counters are lost: its id, 0 if there is none */
static uint64_t lost_id(struct ring *r)
{
	struct record rec;
	uint64_t id = 0;

	while (ring_find(r, &rec, PERF_RECORD_THROTTLE))
		if (rec.head.misc & KPMU_RECORD_MISC_OUT)
			id = record_u64(&rec, 8);
	return id;
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	signals++;
}

static void losing_user(int in, int out)
{
	int gp = counters_general(), fd[MAX];
	struct perf_event_attr a = busy();
	uint64_t buf[3];
	struct ring r;

	pin_to(0);
	signal(SIGIO, on_signal);
	say(out, fill(fd, gp, 0, -1) == gp ? 'f' : 'x');
	a.sample_id_all = 1;
	ring_map(&r, fd[gp - 1], &a, 1);
	fcntl(fd[gp - 1], F_SETOWN, getpid());
	fcntl(fd[gp - 1], F_SETFL, fcntl(fd[gp - 1], F_GETFL) | O_ASYNC);
	say(out, strict_errno(0, -1, -1) == EBUSY ? 'b' : 'x');
	say(out, poll_now(fd[gp - 1]) == 0 ? 'p' : 'x');
	wait_go(in);		/* a counter is taken now */
	work(N);
	say(out, poll_now(fd[gp - 1]) == POLLERR ? 'e' : 'x');
	say(out, read(fd[gp - 1], buf, sizeof(buf)) == 0 ? 'r' : 'x');
	say(out, lost_id(&r) == ev_id(fd[gp - 1]) ? 'i' : 'x');
	say(out, signals > 0 ? 's' : 'x');
	say(out, always_ran(fd[0]) ? 'a' : 'x');
	wait_go(in);		/* it is free again */
	work(N);
	say(out, poll_now(fd[gp - 1]) == POLLERR ? 'e' : 'x');
	ev_enable(fd[gp - 1]);
	work(N);
	say(out, read(fd[gp - 1], buf, sizeof(buf)) == 24 && buf[0] > N ? 'c' : 'x');
	say(out, poll_now(fd[gp - 1]) & POLLERR ? 'x' : 'n');
	wait_go(in);		/* taken once more */
	work(N);
	say(out, lost_id(&r) ? 'l' : 'x');
	ev_disable(fd[gp - 1]);
	say(out, read(fd[gp - 1], buf, sizeof(buf)) == 24 ? 'd' : 'x');
	drain(fd, gp);
	say(out, '.');
}

static int takes(uint64_t flags, int pinned)
{
	struct perf_event_attr a = busy();

	a.pinned = pinned;
	return ev_open(&a, -1, 0, -1, flags);
}

static void lose_to(struct __test *_metadata, uint64_t flags, int pinned)
{
	struct user u;
	int fd;

	set_paranoid(2);
	user_start(&u, losing_user);
	for (const char *p = "fbp"; *p; p++)
		EXPECT_EQ(user_says(&u), *p);
	fd = takes(flags, pinned);
	ASSERT_GE(fd, 0);
	user_go(&u);
	for (const char *p = "erisa"; *p; p++)
		EXPECT_EQ(user_says(&u), *p);
	EXPECT_TRUE(always_ran(fd));
	close(fd);
	user_go(&u);
	for (const char *p = "ecn"; *p; p++)
		EXPECT_EQ(user_says(&u), *p);
	fd = takes(flags, pinned);
	user_go(&u);
	for (const char *p = "ld."; *p; p++)
		EXPECT_EQ(user_says(&u), *p);
	waitpid(u.pid, NULL, 0);
}

TEST(lost_to_strict)
{
	ROWS("W-19");
	NEED_PMU();

	lose_to(_metadata, KPMU_OPEN_STRICT, 0);
}

TEST(lost_to_pinned)
{
	ROWS("W-19");
	NEED_PMU();

	lose_to(_metadata, 0, 1);
}

static void blocked_user(int in, int out)
{
	int gp = counters_general(), fd[MAX];

	pin_to(0);
	say(out, fill(fd, gp, 0, -1) == 1 ? '1' : 'x');
	wait_go(in);
	say(out, '.');
}

/* Those with CAP_PERFMON are safe from others, and the others are told so */
TEST(not_taken)
{
	ROWS("W-18 W-19");
	NEED_PMU();
	int gp = counters_general(), fd[MAX];
	struct user u;

	ASSERT_EQ(fill(fd, gp - 1, -1, 0), gp - 1);
	set_paranoid(2);
	user_start(&u, blocked_user);
	EXPECT_EQ(user_says(&u), '1');
	some_turns();
	for (int i = 0; i < gp - 1; i++)
		EXPECT_TRUE(always_ran(fd[i]));
	EXPECT_EQ(strict_errno(-1, 0, -1), 0);
	user_go(&u);
	EXPECT_EQ(user_says(&u), '.');
	waitpid(u.pid, NULL, 0);
}

static void family_user(int in, int out)
{
	struct perf_event_attr a = busy();
	int gp = counters_general(), fd[MAX];
	uint64_t buf[3];
	struct ring r;
	struct worker w;

	pin_to(1);
	a.sample_id_all = 1;
	a.inherit = 1;
	/* One with a ring must be bound to a CPU */
	for (int i = 0; i < gp; i++)
		fd[i] = ev_must(&a, 0, i < gp - 1 ? -1 : 0, -1, KPMU_OPEN_STRICT);
	ring_map(&r, fd[gp - 1], &a, 1);
	worker_start(&w);
	worker_pin(&w, 0);
	worker_run(&w, N);
	say(out, read(fd[gp - 1], buf, sizeof(buf)) == 24 && buf[0] > N ? 'a' : 'x');
	wait_go(in);		/* a counter of CPU 0 is taken */
	worker_run(&w, N);
	say(out, poll_now(fd[gp - 1]) == POLLERR ? 'e' : 'x');
	say(out, read(fd[gp - 1], buf, sizeof(buf)) == 0 ? 'r' : 'x');
	say(out, lost_id(&r) ? 'i' : 'x');
	say(out, always_ran(fd[0]) ? 'b' : 'x');
	wait_go(in);
	ev_enable(fd[gp - 1]);
	worker_run(&w, N);
	say(out, read(fd[gp - 1], buf, sizeof(buf)) == 24 ? 'c' : 'x');
	say(out, poll_now(fd[gp - 1]) & POLLERR ? 'x' : 'n');
	worker_stop(&w);
	say(out, '.');
}

/* A copy in another task has lost its counter: the sum would be too small */
TEST(inherited)
{
	ROWS("W-19");
	NEED_PMU();
	struct user u;
	int fd;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	set_paranoid(2);
	user_start(&u, family_user);
	EXPECT_EQ(user_says(&u), 'a');
	fd = takes(KPMU_OPEN_STRICT, 0);
	ASSERT_GE(fd, 0);
	user_go(&u);
	for (const char *p = "erib"; *p; p++)
		EXPECT_EQ(user_says(&u), *p);
	close(fd);
	user_go(&u);
	for (const char *p = "cn."; *p; p++)
		EXPECT_EQ(user_says(&u), *p);
	waitpid(u.pid, NULL, 0);
}

/* ---- load ------------------------------------------------------------------------- */

static volatile int over;

/* Open, fork, exit, close; a strict event that could be opened is always on its counter */
static void churn(unsigned int seed)
{
	struct perf_event_attr a = busy();
	int fd[4], status, bad = 0;
	uint64_t end = now_ns() + often(4) * 1000000000ULL;

	while (now_ns() < end) {
		a.inherit = rand_r(&seed) % 2;
		a.pinned = rand_r(&seed) % 3 == 0;
		for (int i = 0; i < 4; i++)
			fd[i] = ev_open(&a, i % 2 ? -1 : 0, i % 2 ? (int)(rand_r(&seed) % nr_cpus()) : -1,
					-1, i < 3 ? KPMU_OPEN_STRICT : 0);
		pid_t pid = fork();

		if (!pid) {
			sched_yield();
			work(100);
			_exit(0);
		}
		sched_yield();
		work(1000);
		waitpid(pid, &status, 0);
		for (int i = 0; i < 3; i++) {
			if (fd[i] < 0)
				continue;
			if (!(i % 2 && a.inherit) && !always_ran(fd[i]))
				bad = 1;
		}
		for (int i = 0; i < 4; i++)
			if (fd[i] >= 0)
				close(fd[i]);
	}
	_exit(bad);
}

static void *plug(void *unused)
{
	int n = nr_cpus();

	while (!over && n > 1) {
		cpu_online(n - 1, 0);
		cpu_online(n - 1, 1);
	}
	return NULL;
}

TEST(storm)
{
	ROWS("W-18");
	NEED_PMU();
	pid_t pid[8];
	pthread_t t;
	int status;

	for (int i = 0; i < 8; i++) {
		pid[i] = fork();
		if (!pid[i])
			churn(i);
	}
	pthread_create(&t, NULL, plug, NULL);
	for (int i = 0; i < 8; i++) {
		waitpid(pid[i], &status, 0);
		EXPECT_EQ(status, 0);
	}
	over = 1;
	pthread_join(t, NULL);
	/* Nothing is left of them */
	int fd[MAX], gp = counters_general();

	for (int cpu = 0; cpu < nr_cpus(); cpu++)
		EXPECT_EQ(fill(fd, gp, -1, cpu), gp);
}

TEST_HARNESS_MAIN
