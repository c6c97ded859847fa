/*
 * x86 performance monitoring unit for TCG: the model's own state
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_PMU_INTERNAL_H
#define I386_TCG_PMU_INTERNAL_H

#include "cpu.h"

#define PMU_MAX_GP      8
#define PMU_MAX_FIXED   4
#define PMU_MAX_CTRS    (PMU_MAX_GP + PMU_MAX_FIXED)

/* How a counter's number (GP from 0, fixed from PMU_MAX_GP) shows in MSRs */
#define PMU_STATUS_BIT(ctr) \
    (1ull << ((ctr) < PMU_MAX_GP ? (ctr) : 32 - PMU_MAX_GP + (ctr)))

/*
 * One counter that counts at a given privilege level:
 * units = events of q * mul / div, or, if "less", instructions * mul / div
 * minus the events of q (cycles in which q did not happen).
 */
typedef struct PMUActive {
    uint8_t ctr;
    uint8_t q;
    bool less;
    bool intr;                  /* an overflow raises a PMI */
    uint32_t mul, div;
} PMUActive;

typedef struct PMUStats {
    uint64_t retired[2];        /* instructions by [user] */
    uint64_t wrmsr, rdmsr, rdpmc, pmi, pmi_lost, faults;
    uint64_t slow, sync, cpl;   /* of the model itself */
    /* per MSR: below 0x2000, 0xc0000000 and 0xc0010000 on */
    uint32_t wr[3][0x2000];
    uint32_t rd[3][0x2000];
} PMUStats;

typedef struct X86PMU X86PMU;

/*
 * What differs by vendor: registers, events and a few habits.  The core
 * (pmu.c) only knows counters and quantities.
 */
typedef struct PMUVendor {
    const char *name;
    bool auto_mask;             /* a PMI sets the mask bit of LVTPC */
    void (*reset)(X86PMU *p);
    /* call pmu_add_active() for each counter that may count at some CPL */
    void (*collect)(X86PMU *p);
    /* a PMI is about to be delivered */
    void (*pmi)(X86PMU *p);
    /* an SMI is about to be delivered, or RSM is about to end */
    void (*smm)(X86PMU *p, bool enter);
    /* is this MSR a register of the PMU, present or not? */
    bool (*owns)(X86PMU *p, uint32_t msr);
    /* 1: done, -1: #GP */
    int (*wrmsr)(X86PMU *p, uint32_t msr, uint64_t val);
    int (*rdmsr)(X86PMU *p, uint32_t msr, uint64_t *val);
    /* counter number of an RDPMC index, -1: #GP */
    int (*rdpmc)(X86PMU *p, uint32_t index);
    const char *(*event_name)(X86PMU *p, int ctr);
} PMUVendor;

/* The deterministic cache, TLB and branch prediction model, pmu-model.c */
#define PMU_L1_SETS     64
#define PMU_L1_WAYS     8
#define PMU_LLC_SETS    1024
#define PMU_LLC_WAYS    16
#define PMU_TLB_SETS    16
#define PMU_TLB_WAYS    4
#define PMU_BTB_SIZE    4096
#define PMU_RAS_SIZE    16

typedef struct PMUModel {
    uint64_t l1[PMU_L1_SETS * PMU_L1_WAYS];
    uint64_t llc[PMU_LLC_SETS * PMU_LLC_WAYS];
    uint64_t tlb[PMU_TLB_SETS * PMU_TLB_WAYS];
    uint64_t target[PMU_BTB_SIZE];
    uint64_t ras[PMU_RAS_SIZE];
    uint8_t bimodal[PMU_BTB_SIZE];
    uint32_t ras_top;
} PMUModel;

struct X86PMU {
    X86CPU *cpu;
    const PMUVendor *vendor;

    /* Architectural state */
    uint64_t ctr[PMU_MAX_CTRS];
    uint64_t sel[PMU_MAX_GP];
    uint64_t fixed_ctrl;
    uint64_t global_ctrl;
    uint64_t status;
    uint64_t debugctl;
    uint64_t offcore[2];
    /* While frozen in SMM: GLOBAL_CTRL as it was before */
    bool smm_frozen;
    uint64_t smm_global_ctrl;

    /* Less than one unit of each counter, in 1/div */
    uint64_t rem[PMU_MAX_CTRS];
    /* Instructions until a PMI that has been asked for, 0: none */
    uint64_t skid_left;

    /* Derived from the above by pmu_config() */
    PMUActive active[2][PMU_MAX_CTRS];  /* [user] */
    uint32_t n_active[2];
    uint32_t tb_flags[2];
    int nr_q;                           /* quantities that matter */
    bool dirty;                         /* pmu_config() is due */

    /* The countdowns' values when they were last folded into counters */
    int64_t start[PMU_Q_NR];
    bool user;                          /* ... and the level they count at */
    uint32_t armed;                     /* ... with these bits of hflags */

    PMUModel model;
    PMUStats stats;
};

static inline X86PMU *env_pmu(CPUX86State *env)
{
    return env_archcpu(env)->pmu;
}

static inline uint64_t pmu_ctr_mask(X86PMU *p)
{
    return MAKE_64BIT_MASK(0, p->cpu->pmu_props.width);
}

/* accel/tcg/internal-common.h is private to accel/tcg */
uint32_t curr_cflags(CPUState *cpu);

/* pmu.c */
void pmu_arm(CPUX86State *env);
void pmu_fold(CPUX86State *env);
void pmu_config(CPUX86State *env);
void pmu_rearm(CPUX86State *env);
void pmu_add_active(X86PMU *p, bool user, const PMUActive *a);

/* pmu-intel.c */
extern const PMUVendor pmu_intel;

/* pmu-events.c */
bool pmu_intel_event(X86PMU *p, uint64_t sel, PMUActive *a);
bool pmu_intel_fixed_event(X86PMU *p, int n, PMUActive *a);
const char *pmu_intel_event_name(X86PMU *p, int ctr);

/* pmu-model.c */
void pmu_model_reset(PMUModel *m);

/* pmu-stats.c */
bool pmu_stats_owns(uint32_t msr);
void pmu_count_msr(X86PMU *p, uint32_t msr, bool write);
int pmu_stats_wrmsr(X86PMU *p, uint32_t msr, uint64_t val);
int pmu_stats_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val);

#endif
