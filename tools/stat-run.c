// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-stat, kpmu-record, kpmu-timeline: the program that is counted, sampled or recorded. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat.h"

/* A signal to end has arrived */
volatile int stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/**
 * catch_signals() - let SIGINT and SIGTERM end the counting or sampling instead of the tool
 */
void catch_signals(void)
{
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
}

/**
 * seconds() - the time, in seconds
 */
double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/**
 * start_program() - fork a child that waits for release_program() before it executes a program
 * @argv: the program and its arguments
 * @go: set to the argument of release_program()
 *
 * Return: its process id.
 */
pid_t start_program(char **argv, int *go)
{
	int pipe_fds[2];
	char byte;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid) {
		close(pipe_fds[0]);
		*go = pipe_fds[1];
		return pid;
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) == 1) {
		execvp(argv[0], argv);
		fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, argv[0],
			strerror(errno));
	}
	_exit(127);
}

/**
 * release_program() - let a program start
 * @go: from start_program()
 */
void release_program(int go)
{
	if (write(go, "", 1) != 1)
		die("the program is gone");
	close(go);
}

static bool has_ended(pid_t child, int *status, struct rusage *usage, int flags)
{
	return child && wait4(child, status, flags, usage) == child;
}

/* Wait for one interval; true if the child has ended */
static bool wait_interval(pid_t child, double end, int *status, struct rusage *usage)
{
	while (!stopped && seconds() < end) {
		poll(NULL, 0, 1 + (end - seconds()) * 1000 / (child ? 10 : 1));
		if (has_ended(child, status, usage, WNOHANG))
			return true;
	}
	return false;
}

/**
 * wait_program() - wait until a program ends or a signal arrives
 * @child: the program, 0 for none
 * @interval: call @tick at this interval, in ms; 0: never
 * @begin: when it was started, as of seconds()
 * @usage: set to what the program has used, if it has ended
 * @tick: called with the seconds since @begin
 *
 * Return: the exit status of the program, as of a shell.
 */
int wait_program(pid_t child, int interval, double begin, struct rusage *usage,
		 void (*tick)(double at))
{
	double next = begin;
	int status = 0;

	while (!stopped) {
		if (has_ended(child, &status, usage, interval ? WNOHANG : 0))
			break;
		if (!interval) {
			if (!child)
				pause();
			continue;
		}
		next += interval / 1000.0;
		if (wait_interval(child, next, &status, usage))
			break;
		tick(seconds() - begin);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
