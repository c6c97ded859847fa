/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_TEST_SWITCHES_H
#define KPMU_TEST_SWITCHES_H

#include <sys/resource.h>
#include <time.h>

/* Number of context switches of this thread.  Needs _GNU_SOURCE. */
static inline long switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nvcsw + r.ru_nivcsw;
}

/* Number of voluntary context switches of this thread: times it blocked */
static inline long voluntary_switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nvcsw;
}

/*
 * Sleep for @ns, with at least one context switch.  If the host preempts the vCPU for longer
 * than @ns, the timer may expire before the thread is scheduled out.  Sleep again then.
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
