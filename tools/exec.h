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
 * struct server - who answers the calls
 * @device: fd of /dev/kpmu
 * @listener: fd of the seccomp listener
 * @program: the child whose end we wait for; 0 to go on till no one is left
 * @verbose: a line for each open
 */
struct server {
	int device;
	int listener;
	pid_t program;
	bool verbose;
};

/* Answer until the program ends (it is then a zombie), or all of them */
void serve(struct server *s);
bool server_has_clients(struct server *s);

/* A task's memory: an fd of it; how much of it was read, which may be less than asked */
int open_memory(pid_t tid, int flags);
long copy_in(pid_t tid, uint64_t from, void *to, size_t len);
void *copy_attr(pid_t tid, uint64_t from);

#endif
