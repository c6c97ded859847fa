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
#include <stdint.h>
#include <sys/types.h>

struct worker {
	pid_t pid;		/* what to attach to: a tid for a thread */
	int to, from;
	int far_to, far_from;
	pthread_t thread;
	int is_thread;
};

/* Another process, or another thread of this one */
void worker_start(struct worker *w);
void worker_start_thread(struct worker *w);
/* One of another user and without capabilities; process only */
void worker_start_as(struct worker *w, uid_t uid);

/* @n rounds of work(): begin, wait for the end, both */
void worker_go(struct worker *w, uint64_t n);
void worker_wait(struct worker *w);
void worker_run(struct worker *w, uint64_t n);
/* Bind it to a CPU; @n rounds on each CPU in turn, @times times */
void worker_pin(struct worker *w, int cpu);
void worker_roam(struct worker *w, uint64_t n, uint32_t times);
/* prctl(PR_SET_DUMPABLE) in it */
void worker_dumpable(struct worker *w, int dumpable);
/* Ends it; a process is reaped */
void worker_stop(struct worker *w);
/* Let it exit but do not reap it: a zombie when this returns */
void worker_zombie(struct worker *w);

/* User instructions of worker_run(w, n) less those of worker_run(w, m) */
#define worker_insns(n, m)	(4 * ((uint64_t)(n) - (uint64_t)(m)))

#endif
