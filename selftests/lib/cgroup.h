/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups to watch, in the unified hierarchy or one of perf_event's own. */
#ifndef KPMU_TEST_CGROUP_H
#define KPMU_TEST_CGROUP_H

#include <sys/types.h>

struct cgroup {
	char path[160];
	int fd;			/* of the directory: what to open events by */
};

/* Which hierarchy the rest works in: at first, and again, the unified one */
void cgroup_v2(void);
/* The perf_event controller's own; false if this kernel has none */
int cgroup_v1(void);
/* Leave that to nobody: perf_event is in the unified hierarchy again */
void cgroup_v1_end(void);

/* The root; a new one below @parent, gone when the test ends */
void cgroup_root(struct cgroup *c);
void cgroup_make(struct cgroup *c, const struct cgroup *parent, const char *name);
/* Move a process; a thread (version 1 only) */
void cgroup_add(const struct cgroup *c, pid_t pid);
void cgroup_add_thread(const struct cgroup *c, pid_t tid);
void cgroup_remove(struct cgroup *c);

#endif
