/*
 * x86 performance monitoring unit for TCG: Intel's registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each row of intel_msrs[] has the number of a register, the first version of
 * the PMU that has it, and the functions that read and write it.  Reserved bits
 * and absent counters raise #GP.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-intel.h"

#define MSR_OFFCORE_RSP_0               0x1a6
#define MSR_IA32_DEBUGCTL               0x1d9
#define MSR_CORE_PERF_GLOBAL_STATUS_SET 0x391
#define MSR_CORE_PERF_GLOBAL_INUSE      0x392
#define MSR_PERF_METRICS                0x329
#define MSR_IA32_PMC0                   0x4c1
#define MSR_LBR_SELECT                  0x1c8   /* and MSR_LASTBRANCH_TOS */
#define MSR_LER_FROM                    0x1dd   /* and TO */
#define MSR_LER_INFO                    0x1e0
#define MSR_LASTBRANCH_0_FROM           0x680
#define MSR_LASTBRANCH_0_TO             0x6c0
#define MSR_LBR_INFO_0                  0xdc0
#define MSR_PEBS_ENABLE                 0x3f1
#define MSR_PEBS_DATA_CFG               0x3f2
#define MSR_PEBS_LD_LAT                 0x3f6
#define MSR_DS_AREA                     0x600

#define INUSE_PMI                   (1ull << 63)

/* LBR, BTF, TR to BTS_OFF_USR, FREEZE_LBRS, FREEZE_PERFMON, UNCORE_PMI_EN */
#define DEBUGCTL_VALID              0x3fc3ull
#define DEBUGCTL_VALID_V1           0x07c3ull

#define MISC_ENABLE_EMON            (1ull << 7)
#define MISC_ENABLE_NO_BTS          (1ull << 11)
#define MISC_ENABLE_NO_PEBS         (1ull << 12)

#define CAP_SMM_FREEZE      (1ull << 12)
#define CAP_FW_WRITE        (1ull << 13)

/* Versions 3 and 4 have AnyThread; 5 deprecates it (CPUID.0AH:EDX[15]) */
static bool has_any(X86PMU *p)
{
    return pmu_version(p) == 3 || pmu_version(p) == 4;
}

static bool full_width(X86PMU *p)
{
    return p->cpu->env.features[FEAT_PERF_CAPABILITIES] & CAP_FW_WRITE;
}

/* Bits of PERFEVTSEL and FIXED_CTR_CTRL that select adaptive records */
static uint64_t evtsel_adaptive(X86PMU *p)
{
    return pmu_pebs_fmt(p) >= PMU_PEBS_ADAPTIVE ? EVTSEL_ADAPTIVE : 0;
}

static uint64_t fixed_adaptive(X86PMU *p)
{
    uint64_t bits = 0;

    for (int i = 0; i < p->cpu->pmu_props.fixed; i++) {
        bits |= FIXED_ADAPTIVE(i);
    }
    return pmu_pebs_fmt(p) >= PMU_PEBS_ADAPTIVE ? bits : 0;
}

static uint64_t debugctl_valid(X86PMU *p)
{
    uint64_t valid = pmu_version(p) >= 2 ? DEBUGCTL_VALID : DEBUGCTL_VALID_V1;

    if (p->cpu->env.features[FEAT_PERF_CAPABILITIES] & CAP_SMM_FREEZE) {
        valid |= DEBUGCTL_FREEZE_SMM;
    }
    return valid;
}

static int set_ctr(X86PMU *p, int ctr, uint64_t val)
{
    if (val & ~pmu_ctr_mask(p)) {
        return -1;
    }
    p->ctr[ctr] = val;
    p->rem[ctr] = 0;
    return 1;
}

/*
 * Writes to IA32_PMCx take 32 bits and sign-extend them.  Only the alias
 * IA32_A_PMCx takes the full width.
 */
static int wr_pmc(X86PMU *p, int i, uint64_t val)
{
    return pmu_gp_absent(p, i) ? -1 :
           set_ctr(p, i, (int64_t)(int32_t)val & pmu_ctr_mask(p));
}

static int rd_pmc(X86PMU *p, int i, uint64_t *val)
{
    if (pmu_gp_absent(p, i)) {
        return -1;
    }
    *val = p->ctr[i];
    return 1;
}

static int wr_pmc_full(X86PMU *p, int i, uint64_t val)
{
    return pmu_gp_absent(p, i) || !full_width(p) ? -1 : set_ctr(p, i, val);
}

static int rd_pmc_full(X86PMU *p, int i, uint64_t *val)
{
    return full_width(p) ? rd_pmc(p, i, val) : -1;
}

static int wr_evtsel(X86PMU *p, int i, uint64_t val)
{
    if (pmu_gp_absent(p, i) || (val & ~evtsel_adaptive(p)) >> 32 ||
        (val & EVTSEL_ANY && !has_any(p))) {
        return -1;
    }
    p->sel[i] = val;
    p->rem[i] = 0;
    return 1;
}

static int rd_evtsel(X86PMU *p, int i, uint64_t *val)
{
    if (pmu_gp_absent(p, i)) {
        return -1;
    }
    *val = p->sel[i];
    return 1;
}

static int wr_fixed(X86PMU *p, int i, uint64_t val)
{
    return pmu_fixed_absent(p, i) ? -1 : set_ctr(p, PMU_MAX_GP + i, val);
}

static int rd_fixed(X86PMU *p, int i, uint64_t *val)
{
    if (pmu_fixed_absent(p, i)) {
        return -1;
    }
    *val = p->ctr[PMU_MAX_GP + i];
    return 1;
}

static int wr_fixed_ctrl(X86PMU *p, int i, uint64_t val)
{
    uint64_t any = 0x4444444444444444ull;

    if ((val & ~fixed_adaptive(p)) >> (4 * p->cpu->pmu_props.fixed) ||
        (val & any && !has_any(p))) {
        return -1;
    }
    p->fixed_ctrl = val;
    return 1;
}

static int rd_fixed_ctrl(X86PMU *p, int i, uint64_t *val)
{
    *val = p->fixed_ctrl;
    return 1;
}

static int rd_status(X86PMU *p, int i, uint64_t *val)
{
    *val = p->status;
    return 1;
}

static int wr_global_ctrl(X86PMU *p, int i, uint64_t val)
{
    if (val & ~(pmu_ctr_bits(p) | pmu_metrics_bit(p))) {
        return -1;
    }
    p->global_ctrl = val;
    return 1;
}

static int rd_global_ctrl(X86PMU *p, int i, uint64_t *val)
{
    *val = p->global_ctrl;
    return 1;
}

/* OVF_CTRL (STATUS_RESET from version 4): clears status bits, reads as 0 */
static int wr_ovf_ctrl(X86PMU *p, int i, uint64_t val)
{
    uint64_t valid = pmu_ctr_bits(p) | pmu_metrics_bit(p) | STATUS_OVFBUF |
                     STATUS_CONDCHGD;

    if (pmu_version(p) >= 3) {
        valid |= STATUS_UNCORE;
    }
    if (pmu_version(p) >= 4) {
        valid |= STATUS_LBR_FRZ | STATUS_CTR_FRZ | STATUS_ASCI;
    }
    if (val & ~valid) {
        return -1;
    }
    p->status &= ~val;
    return 1;
}

static int wr_status_set(X86PMU *p, int i, uint64_t val)
{
    if (val & ~(pmu_ctr_bits(p) | pmu_metrics_bit(p) | STATUS_LBR_FRZ |
                STATUS_CTR_FRZ | STATUS_ASCI | STATUS_UNCORE |
                STATUS_OVFBUF)) {
        return -1;
    }
    p->status |= val;
    return 1;
}

static int rd_zero(X86PMU *p, int i, uint64_t *val)
{
    *val = 0;
    return 1;
}

static int rd_inuse(X86PMU *p, int i, uint64_t *val)
{
    int n;

    *val = 0;
    for (n = 0; n < p->cpu->pmu_props.gp; n++) {
        *val |= p->sel[n] & EVTSEL_EVENT ? PMU_STATUS_BIT(n) : 0;
        *val |= p->sel[n] & EVTSEL_INT ? INUSE_PMI : 0;
    }
    for (n = 0; n < p->cpu->pmu_props.fixed; n++) {
        int ctl = p->fixed_ctrl >> (4 * n);

        *val |= ctl & (FIXED_OS | FIXED_USR) ? PMU_STATUS_BIT(PMU_MAX_GP + n)
                                             : 0;
        *val |= ctl & FIXED_INT ? INUSE_PMI : 0;
    }
    return 1;
}

/* PERF_METRICS is only stored: the model does not compute metrics. */
static int wr_metrics(X86PMU *p, int i, uint64_t val)
{
    if (!pmu_metrics_bit(p)) {
        return -1;
    }
    p->metrics = val;
    return 1;
}

static int rd_metrics(X86PMU *p, int i, uint64_t *val)
{
    if (!pmu_metrics_bit(p)) {
        return -1;
    }
    *val = p->metrics;
    return 1;
}

static int rd_capabilities(X86PMU *p, int i, uint64_t *val)
{
    if (!(p->cpu->env.features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        return -1;
    }
    *val = p->cpu->env.features[FEAT_PERF_CAPABILITIES];
    return 1;
}

/* LBR and the bits that freeze have an effect; the others are only stored. */
static int wr_debugctl(X86PMU *p, int i, uint64_t val)
{
    if (val & ~debugctl_valid(p)) {
        return -1;
    }
    p->debugctl = val;
    return 1;
}

static int rd_debugctl(X86PMU *p, int i, uint64_t *val)
{
    *val = p->debugctl;
    return 1;
}

static int wr_offcore(X86PMU *p, int i, uint64_t val)
{
    p->offcore[i] = val;
    return 1;
}

static int rd_offcore(X86PMU *p, int i, uint64_t *val)
{
    *val = p->offcore[i];
    return 1;
}

/* Read-only bits: the PMU is available, BTS is not, PEBS may be */
static int rd_misc_enable(X86PMU *p, int i, uint64_t *val)
{
    *val = p->cpu->env.msr_ia32_misc_enable | MISC_ENABLE_EMON |
           MISC_ENABLE_NO_BTS | MISC_ENABLE_NO_PEBS;
    if (pmu_pebs_fmt(p)) {
        *val &= ~MISC_ENABLE_NO_PEBS;
    }
    return 1;
}

static int wr_misc_enable(X86PMU *p, int i, uint64_t val)
{
    p->cpu->env.msr_ia32_misc_enable = val;
    return 1;
}

typedef struct IntelMsr {
    uint32_t first;
    uint8_t nr;
    uint8_t version;            /* first PMU version with it */
    int (*rd)(X86PMU *p, int i, uint64_t *val);
    int (*wr)(X86PMU *p, int i, uint64_t val);  /* NULL rd, wr: #GP */
    uint8_t lbr;                /* kinds of LBR that have it, 0: not of LBR */
    uint8_t pebs;               /* first format of PEBS, 0: not of PEBS */
} IntelMsr;

#define LEGACY PMU_LBR_LEGACY
#define ARCH PMU_LBR_ARCH
#define PEBS(fmt) .pebs = PMU_PEBS_##fmt

/* Sorted by MSR number for find_msr() */
static const IntelMsr intel_msrs[] = {
    { MSR_P6_PERFCTR0, PMU_MAX_GP, 1, rd_pmc, wr_pmc },
    { MSR_P6_EVNTSEL0, PMU_MAX_GP, 1, rd_evtsel, wr_evtsel },
    { MSR_IA32_MISC_ENABLE, 1, 1, rd_misc_enable, wr_misc_enable },
    { MSR_OFFCORE_RSP_0, 2, 1, rd_offcore, wr_offcore },
    { MSR_LBR_SELECT, 2, 1, pmu_rd_lbr_select, pmu_wr_lbr_select, LEGACY },
    { MSR_IA32_DEBUGCTL, 1, 1, rd_debugctl, wr_debugctl },
    { MSR_LER_FROM, 2, 1, pmu_rd_ler, pmu_wr_ler, LEGACY | ARCH },
    { MSR_LER_INFO, 1, 1, pmu_rd_ler_info, pmu_wr_ler_info, ARCH },
    { MSR_CORE_PERF_FIXED_CTR0, 16, 2, rd_fixed, wr_fixed },
    { MSR_PERF_METRICS, 1, 5, rd_metrics, wr_metrics },
    { MSR_IA32_PERF_CAPABILITIES, 1, 1, rd_capabilities, NULL },
    { MSR_CORE_PERF_FIXED_CTR_CTRL, 1, 2, rd_fixed_ctrl, wr_fixed_ctrl },
    { MSR_CORE_PERF_GLOBAL_STATUS, 1, 2, rd_status, NULL },
    { MSR_CORE_PERF_GLOBAL_CTRL, 1, 2, rd_global_ctrl, wr_global_ctrl },
    { MSR_CORE_PERF_GLOBAL_OVF_CTRL, 1, 2, rd_zero, wr_ovf_ctrl },
    { MSR_CORE_PERF_GLOBAL_STATUS_SET, 1, 4, rd_zero, wr_status_set },
    { MSR_CORE_PERF_GLOBAL_INUSE, 1, 4, rd_inuse, NULL },
    { MSR_PEBS_ENABLE, 1, 1, pmu_rd_pebs_enable, pmu_wr_pebs_enable,
      PEBS(STATUS) },
    { MSR_PEBS_DATA_CFG, 1, 1, pmu_rd_pebs_cfg, pmu_wr_pebs_cfg,
      PEBS(ADAPTIVE) },
    { MSR_PEBS_LD_LAT, 1, 1, pmu_rd_ld_lat, pmu_wr_ld_lat, PEBS(STATUS) },
    { MSR_IA32_PMC0, PMU_MAX_GP, 1, rd_pmc_full, wr_pmc_full },
    { MSR_DS_AREA, 1, 1, pmu_rd_ds_area, pmu_wr_ds_area, PEBS(STATUS) },
    { MSR_LASTBRANCH_0_FROM, 32, 1, pmu_rd_lbr_from, pmu_wr_lbr_from, LEGACY },
    { MSR_LASTBRANCH_0_TO, 32, 1, pmu_rd_lbr_to, pmu_wr_lbr_to, LEGACY },
    { MSR_LBR_INFO_0, 32, 1, pmu_rd_lbr_info, pmu_wr_lbr_info, LEGACY },
    { MSR_ARCH_LBR_INFO_0, 64, 1, pmu_rd_lbr_info, pmu_wr_lbr_info, ARCH },
    { MSR_ARCH_LBR_CTL, 2, 1, pmu_rd_lbr_ctl, pmu_wr_lbr_ctl, ARCH },
    { MSR_ARCH_LBR_FROM_0, 64, 1, pmu_rd_lbr_from, pmu_wr_lbr_from, ARCH },
    { MSR_ARCH_LBR_TO_0, 64, 1, pmu_rd_lbr_to, pmu_wr_lbr_to, ARCH },
};

/* Binary search, since each RDMSR and WRMSR of the guest calls this */
static const IntelMsr *find_msr(uint32_t msr)
{
    int lo = 0, hi = ARRAY_SIZE(intel_msrs);

    while (lo < hi) {
        int mid = (lo + hi) / 2;
        const IntelMsr *m = &intel_msrs[mid];

        if (msr < m->first) {
            hi = mid;
        } else if (msr - m->first >= m->nr) {
            lo = mid + 1;
        } else {
            return m;
        }
    }
    return NULL;
}

/* True if this version, with this kind of LBR and PEBS, has the register */
static bool has_msr(X86PMU *p, const IntelMsr *m)
{
    return pmu_version(p) >= m->version &&
           (!m->lbr || m->lbr & pmu_lbr_kind(p)) && pmu_pebs_fmt(p) >= m->pebs;
}

/* A CPU without LBR or PEBS leaves the registers to the rest of QEMU */
bool pmu_intel_owns(X86PMU *p, uint32_t msr)
{
    const IntelMsr *m = find_msr(msr);

    return m && (!m->lbr || pmu_lbr_kind(p)) && (!m->pebs || pmu_pebs_fmt(p));
}

int pmu_intel_wrmsr(X86PMU *p, uint32_t msr, uint64_t val)
{
    const IntelMsr *m = find_msr(msr);

    return m->wr && has_msr(p, m) ? m->wr(p, msr - m->first, val) : -1;
}

int pmu_intel_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val)
{
    const IntelMsr *m = find_msr(msr);

    return m->rd && has_msr(p, m) ? m->rd(p, msr - m->first, val) : -1;
}
