// SPDX-License-Identifier: GPL-2.0-only
/* The costs are differences of statistics of the PMU model in QEMU; see cost.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "msr.h"

/* Statistics MSRs of the PMU model, per CPU */
#define MSR_KERNEL_INSNS	0x51504d01
#define MSR_WRMSRS		0x51504d02
#define MSR_RDMSRS		0x51504d03

static int cpus = 1;

void cost_on(int n)
{
	cpus = n < MSR_MAX_CPUS ? n : MSR_MAX_CPUS;
}

/* Sum over the CPUs of cost_on() */
static uint64_t rdmsr(uint32_t msr)
{
	uint64_t v, sum = 0;
	int i;

	for (i = 0; i < cpus; i++) {
		if (!msr_read(i, msr, &v)) {
			perror("reading the model's statistics");
			exit(1);
		}
		sum += v;
	}
	return sum;
}

/* Instructions last: reading a statistic costs instructions, but no counted WRMSR or RDMSR */
struct sample cost_sample(void)
{
	struct sample s;

	s.wrmsr = rdmsr(MSR_WRMSRS);
	s.rdmsr = rdmsr(MSR_RDMSRS);
	s.insns = rdmsr(MSR_KERNEL_INSNS);
	return s;
}

static struct cost between(struct sample a, struct sample b)
{
	return (struct cost) {
		.insns = b.insns - a.insns, .wrmsr = b.wrmsr - a.wrmsr,
		.rdmsr = b.rdmsr - a.rdmsr,
	};
}

static struct cost once(void (*op)(void), int n)
{
	struct sample a = cost_sample();
	int i;

	for (i = 0; i < n; i++)
		op();
	return between(a, cost_sample());
}

/* The cheapest of several tries, to exclude timer ticks */
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

/* Difference between many and few operations, so that the overhead around them cancels */
struct cost measure_least(void (*op)(void))
{
	const int few = 4, many = 24;

	once(op, many);		/* warm up */
	return divided(minus(cheapest(op, many, 30), cheapest(op, few, 30)),
		       many - few);
}

/*
 * Time in ms for the deferred work of an operation to complete.  kfree_rcu() may delay a free
 * by 5 seconds.  Waiting that long is cheap only under -icount, where idle guest time takes no
 * host time.
 */
#define LATER	(exact_time() ? 6000 : 300)

static void pass(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of single operations, with the cost of reading the statistics */
static double median(void (*op)(void))
{
	double all[301];
	int i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = once(op, 1).insns;
	qsort(all, ARRAY_SIZE(all), sizeof(*all), by_size);
	return all[ARRAY_SIZE(all) / 2];
}

static double total(void (*op)(void), int n, int later)
{
	struct sample a;

	a = cost_sample();
	while (n--)
		op();
	pass(later);
	return cost_sample().insns - a.insns;
}

/*
 * Instructions to spend on the mean, enough to hide background work of the kernel, and the
 * maximum number of operations
 */
#define MEAN_INSNS	100e6
#define MEAN_OPS	5000

struct cost measure(void (*op)(void))
{
	struct cost c = measure_least(op);
	int n = MEAN_INSNS / (c.insns + 1);
	double idle;

	if (n > MEAN_OPS)
		n = MEAN_OPS;
	if (n < 10)
		n = 10;
	pass(LATER);
	idle = total(op, 0, LATER);
	c.mean = (total(op, n, LATER) - idle) / n;
	return c;
}

static void nothing(void)
{
}

struct cost measure_usual(void (*op)(void))
{
	struct cost c = measure(op);

	c.insns = median(op) - median(nothing);
	return c;
}

static struct cost one_trial(const struct trial *t, void (*op)(void))
{
	struct sample a, b;
	struct cost c;

	if (t->before)
		t->before();
	a = cost_sample();
	op();
	b = cost_sample();
	c = between(a, b);
	c.mean = c.insns;
	if (t->later) {
		pass(t->later);
		c.mean = cost_sample().insns - a.insns;
	}
	return c;
}

static struct cost trials(const struct trial *t, void (*op)(void))
{
	struct cost best = one_trial(t, op), c;
	double sum = best.mean;
	int i;

	for (i = 1; i < t->tries; i++) {
		c = one_trial(t, op);
		sum += c.mean;
		if (c.insns < best.insns)
			best = c;
	}
	best.mean = sum / t->tries;
	return best;
}

struct cost measure_trial(const struct trial *t)
{
	struct trial empty = { .op = nothing, .tries = t->tries, .later = t->later };
	struct cost none;

	one_trial(t, t->op);	/* warm up */
	none = trials(&empty, nothing);
	/* A timer tick in between is not the operation's, and with many events costs more than it */
	if (!t->later)
		none.mean = none.insns;
	return divided(minus(trials(t, t->op), none), t->per);
}

struct cost minus(struct cost a, struct cost b)
{
	return (struct cost) {
		a.insns - b.insns, a.wrmsr - b.wrmsr, a.rdmsr - b.rdmsr,
		a.mean - b.mean
	};
}

struct cost divided(struct cost a, double by)
{
	return (struct cost) {
		a.insns / by, a.wrmsr / by, a.rdmsr / by, a.mean / by
	};
}

void bench_begin(void)
{
	struct sched_param none = { 0 };

	/*
	 * SCHED_BATCH: a woken task does not preempt its waker.  Whether it would depends on
	 * how long both ran, and a preempting switch costs less than others.
	 */
	sched_setscheduler(0, SCHED_BATCH, &none);
	setvbuf(stdout, NULL, _IOLBF, 0);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	pin_to(0);
}

void row(const char *name, struct cost c)
{
	printf("row | %s | %.0f | %.1f | %.1f | %.0f\n", name, c.insns, c.wrmsr,
	       c.rdmsr, c.mean);
}

void op_bare(void)
{
	syscall(SYS_getppid);
}

struct cost net(struct cost c, int syscalls)
{
	static struct cost bare;

	if (!bare.insns) {
		bare = measure(op_bare);
		printf("# a bare system call: %.0f instructions\n", bare.insns);
	}
	return (struct cost) {
		c.insns - syscalls * bare.insns, c.wrmsr, c.rdmsr,
		c.mean - syscalls * bare.mean
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

static struct cost idle_switch;

struct cost switch_without_events(void)
{
	pid_t pid = partner_start();
	struct cost c = divided(measure(op_pingpong), 2);

	partner_end(pid);
	if (!idle_switch.insns)
		idle_switch = c;
	return c;
}

struct cost net_switch(void)
{
	return minus(divided(measure(op_pingpong), 2), idle_switch);
}
