/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process or thread that works on command, so that tests watch others
 * without sleeping: it stands still in read(2) between commands.
 *
 * The instructions it spends around a command are always the same, so the
 * difference between two commands is exact: see worker_insns().
 */
#ifndef KPMU_TEST_TASK_H
#define KPMU_TEST_TASK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker {
	pid_t pid;		/* what to attach to: a tid for a thread */
	int to, from;
	int far_to, far_from;
	pthread_t thread;
	int is_thread;
	int is_kid;		/* of another worker */
};

/* Another process, or another thread of this one */
void worker_start(struct worker *w);
void worker_start_thread(struct worker *w);
/* Another process that shares our memory, and nothing else */
void worker_start_sharing(struct worker *w);
/* One of another user and without capabilities; process only */
void worker_start_as(struct worker *w, uid_t uid);

/* @n rounds of work(): begin, wait for the end, both */
void worker_go(struct worker *w, uint64_t n);
void worker_wait(struct worker *w);
void worker_run(struct worker *w, uint64_t n);
/* Is it at the end, or nearly so? */
bool worker_done(struct worker *w);
/* Bind it to a CPU; @n rounds on each CPU in turn, @times times */
void worker_pin(struct worker *w, int cpu);
void worker_roam(struct worker *w, uint64_t n, uint32_t times);
/* It bears another: a process, a thread */
void worker_fork(struct worker *w, struct worker *kid);
void worker_add_thread(struct worker *w, struct worker *kid);
/* It waits for one child that has ended */
void worker_reap(struct worker *w);
/* Its thread ends, others of its process go on */
void worker_leave(struct worker *w);
/* It becomes this program; returns when that has ended.  Not reaped. */
void worker_exec(struct worker *w, const char *path);
/* The same without waiting */
void worker_exec_only(struct worker *w, const char *path);
/* Does it come back from trying to? */
bool worker_fails_exec(struct worker *w, const char *path);
/* It executes this test program, and is a worker again */
void worker_exec_self(struct worker *w);
/* It opens an event on itself: instructions of user mode, off, FORMAT_TIMES */
int worker_opens(struct worker *w);
/* prctl(@option) in it */
void worker_prctl(struct worker *w, int option);
/* prctl(PR_SET_DUMPABLE) in it */
void worker_dumpable(struct worker *w, int dumpable);
/* Ends it; a process is reaped */
void worker_stop(struct worker *w);
/* Let it exit but do not reap it: a zombie when this returns */
void worker_zombie(struct worker *w);

/* User instructions of worker_run(w, n) less those of worker_run(w, m) */
#define worker_insns(n, m)	(4 * ((uint64_t)(n) - (uint64_t)(m)))

#endif
