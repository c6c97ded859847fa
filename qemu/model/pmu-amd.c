/*
 * x86 performance monitoring unit for TCG: AMD's PMUs
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The chapter "Debug and Performance Resources" of AMD's APM, volume 2: the
 * four counters of K7, the six of PerfCtrExtCore, and PerfMonV2 with its global
 * registers.  Before PerfMonV2 nothing but the counter itself tells of an
 * overflow: software sets its highest bit, and the overflow clears it.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-amd.h"

static int amd_rdpmc(X86PMU *p, uint32_t index)
{
    return index < p->cpu->pmu_props.gp ? index : -1;
}

/* With a bit for guest or host, nothing counts unless SVM is enabled */
static bool counts_in_mode(CPUX86State *env, uint64_t sel)
{
    uint64_t only = sel & (EVTSEL_GUEST | EVTSEL_HOST);

    if (!only) {
        return true;
    }
    return env->efer & MSR_EFER_SVME &&
           only & (env->hflags & HF_GUEST_MASK ? EVTSEL_GUEST : EVTSEL_HOST);
}

/* IRPERF counts at all levels, and no PMI freezes it */
static void collect_irperf(X86PMU *p)
{
    PMUActive a = { AMD_CTR_IRPERF, PMU_Q_INSN, .mul = 1, .div = 1 };

    if (pmu_amd_irperf(p) && p->cpu->env.msr_hwcr & HWCR_IRPERF) {
        pmu_add_active(p, false, &a);
        pmu_add_active(p, true, &a);
    }
}

/* Report the counters that run, what LBR records, and the privilege levels */
static void amd_collect(X86PMU *p)
{
    uint64_t on = pmu_amd_enabled(p);
    PMUActive a;

    pmu_lbr_collect(p);
    collect_irperf(p);
    pmu_ibs_collect(p);
    if (p->status & STATUS_PMC_FREEZE) {
        return;
    }
    for (int i = 0; i < p->cpu->pmu_props.gp; i++) {
        uint64_t sel = p->sel[i];

        if (!(sel & EVTSEL_EN) || !(on & PMU_STATUS_BIT(i)) ||
            !counts_in_mode(&p->cpu->env, sel) || !pmu_amd_event(p, i, &a)) {
            continue;
        }
        a.ctr = i;
        a.intr = sel & EVTSEL_INT;
        if (sel & EVTSEL_OS) {
            pmu_add_active(p, false, &a);
        }
        if (sel & EVTSEL_USR) {
            pmu_add_active(p, true, &a);
        }
    }
}

static void amd_pmi(X86PMU *p)
{
    if (pmu_amd_v2(p) && p->debugctl & DEBUGCTL_PMC_FREEZE) {
        p->status |= STATUS_PMC_FREEZE;
    }
    pmu_lbr_pmi(p);
}

/* Nothing depends on SMM */
static void amd_smm(X86PMU *p, bool enter)
{
}

/* Software that does not know PerfMonV2 finds its counters enabled */
static void amd_reset(X86PMU *p)
{
    p->global_ctrl = pmu_amd_v2(p) ? pmu_amd_ctr_bits(p) : 0;
    pmu_ibs_reset(p);
}

const PMUVendor pmu_amd = {
    .name = "AMD",
    .setup = &pmu_amd_setup,
    .auto_mask = false,
    .reset = amd_reset,
    .collect = amd_collect,
    .pmi = amd_pmi,
    .smm = amd_smm,
    .owns = pmu_amd_owns,
    .wrmsr = pmu_amd_wrmsr,
    .rdmsr = pmu_amd_rdmsr,
    .rdpmc = amd_rdpmc,
    .event_name = pmu_amd_event_name,
};
