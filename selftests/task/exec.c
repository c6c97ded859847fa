// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events across exec: they stay attached to the task, unless it executes a program that it may
 * not read.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define N 1000000

/*
 * With KPMU_TEST_WORK set, the program was executed by a test's child: do that many rounds of
 * work.  Before and after the work, write a byte to fd 101 and wait for one on fd 100.
 * KPMU_TEST_FD is an event that must count the work.
 */
static void __attribute__((constructor)) work_for_a_test(void)
{
	const char *n = getenv("KPMU_TEST_WORK"), *fd = getenv("KPMU_TEST_FD");
	uint64_t before = 0;
	char c;

	if (!n)
		return;
	if (write(101, "", 1) != 1 || read(100, &c, 1) != 1)
		_exit(1);
	if (fd)
		before = ev_count(atoi(fd));
	work(strtoull(n, NULL, 0));
	if (fd && ev_count(atoi(fd)) - before < WORK_INSNS(strtoull(n, NULL, 0)))
		_exit(2);
	if (write(101, "", 1) != 1 || read(100, &c, 1) != 1)
		_exit(1);
	_exit(0);
}

struct child {
	pid_t pid;
	int to, from;
};

/* Start a child that waits for a byte, then executes @file, which works as above */
static void start(struct child *c, const char *file, uid_t uid)
{
	static char *const args[] = { "self", NULL };
	static char *const env[] = { "KPMU_TEST_WORK=1000000",
				     "KPMU_ROUTE=native", NULL };
	int in[2], out[2];
	char byte;

	if (pipe(in) || pipe(out))
		exit(1);
	c->pid = fork();
	if (!c->pid) {
		dup2(in[0], 100);
		dup2(out[1], 101);
		close(in[1]);
		close(out[0]);
		if (uid && (setgid(uid) || setuid(uid)))
			_exit(98);
		prctl(PR_SET_DUMPABLE, 1);
		if (write(101, "", 1) != 1 || read(100, &byte, 1) != 1)
			_exit(97);
		execve(file, args, env);
		_exit(99);
	}
	close(in[0]);
	close(out[1]);
	c->to = in[1];
	c->from = out[0];
	if (read(c->from, &byte, 1) != 1)
		exit(1);
}

/* Let the child run to its next stop: after the exec, then after the work */
static void step(struct child *c)
{
	char byte = 0;

	if (write(c->to, &byte, 1) != 1 || read(c->from, &byte, 1) != 1)
		exit(1);
}

static void finish(struct child *c)
{
	char byte = 0;

	if (write(c->to, &byte, 1) != 1)
		exit(1);
	waitpid(c->pid, NULL, 0);
}

static int on_task(pid_t pid)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, -1, -1, 0);
}

TEST(event_survives_exec)
{
	ROWS("J-03");
	struct child c;
	uint64_t v;
	int fd;

	start(&c, "/proc/self/exe", 0);
	fd = on_task(c.pid);
	step(&c);
	v = ev_count(fd);
	EXPECT_GT(v, 0);
	step(&c);
	EXPECT_GE(ev_count(fd) - v, 4 * N);
	EXPECT_LE(ev_count(fd) - v, 4 * N + 10000);
	EXPECT_TRUE(always_ran(fd));
	finish(&c);
	EXPECT_GE(ev_count(fd) - v, 4 * N);
}

TEST(disabled_event_survives_exec)
{
	ROWS("J-03");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct child c;
	int fd;

	start(&c, "/proc/self/exe", 0);
	fd = ev_must(&a, c.pid, -1, -1, 0);
	step(&c);
	EXPECT_EQ(ev_count(fd), 0);
	ev_enable(fd);
	step(&c);
	EXPECT_GE(ev_count(fd), 4 * N);
	finish(&c);
}

/* A task with an event on itself executes a program; the event's fd stays open */
TEST(own_event_survives_exec)
{
	ROWS("J-03");
	int to[2], from[2], fd, status;
	uint64_t v;
	pid_t pid;
	char c;

	ASSERT_EQ(pipe(to), 0);
	ASSERT_EQ(pipe(from), 0);
	pid = fork();
	if (!pid) {
		char *args[] = { "self", NULL };
		char own[32];
		char *env[] = { "KPMU_TEST_WORK=1000000",
				"KPMU_ROUTE=native", own, NULL };

		fd = on_task(0);
		snprintf(own, sizeof(own), "KPMU_TEST_FD=%d", fd);
		dup2(to[0], 100);
		dup2(from[1], 101);
		fcntl(fd, F_SETFD, 0);
		execve("/proc/self/exe", args, env);
		_exit(99);
	}
	close(from[1]);
	/* A second event, opened by the parent, must count the new program */
	ASSERT_EQ(read(from[0], &c, 1), 1);
	fd = on_task(pid);
	v = ev_count(fd);
	ASSERT_EQ(write(to[1], &c, 1), 1);
	ASSERT_EQ(read(from[0], &c, 1), 1);
	EXPECT_GE(ev_count(fd) - v, 4 * N);
	ASSERT_EQ(write(to[1], &c, 1), 1);
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
}

/*
 * A task that executes a file without read permission becomes non-dumpable, and its events are
 * detached.
 */
TEST(unreadable_program_detaches)
{
	ROWS("U-46");
	const char *file = "/tmp/kpmu-unreadable";
	char cmd[128];
	struct child c;
	uint64_t v;
	int fd;

	snprintf(cmd, sizeof(cmd), "cp /proc/%d/exe %s && chmod 0711 %s",
		 getpid(), file, file);
	ASSERT_EQ(system(cmd), 0);
	set_paranoid(2);
	start(&c, file, 65534);
	drop_privilege();
	fd = on_task(c.pid);
	step(&c);
	v = ev_count(fd);
	step(&c);
	EXPECT_EQ(ev_count(fd), v);
	finish(&c);
	EXPECT_EQ(ev_count(fd), v);
}

/* A thread other than the main thread calls execve(): it takes over the main thread's PID */
static void *exec_from_a_thread(void *arg)
{
	static char *const args[] = { "self", NULL };
	static char *const env[] = { "KPMU_TEST_WORK=1000000",
				     "KPMU_ROUTE=native", NULL };
	char byte;

	if (read(100, &byte, 1) == 1)
		execve("/proc/self/exe", args, env);
	_exit(99);
}

TEST(exec_from_a_thread_that_is_not_first)
{
	ROWS("J-03");
	int to[2], from[2], first;
	pthread_t t;
	uint64_t v;
	pid_t pid;
	char c = 0;

	ASSERT_EQ(pipe(to), 0);
	ASSERT_EQ(pipe(from), 0);
	pid = fork();
	if (!pid) {
		dup2(to[0], 100);
		dup2(from[1], 101);
		pthread_create(&t, NULL, exec_from_a_thread, NULL);
		for (;;)
			pause();
	}
	first = on_task(pid);
	ASSERT_EQ(write(to[1], &c, 1), 1);
	ASSERT_EQ(read(from[0], &c, 1), 1);
	/* The original main thread and its event have ended: the count is final */
	v = ev_count(first);
	ASSERT_EQ(write(to[1], &c, 1), 1);
	ASSERT_EQ(read(from[0], &c, 1), 1);
	EXPECT_EQ(ev_count(first), v);
	ASSERT_EQ(write(to[1], &c, 1), 1);
	waitpid(pid, NULL, 0);
}

/* Open events concurrently with the target's exec: both succeed */
TEST(open_vs_exec)
{
	ROWS("J-03");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct child c;
	char byte = 0;
	int i, k, fd, got = 0;

	a.disabled = 0;
	for (i = 0; i < 10; i++) {
		start(&c, "/proc/self/exe", 0);
		ASSERT_EQ(write(c.to, &byte, 1), 1);
		for (k = 0; k < 20; k++) {
			fd = ev_open(&a, c.pid, -1, -1, 0);
			ASSERT_GE(fd, 0);
			got++;
			close(fd);
		}
		ASSERT_EQ(read(c.from, &byte, 1), 1);
		step(&c);
		finish(&c);
	}
	EXPECT_EQ(got, 200);
}

TEST_HARNESS_MAIN
