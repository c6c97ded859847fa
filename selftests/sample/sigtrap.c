// SPDX-License-Identifier: GPL-2.0-only
/* attr.sigtrap: an overflow sends a synchronous SIGTRAP to the thread that caused it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "breakpoint.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#ifndef TRAP_PERF
#define TRAP_PERF	6
#endif
#define ROUNDS	10000		/* 40,003 instructions */
#define DATA	0x0123456789abcdefULL

/* The perf fields of siginfo_t, which older libc headers lack: the kernel's 64-bit layout */
struct perf_info {
	int signo, err, code, pad;
	void *addr;
	unsigned long data;
	uint32_t type, flags;
};

static volatile int traps, wrong;
static volatile uint32_t flags;
static __thread volatile int mine;

static void on_trap(int sig, siginfo_t *si, void *ctx)
{
	const struct perf_info *p = (void *)si;

	traps++;
	mine++;
	flags = p->flags;
	if (p->code != TRAP_PERF || p->data != DATA ||
	    p->type != PERF_TYPE_HARDWARE)
		wrong++;
}

static struct perf_event_attr trapping(uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &sa, NULL);
	no_throttle();
	a.sample_period = period;
	a.remove_on_exec = 1;
	a.sigtrap = 1;
	a.sig_data = DATA;
	return a;
}

/* One SIGTRAP per overflow, without a ring buffer; siginfo identifies the event */
TEST(each_overflow)
{
	ROWS("Z-01 Z-02 Z-03 Z-04 Z-08 A-63");
	struct perf_event_attr a = trapping(1000);
	int fd = ev_must(&a, 0, -1, -1, 0);

	work_counted(fd, ROUNDS, 0);
	/* The signal handler's instructions are counted as well */
	EXPECT_EQ(traps, ev_count(fd) / 1000);
	EXPECT_GE(traps, WORK_INSNS(ROUNDS) / 1000);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(flags, 0);
}

static volatile uint64_t spot;
static void *volatile where;

static void on_write(int sig, siginfo_t *si, void *ctx)
{
	const struct perf_info *p = (void *)si;

	traps++;
	where = p->addr;
}

/* The address of a hit is sent if the signal comes where the event counts */
TEST(address)
{
	ROWS("Z-02");
	struct sigaction sa = { .sa_sigaction = on_write, .sa_flags = SA_SIGINFO };
	struct perf_event_attr a = bp_at(&spot);
	int i, fd;

	sigaction(SIGTRAP, &sa, NULL);
	a.sample_period = 1;
	a.remove_on_exec = 1;
	a.sigtrap = 1;
	for (i = 0; i < 2; i++) {
		a.exclude_kernel = i;
		where = NULL;
		fd = ev_must(&a, 0, -1, -1, 0);
		ev_enable(fd);
		spot = i;
		ev_disable(fd);
		close(fd);
		EXPECT_EQ(traps, i + 1);
		EXPECT_EQ(where, (void *)&spot);
	}
}

static volatile int each[2];

static void on_either(int sig, siginfo_t *si, void *ctx)
{
	const struct perf_info *p = (void *)si;

	if (p->data - DATA > 1)
		wrong++;
	else
		each[p->data - DATA]++;
}

/* attr.sig_data identifies the event */
TEST(which_of_two)
{
	ROWS("A-85");
	struct perf_event_attr a = trapping(1000);
	struct sigaction sa = { .sa_sigaction = on_either, .sa_flags = SA_SIGINFO };
	int fd[2];

	sigaction(SIGTRAP, &sa, NULL);
	fd[0] = ev_must(&a, 0, -1, -1, 0);
	a.sample_period = 4000;
	a.sig_data = DATA + 1;
	fd[1] = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd[0], ROUNDS, 0);
	EXPECT_EQ(each[0], ev_count(fd[0]) / 1000);
	EXPECT_EQ(each[1], 0);
	work_counted(fd[1], ROUNDS, 0);
	EXPECT_EQ(each[0], ev_count(fd[0]) / 1000);
	EXPECT_EQ(each[1], ev_count(fd[1]) / 4000);
	EXPECT_GE(each[1], WORK_INSNS(ROUNDS) / 4000);
	EXPECT_EQ(wrong, 0);
}

/* The last overflow that REFRESH allows sends a signal, too */
TEST(refreshed)
{
	ROWS("Z-01");
	struct perf_event_attr a = trapping(1000);
	int fd = ev_must(&a, 0, -1, -1, 0);

	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	work(ROUNDS);
	EXPECT_EQ(traps, 3);
	EXPECT_EQ(wrong, 0);
}

TEST(requirements)
{
	ROWS("Z-05 Z-06");
	struct perf_event_attr a = trapping(1000);

	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	a.remove_on_exec = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

static void *toil(void *arg)
{
	mine = 0;
	work(*(int *)arg);
	return (void *)(long)mine;
}

/* SIGTRAP goes to the thread that caused the overflow, and to no other */
TEST(own_thread)
{
	ROWS("Z-07");
	struct perf_event_attr a = trapping(1000);
	int rounds[2] = { ROUNDS, 3 * ROUNDS }, fd;
	pthread_t thread[2];
	void *got[2];

	a.inherit = 1;
	a.inherit_thread = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, toil, &rounds[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], &got[i]);
	ev_disable(fd);
	for (int i = 0; i < 2; i++)
		EXPECT_GE((long)got[i], WORK_INSNS(rounds[i]) / 1000 - 1);
	EXPECT_LE((long)got[0], WORK_INSNS(2 * ROUNDS) / 1000);
	EXPECT_EQ(wrong, 0);
}

/*
 * If SIGTRAP is blocked, the task is not killed.  The signal is delivered once it is unblocked,
 * with TRAP_PERF_FLAG_ASYNC.
 */
TEST(blocked)
{
	ROWS("U-35");
	struct perf_event_attr a = trapping(10000);
	int fd = ev_must(&a, 0, -1, -1, 0);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(traps, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	EXPECT_EQ(traps, 1);
	EXPECT_EQ(flags, 1);
	EXPECT_EQ(wrong, 0);
}

/* The event is closed while its SIGTRAP may be pending: the target must not be killed */
TEST(closed_by_another)
{
	ROWS("Z-01");
	struct perf_event_attr a = trapping(100);
	int pipes[2], status, i;
	pid_t pid;
	char c;

	a.disabled = 0;
	for (i = 0; i < 20; i++) {
		int fd;

		if (pipe(pipes))
			exit(KSFT_FAIL);
		pid = fork();
		if (!pid) {
			if (read(pipes[0], &c, 1) != 1)
				_exit(1);
			work(ROUNDS);
			_exit(wrong);
		}
		fd = ev_must(&a, pid, -1, -1, 0);
		if (write(pipes[1], "", 1) != 1)
			exit(KSFT_FAIL);
		usleep(i * 200);
		close(fd);
		waitpid(pid, &status, 0);
		EXPECT_EQ(status, 0);
		close(pipes[0]);
		close(pipes[1]);
	}
}

TEST_HARNESS_MAIN
