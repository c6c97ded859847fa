/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What operations cost: retired kernel instructions and PMU register accesses of
 * CPU 0, counted by the model, so the machine's speed does not matter.
 */
#ifndef KPMU_TEST_COST_H
#define KPMU_TEST_COST_H

#include <stdint.h>
#include <sys/types.h>

struct cost {
	double insns, wrmsr, rdmsr;
};

struct sample {
	uint64_t insns, wrmsr, rdmsr;
};

/* What was counted so far */
struct sample cost_sample(void);
/* Cost of one @op; the caller is bound to CPU 0 */
struct cost measure(void (*op)(void));
struct cost minus(struct cost a, struct cost b);

/*
 * Two tasks take turns on one CPU: op_pingpong() writes a byte to the partner and
 * waits for it to come back, which is two switches.
 */
pid_t partner_start(void);
void partner_end(pid_t pid);
void op_pingpong(void);

#endif
