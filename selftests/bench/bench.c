// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations cost: retired kernel instructions and PMU register accesses,
 * counted by the model, so the machine's speed does not matter.
 *
 * Prints lines "row | instructions | WRMSR | RDMSR" for the route in use; the
 * script beside it sets native and kpmu side by side.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"

/* The model's statistics */
#define MSR_KERNEL_INSNS	0x51504d01
#define MSR_WRMSRS		0x51504d02
#define MSR_RDMSRS		0x51504d03

struct cost {
	double insns, wrmsr, rdmsr;
};

static int msr_fd;

static uint64_t rdmsr(uint32_t msr)
{
	uint64_t v = 0;

	if (pread(msr_fd, &v, 8, msr) != 8) {
		perror("reading the model's statistics");
		exit(1);
	}
	return v;
}

struct sample {
	uint64_t insns, wrmsr, rdmsr;
};

/* Writes and reads first: reading them costs instructions, not the reverse */
static struct sample sample(void)
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

	a = sample();
	for (i = 0; i < n; i++)
		op();
	b = sample();
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

/* Cost of one op: between few and many of them, so that what is around cancels */
static struct cost measure(void (*op)(void))
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

static struct cost minus(struct cost a, struct cost b)
{
	return (struct cost) {
		a.insns - b.insns, a.wrmsr - b.wrmsr, a.rdmsr - b.rdmsr
	};
}

static void row(const char *name, struct cost c)
{
	printf("%s | %.0f | %.1f | %.1f\n", name, c.insns, c.wrmsr, c.rdmsr);
}

static int fd;
static struct cost bare;

static void op_bare(void)
{
	syscall(SYS_getppid);
}

static void op_read(void)
{
	uint64_t buf[32];

	if (syscall(SYS_read, fd, buf, sizeof(buf)) <= 0)
		exit(1);
}

static void op_toggle(void)
{
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void op_toggle_group(void)
{
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static struct perf_event_attr open_attr;

static void op_open(void)
{
	close(ev_must(&open_attr, 0, -1, -1, 0));
}

/* Four general-counter events and more: what a metric asks for */
static const uint64_t four[] = { RAW_BRANCHES, RAW_LOADS, RAW_STORES, 0x00c5 };

static int open_group(pid_t pid, int nr, uint64_t format)
{
	int leader = -1, f, i;

	for (i = 0; i < nr; i++) {
		struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, four[i]);

		attr.exclude_kernel = 0;
		attr.disabled = 0;
		attr.read_format = format;
		f = ev_must(&attr, pid, -1, leader, 0);
		if (leader < 0)
			leader = f;
	}
	return leader;
}

static void close_from(int first)
{
	int f;

	for (f = first; f < first + 16; f++)
		close(f);
}

static struct cost net(struct cost c, int syscalls)
{
	return (struct cost) {
		c.insns - syscalls * bare.insns, c.wrmsr, c.rdmsr
	};
}

static void bench_calls(void)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	attr.exclude_kernel = 0;
	attr.disabled = 0;
	fd = ev_must(&attr, 0, -1, -1, 0);
	row("read() one counter", net(measure(op_read), 1));
	row("disable + enable, one event", net(measure(op_toggle), 2));
	close(fd);

	fd = open_group(0, 4, PERF_FORMAT_GROUP | PERF_FORMAT_ID |
			PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING);
	row("read() group of 4 with times and ids", net(measure(op_read), 1));
	row("disable + enable, group of 4", net(measure(op_toggle_group), 2));
	close_from(fd);

	open_attr = attr;
	row("open + close, enabled hardware event", net(measure(op_open), 2));
}

/*
 * Two tasks take turns on one CPU: one writes a byte to the other and waits for it
 * to come back, which is two switches.  What that costs with events on both
 * or one of them, less what it costs without.
 */
static int to[2], from[2];

static void op_pingpong(void)
{
	char c = 0;

	if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
		exit(1);
}

static pid_t partner(void)
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

static void partner_end(pid_t pid)
{
	close(to[1]);
	close(from[0]);
	waitpid(pid, NULL, 0);
}

static struct cost idle_switch;

static void bench_switch(const char *name, int nr, bool both)
{
	pid_t pid = partner();
	struct cost c;
	int first;

	first = open_group(0, nr, 0);
	if (both)
		open_group(pid, nr, 0);
	c = minus(measure(op_pingpong), idle_switch);
	row(name, (struct cost) { c.insns / 2, c.wrmsr / 2, c.rdmsr / 2 });
	close_from(first);
	partner_end(pid);
}

static void bench_switches(void)
{
	pid_t pid = partner();

	idle_switch = measure(op_pingpong);
	partner_end(pid);
	bench_switch("task switch, 4 events both sides, per switch", 4, true);
	bench_switch("task switch, 4 events one side, per switch", 4, false);
	bench_switch("task switch, 1 event both sides", 1, true);
}

/* loop ROW N: one operation over and over, to be looked at from outside */
static int loop(const char *what, long n)
{
	void (*op)(void) = op_read;
	int nr = strstr(what, "4") ? 4 : 1;

	if (strstr(what, "bare"))
		op = op_bare;
	if (strstr(what, "toggle"))
		op = nr == 4 ? op_toggle_group : op_toggle;
	if (strstr(what, "open")) {
		op = op_open;
		open_attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
		open_attr.disabled = 0;
		open_attr.exclude_kernel = 0;
	}
	if (strstr(what, "switch")) {
		op = op_pingpong;
		fd = partner();
		if (strstr(what, "both"))
			open_group(fd, nr, 0);
	}
	if (!strstr(what, "none"))
		fd = open_group(0, nr, nr == 4 ? 0xf : 0);
	while (n--)
		op();
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	pin_to(0);
	if (argc == 4 && !strcmp(argv[1], "loop"))
		return loop(argv[2], atol(argv[3]));
	msr_fd = open("/dev/cpu/0/msr", O_RDONLY);
	if (msr_fd < 0) {
		perror("/dev/cpu/0/msr");
		return 4;
	}
	bare = measure(op_bare);
	printf("# a bare system call: %.0f instructions\n", bare.insns);
	bench_calls();
	bench_switches();
	return 0;
}
