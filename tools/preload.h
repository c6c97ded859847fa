/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_PRELOAD_H
#define KPMU_PRELOAD_H

#include <stdarg.h>
#include <stdbool.h>
#include <sys/types.h>

struct perf_event_attr;

#define HIDDEN	__attribute__((visibility("hidden")))
#define API	__attribute__((visibility("default")))

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* False with KPMU_PRELOAD=off */
HIDDEN bool preload_on(void);

/* The system call itself: the library's own calls must not go through the wrapper */
HIDDEN long preload_syscall(long nr, ...);
/* The next definition of syscall(2) */
typedef long (*preload_fn)(long nr, ...);
HIDDEN extern preload_fn preload_next;
HIDDEN long preload_fail(long ret);

/* What preload_look() knows of a file */
enum preload_file {
	PRELOAD_UNKNOWN,
	PRELOAD_NONE,		/* it does not exist */
	PRELOAD_REGULAR,
	PRELOAD_DIRECTORY,
};

HIDDEN enum preload_file preload_look(const char *path, unsigned int after);
HIDDEN long preload_open(struct perf_event_attr *attr, pid_t pid, int cpu,
			 int group_fd, unsigned long flags);
API int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu,
			int group_fd, unsigned long flags);

#endif
