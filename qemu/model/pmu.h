/*
 * x86 performance monitoring unit for TCG: interface to the rest of the CPU
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tcg/system/pmu.c describes the design.  The private state of the model is in
 * tcg/system/pmu-internal.h.
 */
#ifndef I386_PMU_H
#define I386_PMU_H

struct CPUArchState;
struct ArchCPU;

/* Counted quantities.  Every event is one of them or is derived from one. */
enum {
    /* Counted by generated code; the counts of a TB are fixed at translation */
    PMU_Q_INSN,         /* retired instructions */
    PMU_Q_BR,           /* retired branch instructions */
    PMU_Q_LD,           /* retired instructions that load */
    PMU_Q_ST,           /* retired instructions that store */
    PMU_Q_STATIC,
    /* Counted by helpers, and only while a counter counts one of them */
    PMU_Q_BR_MISS = PMU_Q_STATIC,
    PMU_Q_BR_MISS_TAKEN,
    PMU_Q_BR_MISS_RET,
    PMU_Q_BR_MISS_IND,  /* indirect jumps and calls, not returns */
    PMU_Q_BR_TAKEN,
    PMU_Q_BR_COND,
    PMU_Q_BR_NTAKEN,    /* conditional and not taken */
    PMU_Q_BR_CALL,
    PMU_Q_BR_RET,
    PMU_Q_L1_REF,       /* lines accessed */
    PMU_Q_L1_MISS,
    PMU_Q_L1_MISS_LD,
    PMU_Q_L1_MISS_ST,
    PMU_Q_LLC_MISS,
    PMU_Q_LLC_MISS_LD,
    PMU_Q_LLC_MISS_ST,
    PMU_Q_TLB_MISS,
    PMU_Q_TLB_MISS_LD,
    PMU_Q_TLB_MISS_ST,
    PMU_Q_HITM_LD,      /* loads of lines that another CPU has modified */
    PMU_Q_LD_LAT,       /* loads with a latency above MSR_PEBS_LD_LAT */
    /* Floating-point operations that a counter of AMD's selects, for each */
    PMU_Q_FLOP,
    PMU_Q_FLOP_LAST = PMU_Q_FLOP + 5,
    PMU_Q_NR
};

/*
 * The three HF_PMU bits of hflags.  They are part of the TB flags and select
 * what the generated code counts.  The two low bits are a level.  The third bit
 * is independent of the level.  PMU_TB_BRANCH without a level is for LBR.
 */
enum {
    PMU_TB_OFF      = 0,
    PMU_TB_INSN     = 1,        /* instructions and branches */
    PMU_TB_MEM      = 2,        /* ... and loads and stores */
    PMU_TB_CACHE    = 3,        /* ... and pass each access to pmu-model.c */
    PMU_TB_LEVEL    = 3,
    PMU_TB_BRANCH   = 4,        /* pass each near branch to pmu-model.c, and
                                   count instructions for LBR */
};

/*
 * Counts of an instruction or a TB in one word, for insn_start and helpers:
 * n instructions, l loads, s stores, and b = 1 if there is a branch.
 */
#define PMU_PACK(n, l, s, b)  ((n) | (l) << 10 | (s) << 20 | (b) << 30)
#define PMU_PK_N(p)           ((p) & 0x3ff)
#define PMU_PK_L(p)           (((p) >> 10) & 0x3ff)
#define PMU_PK_S(p)           (((p) >> 20) & 0x3ff)
#define PMU_PK_B(p)           (((p) >> 30) & 1)
/*
 * For helper_pmu_slow(): the TB ends with an instruction that always faults.
 * It is not included in the counts.
 */
#define PMU_PK_FAULT          (1u << 31)

#define PMU_UNCHARGED         (1u << 31)

/* State that generated code accesses; it is part of CPUX86State. */
typedef struct X86PMUHot {
    int64_t left[PMU_Q_NR];     /* countdowns, see tcg/system/pmu.c */
    int64_t lbr_n[2];           /* instructions since a record, [user] */
    bool on;                    /* counters, LBR, skid, statistics are active */
    bool lbr;                   /* LBR is enabled, though it may be frozen */
} X86PMUHot;

/* Properties; x86_pmu_realize() replaces the "auto" values. */
#define X86_PMU_FIXED_AUTO  255
#define X86_PMU_CPI         2
#define X86_PMU_REF         5
#define X86_PMU_REF_DIV     2
#define X86_PMU_ATOM_NONE   UINT16_MAX

typedef struct X86PMUProps {
    uint8_t version;            /* 0: by CPU model */
    uint8_t gp;                 /* 0: by CPU model or version */
    uint8_t fixed;              /* X86_PMU_FIXED_AUTO: as for gp */
    uint8_t width;              /* 0: by CPU model or version */
    uint8_t unavail;            /* CPUID.0AH:EBX */
    uint16_t cpi, cpi_div;      /* core cycles per instruction: a fraction */
    uint16_t ref, ref_div;      /* reference cycles per instruction */
    uint32_t skid;              /* instructions between overflow and PMI */
    bool always;                /* retired-instruction statistics always on */
    uint8_t pebs_fmt;           /* format of PEBS records, 0: no PEBS */
    uint16_t atom_from;         /* hybrid: index of the first CPU that is an
                                   efficiency core; X86_PMU_ATOM_NONE: not */
} X86PMUProps;

/* True if a property differs from its default */
static inline bool x86_pmu_props_given(const X86PMUProps *c)
{
    return c->version || c->gp || c->fixed != X86_PMU_FIXED_AUTO || c->width ||
           c->unavail || c->cpi != X86_PMU_CPI || c->cpi_div != 1 ||
           c->ref != X86_PMU_REF || c->ref_div != X86_PMU_REF_DIV ||
           c->skid || c->always || c->pebs_fmt ||
           c->atom_from != X86_PMU_ATOM_NONE;
}

bool x86_pmu_realize(struct ArchCPU *cpu, Error **errp);
void x86_pmu_unrealize(struct ArchCPU *cpu);
void x86_pmu_reset(struct ArchCPU *cpu);
bool x86_pmu_cpuid(struct ArchCPU *cpu, uint32_t leaf, uint32_t *eax,
                   uint32_t *ebx, uint32_t *ecx, uint32_t *edx);
bool x86_pmu_cpuid_lbr(struct ArchCPU *cpu, uint32_t *eax, uint32_t *ebx,
                       uint32_t *ecx, uint32_t *edx);
void x86_pmu_sync(struct CPUArchState *env);
void x86_pmu_give_back(struct CPUArchState *env, uint32_t flags, uint32_t pk);
void x86_pmu_keep_lbr(struct CPUArchState *env,
                      const struct CPUArchState *old);
void x86_pmu_cpl_changed(struct CPUArchState *env);
void x86_pmu_leave(struct CPUArchState *env);
void x86_pmu_smm(struct CPUArchState *env, bool enter);
void x86_pmu_virt(struct CPUArchState *env);
bool x86_pmu_pending(struct CPUArchState *env);
bool x86_pmu_boundary(struct CPUArchState *env);
void x86_pmu_delivery_failed(struct CPUArchState *env);
int x86_pmu_wrmsr(struct CPUArchState *env, uint32_t msr, uint64_t val);
int x86_pmu_rdmsr(struct CPUArchState *env, uint32_t msr, uint64_t *val);
int x86_pmu_rdpmc(struct CPUArchState *env, uint32_t index, uint64_t *val);

extern const struct VMStateDescription vmstate_x86_pmu;

#endif
