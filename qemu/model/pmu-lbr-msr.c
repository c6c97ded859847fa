/*
 * x86 performance monitoring unit for TCG: registers of last branch records
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The functions for the rows of intel_msrs[].  They return 1 if done, -1 for
 * #GP.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-intel.h"

#define SELECT_VALID    0x3ffull
#define CTL_VALID       0x7f000full
/* Legacy INFO: cycles, transaction aborted, in transaction, mispredicted */
#define INFO_VALID      (7ull << 61 | 0xffff)

int pmu_rd_lbr_from(X86PMU *p, int i, uint64_t *val)
{
    LBREntry *e = pmu_lbr_entry(p, i);

    *val = e ? e->from : 0;
    return e ? 1 : -1;
}

int pmu_wr_lbr_from(X86PMU *p, int i, uint64_t val)
{
    LBREntry *e = pmu_lbr_entry(p, i);

    if (e) {
        e->from = pmu_lbr_canonical(p, val);
    }
    return e ? 1 : -1;
}

int pmu_rd_lbr_to(X86PMU *p, int i, uint64_t *val)
{
    LBREntry *e = pmu_lbr_entry(p, i);

    *val = e ? e->to : 0;
    return e ? 1 : -1;
}

int pmu_wr_lbr_to(X86PMU *p, int i, uint64_t val)
{
    LBREntry *e = pmu_lbr_entry(p, i);

    if (e) {
        e->to = pmu_lbr_canonical(p, val);
    }
    return e ? 1 : -1;
}

int pmu_rd_lbr_info(X86PMU *p, int i, uint64_t *val)
{
    LBREntry *e = pmu_lbr_entry(p, i);

    *val = e ? e->info : 0;
    return e ? 1 : -1;
}

/* All bits of architectural INFO may be written; the undefined ones are kept */
int pmu_wr_lbr_info(X86PMU *p, int i, uint64_t val)
{
    LBREntry *e = pmu_lbr_entry(p, i);

    if (!e || (!pmu_lbr_arch(p) && val & ~INFO_VALID)) {
        return -1;
    }
    e->info = val;
    return 1;
}

/* MSR_LBR_SELECT and MSR_LASTBRANCH_TOS */
int pmu_rd_lbr_select(X86PMU *p, int i, uint64_t *val)
{
    *val = i ? p->lbr.tos : p->lbr.select;
    return 1;
}

int pmu_wr_lbr_select(X86PMU *p, int i, uint64_t val)
{
    if (val & ~(i ? PMU_LBR_LEGACY_NR - 1 : SELECT_VALID)) {
        return -1;
    }
    if (i) {
        p->lbr.tos = val;
    } else {
        p->lbr.select = val;
    }
    return 1;
}

/* IA32_LBR_CTL and IA32_LBR_DEPTH.  A write of the depth clears all entries. */
int pmu_rd_lbr_ctl(X86PMU *p, int i, uint64_t *val)
{
    *val = i ? p->cpu->env.msr_lbr_depth : p->cpu->env.msr_lbr_ctl;
    return 1;
}

int pmu_wr_lbr_ctl(X86PMU *p, int i, uint64_t val)
{
    CPUX86State *env = &p->cpu->env;

    if (!i) {
        if (val & ~CTL_VALID) {
            return -1;
        }
        env->msr_lbr_ctl = val;
        return 1;
    }
    if (!val || val % 8 || val > 64 || !(PMU_LBR_DEPTHS >> (val / 8 - 1) & 1)) {
        return -1;
    }
    env->msr_lbr_depth = val;
    memset(env->lbr_records, 0, sizeof(env->lbr_records));
    p->lbr.tos = 0;
    return 1;
}

/* Last branch before the last exception or interrupt: FROM, TO, INFO */
static uint64_t *ler(X86PMU *p, int i)
{
    return i == 0 ? &p->lbr.ler.from : i == 1 ? &p->lbr.ler.to
                                              : &p->lbr.ler.info;
}

int pmu_rd_ler(X86PMU *p, int i, uint64_t *val)
{
    *val = *ler(p, i);
    return 1;
}

/* Read-only in the legacy LBR */
int pmu_wr_ler(X86PMU *p, int i, uint64_t val)
{
    if (!pmu_lbr_arch(p)) {
        return -1;
    }
    *ler(p, i) = pmu_lbr_canonical(p, val);
    return 1;
}

int pmu_rd_ler_info(X86PMU *p, int i, uint64_t *val)
{
    return pmu_rd_ler(p, 2, val);
}

int pmu_wr_ler_info(X86PMU *p, int i, uint64_t val)
{
    p->lbr.ler.info = val;
    return 1;
}
