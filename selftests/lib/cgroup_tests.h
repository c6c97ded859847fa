/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers shared by the programs of selftests/cgroup. */
#ifndef KPMU_CGROUP_TESTS_H
#define KPMU_CGROUP_TESTS_H

#include "cgroup.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define N	100000

static inline struct perf_event_attr insns(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

/* Count user instructions of cgroup @c on @cpu */
static inline int watch(const struct cgroup *c, int cpu)
{
	struct perf_event_attr a = insns();

	return ev_must(&a, c->fd, cpu, -1, PERF_FLAG_PID_CGROUP);
}

/* Start a worker process on @cpu, in @c unless that is NULL */
static inline void start_in(struct worker *w, const struct cgroup *c, int cpu)
{
	worker_start(w);
	worker_pin(w, cpu);
	if (c)
		cgroup_add(c, w->pid);
}

/* Count of @fd for @n rounds of @w minus that for one round: cancels the fixed overhead */
static inline uint64_t seen(int fd, struct worker *w, uint64_t n)
{
	uint64_t a, b;

	a = ev_count(fd);
	worker_run(w, 1);
	b = ev_count(fd);
	worker_run(w, n);
	return ev_count(fd) - b - (b - a);
}

/* Does the count of @fd leave @v before the patience() deadline? */
static inline bool moves_on(int fd, uint64_t v)
{
	uint64_t end = patience();

	while (ev_count(fd) == v)
		if (now_ns() > end)
			return false;
	return true;
}

#define EXACT(got, want) do {						\
	uint64_t __g = got, __w = want;					\
									\
	EXPECT_GE(__g + SLACK(__w), __w);				\
	EXPECT_LE(__g, __w + SLACK(__w));				\
} while (0)

#define SEES_ALL(fd, w)	EXACT(seen(fd, w, N), worker_insns(N, 1))

/* @fd gains neither a count nor time while @w runs */
#define SEES_NOTHING(fd, w) do {					\
	struct ev_times __was = ev_times(fd), __is;			\
									\
	worker_run(w, N);						\
	__is = ev_times(fd);						\
	EXPECT_EQ(__is.value, __was.value);				\
	EXPECT_EQ(__is.enabled, __was.enabled);				\
	EXPECT_EQ(__is.running, __was.running);				\
} while (0)

#endif
