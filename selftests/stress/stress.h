/* SPDX-License-Identifier: GPL-2.0-only */
/* State and helpers shared by the processes of a stress test. */
#ifndef KPMU_STRESS_H
#define KPMU_STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "event.h"

/* X(name) - the random actions; each has a counter in struct shared */
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
	int cpu_pinned;		/* pinned CPU events, limited so that witnesses get counters */
	pid_t pid[NR_PIDS];	/* targets to attach events to */
	int pass[2];		/* socket pair to pass fds between processes */
	volatile int stop;
};

extern struct shared *sh;
extern unsigned int seed;	/* state of rand_r() in this process */

/* Deadline for each action to occur; five times the usual one, as the processes share the CPUs */
static inline uint64_t late_end(void)
{
	uint64_t now = now_ns();

	return now + 5 * (patience() - now);
}

static inline unsigned int any(unsigned int n)
{
	return rand_r(&seed) % n;
}

/* Do 1 to @n rounds of work; work(0) would do 2^64 */
static inline void toil(unsigned int n)
{
	work(1 + any(n));
}

/* A random action and its probability in percent */
struct choice {
	int share;
	void (*fn)(void);
};

/* Perform one of the actions at random; their shares must add up to 100 */
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

/* Print a violation, and count it for the verdict */
#define wrong(fmt, ...) do {						\
	printf("# WRONG " fmt "\n", ##__VA_ARGS__);			\
	__atomic_add_fetch(&sh->wrong, 1, __ATOMIC_RELAXED);		\
} while (0)

#define MAX_CPU_PINNED	2

#endif
