// SPDX-License-Identifier: GPL-2.0-only
/* Debug registers shared with the kernel's own perf: their number, and switches between tasks that use all. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "breakpoint.h"
#include "event.h"
#include "harness.h"

#define NR	4	/* debug registers */
#define TURNS	500

static volatile long data[16] __attribute__((aligned(64)));

static struct perf_event_attr bp(int i)
{
	struct perf_event_attr a = bp_at(&data[i]);

	a.disabled = 0;
	return a;
}

/* One of native perf, on both routes */
static int open_native(int i)
{
	struct perf_event_attr a = bp(i);

	return syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Native events and those of kpmu have the four registers of a task together */
TEST(limit_is_shared)
{
	struct perf_event_attr a = bp(4);
	int fd[NR], i;

	ROWS("T-93 E-30");
	for (i = 0; i < NR; i++) {
		struct perf_event_attr own = bp(i);

		fd[i] = i & 1 ? open_native(i) : ev_must(&own, 0, -1, -1, 0);
		ASSERT_GE(fd[i], 0);
	}
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOSPC);
	EXPECT_EQ(open_native(4), -1);
	EXPECT_EQ(errno, ENOSPC);
	close(fd[0]);
	fd[0] = open_native(0);
	EXPECT_GE(fd[0], 0);
	close(fd[1]);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	for (i = 0; i < NR; i++)
		close(fd[i]);
}

static void pass(int to, int from)
{
	char c = 0;

	if (write(to, &c, 1) != 1 || read(from, &c, 1) != 1)
		_exit(1);
}

/* Has all registers, and writes to what each of them watches at each turn */
static pid_t start_neighbour(int to, int from, bool native)
{
	pid_t pid = fork();
	int i, turn;

	if (pid)
		return pid;
	for (i = 0; i < NR; i++) {
		struct perf_event_attr a = bp(i);

		if ((native ? open_native(i) : ev_open(&a, 0, -1, -1, 0)) < 0)
			_exit(1);
	}
	for (turn = 0; turn < TURNS; turn++) {
		pass(to, from);
		data[turn % NR] = turn;
	}
	pass(to, from);
	_exit(0);
}

/*
 * Tasks on one CPU take turns.  Each uses all registers; those of the previous task become free in the
 * course of the switch only.
 */
static void take_turns(struct __test *_metadata, bool native)
{
	int fd[NR], to[2], from[2], i, turn, status;
	pid_t pid;

	pin_to(0);
	ASSERT_EQ(pipe(to), 0);
	ASSERT_EQ(pipe(from), 0);
	pid = start_neighbour(from[1], to[0], native);
	for (i = 0; i < NR; i++) {
		struct perf_event_attr a = bp(i);

		fd[i] = ev_must(&a, 0, -1, -1, 0);
	}
	for (turn = 0; turn <= TURNS; turn++) {
		char c;

		ASSERT_EQ(read(from[0], &c, 1), 1);
		data[0] = turn;
		ASSERT_EQ(write(to[1], &c, 1), 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(ev_count(fd[0]), TURNS + 1);
	for (i = 1; i < NR; i++) {
		data[i] = 1;
		/* QEMU may report an earlier hit again */
		EXPECT_GE(ev_count(fd[i]), 1);
	}
	for (i = 0; i < NR; i++)
		close(fd[i]);
}

TEST(turns_with_native)
{
	ROWS("T-06 T-93");
	take_turns(_metadata, true);
}

TEST(turns_among_themselves)
{
	ROWS("T-06 T-93");
	take_turns(_metadata, false);
}

/* Breakpoints of a task whose CPU goes offline go with it, and leave the registers of the CPU empty */
TEST(offline)
{
	int fd[NR], i, turn;

	ROWS("T-06 T-93");
	if (nr_cpus() < 2)
		SKIP(return, "there is only one CPU");
	for (turn = 0; turn < 3; turn++) {
		pin_to(1);
		for (i = 0; i < NR; i++) {
			struct perf_event_attr a = bp(i);

			fd[i] = ev_must(&a, 0, -1, -1, 0);
		}
		data[0] = 1;
		ASSERT_EQ(cpu_online(1, 0), 0);
		data[0] = 2;
		if (turn == 1)
			close(fd[3]);
		ASSERT_EQ(cpu_online(1, 1), 0);
		ASSERT_EQ(pin_to(1), 0);
		data[0] = 3;
		EXPECT_EQ(ev_count(fd[0]), 3);
		for (i = 0; i < NR; i++)
			close(fd[i]);
	}
}

TEST_HARNESS_MAIN
