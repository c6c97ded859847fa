/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a running program and its tasks, and the mapping of arguments to it: slots to
 * fds, small numbers to tasks and CPUs.
 */
#ifndef KPMU_FUZZ_WORLD_H
#define KPMU_FUZZ_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/kpmu-read.h>

#include "cgroup.h"
#include "clone.h"
#include "prog.h"

#define TINY		"/tmp/fuzz_tiny"
#define TINY_ROUNDS	300
#define RES_WORDS	48
#define RES_DATA	8192
/*
 * Time limits for a program, in seconds of the guest's clock.  A compared program normally
 * takes much less, but never ends if its signal handlers cause further overflows.
 */
#define CROWD_SECONDS	60
#define NATIVE_SECONDS	3
#define KPMU_SECONDS	6
/* Limit for signals in stress mode; with a period of 1, each takes 20 ms on the debug kernel */
#define CROWD_SIGNALS	1500
#define MANY_FDS	8192
#define CROWD_MANY	800
#define SWEEP_ROUNDS	1000
#define SWEEP_FORKS	40
#define RUNNERS		8
#define THREAD_STACK	16384

/* The result of an operation */
struct result {
	int done, ret, err;
	uint32_t traps, ios;		/* number of SIGTRAP, SIGIO during it */
	uint64_t trap_data;		/* sum of si_perf_data */
	uint32_t words, bytes;
	uint64_t word[RES_WORDS];
	uint8_t data[RES_DATA];
};

struct outcome {
	int status;			/* from waitpid(2) */
	struct result res[PROG_OPS];
};

/* An order to a worker */
struct order {
	volatile int what;
	volatile uint64_t n;
	pid_t pid;
	int busy;		/* an order was given before */
};

/*
 * Stress mode: the state shared by programs that run concurrently.  As nothing is compared,
 * programs do not wait for the tasks that they start.
 */
struct crowd {
	pid_t pid[RUNNERS][1 + WORKERS];	/* targets for the events of other programs */
	long programs[RUNNERS], late, killed;
	int runners;
};

/*
 * The state of the child process that runs a program.  Its threads share it, its children
 * have a copy; order, now and crowd point to shared memory.
 */
struct world {
	int device, native;
	int set;			/* stress mode: fd of a set, -1 if there is none */
	int strict;			/* likewise of a strict event */
	int reserved;			/* likewise of a reservation */
	int histogram;			/* likewise of a histogram */
	int fd[SLOTS];
	struct perf_event_mmap_page *page[SLOTS];
	int pages[SLOTS], writable[SLOTS];
	void *aux[SLOTS];
	int aux_pages[SLOTS];
	struct cgroup group[CGROUPS];
	int procs[CGROUPS];		/* fds of their cgroup.procs */
	union any_attr attr;
	struct order *order;
	struct result *now;
	struct crowd *crowd;		/* NULL unless in stress mode */
	int runner, cpus;
	unsigned int turn;		/* varies the choices of stress mode */
	volatile int signals;
	uint64_t cell[8] __attribute__((aligned(64)));
	char stack[8192] __attribute__((aligned(64)));
};

static struct world world;

/* clone(2); the child calls fn(arg) and exits.  @stack: NULL for a copy of the caller's. */
long fuzz_clone(unsigned long flags, void *stack, void (*fn)(uint64_t), uint64_t arg);
asm("fuzz_clone:\n"
	"	mov %rdx, %r8\n"
	"	mov %rcx, %r9\n"
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	mov $56, %eax\n"		/* clone */
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	mov %r9, %rdi\n"
	"	call *%r8\n"
	"	xor %edi, %edi\n"
	"	mov $60, %eax\n"		/* exit */
	"	syscall\n"
	"1:	ret\n");

static inline void on_signal(int sig, siginfo_t *info, void *context)
{
	uint64_t data;

	/* An event on system calls overflows again in sigreturn(2): avoid an endless loop */
	if (world.crowd && ++world.signals > CROWD_SIGNALS)
		_exit(0);
	memcpy(&data, (char *)info + 24, sizeof(data));	/* si_perf_data */
	if (sig == SIGTRAP) {
		world.now->traps++;
		world.now->trap_data += data;
	} else {
		world.now->ios++;
	}
}

static inline void catch_signals(void)
{
	struct sigaction act = { .sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(SIGTRAP, &act, NULL);
	sigaction(SIGIO, &act, NULL);
}

/* Without a branch, so that both routes execute the same instructions */
static inline long open_event(const struct perf_event_attr *attr, long pid, long cpu,
			      long group, long flags)
{
	struct kpmu_open args = {
		.attr = (uintptr_t)attr, .pid = pid, .cpu = cpu, .group_fd = group,
		.flags = flags,
	};
	volatile long regs[2][6] = {
		{ SYS_ioctl, world.device, KPMU_IOC_OPEN, (long)&args, 0, 0 },
		{ SYS_perf_event_open, (long)attr, pid, cpu, group, flags },
	};
	volatile long *r = regs[world.native];

	return syscall(r[0], r[1], r[2], r[3], r[4], r[5]);
}

static inline long slot_fd(int64_t slot)
{
	return slot >= 0 && slot < SLOTS ? world.fd[slot] : -1;
}

static inline void put_fd(int slot, long fd)
{
	if (fd < 0)
		return;
	if (world.fd[slot] >= 0)
		close(world.fd[slot]);
	world.fd[slot] = fd;
}

/* A task of another program that runs concurrently */
static inline pid_t other_pid(int64_t n)
{
	const struct crowd *c = world.crowd;

	return c->pid[(world.runner + 1) % c->runners][(unsigned int)n % (1 + WORKERS)];
}

/*
 * Targets: 0 the caller, 1 to WORKERS a worker, -1 all tasks.  Other numbers give a pid that
 * no task has; in stress mode, those above WORKERS give a task of another program.
 */
static inline long target_pid(int64_t target)
{
	if (target >= 1 && target <= WORKERS)
		return world.order[target - 1].pid;
	if (world.crowd && target > WORKERS)
		return other_pid(world.turn++);
	return target == -1 || !target ? target : 0x3ffff0;
}

/* Programs use CPUs 0 and 1; stress mode spreads them over all CPUs */
static inline long real_cpu(int64_t cpu)
{
	return world.crowd && cpu >= 0 && cpu < 2 ? (cpu + world.turn) % world.cpus : cpu;
}

#endif
