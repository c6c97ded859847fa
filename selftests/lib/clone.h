/* SPDX-License-Identifier: GPL-2.0-only */
/* Families of exact work, in clone.S, and programs of exact work, in tiny_image.S. */
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
	uint64_t flag;			/* of ENABLE and DISABLE */
	uint64_t clone;			/* flags of clone() */
	uint64_t n;			/* rounds of who works */
	uint64_t kids;			/* how many, or how deep */
	struct clone_word *words;	/* one each, for threads */
};

#define CLONE_FORK	((uint64_t)SIGCHLD)
#define CLONE_V		((uint64_t)(CLONE_VM | CLONE_VFORK | SIGCHLD))
#define CLONE_THREADS							\
	((uint64_t)(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |	\
		    CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |	\
		    CLONE_CHILD_CLEARTID))

/*
 * Enable @fd, be a family, disable it.  User instructions, as clone.S says: of the
 * caller, and of all its descendants together.
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

/* The caller must be a subreaper */
void orphans_counted(int fd, const struct clone_work *w);
#define ORPHANS_SELF(k)		(8 * (k) + 13)
#define ORPHANS_KIDS(n, k)	(16 * ((k) - 1) + 4 * (n) + 9)

/* As work_counted(), by prctl(PR_TASK_PERF_EVENTS_*): the same counts */
void prctl_counted(uint64_t n);

/*
 * A program of a page: @n rounds of two instructions, and exit.  tiny_install()
 * writes it as @path, with these permissions.
 */
void tiny_install(const char *path, uint32_t n, mode_t mode);
#define TINY_INSNS(n)		(2 * (uint64_t)(n) + 4)
#define TINY_BRANCHES(n)	((uint64_t)(n) + 1)

#endif
