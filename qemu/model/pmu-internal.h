/*
 * x86 performance monitoring unit for TCG: private state of the model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_PMU_INTERNAL_H
#define I386_TCG_PMU_INTERNAL_H

#include "cpu.h"
#include "pmu-ibs.h"

#define PMU_MAX_GP      8
#define PMU_MAX_FIXED   4
#define PMU_MAX_CTRS    (PMU_MAX_GP + PMU_MAX_FIXED)

/*
 * Bit of a counter in the GLOBAL MSRs.  General counters are numbered from 0,
 * fixed counters from PMU_MAX_GP.
 */
#define PMU_STATUS_BIT(ctr) \
    (1ull << ((ctr) < PMU_MAX_GP ? (ctr) : 32 - PMU_MAX_GP + (ctr)))

/*
 * A counter that counts at one privilege level.  It counts q * mul / div.
 * If "less" is set it counts instructions * mul / div - q instead: the core
 * cycles in which q does not occur.
 */
typedef struct PMUActive {
    uint8_t ctr;
    uint8_t q;
    bool less;
    bool intr;                  /* an overflow raises a PMI */
    bool pebs;                  /* an overflow arms it for a PEBS record */
    bool pdir;                  /* ... or writes the record itself */
    bool mem;                   /* the record describes a memory access */
    bool ibs;                   /* a sampler of IBS */
    uint8_t upper;              /* counter with the bits above these, 0: none */
    uint32_t mul, div;
} PMUActive;

typedef struct PMUStats {
    uint64_t retired[2];        /* instructions, index 1: user mode */
    uint64_t wrmsr, rdmsr, rdpmc, pmi, pmi_lost, faults;
    uint64_t slow, sync, cpl;   /* internal operations of the model */
    /* accesses per MSR: 0x2000 each from 0, 0xc0000000 and 0xc0010000 */
    uint32_t wr[3][0x2000];
    uint32_t rd[3][0x2000];
} PMUStats;

typedef struct X86PMU X86PMU;

/* Properties and CPUID of a vendor's PMUs */
typedef struct PMUSetup {
    /* replaces "auto" values by those of the CPU model */
    void (*defaults)(X86PMUProps *c, CPUX86State *env);
    /* false with an error for values that no PMU of this vendor can have */
    bool (*check)(X86CPU *cpu, const X86PMUProps *c, Error **errp);
    /* the reason why this CPU cannot have the PMU, or NULL */
    const char *(*absent)(X86CPU *cpu, const X86PMUProps *c);
    /* clears the feature bits of a CPU without a PMU */
    void (*withdraw)(X86CPU *cpu);
    /* sets those of a CPU with one */
    void (*offer)(X86CPU *cpu);
    /* fills regs[R_EAX to R_EDX]; false if the leaf is not of the PMU */
    bool (*cpuid)(X86CPU *cpu, uint32_t leaf, uint32_t *regs);
} PMUSetup;

/*
 * Vendor-specific part: registers, events and PMI behavior.  The core (pmu.c)
 * only knows counters and quantities.
 */
typedef struct PMUVendor {
    const char *name;
    const PMUSetup *setup;
    bool auto_mask;             /* a PMI sets the mask bit of LVTPC */
    void (*reset)(X86PMU *p);
    /* calls pmu_add_active() for each counter and level at which it counts */
    void (*collect)(X86PMU *p);
    /* called before a PMI is delivered */
    void (*pmi)(X86PMU *p);
    /* called before an SMI is delivered (enter), by RSM and on INIT */
    void (*smm)(X86PMU *p, bool enter);
    /* true for an MSR of the PMU, even if this version does not have it */
    bool (*owns)(X86PMU *p, uint32_t msr);
    /* return 1 if done, -1 for #GP */
    int (*wrmsr)(X86PMU *p, uint32_t msr, uint64_t val);
    int (*rdmsr)(X86PMU *p, uint32_t msr, uint64_t *val);
    /* returns the counter of an RDPMC index, -1 for #GP */
    int (*rdpmc)(X86PMU *p, uint32_t index);
    const char *(*event_name)(X86PMU *p, int ctr);
} PMUVendor;

/* Deterministic model of caches, TLB and branch prediction, pmu-model.c */
#define PMU_L1_SETS     64
#define PMU_L1_WAYS     8
#define PMU_LLC_SETS    1024
#define PMU_LLC_WAYS    16
#define PMU_TLB_SETS    16
#define PMU_TLB_WAYS    4
#define PMU_BTB_SIZE    4096
#define PMU_RAS_SIZE    16
#define PMU_OWNED       4096

typedef struct PMUModel {
    uint64_t l1[PMU_L1_SETS * PMU_L1_WAYS];
    uint64_t llc[PMU_LLC_SETS * PMU_LLC_WAYS];
    uint64_t tlb[PMU_TLB_SETS * PMU_TLB_WAYS];
    uint64_t target[PMU_BTB_SIZE];
    uint64_t ras[PMU_RAS_SIZE];
    uint8_t bimodal[PMU_BTB_SIZE];
    uint32_t ras_top;
    uint64_t owned[PMU_OWNED];      /* only while the state is saved or loaded */
} PMUModel;

/* Kinds of last branch records; a CPU has one of them at most */
#define PMU_LBR_NONE        0
#define PMU_LBR_LEGACY      1
#define PMU_LBR_ARCH        2
#define PMU_LBR_AMD         4       /* LbrExtV2 */

#define PMU_LBR_LEGACY_FMT  5       /* PERF_CAPABILITIES[5:0] */
#define PMU_LBR_ARCH_FMT    0x3f
#define PMU_LBR_LEGACY_NR   32
#define PMU_LBR_AMD_NR      16
#define PMU_LBR_DEPTHS      0x0b    /* bit n: 8 * (n + 1) entries */

/* Bits of LBREntry.info: AMD's are those of FROM and TO */
#define PMU_LBR_MISPRED         (1ull << 63)
#define PMU_LBR_VALID           (1ull << 0)
#define PMU_LBR_SPEC            (1ull << 1)
/* Enable bit in lbr.extn_cfg */
#define EXTN_CFG_LBR            (1ull << 6)
/* Bits of all kinds that freeze them */
#define STATUS_LBR_FRZ          (1ull << 58)
#define DEBUGCTL_FREEZE_LBRS    (1ull << 11)

/* Last branch records; the entries and the registers of ARCH are in env */
typedef struct PMULbr {
    uint64_t select;
    uint64_t extn_cfg;          /* AMD's DBG_EXTN_CFG */
    uint32_t tos;               /* the newest entry */
    LBREntry ler;               /* the newest one at the last exception */
    bool smm;                   /* was enabled before the SMI */

    /* Derived from the registers by pmu_lbr_collect() */
    bool arch;
    bool down;                  /* the ring grows downwards */
    uint8_t shift;              /* 64 - bits of a linear address */
    uint32_t mask;              /* number of entries - 1 */
    bool enabled;
    bool on;                    /* enabled and not frozen */
    bool stack;                 /* call-stack mode */
    bool cpl[2];                /* levels that are recorded, [user] */
    uint16_t types;             /* types of branches that are */
} PMULbr;

/*
 * Formats of PEBS records: GLOBAL_STATUS and no TSC; the counters that have
 * caused the record, and TSC; groups
 */
#define PMU_PEBS_STATUS     2
#define PMU_PEBS_FIXED      3
#define PMU_PEBS_ADAPTIVE   4
#define PMU_PEBS_MAX_LBR    32

/* Level that hits */
enum { PMU_MEM_L1, PMU_MEM_LLC, PMU_MEM_HITM, PMU_MEM_RAM };

/* A memory access, for a record */
typedef struct PMUMemInfo {
    uint64_t addr;
    uint8_t level;
    bool valid, tlb_miss, lock;
    uint16_t size;
} PMUMemInfo;

/* Precise events; sets of counters have a bit for each number of a counter */
typedef struct PMUPebs {
    uint64_t enable, data_cfg, ld_lat, ds_area;
    uint32_t armed;             /* the next event writes a record */
    uint32_t due;               /* counters of the record to be written */
    uint64_t ip;                /* linear address of the instruction */
    uint64_t addr, source, latency;
    bool has_mem;               /* these three are set */
    bool pmi;                   /* another overflow waits for the record */

    /* Derived by pmu_config() and pmu_rearm() */
    bool on;                    /* a counter that counts has PEBS */
    bool mem;                   /* memory accesses are taken down */
    uint32_t alone;             /* quantities whose deadline writes a record */

    PMUMemInfo last[2];         /* of the instruction, [store] */
} PMUPebs;

struct X86PMU {
    X86CPU *cpu;
    const PMUVendor *vendor;

    /* Architectural state */
    uint64_t ctr[PMU_MAX_CTRS];
    uint64_t sel[PMU_MAX_GP];
    uint64_t fixed_ctrl;
    uint64_t global_ctrl;
    uint64_t metrics;
    uint64_t status;
    uint64_t debugctl;
    uint64_t offcore[2];
    /* Frozen in SMM; smm_global_ctrl is GLOBAL_CTRL before the SMI */
    bool smm_frozen;
    uint64_t smm_global_ctrl;

    PMULbr lbr;
    PMUPebs pebs;
    PMUIbs ibs;

    /* Fraction of each counter below one unit, in 1/div */
    uint64_t rem[PMU_MAX_CTRS];
    /* Instructions until the pending PMI is delivered; 0: none is pending */
    uint64_t skid_left;

    /* Derived from the above by pmu_config() */
    PMUActive active[2][PMU_MAX_CTRS];  /* [user] */
    uint32_t n_active[2];
    uint32_t tb_flags[2];
    int nr_q;                           /* in use: PMU_Q_STATIC or PMU_Q_NR */
    bool dirty;                         /* pmu_config() must run */

    /* Values of the countdowns at the last fold or rearm */
    int64_t start[PMU_Q_NR];
    bool user;                          /* privilege level of the countdowns */
    uint32_t armed;                     /* HF_PMU bits for that level */

    PMUModel model;
    PMUStats stats;
};

static inline X86PMU *env_pmu(CPUX86State *env)
{
    return env_archcpu(env)->pmu;
}

extern const PMUVendor pmu_intel;   /* pmu-intel.c */
extern const PMUVendor pmu_amd;     /* pmu-amd.c */

static inline int pmu_lbr_kind(X86PMU *p)
{
    uint64_t *f = p->cpu->env.features;

    if (p->vendor == &pmu_amd) {
        return f[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_LBR_V2
               ? PMU_LBR_AMD : PMU_LBR_NONE;
    }
    switch (f[FEAT_PERF_CAPABILITIES] & PERF_CAP_LBR_FMT) {
    case 0:
        return PMU_LBR_NONE;
    case PMU_LBR_ARCH_FMT:
        return PMU_LBR_ARCH;
    default:
        return PMU_LBR_LEGACY;
    }
}

static inline bool pmu_lbr_arch(X86PMU *p)
{
    return pmu_lbr_kind(p) == PMU_LBR_ARCH;
}

static inline int pmu_pebs_fmt(X86PMU *p)
{
    return p->cpu->pmu_props.pebs_fmt;
}

/* The bits of HF_PMU_MASK for countdowns, and the bit for branches */
#define HF_PMU_LEVEL    ((uint32_t)PMU_TB_LEVEL << HF_PMU_SHIFT)
#define HF_PMU_BRANCH   ((uint32_t)PMU_TB_BRANCH << HF_PMU_SHIFT)

static inline uint64_t pmu_ctr_mask(X86PMU *p)
{
    return MAKE_64BIT_MASK(0, p->cpu->pmu_props.width);
}

/* The bits of a counter that are the upper ones of a pair */
#define PMU_UPPER_MASK  0xffffull

/* Declared in accel/tcg/internal-common.h, which is private to accel/tcg */
uint32_t curr_cflags(CPUState *cpu);

/* pmu.c */
void pmu_arm(CPUX86State *env);
void pmu_fold(CPUX86State *env);
void pmu_config(CPUX86State *env);
void pmu_rearm(CPUX86State *env);
void pmu_sync_boundary(CPUX86State *env);
void pmu_add_active(X86PMU *p, bool user, const PMUActive *a);

/* pmu-intel-setup.c */
extern const PMUSetup pmu_intel_setup;

/* pmu-events.c */
bool pmu_intel_event(X86PMU *p, uint64_t sel, PMUActive *a);
bool pmu_intel_fixed_event(X86PMU *p, int n, PMUActive *a);
const char *pmu_intel_event_name(X86PMU *p, int ctr);

/* pmu-model.c */
void pmu_model_reset(X86PMU *p);
void pmu_model_cold(X86PMU *p);
void pmu_model_save(X86PMU *p);
void pmu_model_load(X86PMU *p);

/* pmu-lbr.c */
void pmu_lbr_collect(X86PMU *p);
void pmu_lbr_pmi(X86PMU *p);
void pmu_lbr_smm(X86PMU *p, bool enter);
void pmu_lbr_reset(X86PMU *p);
void pmu_lbr_near(CPUX86State *env, uint32_t desc, uint64_t from, uint64_t to,
                  bool miss);
LBREntry *pmu_lbr_entry(X86PMU *p, int i);
uint64_t pmu_lbr_canonical(X86PMU *p, uint64_t addr);

/* pmu-pebs.c */
void pmu_pebs_collect(X86PMU *p, PMUActive *a);
uint32_t pmu_pebs_groups(X86PMU *p, int ctr);
bool pmu_pebs_alone(X86PMU *p, const PMUActive *a);
int pmu_pebs_limit(CPUX86State *env, uint32_t pk, int len);
void pmu_pebs_at(CPUX86State *env, uintptr_t ra);
void pmu_pebs_begin(CPUX86State *env);
bool pmu_pebs_access(CPUX86State *env, const PMUMemInfo *m, bool st);
uint64_t pmu_pebs_latency(const PMUMemInfo *m);
void pmu_pebs_count(X86PMU *p, const PMUActive *a, bool overflow);

/* Linear address of env->eip */
static inline uint64_t pmu_pebs_linear(CPUX86State *env)
{
    return env->hflags & HF_CS64_MASK
           ? env->eip : (uint32_t)(env->segs[R_CS].base + env->eip);
}

/* pmu-ibs.c */
bool pmu_ibs_alone(X86PMU *p, const PMUActive *a);
void pmu_ibs_branch(X86PMU *p, uint32_t desc, uint64_t to, bool miss);
void pmu_ibs_begin(X86PMU *p);
void pmu_ibs_expire(X86PMU *p, int ctr, const int64_t *delta);
void pmu_ibs_finish(CPUX86State *env);

/* A record or a sample is to be written at the next boundary */
static inline bool pmu_due(X86PMU *p)
{
    return p->pebs.due || p->ibs.due;
}

/* pmu-pebs-record.c */
bool pmu_pebs_write(CPUX86State *env);

/* pmu-pebs-msr.c */
bool pmu_pebs_check(X86CPU *cpu, const X86PMUProps *c, Error **errp);
void pmu_pebs_offer(X86CPU *cpu);

/* pmu-stats.c */
bool pmu_stats_owns(uint32_t msr);
void pmu_count_msr(X86PMU *p, uint32_t msr, bool write);
int pmu_stats_wrmsr(X86PMU *p, uint32_t msr, uint64_t val);
int pmu_stats_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val);

#endif
