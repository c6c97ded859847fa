/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_TEST_SWITCHES_H
#define KPMU_TEST_SWITCHES_H

#include <sys/resource.h>
#include <time.h>

/* How often this thread has left its CPU.  Needs _GNU_SOURCE. */
static inline long switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nvcsw + r.ru_nivcsw;
}

/* The same, only where it went to sleep */
static inline long voluntary_switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nvcsw;
}

/*
 * Sleep, with a switch: where the host takes the CPU away for longer than that, a sleep may
 * be over before it has begun.
 */
static inline void sleep_switched(long ns)
{
	const struct timespec t = { .tv_nsec = ns };
	long before = voluntary_switches();

	do {
		nanosleep(&t, NULL);
	} while (voluntary_switches() == before);
}

#endif
