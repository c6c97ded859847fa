// SPDX-License-Identifier: GPL-2.0-only
/* prctl(PR_TASK_PERF_EVENTS_*) enables or disables all events that the caller opened, no others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define N	100000

#define ON	PR_TASK_PERF_EVENTS_ENABLE
#define OFF	PR_TASK_PERF_EVENTS_DISABLE

static const struct {
	uint32_t type;
	uint64_t config, want;
} kinds[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, WORK_INSNS(N) },
	{ PERF_TYPE_RAW, RAW_BRANCHES, WORK_BRANCHES(N) },
	{ PERF_TYPE_RAW, RAW_LOADS, WORK_LOADS(N) },
	{ PERF_TYPE_RAW, RAW_STORES, WORK_STORES(N) },
};

static struct perf_event_attr insns(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.read_format = FORMAT_TIMES;
	return a;
}

static int on(struct worker *w)
{
	struct perf_event_attr a = insns();

	return ev_must(&a, w->pid, -1, -1, 0);
}

#define EXACT(got, want) do {						\
	uint64_t __g = got, __w = want;					\
									\
	EXPECT_GE(__g + SLACK(__w), __w);				\
	EXPECT_LE(__g, __w + SLACK(__w));				\
} while (0)

TEST(no_events)
{
	ROWS("K-06");
	EXPECT_EQ(prctl(ON), 0);
	EXPECT_EQ(prctl(OFF), 0);
	EXPECT_EQ(prctl(OFF), 0);
}

TEST(as_nobody)
{
	ROWS("K-06 K-07");
	int fd;

	set_paranoid(2);
	drop_privilege();
	EXPECT_EQ(prctl(ON), 0);
	EXPECT_EQ(prctl(OFF), 0);
	fd = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	prctl_counted(N);
	EXACT(ev_count(fd), WORK_INSNS(N));
}

/*
 * The events count from the first instruction after the enabling prctl to the SYSCALL of the
 * disabling one.
 */
TEST(all_of_the_caller)
{
	ROWS("K-01 O-24");
	int fd[4], i;

	for (i = 0; i < 4; i++)
		fd[i] = ev_self_times(kinds[i].type, kinds[i].config, -1);
	work(N);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(ev_times(fd[i]).enabled, 0);
	prctl_counted(N);
	for (i = 0; i < 4; i++) {
		EXACT(ev_count(fd[i]), kinds[i].want);
		EXPECT_TRUE(always_ran(fd[i]));
	}
	work(N);
	for (i = 0; i < 4; i++)
		EXACT(ev_count(fd[i]), kinds[i].want);
	prctl_counted(N);
	for (i = 0; i < 4; i++)
		EXACT(ev_count(fd[i]), 2 * kinds[i].want);
}

/* A repeated call has no effect */
TEST(twice)
{
	ROWS("K-01");
	int fd = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	struct ev_times a, b;

	EXPECT_EQ(prctl(ON), 0);
	a = ev_times(fd);
	EXPECT_EQ(prctl(ON), 0);
	b = ev_times(fd);
	EXPECT_GT(b.value, a.value);
	EXPECT_GT(b.enabled, a.enabled);
	EXPECT_EQ(prctl(OFF), 0);
	EXPECT_EQ(prctl(OFF), 0);
	a = ev_times(fd);
	b = ev_times(fd);
	EXPECT_EQ(a.value, b.value);
	EXPECT_EQ(a.enabled, b.enabled);
}

/* prctl disables an event that ioctl enabled, and vice versa */
TEST(with_ioctl)
{
	ROWS("K-01 O-24");
	int fd = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	uint64_t v;

	ev_enable(fd);
	EXPECT_EQ(prctl(OFF), 0);
	v = ev_count(fd);
	work(N);
	EXPECT_EQ(ev_count(fd), v);
	EXPECT_EQ(prctl(ON), 0);
	work(N);
	ev_disable(fd);
	EXPECT_GE(ev_count(fd), v + 4 * N);
	v = ev_count(fd);
	work(N);
	EXPECT_EQ(ev_count(fd), v);
}

TEST(group)
{
	ROWS("K-01");
	int fd[4], i;

	for (i = 0; i < 4; i++)
		fd[i] = ev_self_times(kinds[i].type, kinds[i].config,
				      i ? fd[0] : -1);
	prctl_counted(N);
	for (i = 0; i < 4; i++) {
		EXACT(ev_count(fd[i]), kinds[i].want);
		EXPECT_EQ(ev_times(fd[i]).enabled, ev_times(fd[0]).enabled);
	}
}

/* DIFF-01: prctl enables and disables siblings too, as upstream does */
TEST(disabled_sibling)
{
	ROWS("K-04");
	struct perf_event_attr a = insns();
	int leader, member;
	uint64_t v;

	leader = ev_must(&a, 0, -1, -1, 0);
	member = ev_must(&a, 0, -1, leader, 0);
	prctl_counted(N);
	EXACT(ev_count(leader), WORK_INSNS(N));
	EXACT(ev_count(member), WORK_INSNS(N));
	ev_disable(member);
	EXPECT_EQ(prctl(ON), 0);
	work(N);
	EXPECT_EQ(prctl(OFF), 0);
	v = ev_count(member);
	EXPECT_GE(v, WORK_INSNS(N) + 4 * N);
	work(N);
	EXPECT_EQ(ev_count(member), v);
}

/* prctl does not affect events that other tasks opened on the caller */
TEST(opened_by_other_task)
{
	ROWS("K-02");
	struct worker w;
	uint64_t v;
	int fd;

	worker_start(&w);
	fd = on(&w);
	worker_prctl(&w, ON);
	worker_run(&w, N);
	EXPECT_EQ(ev_count(fd), 0);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	ev_enable(fd);
	worker_prctl(&w, OFF);
	v = ev_count(fd);
	worker_run(&w, N);
	EXPECT_GE(ev_count(fd), v + 4 * N);
	worker_stop(&w);
}

/*
 * Executed by a thread that has become its process's leader: KPMU_TEST_FD is an event that it has
 * opened before, on a task that never sleeps.
 */
static void __attribute__((constructor)) after_exec(void)
{
	const char *fd = getenv("KPMU_TEST_FD");
	uint64_t enabled;

	if (!fd)
		return;
	enabled = ev_times(atoi(fd)).enabled;
	usleep(50000);
	if (ev_times(atoi(fd)).enabled == enabled)
		_exit(1);
	prctl(OFF);
	enabled = ev_times(atoi(fd)).enabled;
	usleep(50000);
	_exit(ev_times(atoi(fd)).enabled == enabled ? 0 : 2);
}

static void *open_and_exec(void *pid)
{
	struct perf_event_attr a = insns();
	char *args[] = { "self", NULL }, own[32], *env[] = { own, NULL };
	int fd;

	a.disabled = 0;
	fd = ev_must(&a, *(pid_t *)pid, -1, -1, 0);
	fcntl(fd, F_SETFD, 0);
	snprintf(own, sizeof(own), "KPMU_TEST_FD=%d", fd);
	execve("/proc/self/exe", args, env);
	return NULL;
}

TEST(exec_by_a_thread)
{
	ROWS("K-05");
	pid_t pid = fork(), busy;
	pthread_t thread;
	int status;

	if (!pid) {
		busy = fork();
		while (!busy)
			;
		pthread_create(&thread, NULL, open_and_exec, &busy);
		pthread_join(thread, NULL);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
}

TEST(on_other_task)
{
	ROWS("K-05");
	struct worker one, two;
	int fd1, fd2;
	uint64_t v;

	worker_start(&one);
	worker_start(&two);
	fd1 = on(&one);
	fd2 = on(&two);
	EXPECT_EQ(prctl(ON), 0);
	worker_run(&one, N);
	worker_run(&two, 2 * N);
	EXPECT_GE(ev_count(fd1), 4 * N);
	EXPECT_LT(ev_count(fd1), 5 * N);
	EXPECT_GE(ev_count(fd2), 8 * N);
	EXPECT_EQ(prctl(OFF), 0);
	v = ev_count(fd1);
	worker_run(&one, N);
	EXPECT_EQ(ev_count(fd1), v);
	worker_stop(&one);
	/* An event whose task has exited does not disturb the call */
	EXPECT_EQ(prctl(ON), 0);
	EXPECT_GE(ev_count(fd1), v);
	v = ev_count(fd2);
	worker_run(&two, N);
	EXPECT_GE(ev_count(fd2), v + 4 * N);
	worker_stop(&two);
}

/* The monitored tasks run on other CPUs during the calls */
TEST(on_running_tasks)
{
	ROWS("K-05");
	struct worker w[3];
	struct ev_times a, b;
	int fd[3], i, k;

	for (i = 0; i < 3; i++) {
		worker_start(&w[i]);
		fd[i] = on(&w[i]);
	}
	for (k = 0; k < 10; k++) {
		for (i = 0; i < 3; i++)
			worker_go(&w[i], 1000000);
		EXPECT_EQ(prctl(ON), 0);
		EXPECT_EQ(prctl(OFF), 0);
		for (i = 0; i < 3; i++) {
			a = ev_times(fd[i]);
			worker_wait(&w[i]);
			b = ev_times(fd[i]);
			EXPECT_EQ(a.value, b.value);
			EXPECT_EQ(a.enabled, b.enabled);
		}
	}
	for (i = 0; i < 3; i++)
		worker_stop(&w[i]);
}

TEST(of_a_cpu)
{
	ROWS("K-05");
	struct perf_event_attr a = insns();
	uint64_t v;
	int fd = ev_must(&a, -1, 0, -1, 0);

	ASSERT_EQ(pin_to(0), 0);
	prctl_counted(N);
	EXPECT_GE(ev_count(fd), WORK_INSNS(N));
	v = ev_count(fd);
	work(N);
	EXPECT_EQ(ev_count(fd), v);
}

/* prctl in a child does not affect the inherited event */
TEST(inherited)
{
	ROWS("K-03");
	struct perf_event_attr a = insns();
	struct worker top, kid;
	uint64_t v;
	int fd;

	a.inherit = 1;
	worker_start(&top);
	fd = ev_must(&a, top.pid, -1, -1, 0);
	worker_fork(&top, &kid);
	worker_prctl(&kid, ON);
	worker_run(&kid, N);
	EXPECT_EQ(ev_count(fd), 0);
	/* This task opened the event, so its prctl also enables the child's inherited event */
	EXPECT_EQ(prctl(ON), 0);
	worker_prctl(&kid, OFF);
	v = ev_count(fd);
	worker_run(&kid, N);
	EXPECT_GE(ev_count(fd), v + 4 * N);
	EXPECT_EQ(prctl(OFF), 0);
	v = ev_count(fd);
	worker_run(&kid, N);
	worker_run(&top, N);
	EXPECT_EQ(ev_count(fd), v);
	worker_stop(&kid);
	worker_stop(&top);
}

/* A child that holds a copy of the fd does not own the event */
TEST(fd_is_not_ownership)
{
	ROWS("K-02 K-03");
	struct perf_event_attr a = insns();
	int fd, status;
	uint64_t v;

	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	if (!fork()) {
		EXPECT_EQ(prctl(ON), 0);
		work(N);
		EXPECT_EQ(ev_count(fd), 0);
		ev_enable(fd);
		EXPECT_EQ(prctl(OFF), 0);
		v = ev_count(fd);
		work(N);
		EXPECT_GE(ev_count(fd), v + 4 * N);
		exit(_metadata->failed);
	}
	wait(&status);
	EXPECT_EQ(status, 0);
	/* The opener still owns the event if only a duplicate of the fd is left */
	dup2(fd, 99);
	close(fd);
	EXPECT_EQ(prctl(OFF), 0);
	v = ev_count(99);
	work(N);
	EXPECT_EQ(ev_count(99), v);
}

static volatile int opener_done;

static void *opener(void *arg)
{
	struct perf_event_attr a = insns();
	int *fd = arg;

	/* This thread opens an event on the main thread */
	*fd = ev_must(&a, getpid(), -1, -1, 0);
	prctl(ON);
	while (!ev_count(*fd))
		;
	prctl(OFF);
	opener_done = 1;
	return NULL;
}

/* Ownership is per thread; events of a thread that has exited have no owner */
TEST(another_thread)
{
	ROWS("K-02 K-05");
	pthread_t t;
	int fd, own;
	uint64_t v;

	own = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	ASSERT_EQ(pthread_create(&t, NULL, opener, &fd), 0);
	while (!opener_done)
		work(1000);
	pthread_join(t, NULL);
	EXPECT_EQ(ev_count(own), 0);
	v = ev_count(fd);
	EXPECT_EQ(prctl(ON), 0);
	work(N);
	EXPECT_EQ(prctl(OFF), 0);
	EXPECT_EQ(ev_count(fd), v);
	EXPECT_GE(ev_count(own), 4 * N);
}

/* prctl works after the caller has closed some of its events */
TEST(closed)
{
	ROWS("K-01 K-06");
	int i, fd, last;

	last = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	for (i = 0; i < 200; i++) {
		fd = ev_self_times(PERF_TYPE_HARDWARE,
				   PERF_COUNT_HW_INSTRUCTIONS, -1);
		if (i & 1)
			EXPECT_EQ(prctl(ON), 0);
		close(fd);
		EXPECT_EQ(prctl(OFF), 0);
	}
	EXPECT_EQ(ioctl(last, PERF_EVENT_IOC_RESET, 0), 0);
	prctl_counted(N);
	EXACT(ev_count(last), WORK_INSNS(N));
}

/* PR_TASK_PERF_EVENTS_ENABLE takes a pinned event out of error state, as the ioctl does */
TEST(leaves_the_error_state)
{
	ROWS("K-01");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	int n = counters_general(), fd[16], i;
	uint64_t v[3];

	a.pinned = 1;
	a.read_format = FORMAT_TIMES;
	for (i = 0; i <= n; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	for (i = 0; i <= n; i++)
		ev_enable(fd[i]);
	EXPECT_EQ(read(fd[n], v, sizeof(v)), 0);
	close(fd[0]);
	EXPECT_EQ(prctl(ON), 0);
	work(N);
	EXPECT_EQ(prctl(OFF), 0);
	EXPECT_GE(ev_count(fd[n]), N);
}

/* The owner is the task, not the program: prctl still affects the event after exec */
TEST(after_exec)
{
	ROWS("K-01 J-03");
	struct worker w;
	int fd;

	worker_start(&w);
	fd = worker_opens(&w);
	worker_exec_self(&w);
	EXPECT_EQ(ev_times(fd).enabled, 0);
	worker_prctl(&w, ON);
	worker_run(&w, N);
	worker_prctl(&w, OFF);
	EXPECT_GE(ev_count(fd), 4 * N);
	EXPECT_LT(ev_count(fd), 5 * N);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
