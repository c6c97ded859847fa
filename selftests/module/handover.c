// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switches between alike contexts hand the counters over without stopping them, and a fork copies
 * the plan of the parent.  The module's statistics show both.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "event.h"
#include "harness.h"
#include "stats.h"

#define SWITCHES	400

static void open_four(pid_t pid, int inherit, uint64_t period)
{
	static const uint64_t configs[] = { RAW_LOADS, RAW_STORES, RAW_BRANCHES, RAW_LOADS };
	int i;

	for (i = 0; i < 4; i++) {
		struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, configs[i]);

		a.disabled = 0;
		a.inherit = inherit;
		a.exclude_kernel = 0;
		if (i == 3)
			a.sample_period = period;
		ev_must(&a, pid, -1, -1, 0);
	}
}

static int to[2], from[2];

static pid_t partner(void)
{
	pid_t pid;
	char c;

	if (pipe(to) || pipe(from))
		exit(KSFT_FAIL);
	pid = fork();
	if (pid)
		return pid;
	close(to[1]);
	while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
		;
	_exit(0);
}

static void pingpong(int n)
{
	char c = 0;

	while (n--)
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			exit(KSFT_FAIL);
}

static void end(pid_t pid)
{
	close(to[1]);
	close(to[0]);
	close(from[0]);
	close(from[1]);
	waitpid(pid, NULL, 0);
}

/* Statistics of some switches */
struct seen {
	uint64_t handovers, commits, plans;
};

static struct seen seen_before(void)
{
	return (struct seen) { stat_of("handovers"), stat_of("commits"), stat_of("plans") };
}

static struct seen seen_since(struct seen s)
{
	s.handovers = stat_of("handovers") - s.handovers;
	s.commits = stat_of("commits") - s.commits;
	s.plans = stat_of("plans") - s.plans;
	printf("# %llu counters handed over, %llu commits, %llu plans\n",
	       (unsigned long long)s.handovers, (unsigned long long)s.commits,
	       (unsigned long long)s.plans);
	return s;
}

static struct seen look(void)
{
	struct seen s = seen_before();

	pingpong(SWITCHES / 2);
	return seen_since(s);
}

/* Other tasks run on the CPU too, for which the counters are stopped and started again */
#define FEW	(SWITCHES / 4)

TEST(parent_and_child)
{
	struct seen s;
	pid_t pid;

	pin_to(0);
	open_four(0, 1, 0);
	pid = partner();
	s = look();
	EXPECT_GE(s.handovers, 4 * (SWITCHES - FEW));
	EXPECT_LE(s.commits, FEW);
	EXPECT_EQ(s.plans, 0);
	end(pid);
}

TEST(strangers_with_the_same_events)
{
	struct seen s;
	pid_t pid;

	pin_to(0);
	pid = partner();
	open_four(0, 0, 0);
	open_four(pid, 0, 0);
	s = look();
	EXPECT_GE(s.handovers, 4 * (SWITCHES - FEW));
	EXPECT_LE(s.commits, FEW);
	end(pid);
}

static void open_of_cgroup(const struct cgroup *c, uint64_t one, uint64_t other)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, one);

	a.disabled = 0;
	ev_must(&a, c->fd, 0, -1, PERF_FLAG_PID_CGROUP);
	a.config = other;
	ev_must(&a, c->fd, 0, -1, PERF_FLAG_PID_CGROUP);
}

/* The events of the running task's cgroups are placed one by one, those of the other ones all at once */
TEST(cgroups_with_the_same_events)
{
	struct cgroup root, outer[2], inner[2];
	struct seen s;
	pid_t pid;

	pin_to(0);
	cgroup_v2();
	cgroup_root(&root);
	cgroup_make(&outer[0], &root, "handover-a");
	cgroup_make(&outer[1], &root, "handover-b");
	cgroup_make(&inner[0], &outer[0], "inner");
	cgroup_make(&inner[1], &outer[1], "inner");
	pid = partner();
	cgroup_add(&inner[0], getpid());
	cgroup_add(&inner[1], pid);
	for (int i = 0; i < 2; i++) {
		open_of_cgroup(&outer[i], RAW_LOADS, RAW_STORES);
		open_of_cgroup(&inner[i], RAW_BRANCHES, 0x00c5);
	}
	s = look();
	EXPECT_GE(s.handovers, 4 * (SWITCHES - FEW));
	EXPECT_LE(s.commits, FEW);
	end(pid);
	cgroup_add(&root, getpid());
}

/* Three tasks that run in the order of route[]: both 0 and 2 switch to and from 1, then 2 to 0 */
static const int route[] = { 0, 1, 0, 1, 2, 1, 2 };

#define LAPS	100

static struct {
	int to[3][2], done[2];
	pid_t pid[3];
} relay;

static void relay_run(int me)
{
	int step;

	while (read(relay.to[me][0], &step, sizeof(step)) == sizeof(step)) {
		int next = ++step % ARRAY_SIZE(route);

		work(1000);
		if (write(step < LAPS * (int)ARRAY_SIZE(route) ? relay.to[route[next]][1] : relay.done[1],
			  &step, sizeof(step)) != sizeof(step))
			break;
	}
	_exit(0);
}

static void relay_start(void)
{
	int i;

	for (i = 0; i < 3; i++)
		if (pipe(relay.to[i]))
			exit(KSFT_FAIL);
	if (pipe(relay.done))
		exit(KSFT_FAIL);
	for (i = 0; i < 3; i++) {
		relay.pid[i] = fork();
		if (!relay.pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pin_to(0);
			relay_run(i);
		}
	}
}

/* One task runs for a moment, and waits again; or, with @step 0, all run in the order of route[] */
static void relay_from(int task, int step)
{
	if (write(relay.to[task][1], &step, sizeof(step)) != sizeof(step) ||
	    read(relay.done[0], &step, sizeof(step)) != sizeof(step))
		exit(KSFT_FAIL);
	/* The task that wrote goes to sleep */
	usleep(20000);
}

static void relay_end(void)
{
	for (int i = 0; i < 3; i++) {
		kill(relay.pid[i], SIGKILL);
		waitpid(relay.pid[i], NULL, 0);
	}
}

/* Open events of a relay task for all counters; the fds of the first and of the last */
static void open_all(int task, bool pinned, int *first, int *last)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	a.disabled = 0;
	a.pinned = pinned;
	*first = ev_must(&a, relay.pid[task], -1, -1, 0);
	for (int i = 1; i < counters_general(); i++)
		*last = ev_must(&a, relay.pid[task], -1, -1, 0);
	relay_from(task, LAPS * ARRAY_SIZE(route) - 1);
}

/*
 * The plans of tasks 0 and 2 are both alike that of task 1, hence alike each other by their number.  But they
 * have an event of the cgroup on different counters, as the task's events are pinned and on all others.
 */
TEST(event_that_is_in_both_plans)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int first[3], last[3], both;
	struct cgroup root, group;
	uint64_t branches;
	struct seen s;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	pin_to(1);
	cgroup_v2();
	cgroup_root(&root);
	cgroup_make(&group, &root, "handover-both");
	relay_start();
	cgroup_add(&group, relay.pid[0]);
	cgroup_add(&group, relay.pid[2]);
	both = ev_must(&a, group.fd, 0, -1, PERF_FLAG_PID_CGROUP);
	open_all(1, false, &first[1], &last[1]);
	/* Of the pinned events, which keep their counters, the first frees one for task 0, and the last for task 2 */
	open_all(0, true, &first[0], &last[0]);
	open_all(2, true, &first[2], &last[2]);
	ev_disable(first[0]);
	ev_disable(last[2]);
	ev_enable(both);
	branches = ev_count(last[0]) + ev_count(first[2]);
	s = seen_before();
	relay_from(0, 0);
	s = seen_since(s);
	ev_disable(both);
	EXPECT_EQ(ev_count(both), ev_count(last[0]) + ev_count(first[2]) - branches);
	EXPECT_GE(ev_count(both), LAPS * 4 * WORK_BRANCHES(1000));
	/* Some switches may be by way of the idle task */
	EXPECT_GE(s.commits, LAPS / 2);
	EXPECT_GE(s.handovers, LAPS / 2);
	relay_end();
	cgroup_remove(&group);
}

/* A counter that samples is set at each switch: nothing is handed over */
TEST(not_with_sampling)
{
	struct seen s;
	pid_t pid;

	pin_to(0);
	open_four(0, 1, 1000000);
	pid = partner();
	s = look();
	EXPECT_LE(s.handovers, FEW);
	EXPECT_GE(s.commits, SWITCHES - FEW);
	end(pid);
}

TEST(plan_is_copied_at_fork)
{
	uint64_t plans;
	pid_t pid;

	pin_to(0);
	open_four(0, 1, 0);
	plans = stat_of("plans");
	pid = partner();
	pingpong(10);
	EXPECT_EQ(stat_of("plans"), plans);
	end(pid);
}

/* More groups than counters: the plan of the child is built */
TEST(plan_is_built_if_groups_wait)
{
	uint64_t plans;
	pid_t pid;

	pin_to(0);
	open_four(0, 1, 0);
	open_four(0, 1, 0);
	open_four(0, 1, 0);
	plans = stat_of("plans");
	pid = partner();
	pingpong(10);
	EXPECT_GT(stat_of("plans"), plans);
	end(pid);
}

/* Pinned events have all counters: that groups which wait are switched off does not change the plan */
TEST(plan_stays_without_groups_that_wait)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	uint64_t plans;
	int fd[40];

	pin_to(0);
	a.disabled = 0;
	a.pinned = 1;
	for (int i = 0; i < counters_general(); i++)
		ev_must(&a, 0, -1, -1, 0);
	a.pinned = 0;
	for (int i = 0; i < 40; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	plans = stat_of("plans");
	for (int i = 0; i < 39; i++)
		ev_disable(fd[i]);
	EXPECT_LE(stat_of("plans") - plans, 10);
	EXPECT_EQ(ev_count(fd[39]), 0);
}

TEST_HARNESS_MAIN
