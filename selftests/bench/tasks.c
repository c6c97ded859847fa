// SPDX-License-Identifier: GPL-2.0-only
/* Cost that inherited events add to the creation and the exit of tasks. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"
#include "set.h"

static pid_t child;

/* A child does not run before the parent waits, because both are SCHED_BATCH */
static void fork_child(void)
{
	child = fork();
	if (!child)
		_exit(0);
}

static void reap_child(void)
{
	if (child)
		waitpid(child, NULL, 0);
	child = 0;
}

#define CHILDREN	500

/* Children exit when its end for writing is closed */
static int gate[2];

/* They wait: otherwise most of them would have exited before the last one is forked */
static void fork_children(void)
{
	char c;
	int i;

	if (pipe(gate))
		exit(1);
	for (i = 0; i < CHILDREN; i++) {
		if (fork())
			continue;
		close(gate[1]);
		_exit(read(gate[0], &c, 1));
	}
	close(gate[0]);
	sleep(1);
}

static void reap_children(void)
{
	int i;

	close(gate[1]);
	for (i = 0; i < CHILDREN; i++)
		if (waitpid(-1, NULL, 0) < 0)
			exit(1);
	child = 0;
}

#define STACK	4096
#define THREADS	1000
#define AS_THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | \
		   CLONE_THREAD | CLONE_SYSVSEM)

static char stacks[THREADS][STACK] __attribute__((aligned(16)));

static int end_at_once(void *unused)
{
	return 0;
}

static void clone_thread(void)
{
	if (clone(end_at_once, stacks[1], AS_THREAD, NULL) < 0)
		exit(1);
}

/* The thread runs and exits meanwhile */
static void let_it_end(void)
{
	usleep(5000);
}

static int sleep_forever(void *unused)
{
	for (;;)
		syscall(SYS_pause);
	return 0;
}

/* 1 if the process opens events, which its threads inherit */
static int with_events;

/* A process with many threads, which sleep */
static void start_process(void)
{
	int i;

	child = fork();
	if (child) {
		sleep(1);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (with_events)
		open_set(0);
	for (i = 1; i < THREADS; i++)
		if (clone(sleep_forever, stacks[i] + STACK, AS_THREAD, NULL) < 0)
			_exit(1);
	for (;;)
		pause();
}

static void kill_process(void)
{
	int status;

	if (kill(child, SIGKILL) || waitpid(child, &status, 0) != child ||
	    !WIFSIGNALED(status))
		exit(1);
	child = 0;
}

struct tasks {
	struct cost fork, end, clone;
};

static struct tasks measure_tasks(void)
{
	const struct trial fork_one = {
		.before = reap_child, .op = fork_child, .per = 1, .tries = 2000,
	};
	const struct trial end_one = {
		.before = fork_children, .op = reap_children, .per = CHILDREN, .tries = 5,
		.later = 8000,
	};
	const struct trial clone_one = {
		.before = let_it_end, .op = clone_thread, .per = 1, .tries = 2000,
	};
	struct tasks t;

	t.fork = measure_trial(&fork_one);
	reap_child();
	t.end = measure_trial(&end_one);
	t.clone = measure_trial(&clone_one);
	let_it_end();
	return t;
}

static struct cost measure_exit(int events)
{
	const struct trial t = {
		.before = start_process, .op = kill_process, .per = THREADS, .tries = 1,
		.later = 8000,
	};

	with_events = events;
	return measure_trial(&t);
}

int main(void)
{
	struct tasks none, some;
	struct cost bare;

	bench_begin();
	none = measure_tasks();
	open_set(NR_SW);
	some = measure_tasks();
	close_set(NR_SW);
	row("fork(), 4 hw inherited", minus(some.fork, none.fork));
	row("exit and wait for such a child", minus(some.end, none.end));
	row("clone() of a thread, 4 hw inherited", minus(some.clone, none.clone));

	bare = measure(op_fork);
	open_set(0);
	row("fork + exit, perf stat's 4 sw + 4 hw", minus(measure(op_fork), bare));
	close_set(0);

	bare = measure_exit(0);
	row("exit of 1,000 threads x 8 events, per thread", minus(measure_exit(1), bare));
	return 0;
}
