/*
 * x86 performance monitoring unit for TCG: what the files of AMD's PMU share
 *
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef I386_TCG_PMU_AMD_H
#define I386_TCG_PMU_AMD_H

#include "pmu-select.h"

/* Numbers of counters: K7, PerfCtrExtCore */
#define AMD_K7_CTRS         4
#define AMD_CORE_CTRS       6

#define EVTSEL_GUEST        (1ull << 40)
#define EVTSEL_HOST         (1ull << 41)
/* Event select: bits 35:32 and 7:0 */
#define EVTSEL_AMD_EVENT(s) (((s) >> 24 & 0xf00) | ((s) & 0xff))

#define AMD_EVENT_FLOPS     0x003
#define AMD_EVENT_MERGE     0xfff       /* the odd counter of a pair has this */

#define STATUS_PMC_FREEZE   (1ull << 59)

#define DEBUGCTL_PMC_FREEZE (1ull << 12)

/* IBS: Fn8000_001B:EAX */
#define IBS_CAPS_BASE       0x2ffu      /* without fused branches */
#define IBS_CAPS_ZEN4       (1u << 11)
#define IBS_CAPS_LDLAT      (1u << 12)

/* IbsFetchCtl */
#define FETCH_CNT           0xffff0000ull
#define FETCH_CNT_SHIFT     16
#define FETCH_EN            (1ull << 48)
#define FETCH_VAL           (1ull << 49)
#define FETCH_L3_MISS       (1ull << 59)
/* latency, and what became of the fetch */
#define FETCH_RESULT        0x35fcffff00000000ull
#define FETCH_VALID         0x37ffffffffffffffull

/* IbsOpCtl */
#define OP_L3_MISS          (1ull << 16)
#define OP_EN               (1ull << 17)
#define OP_VAL              (1ull << 18)
#define OP_CNT_CTL          (1ull << 19)
#define OP_MAX_EXT          (0x7full << 20)
#define OP_CUR              (0x7ffffffull << OP_CUR_SHIFT)
#define OP_CUR_SHIFT        32
#define OP_LDLAT_THRESHOLD  (0xfull << 59)
#define OP_LDLAT_EN         (1ull << 63)
#define OP_LDLAT            (OP_LDLAT_THRESHOLD | OP_LDLAT_EN)
#define OP_VALID            (0xffffull | OP_EN | OP_VAL | OP_CNT_CTL | \
                             OP_MAX_EXT | OP_CUR)

#define PMU_IBS_EILVT_MASKED    0x10000u
/* Numbers of the counters of the samplers, which are in no global register */
#define AMD_CTR_IBS         (PMU_MAX_GP + 1)

#define HWCR_IRPERF         (1ull << 30)
/* Number of the counter of IRPERF, which is none of those in the globals */
#define AMD_CTR_IRPERF      PMU_MAX_GP

/* Version 2 is PerfMonV2 */
static inline bool pmu_amd_v2(X86PMU *p)
{
    return p->cpu->pmu_props.version >= 2;
}

/* Bits of the counters in the global registers */
static inline uint64_t pmu_amd_ctr_bits(X86PMU *p)
{
    return MAKE_64BIT_MASK(0, p->cpu->pmu_props.gp);
}

/* Bits of those that the global registers enable */
static inline uint64_t pmu_amd_enabled(X86PMU *p)
{
    return pmu_amd_v2(p) ? p->global_ctrl : pmu_amd_ctr_bits(p);
}

/* Family, with the extended family */
static inline int pmu_amd_family(CPUX86State *env)
{
    return (env->cpuid_version >> 8 & 0xf) + (env->cpuid_version >> 20 & 0xff);
}

static inline int pmu_amd_model(CPUX86State *env)
{
    return (env->cpuid_version >> 4 & 0xf) | (env->cpuid_version >> 12 & 0xf0);
}

/* Zen 4 and later */
static inline bool pmu_amd_zen4(CPUX86State *env)
{
    int family = pmu_amd_family(env), m = pmu_amd_model(env);

    return family > 0x19 ||
           (family == 0x19 && ((m >= 0x10 && m <= 0x1f) ||
                               (m >= 0x60 && m <= 0x7f) || m >= 0xa0));
}

static inline bool pmu_amd_ibs(CPUX86State *env)
{
    return env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_IBS;
}

static inline bool pmu_amd_irperf(X86PMU *p)
{
    return p->cpu->env.features[FEAT_8000_0008_EBX] &
           CPUID_8000_0008_EBX_IRPERF;
}

/* pmu-amd-events.c */
bool pmu_amd_event(X86PMU *p, int ctr, PMUActive *a);
const char *pmu_amd_event_name(X86PMU *p, int ctr);

/* pmu-amd-flops.c */
bool pmu_amd_flops(X86PMU *p, int ctr, PMUActive *a);

/* pmu-amd-lbr.c */
int pmu_amd_rd_lbr(X86PMU *p, int i, uint64_t *val);
int pmu_amd_wr_lbr(X86PMU *p, int i, uint64_t val);
int pmu_amd_rd_lbr_ctl(X86PMU *p, int i, uint64_t *val);
int pmu_amd_wr_lbr_ctl(X86PMU *p, int i, uint64_t val);

/* pmu-ibs.c */
void pmu_ibs_collect(X86PMU *p);
void pmu_ibs_reset(X86PMU *p);
int pmu_ibs_rd(X86PMU *p, int i, uint64_t *val);
int pmu_ibs_wr(X86PMU *p, int i, uint64_t val);

/* pmu-ibs-sample.c */
uint32_t pmu_ibs_caps(CPUX86State *env);
bool pmu_ibs_fill_op(CPUX86State *env);
bool pmu_ibs_fill_fetch(CPUX86State *env);

/* pmu-amd-msr.c */
bool pmu_amd_owns(X86PMU *p, uint32_t msr);
int pmu_amd_wrmsr(X86PMU *p, uint32_t msr, uint64_t val);
int pmu_amd_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val);

/* pmu-amd-setup.c */
extern const PMUSetup pmu_amd_setup;

#endif
