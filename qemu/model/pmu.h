/*
 * x86 performance monitoring unit for TCG: what the rest of the CPU sees
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See tcg/system/pmu.c for how it works and tcg/system/pmu-internal.h for
 * the model's own state.
 */
#ifndef I386_PMU_H
#define I386_PMU_H

struct CPUArchState;
struct ArchCPU;

/* Quantities; every event is one of them, or is derived from one of them. */
enum {
    /* Counted by generated code, known when a TB is translated */
    PMU_Q_INSN,         /* retired instructions */
    PMU_Q_BR,           /* retired branch instructions */
    PMU_Q_LD,           /* retired instructions that load */
    PMU_Q_ST,           /* retired instructions that store */
    PMU_Q_STATIC,
    /* Counted by helpers, only while somebody counts one of them */
    PMU_Q_BR_MISS = PMU_Q_STATIC,
    PMU_Q_BR_TAKEN,
    PMU_Q_BR_COND,
    PMU_Q_BR_NTAKEN,    /* conditional and not taken */
    PMU_Q_BR_CALL,
    PMU_Q_BR_RET,
    PMU_Q_L1_MISS,
    PMU_Q_L1_MISS_LD,
    PMU_Q_L1_MISS_ST,
    PMU_Q_LLC_MISS,
    PMU_Q_LLC_MISS_LD,
    PMU_Q_LLC_MISS_ST,
    PMU_Q_TLB_MISS_LD,
    PMU_Q_TLB_MISS_ST,
    PMU_Q_NR
};

/*
 * The three HF_PMU bits of hflags, and so of the TB flags: what code that is
 * translated now has to count.  The two low bits are a level, the third one is
 * independent of them.  (PMU_TB_BRANCH alone is left for branch recording.)
 */
enum {
    PMU_TB_OFF      = 0,
    PMU_TB_INSN     = 1,        /* instructions and branches */
    PMU_TB_MEM      = 2,        /* ... and loads and stores */
    PMU_TB_CACHE    = 3,        /* ... and show each access to the model */
    PMU_TB_LEVEL    = 3,
    PMU_TB_BRANCH   = 4,        /* show each near branch to the model */
};

/* What an instruction or a TB counts, as one word for insn_start and helpers */
#define PMU_PACK(n, l, s, b)  ((n) | (l) << 10 | (s) << 20 | (b) << 30)
#define PMU_PK_N(p)           ((p) & 0x3ff)
#define PMU_PK_L(p)           (((p) >> 10) & 0x3ff)
#define PMU_PK_S(p)           (((p) >> 20) & 0x3ff)
#define PMU_PK_B(p)           (((p) >> 30) & 1)
/* For helper_pmu_slow(): after these, the TB has one that is known to fault */
#define PMU_PK_FAULT          (1u << 31)

/* The part of the state that lives in CPUX86State: generated code uses it. */
typedef struct X86PMUHot {
    int64_t left[PMU_Q_NR];     /* countdowns, see pmu.c */
    bool on;                    /* something counts at some CPL */
} X86PMUHot;

/* Properties; "auto" values are resolved by x86_pmu_realize(). */
#define X86_PMU_FIXED_AUTO  255
#define X86_PMU_CPI         2
#define X86_PMU_REF         5
#define X86_PMU_REF_DIV     2

typedef struct X86PMUProps {
    uint8_t version;            /* 0: by CPU model */
    uint8_t gp;                 /* 0: by CPU model or version */
    uint8_t fixed;              /* X86_PMU_FIXED_AUTO: the same */
    uint8_t width;              /* 0: by CPU model */
    uint8_t unavail;            /* CPUID.0AH:EBX */
    uint16_t cpi, cpi_div;      /* core cycles per instruction: a fraction */
    uint16_t ref, ref_div;      /* reference cycles per instruction */
    uint32_t skid;              /* instructions between overflow and PMI */
    bool always;                /* retired-instruction statistics always on */
} X86PMUProps;

/* Has one of them another value than the default? */
static inline bool x86_pmu_props_given(const X86PMUProps *c)
{
    return c->version || c->gp || c->fixed != X86_PMU_FIXED_AUTO || c->width ||
           c->unavail || c->cpi != X86_PMU_CPI || c->cpi_div != 1 ||
           c->ref != X86_PMU_REF || c->ref_div != X86_PMU_REF_DIV ||
           c->skid || c->always;
}

bool x86_pmu_realize(struct ArchCPU *cpu, Error **errp);
void x86_pmu_unrealize(struct ArchCPU *cpu);
void x86_pmu_reset(struct ArchCPU *cpu);
bool x86_pmu_cpuid(struct ArchCPU *cpu, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx);
void x86_pmu_sync(struct CPUArchState *env);
void x86_pmu_cpl_changed(struct CPUArchState *env);
void x86_pmu_leave(struct CPUArchState *env);
void x86_pmu_smm(struct CPUArchState *env, bool enter);
bool x86_pmu_pending(struct CPUArchState *env);
bool x86_pmu_boundary(struct CPUArchState *env);
void x86_pmu_delivery_failed(struct CPUArchState *env);
int x86_pmu_wrmsr(struct CPUArchState *env, uint32_t msr, uint64_t val);
int x86_pmu_rdmsr(struct CPUArchState *env, uint32_t msr, uint64_t *val);
int x86_pmu_rdpmc(struct CPUArchState *env, uint32_t index, uint64_t *val);

extern const struct VMStateDescription vmstate_x86_pmu;

#endif
