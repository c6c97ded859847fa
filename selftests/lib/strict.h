/* SPDX-License-Identifier: GPL-2.0-only */
/* Opening strict events (KPMU_OPEN_STRICT), for their tests. */
#ifndef KPMU_TEST_STRICT_H
#define KPMU_TEST_STRICT_H

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "event.h"

#define N	100001
#define MAX	16

/* An event that starts enabled, and needs a general counter */
static inline struct perf_event_attr busy(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

static inline int strict(pid_t pid, int cpu, int group)
{
	struct perf_event_attr a = busy();

	return ev_open(&a, pid, cpu, group, group < 0 ? KPMU_OPEN_STRICT : 0);
}

static inline int strict_errno(pid_t pid, int cpu, int group)
{
	return fd_errno(strict(pid, cpu, group));
}

/* Open @n strict events that can be opened; the number that could */
static inline int fill(int *fd, int n, pid_t pid, int cpu)
{
	for (int i = 0; i < n; i++) {
		fd[i] = strict(pid, cpu, -1);
		if (fd[i] < 0)
			return i;
	}
	return n;
}

static inline void drain(const int *fd, int n)
{
	while (n--)
		close(fd[n]);
}

/* Let the events wait for some turns of rotation */
static inline void some_turns(void)
{
	uint64_t end = now_ns() + 60000000;

	while (now_ns() < end)
		work(1000);
}

#endif
