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

#define STATUS_PMC_FREEZE   (1ull << 59)

#define DEBUGCTL_PMC_FREEZE (1ull << 12)

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

/* Family, with the extended family */
static inline int pmu_amd_family(CPUX86State *env)
{
    return (env->cpuid_version >> 8 & 0xf) + (env->cpuid_version >> 20 & 0xff);
}

static inline bool pmu_amd_irperf(X86PMU *p)
{
    return p->cpu->env.features[FEAT_8000_0008_EBX] &
           CPUID_8000_0008_EBX_IRPERF;
}

/* pmu-amd-events.c */
bool pmu_amd_event(X86PMU *p, uint64_t sel, PMUActive *a);
const char *pmu_amd_event_name(X86PMU *p, int ctr);

/* pmu-amd-lbr.c */
int pmu_amd_rd_lbr(X86PMU *p, int i, uint64_t *val);
int pmu_amd_wr_lbr(X86PMU *p, int i, uint64_t val);
int pmu_amd_rd_lbr_ctl(X86PMU *p, int i, uint64_t *val);
int pmu_amd_wr_lbr_ctl(X86PMU *p, int i, uint64_t val);

/* pmu-amd-msr.c */
bool pmu_amd_owns(X86PMU *p, uint32_t msr);
int pmu_amd_wrmsr(X86PMU *p, uint32_t msr, uint64_t val);
int pmu_amd_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val);

/* pmu-amd-setup.c */
extern const PMUSetup pmu_amd_setup;

#endif
