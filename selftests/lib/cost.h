/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What operations cost: retired kernel instructions and PMU register accesses,
 * counted by the model, so the machine's speed does not matter.
 */
#ifndef KPMU_TEST_COST_H
#define KPMU_TEST_COST_H

#include <stdint.h>
#include <sys/types.h>

struct cost {
	/* The least of many tries: an operation by itself, and no timer tick */
	double insns, wrmsr, rdmsr;
	/*
	 * Instructions on average, ticks included, and what is done for the operation
	 * later: RCU callbacks, work items.  0 from measure_least().
	 */
	double mean;
};

struct sample {
	uint64_t insns, wrmsr, rdmsr;
};

/* Counted so far, on CPU 0 or, after cost_on(n), on the first @n CPUs */
struct sample cost_sample(void);
void cost_on(int cpus);

/*
 * Cost of one @op, which is repeated; the caller is bound to CPU 0.  The second
 * is much faster and leaves out the mean.
 */
struct cost measure(void (*op)(void));
struct cost measure_least(void (*op)(void));

/* An operation that must be prepared, or is too dear to be repeated often */
struct trial {
	void (*before)(void);	/* not counted; may be NULL */
	void (*op)(void);
	int per;		/* operations in one @op */
	int tries;
	int later;		/* ms after each @op that count in the mean */
};
struct cost measure_trial(const struct trial *t);

struct cost minus(struct cost a, struct cost b);
struct cost divided(struct cost a, double by);

/*
 * How programs of the bench begin: locked in memory, on CPU 0, and output that is
 * complete up to the line at which they end or are ended.
 */
void bench_begin(void);
/* A line "row | name | instructions | WRMSR | RDMSR | mean" */
void row(const char *name, struct cost c);
/* Less that number of system calls that do next to nothing */
struct cost net(struct cost c, int syscalls);
void op_bare(void);

/*
 * Two tasks take turns on one CPU: op_pingpong() writes a byte to the partner and
 * waits for it to come back, which is two switches.
 */
pid_t partner_start(void);
void partner_end(pid_t pid);
void op_pingpong(void);
/* One switch, with a partner of its own; to be called first */
struct cost switch_without_events(void);
/* One switch less what the first of those cost; between partner_start() and _end() */
struct cost net_switch(void);

#endif
