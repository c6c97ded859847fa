/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_EXEC_H
#define KPMU_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define NR_PERF_64	298
#define NR_PERF_X32	(0x40000000 | NR_PERF_64)
#define NR_PERF_32	336

/**
 * struct server - the process that answers the calls
 * @device: fd of /dev/kpmu
 * @listener: fd of the seccomp listener
 * @program: a child, at whose end serve() returns; 0 if there is none
 * @verbose: print a line for each open
 */
struct server {
	int device;
	int listener;
	pid_t program;
	bool verbose;
};

/* exec-serve.c */
void serve(struct server *s);
bool server_has_clients(struct server *s);

/* exec-memory.c: the memory of a task, as an fd and as bytes read, which may be fewer than asked */
int open_memory(pid_t tid, int flags);
long copy_in(pid_t tid, uint64_t from, void *to, size_t len);
void *copy_attr(pid_t tid, uint64_t from);

#endif
