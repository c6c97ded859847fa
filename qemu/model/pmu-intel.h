/*
 * x86 performance monitoring unit for TCG: what the files of Intel's PMU share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_PMU_INTEL_H
#define I386_TCG_PMU_INTEL_H

#include "pmu-select.h"

#define EVTSEL_ANY          (1ull << 21)
#define EVTSEL_ADAPTIVE     (1ull << 34)

#define FIXED_OS            1
#define FIXED_USR           2
#define FIXED_ANY           4
#define FIXED_INT           8
#define FIXED_ADAPTIVE(n)   (1ull << (32 + 4 * (n)))

#define GLOBAL_METRICS      (1ull << 48)

#define STATUS_CTR_FRZ      (1ull << 59)
#define STATUS_ASCI         (1ull << 60)
#define STATUS_UNCORE       (1ull << 61)
#define STATUS_OVFBUF       (1ull << 62)
#define STATUS_CONDCHGD     (1ull << 63)

#define DEBUGCTL_LBR                (1ull << 0)
#define DEBUGCTL_FREEZE_PERFMON     (1ull << 12)
#define DEBUGCTL_FREEZE_SMM         (1ull << 14)

/* MSR_PEBS_DATA_CFG */
#define PEBS_CFG_MEM            (1u << 0)
#define PEBS_CFG_GPR            (1u << 1)
#define PEBS_CFG_XMM            (1u << 2)
#define PEBS_CFG_LBR            (1u << 3)
#define PEBS_CFG_NR_LBR(cfg)    (((cfg) >> 24 & 0xff) + 1)

static inline uint8_t pmu_version(X86PMU *p)
{
    return p->cpu->pmu_props.version;
}

static inline bool pmu_gp_absent(X86PMU *p, int i)
{
    return i >= p->cpu->pmu_props.gp;
}

static inline bool pmu_fixed_absent(X86PMU *p, int i)
{
    return i >= p->cpu->pmu_props.fixed;
}

static inline bool pmu_hybrid(const X86PMUProps *c)
{
    return c->atom_from != X86_PMU_ATOM_NONE;
}

/* True for an efficiency core of a hybrid machine */
static inline bool pmu_atom(X86CPU *cpu)
{
    return pmu_hybrid(&cpu->pmu_props) &&
           CPU(cpu)->cpu_index >= cpu->pmu_props.atom_from;
}

/* GLOBAL_METRICS if the CPU has PERF_METRICS: performance cores of hybrid ones */
static inline uint64_t pmu_metrics_bit(X86PMU *p)
{
    return pmu_hybrid(&p->cpu->pmu_props) && !pmu_atom(p->cpu) ?
           GLOBAL_METRICS : 0;
}

/* Bits of all counters, as in the GLOBAL registers */
static inline uint64_t pmu_ctr_bits(X86PMU *p)
{
    return MAKE_64BIT_MASK(0, p->cpu->pmu_props.gp) |
           (p->cpu->pmu_props.fixed ?
            MAKE_64BIT_MASK(32, p->cpu->pmu_props.fixed) : 0);
}

/* pmu-intel-msr.c */
bool pmu_intel_owns(X86PMU *p, uint32_t msr);
int pmu_intel_wrmsr(X86PMU *p, uint32_t msr, uint64_t val);
int pmu_intel_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val);

/* pmu-lbr-msr.c */
int pmu_rd_lbr_from(X86PMU *p, int i, uint64_t *val);
int pmu_wr_lbr_from(X86PMU *p, int i, uint64_t val);
int pmu_rd_lbr_to(X86PMU *p, int i, uint64_t *val);
int pmu_wr_lbr_to(X86PMU *p, int i, uint64_t val);
int pmu_rd_lbr_info(X86PMU *p, int i, uint64_t *val);
int pmu_wr_lbr_info(X86PMU *p, int i, uint64_t val);
int pmu_rd_lbr_select(X86PMU *p, int i, uint64_t *val);
int pmu_wr_lbr_select(X86PMU *p, int i, uint64_t val);
int pmu_rd_lbr_ctl(X86PMU *p, int i, uint64_t *val);
int pmu_wr_lbr_ctl(X86PMU *p, int i, uint64_t val);
int pmu_rd_ler(X86PMU *p, int i, uint64_t *val);
int pmu_wr_ler(X86PMU *p, int i, uint64_t val);
int pmu_rd_ler_info(X86PMU *p, int i, uint64_t *val);
int pmu_wr_ler_info(X86PMU *p, int i, uint64_t val);

/* pmu-pebs-msr.c */
uint64_t pmu_pebs_counters(X86PMU *p);
bool pmu_pebs_has_latency(X86PMU *p, int ctr);
int pmu_rd_pebs_enable(X86PMU *p, int i, uint64_t *val);
int pmu_wr_pebs_enable(X86PMU *p, int i, uint64_t val);
int pmu_rd_pebs_cfg(X86PMU *p, int i, uint64_t *val);
int pmu_wr_pebs_cfg(X86PMU *p, int i, uint64_t val);
int pmu_rd_ld_lat(X86PMU *p, int i, uint64_t *val);
int pmu_wr_ld_lat(X86PMU *p, int i, uint64_t val);
int pmu_rd_ds_area(X86PMU *p, int i, uint64_t *val);
int pmu_wr_ds_area(X86PMU *p, int i, uint64_t val);

#endif
