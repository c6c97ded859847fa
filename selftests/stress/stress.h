/* SPDX-License-Identifier: GPL-2.0-only */
/* What the processes of the stress test share. */
#ifndef KPMU_STRESS_H
#define KPMU_STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "event.h"

/* X(name) - what is done at random; each is counted */
#ifndef ACTIONS
#define ACTIONS(X)						\
	X(opened) X(open_refused) X(closed) X(switched)	\
	X(switched_all) X(was_read) X(passed) X(received) X(migrated) X(forked)	\
	X(execed) X(threads) X(unload_refused) X(native_won)	\
	X(native_refused) X(native_software) X(hotplugged) X(killed)	\
	X(mapped) X(unmapped) X(read_itself)			\
	X(cgroup_opened) X(cgroup_moved)			\
	X(exact_self) X(exact_other) X(waited_for_native)
#endif

#define ACTION_ENUM(name) A_##name,
enum action { ACTIONS(ACTION_ENUM) NR_ACTIONS };

#define NR_PIDS	32

struct shared {
	long done[NR_ACTIONS];
	long wrong;
	int cpu_pinned;		/* so many of these, or witnesses cannot count */
	pid_t pid[NR_PIDS];	/* whom to attach to */
	int pass[2];		/* a socket to hand fds on by */
	volatile int stop;
};

extern struct shared *sh;
extern unsigned int seed;	/* of this process */

/* When to give up waiting until all was done: many share the time of a busy host */
static inline uint64_t late_end(void)
{
	uint64_t now = now_ns();

	return now + 5 * (patience() - now);
}

static inline unsigned int any(unsigned int n)
{
	return rand_r(&seed) % n;
}

/* Up to @n rounds of work, but not none: that would be 2^64 */
static inline void toil(unsigned int n)
{
	work(1 + any(n));
}

/* What is done, and how often of 100 times */
struct choice {
	int share;
	void (*fn)(void);
};

/* One of them, whose shares make 100 */
static inline void do_any(const struct choice *what)
{
	int r = any(100);

	for (; r >= what->share; what++)
		r -= what->share;
	what->fn();
}

static inline void did(enum action a)
{
	__atomic_add_fetch(&sh->done[a], 1, __ATOMIC_RELAXED);
}

/* Something that must not be: say it and remember */
#define wrong(fmt, ...) do {						\
	printf("# WRONG " fmt "\n", ##__VA_ARGS__);			\
	__atomic_add_fetch(&sh->wrong, 1, __ATOMIC_RELAXED);		\
} while (0)

#define MAX_CPU_PINNED	2

#endif
