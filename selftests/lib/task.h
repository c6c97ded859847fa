/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A worker is a process or thread that executes commands, so that a test can count other
 * tasks without sleeping.  Between commands it blocks in read(2).
 *
 * The number of instructions around a command is constant, so the difference between two
 * commands is exact: see worker_insns().
 */
#ifndef KPMU_TEST_TASK_H
#define KPMU_TEST_TASK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker {
	pid_t pid;		/* @pid for attaching events: the tid of a thread */
	int to, from;
	int far_to, far_from;
	pthread_t thread;
	int is_thread;
	int is_kid;		/* created by another worker */
};

/* Start a worker: a child process, or a thread of this process */
void worker_start(struct worker *w);
void worker_start_thread(struct worker *w);
/* A child process that shares only the memory with this one (CLONE_VM) */
void worker_start_sharing(struct worker *w);
/* A child process of user @uid, without capabilities unless @uid is 0 */
void worker_start_as(struct worker *w, uid_t uid);

/* @n rounds of work(): start them, wait for their end, do both */
void worker_go(struct worker *w, uint64_t n);
void worker_wait(struct worker *w);
void worker_run(struct worker *w, uint64_t n);
/* Has the worker completed its command?  It may still be about to block in read(2). */
bool worker_done(struct worker *w);
/* Pin it to @cpu; run @n rounds on each of @times CPUs, in round-robin order */
void worker_pin(struct worker *w, int cpu);
void worker_roam(struct worker *w, uint64_t n, uint32_t times);
/* The worker creates worker @kid: a child process, or a thread */
void worker_fork(struct worker *w, struct worker *kid);
void worker_add_thread(struct worker *w, struct worker *kid);
/* The worker reaps one of its children */
void worker_reap(struct worker *w);
/* The worker's thread exits; other threads of its process continue to run */
void worker_leave(struct worker *w);
/* The worker executes @path; returns when that program has exited.  It is not reaped. */
void worker_exec(struct worker *w, const char *path);
/* The worker executes @path; does not wait for the exit of that program */
void worker_exec_only(struct worker *w, const char *path);
/* True if the worker's execve(2) of @path fails */
bool worker_fails_exec(struct worker *w, const char *path);
/* The worker executes this test program, where it is a worker again */
void worker_exec_self(struct worker *w);
/*
 * The worker, a process, opens a disabled event on itself: user instructions, FORMAT_TIMES.
 * Returns the caller's own fd for that event.
 */
int worker_opens(struct worker *w);
/* The worker calls prctl(@option) */
void worker_prctl(struct worker *w, int option);
/* The worker calls prctl(PR_SET_DUMPABLE) */
void worker_dumpable(struct worker *w, int dumpable);
/* End the worker and wait for it.  The kid of another worker is not reaped. */
void worker_stop(struct worker *w);
/* End the worker, a process, without reaping it: it is a zombie on return */
void worker_zombie(struct worker *w);

/* User instructions of worker_run(w, n) minus those of worker_run(w, m) */
#define worker_insns(n, m)	(4 * ((uint64_t)(n) - (uint64_t)(m)))

#endif
