/*
 * x86 performance monitoring unit for TCG: AMD's registers
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Reserved bits are ignored and read as 0, as on Zen.  So is a write to a
 * read-only register.  An absent register raises #GP.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-amd.h"

#define MSR_AMD_DEBUGCTL            0x1d9
#define MSR_PERF_CNTR_GLOBAL        0xc0000300  /* status, ctl, clear, set */
#define MSR_AMD_IRPERF              0xc00000e9
#define MSR_AMD_LBR_SELECT          0xc000010e  /* and DBG_EXTN_CFG */
#define MSR_AMD_LBR_FROM0           0xc0010300  /* FROM and TO, in turn */
#define MSR_AMD_IBS                 0xc0011030
#define MSR_AMD_K7_EVNTSEL0         0xc0010000
#define MSR_AMD_K7_PERFCTR0         0xc0010004
#define MSR_AMD_F15H_PERF_CTL0      0xc0010200  /* ctl and counter, in turn */

/* LBR, BTF, PB0 to PB3 */
#define DEBUGCTL_VALID              0x3full

/* Event, umask, USR, OS, EDGE, INT, EN, INV, CMASK, guest, host */
#define EVTSEL_VALID                0x30fffd7ffffull

static int wr_sel(X86PMU *p, int i, uint64_t val)
{
    p->sel[i] = val & EVTSEL_VALID;
    p->rem[i] = 0;
    return 1;
}

static int rd_sel(X86PMU *p, int i, uint64_t *val)
{
    *val = p->sel[i];
    return 1;
}

static int wr_ctr(X86PMU *p, int i, uint64_t val)
{
    p->ctr[i] = val & pmu_ctr_mask(p);
    p->rem[i] = 0;
    return 1;
}

static int rd_ctr(X86PMU *p, int i, uint64_t *val)
{
    *val = p->ctr[i];
    return 1;
}

/* PERF_CTL in even places, PERF_CTR in odd ones */
static int wr_core(X86PMU *p, int i, uint64_t val)
{
    return i & 1 ? wr_ctr(p, i / 2, val) : wr_sel(p, i / 2, val);
}

static int rd_core(X86PMU *p, int i, uint64_t *val)
{
    return i & 1 ? rd_ctr(p, i / 2, val) : rd_sel(p, i / 2, val);
}

enum { GLOBAL_STATUS, GLOBAL_CTL, GLOBAL_CLEAR, GLOBAL_SET };

static uint64_t status_bits(X86PMU *p)
{
    return pmu_amd_ctr_bits(p) | STATUS_PMC_FREEZE |
           (pmu_lbr_kind(p) ? STATUS_LBR_FRZ : 0);
}

static int wr_global(X86PMU *p, int i, uint64_t val)
{
    uint64_t status = val & status_bits(p);

    switch (i) {
    case GLOBAL_CTL:
        p->global_ctrl = val & pmu_amd_ctr_bits(p);
        break;
    case GLOBAL_CLEAR:
        p->status &= ~status;
        break;
    case GLOBAL_SET:
        p->status |= status;
        break;
    }
    return 1;
}

static int rd_global(X86PMU *p, int i, uint64_t *val)
{
    *val = i == GLOBAL_STATUS ? p->status & status_bits(p) :
           i == GLOBAL_CTL ? p->global_ctrl : 0;
    return 1;
}

static int wr_debugctl(X86PMU *p, int i, uint64_t val)
{
    p->debugctl = val & (DEBUGCTL_VALID |
                         (pmu_amd_v2(p) ? DEBUGCTL_PMC_FREEZE : 0) |
                         (pmu_lbr_kind(p) ? DEBUGCTL_FREEZE_LBRS : 0));
    return 1;
}

static int rd_debugctl(X86PMU *p, int i, uint64_t *val)
{
    *val = p->debugctl;
    return 1;
}

static int rd_irperf(X86PMU *p, int i, uint64_t *val)
{
    *val = p->ctr[AMD_CTR_IRPERF];
    return 1;
}

static int wr_read_only(X86PMU *p, int i, uint64_t val)
{
    return 1;
}

/* The rest of QEMU knows no bit of HWCR */
static int rd_hwcr(X86PMU *p, int i, uint64_t *val)
{
    *val = p->cpu->env.msr_hwcr;
    return 1;
}

static int wr_hwcr(X86PMU *p, int i, uint64_t val)
{
    p->cpu->env.msr_hwcr = val & HWCR_IRPERF;
    return 1;
}

typedef struct AMDMsr {
    uint32_t first, nr;
    uint8_t version, gp;        /* the least that have it */
    int (*rd)(X86PMU *p, int i, uint64_t *val);
    int (*wr)(X86PMU *p, int i, uint64_t val);
    bool lbr;                   /* part of LbrExtV2 */
    bool irperf;                /* part of IRPERF: else not of the PMU */
    bool ibs;                   /* part of IBS */
} AMDMsr;

static const AMDMsr amd_msrs[] = {
    { MSR_AMD_F15H_PERF_CTL0, 2 * AMD_CORE_CTRS, 1, AMD_CORE_CTRS,
      rd_core, wr_core },
    { MSR_AMD_K7_EVNTSEL0, AMD_K7_CTRS, 1, AMD_K7_CTRS, rd_sel, wr_sel },
    { MSR_AMD_K7_PERFCTR0, AMD_K7_CTRS, 1, AMD_K7_CTRS, rd_ctr, wr_ctr },
    { MSR_PERF_CNTR_GLOBAL, 4, 2, AMD_CORE_CTRS, rd_global, wr_global },
    { MSR_AMD_DEBUGCTL, 1, 1, AMD_K7_CTRS, rd_debugctl, wr_debugctl },
    { MSR_AMD_LBR_FROM0, 2 * PMU_LBR_AMD_NR, 2, AMD_CORE_CTRS,
      pmu_amd_rd_lbr, pmu_amd_wr_lbr, .lbr = true },
    { MSR_AMD_LBR_SELECT, 2, 2, AMD_CORE_CTRS,
      pmu_amd_rd_lbr_ctl, pmu_amd_wr_lbr_ctl, .lbr = true },
    { MSR_AMD_IRPERF, 1, 1, AMD_K7_CTRS, rd_irperf, wr_read_only,
      .irperf = true },
    { MSR_AMD_IBS, IBS_REGS, 1, AMD_K7_CTRS, pmu_ibs_rd, pmu_ibs_wr,
      .ibs = true },
    { MSR_K7_HWCR, 1, 1, AMD_K7_CTRS, rd_hwcr, wr_hwcr, .irperf = true },
};

static const AMDMsr *find_msr(uint32_t msr)
{
    for (int i = 0; i < ARRAY_SIZE(amd_msrs); i++) {
        if (msr - amd_msrs[i].first < amd_msrs[i].nr) {
            return &amd_msrs[i];
        }
    }
    return NULL;
}

static bool has_msr(X86PMU *p, const AMDMsr *m)
{
    const X86PMUProps *c = &p->cpu->pmu_props;

    return c->version >= m->version && c->gp >= m->gp &&
           (!m->lbr || pmu_lbr_kind(p)) &&
           (!m->ibs || pmu_amd_ibs(&p->cpu->env));
}

bool pmu_amd_owns(X86PMU *p, uint32_t msr)
{
    const AMDMsr *m = find_msr(msr);

    return m && (!m->irperf || pmu_amd_irperf(p));
}

int pmu_amd_wrmsr(X86PMU *p, uint32_t msr, uint64_t val)
{
    const AMDMsr *m = find_msr(msr);

    return has_msr(p, m) ? m->wr(p, msr - m->first, val) : -1;
}

int pmu_amd_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val)
{
    const AMDMsr *m = find_msr(msr);

    return has_msr(p, m) ? m->rd(p, msr - m->first, val) : -1;
}
