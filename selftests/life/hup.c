// SPDX-License-Identifier: GPL-2.0-only
/* poll(2) tells when an event's task is no more.  Without a mapping it always does. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

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

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

static int polled(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 ? p.revents : 0;
}

/* An event with a user page; inherited ones have it only with a CPU */
static int mapped(const struct perf_event_attr *a, pid_t pid)
{
	int fd = ev_must(a, pid, a->inherit ? 1 : -1, -1, 0);

	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) {
		perror("# mmap");
		exit(1);
	}
	return fd;
}

TEST(exit_of_the_task)
{
	ROWS("V-14 N-16");
	struct perf_event_attr a = insns();
	struct worker w;
	uint64_t v;
	int fd;

	worker_start(&w);
	fd = mapped(&a, w.pid);
	EXPECT_EQ(polled(fd, 0), 0);
	worker_run(&w, N);
	EXPECT_EQ(polled(fd, 50), 0);
	worker_stop(&w);
	EXPECT_EQ(polled(fd, 0), POLLHUP);
	EXPECT_EQ(polled(fd, -1), POLLHUP);
	v = ev_count(fd);
	EXPECT_GE(v, 4 * N);
	EXPECT_EQ(ev_count(fd), v);
}

/* Also of one who is not waited for yet, and however it went */
TEST(a_zombie_and_a_kill)
{
	ROWS("V-14 N-16");
	struct perf_event_attr a = insns();
	struct worker w;
	siginfo_t info;
	int fd;

	worker_start(&w);
	fd = mapped(&a, w.pid);
	worker_zombie(&w);
	EXPECT_EQ(polled(fd, 0), POLLHUP);
	worker_start(&w);
	fd = mapped(&a, w.pid);
	worker_go(&w, 1000000000);
	EXPECT_EQ(polled(fd, 0), 0);
	kill(w.pid, SIGKILL);
	waitid(P_PID, w.pid, &info, WEXITED | WNOWAIT);
	EXPECT_EQ(polled(fd, 0), POLLHUP);
}

struct waiting {
	int fd, got;
	uint64_t when;
};

static void *wait_for_hup(void *arg)
{
	struct waiting *w = arg;

	w->got = polled(w->fd, 20000);
	w->when = now_ns();
	return NULL;
}

TEST(a_sleeping_poll_wakes)
{
	ROWS("V-15");
	struct perf_event_attr a = insns();
	struct waiting wait = { 0 };
	struct worker w;
	pthread_t t;
	uint64_t end;

	worker_start(&w);
	wait.fd = mapped(&a, w.pid);
	ASSERT_EQ(pthread_create(&t, NULL, wait_for_hup, &wait), 0);
	usleep(100000);
	EXPECT_EQ(wait.when, 0);
	worker_stop(&w);
	end = now_ns();
	pthread_join(t, NULL);
	EXPECT_EQ(wait.got, POLLHUP);
	/* Far from the limit of the poll */
	EXPECT_LT(wait.when, end + 10000000000);
}

TEST(epoll)
{
	ROWS("V-14");
	struct perf_event_attr a = insns();
	struct epoll_event e = { .events = EPOLLIN };
	struct worker w;
	int ep = epoll_create1(0), fd;

	worker_start(&w);
	fd = mapped(&a, w.pid);
	ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
	EXPECT_EQ(epoll_wait(ep, &e, 1, 0), 0);
	worker_stop(&w);
	EXPECT_EQ(epoll_wait(ep, &e, 1, 10000), 1);
	EXPECT_EQ(e.events, EPOLLHUP);
	/* It stays so */
	EXPECT_EQ(epoll_wait(ep, &e, 1, 0), 1);
}

/* The family's last one turns out the light */
TEST(inherited)
{
	ROWS("V-14");
	struct perf_event_attr a = insns();
	struct worker top, kid, grand;
	int fd;

	a.inherit = 1;
	worker_start(&top);
	fd = mapped(&a, top.pid);
	worker_fork(&top, &kid);
	worker_fork(&kid, &grand);
	worker_stop(&top);
	EXPECT_EQ(polled(fd, 50), 0);
	worker_stop(&kid);
	EXPECT_EQ(polled(fd, 50), 0);
	worker_stop(&grand);
	EXPECT_EQ(polled(fd, 0), POLLHUP);
}

TEST(a_childs_end_is_none)
{
	ROWS("V-14");
	struct perf_event_attr a = insns();
	struct worker top, kid;
	int fd;

	a.inherit = 1;
	worker_start(&top);
	fd = mapped(&a, top.pid);
	worker_fork(&top, &kid);
	worker_stop(&kid);
	EXPECT_EQ(polled(fd, 50), 0);
	worker_stop(&top);
	EXPECT_EQ(polled(fd, 0), POLLHUP);
}

TEST(remove_on_exec)
{
	ROWS("J-06 A-62");
	struct perf_event_attr a = insns();
	struct ev_times t, u;
	struct worker w;
	int fd;

	a.remove_on_exec = 1;
	worker_start(&w);
	fd = mapped(&a, w.pid);
	worker_run(&w, N);
	EXPECT_EQ(polled(fd, 0), 0);
	worker_exec_self(&w);
	EXPECT_EQ(polled(fd, 0), POLLHUP);
	t = ev_times(fd);
	EXPECT_GE(t.value, 4 * N);
	worker_run(&w, N);
	u = ev_times(fd);
	EXPECT_EQ(memcmp(&t, &u, sizeof(t)), 0);
	worker_stop(&w);
}

/* Without the bit an exec is no end */
TEST(exec)
{
	ROWS("J-03 V-14");
	struct perf_event_attr a = insns();
	struct worker w;
	int fd;

	worker_start(&w);
	fd = mapped(&a, w.pid);
	worker_exec_self(&w);
	EXPECT_EQ(polled(fd, 50), 0);
	worker_stop(&w);
	EXPECT_EQ(polled(fd, 0), POLLHUP);
}

TEST(set_uid_exec)
{
	ROWS("U-46 V-14");
	struct perf_event_attr a = insns();
	struct worker w;
	int fd;

	/* Runs for long: the end that is seen is not its own */
	tiny_install(TINY, 2000000000, 04755);
	set_paranoid(2);
	worker_start_as(&w, 65534);
	drop_privilege();
	fd = mapped(&a, w.pid);
	EXPECT_EQ(polled(fd, 0), 0);
	worker_exec_only(&w, TINY);
	EXPECT_EQ(polled(fd, 10000), POLLHUP);
}

/* A pinned event that found no counter says so */
TEST(pinned_in_error)
{
	ROWS("U-31");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	int n = counters_general(), fd[16], i;
	uint64_t v[3];

	a.pinned = 1;
	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	for (i = 0; i < n; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	fd[n] = mapped(&a, 0);
	EXPECT_EQ(read(fd[n], v, sizeof(v)), 0);
	EXPECT_EQ(polled(fd[n], 0), POLLERR);
	EXPECT_EQ(polled(fd[0], 0), POLLHUP);
	close(fd[0]);
	ev_enable(fd[n]);
	EXPECT_EQ(read(fd[n], v, sizeof(v)), sizeof(v));
	EXPECT_EQ(polled(fd[n], 0), 0);
}

TEST_HARNESS_MAIN
