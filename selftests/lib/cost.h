/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cost of operations: retired kernel instructions and MSR accesses.  The PMU model in QEMU
 * counts them, so the speed of the machine does not matter.
 */
#ifndef KPMU_TEST_COST_H
#define KPMU_TEST_COST_H

#include <stdint.h>
#include <sys/types.h>

struct cost {
	/* Minimum or median of many tries: the operation alone, without a timer tick */
	double insns, wrmsr, rdmsr;
	/*
	 * Average number of instructions.  Includes timer ticks and work that the operation
	 * defers, such as RCU callbacks and work items.  0 from measure_least().
	 */
	double mean;
};

struct sample {
	uint64_t insns, wrmsr, rdmsr;
};

/* Totals so far of CPU 0 or, after cost_on(n), of the first n CPUs */
struct sample cost_sample(void);
void cost_on(int cpus);

/*
 * Cost of one @op, from many repetitions.  The caller must be pinned to CPU 0.
 * measure_least() is much faster, but does not determine the mean.
 */
struct cost measure(void (*op)(void));
struct cost measure_least(void (*op)(void));
/*
 * The same with the median instead of the minimum.  It is exact if most operations execute the
 * same instructions, whereas the least depends on what the scheduler happens to update.
 */
struct cost measure_usual(void (*op)(void));

/* An operation that needs preparation, or that is too expensive for many repetitions */
struct trial {
	void (*before)(void);	/* not counted; may be NULL */
	void (*op)(void);
	int per;		/* operations per call of @op */
	int tries;
	int later;		/* ms after each @op that count towards the mean */
};
struct cost measure_trial(const struct trial *t);

struct cost minus(struct cost a, struct cost b);
struct cost divided(struct cost a, double by);

/*
 * Set up a benchmark program: lock its memory, pin it to CPU 0, and make stdout line
 * buffered, so that no complete line is lost if the program is killed.
 */
void bench_begin(void);
/* Print a line "row | name | instructions | WRMSR | RDMSR | mean" */
void row(const char *name, struct cost c);
/* @c minus the cost of @syscalls trivial system calls; op_bare() is one such call */
struct cost net(struct cost c, int syscalls);
void op_bare(void);

/*
 * Two tasks alternate on one CPU: op_pingpong() writes a byte to the partner and waits
 * until the partner returns it.  This takes two context switches.
 */
pid_t partner_start(void);
void partner_end(pid_t pid);
void op_pingpong(void);
/* Cost of one switch, with a partner that it starts itself; call it before net_switch() */
struct cost switch_without_events(void);
/*
 * Cost of one switch minus the result of the first switch_without_events().  Call it
 * between partner_start() and partner_end().
 */
struct cost net_switch(void);

#endif
