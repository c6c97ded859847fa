/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks of a program: workers that execute orders, children, threads, execs. */
#ifndef KPMU_FUZZ_TASKS_H
#define KPMU_FUZZ_TASKS_H

#include "world.h"

static inline void do_work(uint64_t n)
{
	work(n);
	world.cell[0]++;	/* accesses that breakpoints count */
	world.cell[1] = world.cell[2];
}

static inline void run_tiny(uint64_t unused)
{
	char *argv[] = { TINY, NULL };

	execve(TINY, argv, NULL);
}

static inline void family(uint64_t n)
{
	do_work((n & 0xffff) + 1);
	if (n >> 16) {
		fuzz_clone(SIGCHLD, NULL, family, (n & 0xffff) | ((n >> 16) - 1) << 16);
		wait(NULL);
	}
}

static inline long do_child(void (*fn)(uint64_t), uint64_t arg)
{
	long pid = fuzz_clone(SIGCHLD, NULL, fn, arg);

	if (pid > 0 && !(world.crowd && world.turn++ % 2))
		waitpid(pid, NULL, 0);
	return pid < 0 ? pid : 0;
}

/* Stress mode: a thread that runs concurrently with its process and with other threads */
static inline long do_loose_thread(uint64_t n)
{
	char *stack = mmap(NULL, THREAD_STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long tid;

	if (stack == MAP_FAILED)
		return -1;
	tid = fuzz_clone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			 CLONE_SYSVSEM, stack + THREAD_STACK, do_work, n);
	return tid < 0 ? tid : 0;
}

static inline long do_thread(uint64_t n)
{
	long tid = fuzz_clone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			      CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK,
			      world.stack + sizeof(world.stack), do_work, n);

	return tid < 0 ? tid : 0;
}

enum { W_WORK, W_FORK, W_EXEC, W_EXIT };

/* Stops itself between orders: polling would retire a varying number of instructions */
static inline void worker(uint64_t nr)
{
	struct order *o = &world.order[nr];

	for (;;) {
		kill(syscall(SYS_getpid), SIGSTOP);
		switch (o->what) {
		case W_WORK:
			do_work(o->n);
			break;
		case W_FORK:
			do_child(family, o->n);
			break;
		case W_EXEC:
			run_tiny(0);
			return;
		case W_EXIT:
			return;
		}
	}
}

static inline long worker_wait_stop(struct order *o)
{
	int status;

	if (waitpid(o->pid, &status, WUNTRACED) < 0)
		return -1;
	return WIFSTOPPED(status) ? 0 : 1;
}

static inline long do_spawn(int nr)
{
	struct order *o = &world.order[nr];

	if (o->pid)
		return 2;
	o->pid = fuzz_clone(SIGCHLD, NULL, worker, nr);
	if (world.crowd)
		world.crowd->pid[world.runner][1 + nr] = o->pid;
	return worker_wait_stop(o);
}

static inline long do_order(int nr, int what, uint64_t n)
{
	struct order *o = &world.order[nr];

	if (!o->pid)
		return 2;
	if (world.crowd && o->busy && worker_wait_stop(o))
		return 1;
	o->what = what;
	o->n = n;
	o->busy = 1;
	kill(o->pid, SIGCONT);
	return world.crowd ? 0 : worker_wait_stop(o);
}

#endif
