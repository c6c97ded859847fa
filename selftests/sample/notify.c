// SPDX-License-Identifier: GPL-2.0-only
/* Notification of overflows: signals, poll(2), PERF_EVENT_IOC_REFRESH. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define ROUNDS	10000		/* 40,003 instructions */

static volatile int ins, hups, wrong, last_code;
static volatile int expect_fd;
static volatile pid_t told;

static void on_signal(int sig, siginfo_t *si, void *ctx)
{
	if (si->si_fd != expect_fd)
		wrong++;
	told = syscall(SYS_gettid);
	last_code = si->si_code;
	if (si->si_code == POLL_IN)
		ins++;
	else if (si->si_code == POLL_HUP)
		hups++;
	else
		wrong++;
}

static void listen_to(int fd)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };
	struct f_owner_ex own = { F_OWNER_TID, syscall(SYS_gettid) };

	sigaction(SIGRTMIN + 1, &sa, NULL);
	fcntl(fd, F_SETSIG, SIGRTMIN + 1);
	fcntl(fd, F_SETOWN_EX, &own);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
	expect_fd = fd;
	ins = hups = wrong = 0;
}

static struct perf_event_attr insns(uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP;
	a.wakeup_events = 1;
	return a;
}

static int open_insns(uint64_t period)
{
	struct perf_event_attr a = insns(period);

	no_throttle();
	return ev_must(&a, 0, -1, -1, 0);
}

/* A record that is no sample sends a signal, too, if its size reaches the watermark */
TEST(signal_for_a_record)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct ring r;
	int fd;

	ROWS("A-65");
	a.comm = 1;
	a.watermark = 1;
	a.wakeup_watermark = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 2);
	listen_to(fd);
	ev_enable(fd);
	prctl(PR_SET_NAME, "renamed");
	EXPECT_EQ(ins, 1);
	EXPECT_EQ(wrong, 0);
}

/* One signal per overflow, with and without a ring buffer, for any wakeup_events */
static void signals(struct __test *_metadata, int wakeup_events)
{
	struct perf_event_attr a = insns(1000);
	struct ring r;
	int fd;

	a.wakeup_events = wakeup_events;
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	listen_to(fd);
	work_counted(fd, ROUNDS, 0);
	/* The signal handler's instructions are counted as well */
	EXPECT_EQ(ins, ev_count(fd) / 1000);
	EXPECT_GE(ins, WORK_INSNS(ROUNDS) / 1000);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(hups, 0);
	ring_map(&r, fd, &a, 8);
	ins = 0;
	work_counted(fd, ROUNDS, 0);
	EXPECT_GE(ins, WORK_INSNS(ROUNDS) / 1000);
	EXPECT_EQ(ins, ring_count(&r, PERF_RECORD_SAMPLE));
	EXPECT_EQ(wrong, 0);
	close(fd);
}

TEST(one_signal_each)
{
	ROWS("V-02 V-03 V-04 V-05 V-16 M-29 A-66 N-05");
	signals(_metadata, 3);
	signals(_metadata, 0);
	signals(_metadata, 1);
}

/* A counting event sends no signals */
TEST(counting_is_silent)
{
	ROWS("V-05 A-31");
	struct perf_event_attr a = insns(0);
	int fd = ev_must(&a, 0, -1, -1, 0);

	listen_to(fd);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ins + hups + wrong, 0);
	a.freq = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	listen_to(fd);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ins + hups + wrong, 0);
}

static int refresh(int fd, int n)
{
	return ioctl(fd, PERF_EVENT_IOC_REFRESH, n) ? errno : 0;
}

/* REFRESH n: n overflows, the last with POLL_HUP; then the event is disabled */
TEST(refresh_n)
{
	ROWS("V-09 V-10 V-11 V-12 I-10");
	int fd = open_insns(1000), n;
	uint64_t count;

	listen_to(fd);
	for (n = 1; n <= 4; n++) {
		ins = hups = 0;
		EXPECT_EQ(refresh(fd, n), 0);
		work(ROUNDS);
		EXPECT_EQ(ins, n - 1);
		EXPECT_EQ(hups, 1);
		EXPECT_EQ(last_code, POLL_HUP);
		count = ev_count(fd);
		work(ROUNDS);
		EXPECT_EQ(ev_count(fd), count);
		EXPECT_EQ(ins + hups, n);
	}
	/* Two REFRESH calls add up */
	ins = hups = 0;
	EXPECT_EQ(refresh(fd, 1), 0);
	EXPECT_EQ(refresh(fd, 1), 0);
	work(ROUNDS);
	EXPECT_EQ(ins, 1);
	EXPECT_EQ(hups, 1);
	EXPECT_EQ(wrong, 0);
}

TEST(refresh_errors)
{
	ROWS("I-10 I-11 H-10");
	struct perf_event_attr a = insns(1000);
	int fd = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);

	EXPECT_EQ(refresh(fd, 1), EINVAL);
	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(refresh(fd, 1), EINVAL);
	fd = open_insns(1000);
	EXPECT_EQ(refresh(fd, 0), 0);
}

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

/* After every wakeup_events samples, poll(2) reports POLLIN, once */
TEST(poll_after_samples)
{
	ROWS("V-01 V-06 V-07 A-65");
	struct perf_event_attr a = insns(10000);
	struct ring r;
	int fd, i;

	a.wakeup_events = 2;
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	for (i = 1; i <= 6; i++) {
		/* 10,003 instructions: one sample */
		work_counted(fd, 2500, 0);
		EXPECT_EQ(poll_now(fd), i % 2 ? 0 : POLLIN);
		EXPECT_EQ(poll_now(fd), 0);
	}
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 6);
}

/* wakeup_watermark: POLLIN after more than that many bytes since the last wakeup */
TEST(watermark)
{
	ROWS("V-06 A-34 R-14");
	struct perf_event_attr a = insns(1000);
	struct ring r;
	int fd, i;

	a.watermark = 1;
	a.wakeup_watermark = 160;	/* ten samples of 16 bytes */
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	for (i = 1; i <= 43; i++) {
		/* 1,003 instructions: one sample */
		work_counted(fd, 250, 0);
		if (exact())
			EXPECT_EQ(poll_now(fd), i % 10 == 1 && i > 1 ? POLLIN : 0);
	}
	if (!exact())
		EXPECT_EQ(poll_now(fd), POLLIN);
	EXPECT_EQ(poll_now(fd), 0);
}

static void *worker(void *arg)
{
	struct timespec soon = { 0, 50000000 };

	nanosleep(&soon, NULL);
	work_counted(*(int *)arg, ROUNDS, 0);
	return NULL;
}

/* select(2), and epoll(7) level-triggered and edge-triggered */
TEST(waiting)
{
	ROWS("V-01 V-17 V-18");
	struct epoll_event ev = { .events = EPOLLIN }, got;
	struct perf_event_attr a = insns(1000);
	int fd, other, ep = epoll_create1(0);
	pthread_t thread;
	struct ring r;
	fd_set set;

	no_throttle();
	a.inherit = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	other = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd), 0);

	FD_ZERO(&set);
	FD_SET(fd, &set);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(select(fd + 1, &set, NULL, NULL, NULL), 1);
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	EXPECT_EQ(epoll_wait(ep, &got, 1, 0), 0);
	/* Records that another event writes to this event's ring buffer wake up too */
	work_counted(other, ROUNDS, 0);
	EXPECT_EQ(epoll_wait(ep, &got, 1, 1000), 1);
	ev.events = EPOLLIN | EPOLLET;
	epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev);
	while (epoll_wait(ep, &got, 1, 0) > 0)
		;
	pthread_create(&thread, NULL, worker, &fd);
	pthread_join(thread, NULL);
	/* The work was another thread's, and this event counts only the main thread */
	EXPECT_EQ(epoll_wait(ep, &got, 1, 0), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(epoll_wait(ep, &got, 1, 1000), 1);
}

struct target {
	int go[2], fd;
	pid_t pid;
};

/* The target works after the first run_target(), and exits after the second */
static void start_target(struct target *t, int rounds)
{
	char c;

	if (pipe(t->go))
		exit(KSFT_FAIL);
	t->pid = fork();
	if (!t->pid) {
		close(t->go[1]);
		if (read(t->go[0], &c, 1) != 1)
			_exit(1);
		work(rounds);
		if (read(t->go[0], &c, 1) != 1)
			_exit(1);
		_exit(0);
	}
	close(t->go[0]);
}

static void run_target(struct target *t)
{
	if (write(t->go[1], "", 1) != 1)
		exit(KSFT_FAIL);
}

static int ms_until(uint64_t end)
{
	uint64_t now = now_ns();

	return now < end ? (end - now) / 1000000 : 0;
}

/* poll(2) for samples of another process, and for its exit */
TEST(other_process)
{
	ROWS("V-14 V-15 N-16");
	struct perf_event_attr a = insns(100000);
	struct target t;
	struct ring r;
	struct pollfd p = { .events = POLLIN };
	uint64_t end;
	int n = 0;

	no_throttle();
	start_target(&t, 1000000);
	a.disabled = 0;
	p.fd = ev_must(&a, t.pid, -1, -1, 0);
	ring_map(&r, p.fd, &a, 8);
	run_target(&t);
	end = patience();
	/* A wakeup may stand for several samples.  4,000,000 instructions give at least 40. */
	do {
		ASSERT_EQ(poll(&p, 1, ms_until(end)), 1);
		ASSERT_EQ(p.revents, POLLIN);
		n += ring_count(&r, PERF_RECORD_SAMPLE);
	} while (n < 40 && now_ns() < end);
	EXPECT_GE(n, 40);
	run_target(&t);
	/* Samples of the exit path may be reported before the hang-up: poll until POLLHUP */
	do {
		ASSERT_EQ(poll(&p, 1, ms_until(end)), 1);
	} while (!(p.revents & POLLHUP) && now_ns() < end);
	EXPECT_EQ(p.revents, POLLHUP);
	waitpid(t.pid, NULL, 0);
}

/* F_SETOWN_EX names the thread to signal, although another thread overflows */
static void *named(void *arg)
{
	struct f_owner_ex own = { F_OWNER_TID, *(pid_t *)arg };
	int fd = open_insns(1000);

	listen_to(fd);
	fcntl(fd, F_SETOWN_EX, &own);
	work_counted(fd, ROUNDS, 0);
	return NULL;
}

TEST(named_thread)
{
	ROWS("V-03 N-17");
	pid_t me = syscall(SYS_gettid);
	pthread_t thread;

	pthread_create(&thread, NULL, named, &me);
	pthread_join(thread, NULL);
	EXPECT_GT(ins, 0);
	EXPECT_EQ(told, me);
}

static int set_period(int fd, uint64_t period)
{
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) ? errno : 0;
}

/* PERF_EVENT_IOC_PERIOD takes effect at once */
TEST(new_period)
{
	ROWS("I-12 I-13 I-14 N-11");
	struct perf_event_attr a = insns(1000000);
	struct ring r;
	int fd;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 0);
	EXPECT_EQ(set_period(fd, 1000), 0);
	work_counted(fd, ROUNDS, 0);
	if (exact())
		EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE),
			  WORK_INSNS(ROUNDS) / 1000);
	ev_enable(fd);
	EXPECT_EQ(set_period(fd, 5000), 0);
	ring_skip(&r);
	work(ROUNDS);
	ev_disable(fd);
	EXPECT_GE(ring_count(&r, PERF_RECORD_SAMPLE), WORK_INSNS(ROUNDS) / 5000);
	EXPECT_EQ(set_period(fd, 0), EINVAL);
	EXPECT_EQ(set_period(fd, 1ULL << 63), EINVAL);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, 8) ? errno : 0, EFAULT);
	fd = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	EXPECT_EQ(set_period(fd, 1000), EINVAL);
}

/* One signal at each multiple of the period, however often the task migrates */
TEST(signals_while_migrating)
{
	ROWS("V-02 V-16");
	int fd = open_insns(10007), i;
	uint64_t all = 0;

	listen_to(fd);
	for (i = 0; i < 200; i++) {
		pin_to(i % nr_cpus());
		work_counted(fd, 1000 + i, 0);
		all += WORK_INSNS(1000 + i);
	}
	EXPECT_GE(ins, all / 10007);
	/* The signal handler's instructions count too, if it interrupts the work */
	EXPECT_LE(ins, (all + 200 * ins) / 10007 + 1);
	EXPECT_EQ(wrong, 0);
}

TEST_HARNESS_MAIN
