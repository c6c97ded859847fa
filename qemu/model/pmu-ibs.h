/*
 * x86 performance monitoring unit for TCG: AMD's instruction-based sampling
 *
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef I386_TCG_PMU_IBS_H
#define I386_TCG_PMU_IBS_H

/* What a sampler does; its counter counts down to the end of COUNT and WARM */
enum {
    PMU_IBS_OFF,
    PMU_IBS_COUNT,
    PMU_IBS_WARM,               /* caches, TLB and prediction are updated */
    PMU_IBS_TAG,                /* the next instruction is sampled */
    PMU_IBS_DUE,                /* it has retired: at the next boundary */
};

#define PMU_IBS_EILVT_NR    4

/* The two samplers */
enum { PMU_IBS_FETCH, PMU_IBS_OP, PMU_IBS_NR };

/* Registers of IBS, by their MSR from C001_1030 */
enum {
    IBS_FETCH_CTL, IBS_FETCH_LIN, IBS_FETCH_PHYS,
    IBS_OP_CTL, IBS_OP_RIP, IBS_OP_DATA, IBS_OP_DATA2, IBS_OP_DATA3,
    IBS_DC_LIN, IBS_DC_PHYS, IBS_CTL, IBS_BR_TARGET, IBS_FETCH_EXT,
    IBS_REGS
};

typedef struct PMUIbs {
    uint64_t reg[IBS_REGS];
    uint32_t eilvt[PMU_IBS_EILVT_NR];
    uint8_t state[PMU_IBS_NR];

    bool due;                   /* a state is PMU_IBS_DUE */
    /* The sampled instruction, until the sample is complete */
    bool taken, miss, ret, branch, ld, st;
    uint64_t target;
} PMUIbs;

/* For the APIC: pmu-ibs-sample.c */
bool x86_pmu_eilvt(struct ArchCPU *cpu);
bool x86_pmu_eilvt_read(struct ArchCPU *cpu, int index, uint32_t *val);
bool x86_pmu_eilvt_write(struct ArchCPU *cpu, int index, uint32_t val);

#endif
