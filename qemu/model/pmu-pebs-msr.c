/*
 * x86 performance monitoring unit for TCG: registers and properties of PEBS
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The functions for the rows of intel_msrs[] return 1 if done, -1 for #GP.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cpu.h"
#include "pmu-intel.h"

#define PERF_CAP_PEBS_TRAP      (1ull << 6)
#define PERF_CAP_PEBS_REG       (1ull << 7)
#define PERF_CAP_PEBS_FMT(n)    ((uint64_t)(n) << 8)
#define PERF_CAP_PEBS_BASELINE  (1ull << 14)

#define FMT3_COUNTERS           4   /* only these have PEBS */
#define LD_LAT_VALID            0xffffull
#define CFG_VALID               0x7ull

/**
 * pmu_pebs_counters - counters that can have PEBS, as in IA32_PEBS_ENABLE
 * @p: the PMU
 */
uint64_t pmu_pebs_counters(X86PMU *p)
{
    if (pmu_pebs_fmt(p) >= PMU_PEBS_ADAPTIVE) {
        return pmu_ctr_bits(p);
    }
    return MAKE_64BIT_MASK(0, MIN(p->cpu->pmu_props.gp, FMT3_COUNTERS));
}

/**
 * pmu_pebs_has_latency - true if the records of a counter have latencies
 * @p: the PMU
 * @ctr: the counter, for the event of latencies
 */
bool pmu_pebs_has_latency(X86PMU *p, int ctr)
{
    return pmu_pebs_fmt(p) >= PMU_PEBS_ADAPTIVE ||
           p->pebs.enable >> (32 + ctr) & 1;
}

int pmu_rd_pebs_enable(X86PMU *p, int i, uint64_t *val)
{
    *val = p->pebs.enable;
    return 1;
}

int pmu_wr_pebs_enable(X86PMU *p, int i, uint64_t val)
{
    uint64_t valid = pmu_pebs_counters(p);

    if (pmu_pebs_fmt(p) < PMU_PEBS_ADAPTIVE) {
        valid |= valid << 32;           /* latencies */
    }
    if (val & ~valid) {
        return -1;
    }
    p->pebs.enable = val;
    for (i = 0; i < PMU_MAX_CTRS; i++) {
        if (!(val & PMU_STATUS_BIT(i))) {
            p->pebs.armed &= ~(1u << i);
        }
    }
    return 1;
}

int pmu_rd_pebs_cfg(X86PMU *p, int i, uint64_t *val)
{
    *val = p->pebs.data_cfg;
    return 1;
}

int pmu_wr_pebs_cfg(X86PMU *p, int i, uint64_t val)
{
    uint64_t valid = CFG_VALID;

    if (pmu_lbr_kind(p)) {
        valid |= PEBS_CFG_LBR | (uint64_t)(PMU_PEBS_MAX_LBR - 1) << 24;
    }
    if (val & ~valid) {
        return -1;
    }
    p->pebs.data_cfg = val;
    return 1;
}

int pmu_rd_ld_lat(X86PMU *p, int i, uint64_t *val)
{
    *val = p->pebs.ld_lat;
    return 1;
}

int pmu_wr_ld_lat(X86PMU *p, int i, uint64_t val)
{
    if (val & ~LD_LAT_VALID) {
        return -1;
    }
    p->pebs.ld_lat = val;
    return 1;
}

int pmu_rd_ds_area(X86PMU *p, int i, uint64_t *val)
{
    *val = p->pebs.ds_area;
    return 1;
}

int pmu_wr_ds_area(X86PMU *p, int i, uint64_t val)
{
    if (val != pmu_lbr_canonical(p, val)) {
        return -1;
    }
    p->pebs.ds_area = val;
    return 1;
}

/**
 * pmu_pebs_check - check the property pebs-fmt
 * @cpu: the CPU
 * @c: its properties, "auto" values replaced
 * @errp: for the error
 *
 * Return: true if it can have PEBS, or has none.
 */
bool pmu_pebs_check(X86CPU *cpu, const X86PMUProps *c, Error **errp)
{
    CPUX86State *env = &cpu->env;
    int fmt = c->pebs_fmt;

    if (!fmt) {
        return true;
    } else if (fmt < PMU_PEBS_STATUS || fmt > PMU_PEBS_ADAPTIVE) {
        error_setg(errp, "pebs-fmt must be 0, %d, %d or %d, not %d",
                   PMU_PEBS_STATUS, PMU_PEBS_FIXED, PMU_PEBS_ADAPTIVE, fmt);
    } else if (!cpu->enable_pmu) {
        error_setg(errp, "pebs-fmt needs pmu=on");
    } else if (c->version && fmt <= PMU_PEBS_FIXED &&
               (c->version < 2 || c->version > 4)) {
        error_setg(errp, "pebs-fmt=%d needs version 2 to 4 of the PMU, not %d",
                   fmt, c->version);
    } else if (c->version && fmt == PMU_PEBS_ADAPTIVE && c->version < 5) {
        error_setg(errp, "pebs-fmt=%d needs version 5 of the PMU, not %d",
                   fmt, c->version);
    } else if (!(env->features[FEAT_8000_0001_EDX] & CPUID_EXT2_LM)) {
        error_setg(errp, "pebs-fmt needs a CPU of 64 bits");
    } else if (env->user_features[FEAT_1_ECX] & CPUID_EXT_PDCM &&
               !(env->features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        error_setg(errp, "pebs-fmt needs pdcm");
    } else {
        return true;
    }
    return false;
}

/**
 * pmu_pebs_offer - show PEBS in CPUID and PERF_CAPABILITIES
 * @cpu: the CPU
 */
void pmu_pebs_offer(X86CPU *cpu)
{
    FeatureWordArray *f = &cpu->env.features;
    int fmt = cpu->pmu_props.pebs_fmt;

    if (!fmt) {
        return;
    }
    (*f)[FEAT_1_EDX] |= CPUID_DTS;
    (*f)[FEAT_1_ECX] |= CPUID_EXT_DTES64;
    (*f)[FEAT_PERF_CAPABILITIES] |= PERF_CAP_PEBS_TRAP | PERF_CAP_PEBS_REG |
                                    PERF_CAP_PEBS_FMT(fmt);
    if (fmt >= PMU_PEBS_ADAPTIVE) {
        (*f)[FEAT_PERF_CAPABILITIES] |= PERF_CAP_PEBS_BASELINE;
    }
}
