/* SPDX-License-Identifier: GPL-2.0-only */
/* Cgroups for cgroup events, in the unified hierarchy or in a v1 perf_event hierarchy. */
#ifndef KPMU_TEST_CGROUP_H
#define KPMU_TEST_CGROUP_H

#include <sys/types.h>

struct cgroup {
	char path[160];
	int fd;			/* cgroup directory: @pid of ev_open() with PERF_FLAG_PID_CGROUP */
};

/* Make the functions below use the unified hierarchy, which is mounted if needed */
void cgroup_v2(void);
/* Make them use a v1 hierarchy of the perf_event controller; 0 if it cannot be mounted */
int cgroup_v1(void);
/*
 * Destroy the v1 hierarchy, so that perf_event is in the unified hierarchy again.
 * Closes all fds of the caller from 3 up.
 */
void cgroup_v1_end(void);

/* Open the root cgroup; create a cgroup below @parent, which is removed at exit */
void cgroup_root(struct cgroup *c);
void cgroup_make(struct cgroup *c, const struct cgroup *parent, const char *name);
/* Move a process, or a thread (v1 only), to @c */
void cgroup_add(const struct cgroup *c, pid_t pid);
void cgroup_add_thread(const struct cgroup *c, pid_t tid);
void cgroup_remove(struct cgroup *c);

#endif
