// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring that an event's records are written to: SET_OUTPUT, FD_OUTPUT, PAUSE_OUTPUT.
 * poll(2) of an event with and without a ring.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "switches.h"
#include "task.h"

#define PAGE	4096
#define LEN	(3 * PAGE)

static struct perf_event_attr insns_attr(void)
{
	return ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static int insns(void)
{
	return ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
}

static void *map(int fd)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("# mmap: %s\n", strerror(errno));
		exit(KSFT_FAIL);
	}
	return p;
}

/* Return: 0 or the errno */
static int set_output(int fd, int to)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)to) ? errno : 0;
}

static int pause_output(int fd, int on)
{
	return ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, on) ? errno : 0;
}

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

TEST(redirected_to_another)
{
	ROWS("I-15 I-16 U-32 R-20");
	int a = insns(), b = insns();

	EXPECT_EQ(set_output(b, a), EINVAL);	/* a is not mapped yet */
	map(a);
	EXPECT_EQ(set_output(b, a), 0);
	EXPECT_EQ(set_output(b, a), 0);
	EXPECT_EQ(set_output(b, -1), 0);
	EXPECT_EQ(set_output(b, -1), 0);
	EXPECT_EQ(set_output(b, a), 0);
}

TEST(map_redirected)
{
	ROWS("U-32 R-20");
	int a = insns(), b = insns();

	map(a);
	ASSERT_EQ(set_output(b, a), 0);
	EXPECT_TRUE(mmap(NULL, LEN, PROT_READ, MAP_SHARED, b, 0) == MAP_FAILED);
	EXPECT_EQ(errno, EBUSY);
	EXPECT_TRUE(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, b, 0) == MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	ASSERT_EQ(set_output(b, -1), 0);
	map(b);
}

TEST(refused)
{
	ROWS("I-18 R-10 I-17");
	struct perf_event_attr x = insns_attr();
	int a = insns(), b, pipes[2];

	map(a);
	EXPECT_EQ(set_output(a, a), EINVAL);
	ASSERT_EQ(pipe(pipes), 0);
	EXPECT_EQ(set_output(a, pipes[0]), EBADF);
	EXPECT_EQ(set_output(a, 999), EBADF);
	/* An event that is mapped itself cannot be redirected */
	b = insns();
	map(b);
	EXPECT_EQ(set_output(b, a), EINVAL);
	EXPECT_EQ(set_output(b, -1), EINVAL);
	/* Different write direction */
	x.write_backward = 1;
	EXPECT_EQ(set_output(ev_must(&x, 0, -1, -1, 0), a), EINVAL);
	/* Different clock */
	x = insns_attr();
	x.use_clockid = 1;
	x.clockid = 1;
	EXPECT_EQ(set_output(ev_must(&x, 0, -1, -1, 0), a), EINVAL);
	/* Different CPU */
	x = insns_attr();
	EXPECT_EQ(set_output(ev_must(&x, 0, 0, -1, 0), a), EINVAL);
}

TEST(other_tasks)
{
	ROWS("I-17");
	struct perf_event_attr x = insns_attr();
	struct worker w;
	int mine = insns(), other, on_cpu, task_on_cpu;

	worker_start(&w);
	other = ev_must(&x, w.pid, -1, -1, 0);
	map(mine);
	EXPECT_EQ(set_output(other, mine), EINVAL);
	/* Events bound to one CPU may share a ring whatever they count: one CPU writes it */
	on_cpu = ev_must(&x, -1, 0, -1, 0);
	task_on_cpu = ev_must(&x, w.pid, 0, -1, 0);
	map(on_cpu);
	EXPECT_EQ(set_output(task_on_cpu, on_cpu), 0);
	EXPECT_EQ(set_output(ev_must(&x, 0, 0, -1, 0), on_cpu), 0);
	EXPECT_EQ(set_output(ev_must(&x, -1, nr_cpus() - 1, -1, 0), on_cpu),
		  nr_cpus() > 1 ? EINVAL : 0);
	worker_stop(&w);
}

/* Unmapping a ring removes it from all events that write to it */
/*
 * A ring has the records of one CPU at a time, and a child may run elsewhere: the records of an
 * inherited event of any CPU that goes to another event's ring are lost, and counted.
 */
TEST(children_of_redirected)
{
	ROWS("R-20 I-16 F-09");
	struct perf_event_attr a = insns_attr();
	static struct record rec;
	struct ring r;
	uint64_t v[2];
	int to, fd;

	if (route_is_native())
		SKIP(return, "native perf writes them to the ring, from several CPUs");
	to = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, to, &a, 1);
	a.comm = 1;
	a.inherit = 1;
	a.disabled = 0;
	a.read_format = PERF_FORMAT_LOST;
	fd = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(set_output(fd, to), 0);
	if (!fork()) {
		prctl(PR_SET_NAME, "child");
		prctl(PR_SET_NAME, "again");
		_exit(0);
	}
	wait(NULL);
	prctl(PR_SET_NAME, "parent");
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_FORK);
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_COMM);
	EXPECT_FALSE(strcmp(record_str(&rec, 8), "parent"));
	EXPECT_FALSE(ring_next(&r, &rec));
	ASSERT_EQ(read(fd, v, sizeof(v)), sizeof(v));
	EXPECT_EQ(v[1], 3);		/* two names and the exit */
}

TEST(unmapped)
{
	ROWS("I-15 R-20");
	int a = insns(), b = insns(), c = insns();
	void *p = map(a);

	ASSERT_EQ(set_output(b, a), 0);
	ASSERT_EQ(set_output(c, b), 0);
	EXPECT_EQ(pause_output(c, 1), 0);
	munmap(p, LEN);
	EXPECT_EQ(pause_output(c, 1), EINVAL);
	EXPECT_EQ(pause_output(b, 1), EINVAL);
	/* Without a ring, the events can be mapped themselves */
	map(b);
	map(c);
}

/* The ring outlives the fd that it was mapped through, until it is unmapped */
TEST(closed)
{
	ROWS("I-15");
	int a = insns(), b = insns(), c = insns();
	void *p = map(a);

	ASSERT_EQ(set_output(b, a), 0);
	close(a);
	EXPECT_EQ(set_output(c, b), 0);
	close(b);
	EXPECT_EQ(pause_output(c, 0), 0);
	munmap(p, LEN);
	EXPECT_EQ(pause_output(c, 0), EINVAL);
	close(c);
}

TEST(fd_output)
{
	ROWS("O-19 O-20 N-13");
	struct perf_event_attr x = insns_attr();
	int a = insns(), b;
	void *p;

	/* Refused: event a is not mapped yet, so there is no ring to write to */
	EXPECT_EQ(ev_errno(&x, 0, -1, a, PERF_FLAG_FD_OUTPUT), EINVAL);
	p = map(a);
	b = ev_must(&x, 0, -1, a, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
	EXPECT_EQ(pause_output(b, 1), 0);
	EXPECT_EQ(pause_output(b, 0), 0);
	b = ev_must(&x, 0, -1, a, PERF_FLAG_FD_OUTPUT);
	EXPECT_EQ(pause_output(b, 1), 0);
	/* Without PERF_FLAG_FD_OUTPUT the new event does not use the leader's ring */
	b = ev_must(&x, 0, -1, a, 0);
	EXPECT_EQ(pause_output(b, 1), EINVAL);
	/* The restrictions of PERF_EVENT_IOC_SET_OUTPUT apply */
	EXPECT_EQ(ev_errno(&x, 0, 0, a,
			   PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), EINVAL);
	munmap(p, LEN);
	EXPECT_EQ(ev_errno(&x, 0, -1, a, PERF_FLAG_FD_OUTPUT), EINVAL);
}

TEST(pause)
{
	ROWS("I-24 I-25");
	int fd = insns();
	void *p;

	EXPECT_EQ(pause_output(fd, 1), EINVAL);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	/* A user page without data pages is no ring */
	EXPECT_EQ(pause_output(fd, 1), EINVAL);
	munmap(p, PAGE);
	map(fd);
	EXPECT_EQ(pause_output(fd, 1), 0);
	EXPECT_EQ(pause_output(fd, 1), 0);
	EXPECT_EQ(pause_output(fd, 0), 0);
}

TEST(poll_states)
{
	ROWS("V-08 V-07 V-01");
	int fd = insns();
	void *p;

	EXPECT_EQ(poll_now(fd), POLLHUP);
	p = map(fd);
	EXPECT_EQ(poll_now(fd), 0);
	munmap(p, LEN);
	EXPECT_EQ(poll_now(fd), POLLHUP);
}

TEST(poll_exited_task)
{
	ROWS("V-14 N-16");
	struct perf_event_attr x = insns_attr();
	struct worker w;
	int fd;

	worker_start(&w);
	fd = ev_must(&x, w.pid, -1, -1, 0);
	map(fd);
	EXPECT_EQ(poll_now(fd), 0);
	worker_stop(&w);
	EXPECT_EQ(poll_now(fd), POLLHUP);
}

static void *stop_soon(void *w)
{
	usleep(200000);
	worker_stop(w);
	return NULL;
}

TEST(poll_wakes_at_exit)
{
	ROWS("V-15 V-14");
	struct perf_event_attr x = insns_attr();
	struct pollfd p = { .events = POLLIN };
	struct worker w;
	pthread_t t;

	worker_start(&w);
	p.fd = ev_must(&x, w.pid, -1, -1, 0);
	map(p.fd);
	pthread_create(&t, NULL, stop_soon, &w);
	EXPECT_EQ(poll(&p, 1, 20000), 1);
	EXPECT_EQ(p.revents, POLLHUP);
	pthread_join(t, NULL);
}

TEST(epoll_wakes_at_exit)
{
	ROWS("V-15 V-17");
	struct perf_event_attr x = insns_attr();
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), fd;
	struct worker w;
	pthread_t t;

	worker_start(&w);
	fd = ev_must(&x, w.pid, -1, -1, 0);
	map(fd);
	ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	EXPECT_EQ(epoll_wait(ep, &ev, 1, 0), 0);
	pthread_create(&t, NULL, stop_soon, &w);
	EXPECT_EQ(epoll_wait(ep, &ev, 1, 20000), 1);
	EXPECT_EQ(ev.events, EPOLLHUP);
	pthread_join(t, NULL);
}

/* Several threads concurrently redirect, map, unmap, pause and poll the same events */
static void *juggle(void *arg)
{
	int *fd = arg, i;

	for (i = 0; i < 300; i++) {
		void *p;

		set_output(fd[i % 4], fd[(i + 1) % 4]);
		p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd[i * 7 % 4], 0);
		pause_output(fd[i % 3], i & 1);
		poll_now(fd[i % 4]);
		set_output(fd[i * 5 % 4], fd[i * 3 % 4]);
		if (p != MAP_FAILED)
			munmap(p, LEN);
		set_output(fd[i % 4], -1);
	}
	return NULL;
}

TEST(concurrent_redirects)
{
	ROWS("I-15 I-16");
	pthread_t t[3];
	int fd[4], i;

	for (i = 0; i < 4; i++)
		fd[i] = insns();
	for (i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, juggle, fd);
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(set_output(fd[i], -1), 0);
		EXPECT_EQ(pause_output(fd[i], 0), EINVAL);
		map(fd[i]);
	}
}

#define TURNS	100

/* Redirecting must not wait for RCU: it holds a mutex that other events share */
TEST(no_rcu_wait)
{
	int fd[3], i;
	long before;

	if (route_is_native())
		SKIP(return, "upstream waits for RCU at each");
	for (i = 0; i < 3; i++)
		fd[i] = insns();
	map(fd[1]);
	map(fd[2]);
	before = voluntary_switches();
	for (i = 0; i < TURNS; i++)
		ASSERT_EQ(set_output(fd[0], fd[1 + i % 2]), 0);
	EXPECT_LT(voluntary_switches() - before, TURNS / 4);
}

#define SHARING	64
#define CHANGERS 3

static int sharing[SHARING], others[SHARING];
static _Atomic int changed_enough;

/* Redirect one event after the other to the ring, so that events are added to it all the time */
static void *share_on(void *arg)
{
	long me = (long)arg;
	int i = 0;

	while (!changed_enough) {
		i = (i + 1) % SHARING;
		if (i % CHANGERS == me)
			set_output(sharing[i], others[i]);
	}
	return NULL;
}

/* Unmapping removes the ring from all events, even while others are redirected to it */
TEST(unmap_races_redirect)
{
	ROWS("I-15");
	pthread_t t[CHANGERS];
	uint64_t began;
	void *p;
	long i;
	int fd;

	fd = insns();
	p = map(fd);
	for (i = 0; i < SHARING; i++) {
		sharing[i] = insns();
		others[i] = insns();
		ASSERT_EQ(set_output(others[i], fd), 0);
	}
	for (i = 0; i < CHANGERS; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, share_on, (void *)i), 0);
	usleep(10000);
	began = now_ns();
	munmap(p, LEN);
	began = now_ns() - began;
	changed_enough = 1;
	for (i = 0; i < CHANGERS; i++)
		pthread_join(t[i], NULL);
	TH_LOG("%llu us", (unsigned long long)began / 1000);
	EXPECT_EQ(set_output(sharing[0], fd), EINVAL);
}

TEST_HARNESS_MAIN
