/* SPDX-License-Identifier: GPL-2.0-only */
/* Exactly counted work: families of tasks (clone.S) and minimal programs (tiny_image.S). */
#ifndef KPMU_TEST_CLONE_H
#define KPMU_TEST_CLONE_H

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

struct clone_word {
	uint32_t alive, tid;
};

struct clone_work {
	uint64_t flag;			/* argument of the ENABLE and DISABLE ioctls */
	uint64_t clone;			/* flags of clone(2) */
	uint64_t n;			/* rounds per working child */
	uint64_t kids;			/* number of children, or depth of a chain */
	struct clone_word *words;	/* threads only: one per thread */
};

#define CLONE_FORK	((uint64_t)SIGCHLD)
#define CLONE_V		((uint64_t)(CLONE_VM | CLONE_VFORK | SIGCHLD))
#define CLONE_THREADS							\
	((uint64_t)(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |	\
		    CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |	\
		    CLONE_CHILD_CLEARTID))

/*
 * Enable @fd, run a family of tasks, disable @fd.  *_SELF() is the number of user
 * instructions counted in the caller, *_KIDS() that in all its descendants together.
 * clone.S derives both.
 */
void clone_counted(int fd, const struct clone_work *w);
#define CLONE_SELF(k)		(18 * (k) + 6)
#define CLONE_KIDS(n, k)	((4 * (n) + 7) * (k))

void threads_counted(int fd, const struct clone_work *w);
#define THREADS_SELF(k)		(21 * (k) + 8)
#define THREADS_KIDS(n, k)	CLONE_KIDS(n, k)

void chain_counted(int fd, const struct clone_work *w);
#define CHAIN_SELF(k)		21
#define CHAIN_KIDS(n, k)	(23 * ((k) - 1) + 4 * (n) + 10)

/* The caller must be a child subreaper: it reaps all descendants */
void orphans_counted(int fd, const struct clone_work *w);
#define ORPHANS_SELF(k)		(8 * (k) + 13)
#define ORPHANS_KIDS(n, k)	(16 * ((k) - 1) + 4 * (n) + 9)

/* work_counted() with prctl(PR_TASK_PERF_EVENTS_*) instead of the ioctls: same counts */
void prctl_counted(uint64_t n);

/*
 * A minimal static program: @n rounds of two instructions, then exit.  tiny_install()
 * writes it to @path with permissions @mode.
 */
void tiny_install(const char *path, uint32_t n, mode_t mode);
#define TINY_INSNS(n)		(2 * (uint64_t)(n) + 4)
#define TINY_BRANCHES(n)	((uint64_t)(n) + 1)

#endif
