// SPDX-License-Identifier: GPL-2.0-only
/*
 * A task with many events forks and exits, or enables and disables them by prctl(2).  Each event
 * is inherited and ended exactly once, whatever changes concurrently.  Interrupts are not disabled
 * for the whole operation.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "event.h"
#include "harness.h"
#include "irqs.h"

#define FORKS	8

static struct perf_event_attr dummy(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_DUMMY);

	a.disabled = 0;
	a.inherit = 1;
	a.read_format = FORMAT_TIMES;
	return a;
}

static void many_fds(int n)
{
	struct rlimit r = { n + 100, n + 100 };

	if (setrlimit(RLIMIT_NOFILE, &r)) {
		perror("setrlimit");
		exit(KSFT_FAIL);
	}
}

/* A child that forks a number of children, one after another, for each byte it receives */
struct parent {
	pid_t pid;
	int to, from;
};

static void bear(int n)
{
	pid_t pid;

	while (n--) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void parent_start(struct parent *p, int forks)
{
	int in[2], out[2];
	char c;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		exit(KSFT_FAIL);
	p->to = in[1];
	p->from = out[0];
	p->pid = fork();
	if (p->pid)
		return;
	close(in[1]);
	while (read(in[0], &c, 1) == 1) {
		bear(forks);
		if (write(out[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

static void parent_go(struct parent *p)
{
	if (write(p->to, "", 1) != 1)
		exit(KSFT_FAIL);
}

/* Wait until it sleeps in read(2), whose number is 0 */
static void parent_wait(struct parent *p)
{
	char c, path[32], buf[256];
	int fd, n;

	if (read(p->from, &c, 1) != 1)
		exit(KSFT_FAIL);
	snprintf(path, sizeof(path), "/proc/%d/syscall", p->pid);
	do {
		sched_yield();
		fd = open(path, O_RDONLY);
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
	} while (n <= 0 || buf[0] != '0');
}

/*
 * Each event's time_enabled includes the run time of all children exactly once.  All children
 * inherit the same events for their whole life, and the parent sleeps while its events are read.
 * So the time has grown by the same amount for all events.
 */
static void equal_times(struct __test *_metadata, const int *fd,
			const uint64_t *before, int n)
{
	uint64_t first = 0, ran;
	int i, differ = 0, any = 0;

	for (i = 0; i < n; i++) {
		if (fd[i] < 0)
			continue;
		ran = ev_times(fd[i]).enabled - before[i];
		if (!any++)
			first = ran;
		differ += ran != first;
	}
	EXPECT_GT(any, n / 2);
	EXPECT_GT(first, 0);
	EXPECT_EQ(differ, 0);
}

#define SINGLES	600
#define GROUPS	150
#define OF	4

TEST(each_is_copied_once)
{
	static uint64_t before[SINGLES];
	static int fd[SINGLES];
	struct perf_event_attr a = dummy();
	struct parent p;
	int i;

	many_fds(SINGLES);
	parent_start(&p, FORKS);
	parent_go(&p);
	parent_wait(&p);
	for (i = 0; i < SINGLES; i++)
		fd[i] = ev_must(&a, p.pid, -1, -1, 0);
	for (i = 0; i < SINGLES; i++)
		before[i] = ev_times(fd[i]).enabled;
	parent_go(&p);
	parent_wait(&p);
	equal_times(_metadata, fd, before, SINGLES);
}

/* Leaders are closed during forks: each former member is still inherited exactly once */
TEST(leaders_leave_meanwhile)
{
	static uint64_t before[GROUPS * OF];
	static int fd[GROUPS * OF];
	struct perf_event_attr a = dummy();
	struct parent p;
	int i;

	many_fds(GROUPS * OF);
	parent_start(&p, 4 * FORKS);
	parent_go(&p);
	parent_wait(&p);
	for (i = 0; i < GROUPS * OF; i++)
		fd[i] = ev_must(&a, p.pid, -1, i % OF ? fd[i - i % OF] : -1, 0);
	for (i = 0; i < GROUPS * OF; i++)
		before[i] = ev_times(fd[i]).enabled;
	parent_go(&p);
	for (i = 0; i < GROUPS * OF; i += OF) {
		usleep(2000);
		close(fd[i]);
		fd[i] = -1;
	}
	parent_wait(&p);
	equal_times(_metadata, fd, before, GROUPS * OF);
}

/* Number of events whose time_enabled grows while both tasks run */
static int running(struct parent *p, const int *fd)
{
	static uint64_t before[SINGLES];
	int i, n = 0;

	for (i = 0; i < SINGLES; i++)
		before[i] = ev_times(fd[i]).enabled;
	parent_go(p);
	parent_wait(p);
	for (i = 0; i < SINGLES; i++)
		n += ev_times(fd[i]).enabled > before[i];
	return n;
}

/* The prctl controls all events that the thread has opened: on itself or not, in groups or not */
TEST(prctl_switches_each)
{
	static int fd[SINGLES];
	struct perf_event_attr a = dummy();
	struct parent p;
	int i;

	many_fds(SINGLES);
	parent_start(&p, 1);
	for (i = 0; i < SINGLES; i++)
		fd[i] = ev_must(&a, i % 2 ? p.pid : 0, -1,
				i % 6 == 2 ? fd[i - 2] : -1, 0);
	EXPECT_EQ(running(&p, fd), SINGLES);
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	EXPECT_EQ(running(&p, fd), 0);
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	EXPECT_EQ(running(&p, fd), SINGLES);
}

#define BULK	4000

/* Measured in instructions, so that the speed of the machine does not matter */
TEST(interrupts_come_through)
{
	static struct perf_event_attr a;
	static struct ring r;
	static int i, fd, samples, n, percent, least = 100;
	pid_t pid;

	if (!has_pmu())
		SKIP(return, "no PMU to sample with");
	no_throttle();
	many_fds(BULK);
	pin_to(0);
	for (i = 0; i < BULK; i++) {
		a = dummy();
		ev_must(&a, 0, -1, -1, 0);
	}
	fd = irqs_event(&r);
	for (i = 0; i < 3 && least >= 10; i++) {
		ev_enable(fd);
		pid = vfork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		ev_disable(fd);
		n = irqs_longest_off(&r, &samples);
		TH_LOG("fork and exit %d instructions, at most %d in a row without interrupts",
		       samples * IRQS_PERIOD, n * IRQS_PERIOD);
		/* Inheriting one event takes more than 200 instructions */
		EXPECT_GT(samples, BULK * 200 / IRQS_PERIOD);
		percent = n * 100 / samples;
		least = percent < least ? percent : least;
	}
	/* A batch is 128 of 4,000 events.  All in one section would be 25 percent or more. */
	EXPECT_LT(least, 10);
}

TEST_HARNESS_MAIN
