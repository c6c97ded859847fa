// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unloading while a task is in the middle of an operation is refused at once; it never waits
 * uninterruptibly.  The kernel log names the processes that have files of kpmu open.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "attr.h"
#include "event.h"
#include "harness.h"
#include "missing.h"
#include "module.h"
#include "sampled.h"

/* This program must not have the device open, or the module could not be unloaded */
const bool ev_device_late = true;

#define REDIRECT	"/proc/sys/kernel/kpmu/redirect"

/*
 * Call delete_module(2) in a process of its own, as the call may not return.
 * Return: 0, the errno, or -1 if it has not returned after 20 s (more on slow kernels).
 */
static int try_unload(pid_t *pid)
{
	int p[2], err = -1;
	struct pollfd pfd;

	if (pipe(p))
		exit(1);
	*pid = fork();
	if (!*pid) {
		err = module_unload();
		_exit(write(p[1], &err, sizeof(err)) != sizeof(err));
	}
	pfd = (struct pollfd){ .fd = p[0], .events = POLLIN };
	if (poll(&pfd, 1, 20000 * slow()) == 1 &&
	    read(p[0], &err, sizeof(err)) != sizeof(err))
		err = -1;
	close(p[0]);
	close(p[1]);
	return err;
}

static int open_for(struct perf_event_attr *a, pid_t pid)
{
	int dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC), fd;
	struct kpmu_open args = {
		.attr = (uintptr_t)a, .pid = pid, .cpu = -1, .group_fd = -1,
	};

	fd = ioctl(dev, KPMU_IOC_OPEN, &args);
	close(dev);
	return fd;
}

/*
 * The system call is diverted to kpmu, which passes it on to native perf: the redirection was off
 * when this process started.
 */
static void *opens_natively(void *page)
{
	syscall(SYS_perf_event_open, page, 0, -1, -1, 0);
	return NULL;
}

TEST(a_call_waits_for_its_page)
{
	struct uffdio_zeropage zero = { .range.len = MISSING_SIZE };
	struct uffd_msg msg;
	pthread_t t;
	void *page;
	pid_t pid;
	int uffd;

	uffd = empty_page(&page);
	if (uffd < 0)
		SKIP(return, "no userfaultfd");
	if (write_long(REDIRECT, 1))
		SKIP(return, "no redirection");
	write_long(REDIRECT, 0);
	pthread_create(&t, NULL, opens_natively, page);
	ASSERT_EQ(read(uffd, &msg, sizeof(msg)), sizeof(msg));
	EXPECT_EQ(try_unload(&pid), EAGAIN);
	zero.range.start = (uintptr_t)page;
	EXPECT_EQ(ioctl(uffd, UFFDIO_ZEROPAGE, &zero), 0);
	pthread_join(t, NULL);
	waitpid(pid, NULL, 0);
	if (read_long(REDIRECT) >= 0)
		EXPECT_EQ(module_unload_at_last(), 0);
	EXPECT_EQ(module_load(""), 0);
}

/* A child that blocks in read(2): the context switch is a hit, whose SIGTRAP waits for the child */
static pid_t sleeper(int from)
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	signal(SIGTRAP, SIG_IGN);
	_exit(read(from, &c, 1) != 1);
}

static bool sleeps(pid_t pid)
{
	char path[64], buf[512], *at = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (f && fgets(buf, sizeof(buf), f))
		at = strrchr(buf, ')');
	if (f)
		fclose(f);
	return at && at[2] == 'S';
}

TEST(a_signal_waits_for_its_task)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES, .sample_period = 1,
		.sigtrap = 1, .remove_on_exec = 1, .inherit = 0,
	};
	pid_t pid, rmmod;
	uint64_t end;
	int p[2], fd;

	ASSERT_EQ(pipe(p), 0);
	pid = sleeper(p[0]);
	end = patience();
	while (!sleeps(pid) && now_ns() < end)
		usleep(1000);
	fd = open_for(&a, pid);
	ASSERT_GE(fd, 0);
	/* It is switched out twice: when it stops, and when it blocks in read(2) again */
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	/* waitpid(2) may return before the stopped task is switched out */
	while (!ev_count(fd) && now_ns() < end)
		usleep(1000);
	kill(pid, SIGCONT);
	while ((!sleeps(pid) || ev_count(fd) < 2) && now_ns() < end)
		usleep(1000);
	EXPECT_GE(ev_count(fd), 2);
	/* The IRQ work that queues the SIGTRAP as task work runs shortly after the hit */
	usleep(10000);
	close(fd);
	EXPECT_EQ(try_unload(&rmmod), EAGAIN);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	waitpid(pid, NULL, 0);
	waitpid(rmmod, NULL, 0);
	EXPECT_EQ(module_unload_at_last(), 0);
	EXPECT_EQ(module_load(""), 0);
}

/* Number of occurrences of @text in the kernel log */
static int in_log(const char *text)
{
	static char buf[1 << 20];
	int len = klogctl(3, buf, sizeof(buf) - 1), n = 0;
	char *at = buf;

	buf[len < 0 ? 0 : len] = 0;
	while ((at = strstr(at, text))) {
		n++;
		at++;
	}
	return n;
}

static void hold(int n, int ready)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_TASK_CLOCK);

	prctl(PR_SET_NAME, "kpmu-holder");
	while (n--)
		if (open_for(&a, 0) < 0)
			_exit(1);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int is_named(pid_t pid, int files)
{
	char line[100];

	snprintf(line, sizeof(line), "busy: kpmu-holder (pid %d) has %d of its files open", pid, files);
	return in_log(line);
}

TEST(holders_are_named)
{
	uint64_t end;
	pid_t pid;
	int p[2];
	char c;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid)
		hold(3, p[1]);
	ASSERT_EQ(read(p[0], &c, 1), 1);
	EXPECT_EQ(is_named(pid, 3), 0);
	EXPECT_EQ(module_unload(), EAGAIN);
	end = patience();
	while (!is_named(pid, 3) && now_ns() < end)
		usleep(10000);
	EXPECT_EQ(is_named(pid, 3), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(module_unload_at_last(), 0);
	EXPECT_EQ(module_load(""), 0);
	/* A successful unload adds no such line */
	EXPECT_EQ(is_named(pid, 3), 1);
}

/* Of many holders sixteen are named, so that one user cannot fill the log */
TEST(not_all_holders_are_named)
{
	const char *const more = "busy: and more";
	int before = in_log(more), named = 0, p[2], i;
	uint64_t end = patience();
	pid_t pid[20];
	char c;

	ASSERT_EQ(pipe(p), 0);
	for (i = 0; i < (int)ARRAY_SIZE(pid); i++) {
		pid[i] = fork();
		if (!pid[i])
			hold(1, p[1]);
		ASSERT_EQ(read(p[0], &c, 1), 1);
	}
	EXPECT_EQ(module_unload(), EAGAIN);
	while (in_log(more) == before && now_ns() < end)
		usleep(10000);
	EXPECT_EQ(in_log(more), before + 1);
	for (i = 0; i < (int)ARRAY_SIZE(pid); i++) {
		named += is_named(pid[i], 1);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	EXPECT_EQ(named, 16);
	EXPECT_EQ(module_unload_at_last(), 0);
	EXPECT_EQ(module_load(""), 0);
}

static int nr_samples(struct ring *r)
{
	ring_skip(r);
	return r->pos > 0;
}

/* The module is unloaded while a task is in the kernel that is to write its user stack when it leaves */
TEST_TIMEOUT(stack_still_to_come, 150)
{
	ROWS("U-06");
	union any_attr x = { .a = sampled_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN) };
	int fd, to_child[2], status;
	uint64_t end;
	struct ring r;
	pid_t pid;
	char c;

	if (route_is_native())
		SKIP(return, "is about kpmu");
	ASSERT_EQ(0, pipe(to_child));
	pid = fork();
	if (!pid) {
		close(to_child[1]);
		for (int i = 0; i < 3; i++)
			if (read(to_child[0], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	any_flag(&x, F_DEFER_CALLCHAIN);
	any_flag(&x, F_DEFER_OUTPUT);
	sample_the_kernel(&x.a);
	x.a.disabled = 0;
	usleep(20000);
	fd = open_for(&x.a, pid);
	if (fd < 0 && errno == EOPNOTSUPP) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		SKIP(return, "this kernel does not unwind user stacks later");
	}
	ASSERT_GE(fd, 0);
	ring_map(&r, fd, &x.a, 16);
	/* Samples are taken until the third read blocks */
	ASSERT_EQ(1, write(to_child[1], "a", 1));
	ASSERT_EQ(1, write(to_child[1], "b", 1));
	for (end = patience(); !nr_samples(&r) && now_ns() < end; )
		usleep(10000);
	usleep(50000 * slow());
	EXPECT_TRUE(nr_samples(&r));
	ring_unmap(&r);
	close(fd);
	EXPECT_EQ(0, module_unload_at_last());
	ASSERT_EQ(1, write(to_child[1], "c", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, module_load(""));
}

TEST_HARNESS_MAIN
