// SPDX-License-Identifier: GPL-2.0-only
/* The model counts what the kernel does; see cost.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"

/* The model's statistics */
#define MSR_KERNEL_INSNS	0x51504d01
#define MSR_WRMSRS		0x51504d02
#define MSR_RDMSRS		0x51504d03


static uint64_t rdmsr(uint32_t msr)
{
	static int msr_fd;
	uint64_t v = 0;

	if (!msr_fd)
		msr_fd = open("/dev/cpu/0/msr", O_RDONLY);
	if (pread(msr_fd, &v, 8, msr) != 8) {
		perror("reading the model's statistics");
		exit(1);
	}
	return v;
}

/* Writes and reads first: reading them costs instructions, not the reverse */
struct sample cost_sample(void)
{
	struct sample s;

	s.wrmsr = rdmsr(MSR_WRMSRS);
	s.rdmsr = rdmsr(MSR_RDMSRS);
	s.insns = rdmsr(MSR_KERNEL_INSNS);
	return s;
}

static struct cost once(void (*op)(void), int n)
{
	struct sample a, b;
	int i;

	a = cost_sample();
	for (i = 0; i < n; i++)
		op();
	b = cost_sample();
	return (struct cost) {
		b.insns - a.insns, b.wrmsr - a.wrmsr, b.rdmsr - a.rdmsr
	};
}

/* The cheapest of several tries, in which no timer tick fell */
static struct cost cheapest(void (*op)(void), int n, int tries)
{
	struct cost best = once(op, n), c;

	while (--tries) {
		c = once(op, n);
		if (c.insns < best.insns)
			best = c;
	}
	return best;
}

/* Between few and many of them, so that what is around cancels */
struct cost measure(void (*op)(void))
{
	const int few = 4, many = 24;
	struct cost a, b;

	once(op, many);		/* warm up */
	a = cheapest(op, few, 30);
	b = cheapest(op, many, 30);
	return (struct cost) {
		(b.insns - a.insns) / (many - few),
		(b.wrmsr - a.wrmsr) / (many - few),
		(b.rdmsr - a.rdmsr) / (many - few),
	};
}

struct cost minus(struct cost a, struct cost b)
{
	return (struct cost) {
		a.insns - b.insns, a.wrmsr - b.wrmsr, a.rdmsr - b.rdmsr
	};
}

static int to[2], from[2];

void op_pingpong(void)
{
	char c = 0;

	if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
		exit(1);
}

pid_t partner_start(void)
{
	pid_t pid;
	char c;

	if (pipe(to) || pipe(from))
		exit(1);
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
			;
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	return pid;
}

void partner_end(pid_t pid)
{
	close(to[1]);
	close(from[0]);
	waitpid(pid, NULL, 0);
}
