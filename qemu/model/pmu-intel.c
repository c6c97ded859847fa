/*
 * x86 performance monitoring unit for TCG: Intel's PMU
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Architectural performance monitoring, versions 1 to 5, as specified in the
 * chapter "Performance Monitoring" of Intel's SDM volume 3.  The registers are
 * in pmu-intel-msr.c, the events in pmu-events.c.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-intel.h"

static int intel_rdpmc(X86PMU *p, uint32_t index)
{
    uint32_t type = index >> 16, i = index & 0xffff;

    switch (type) {
    case 0:
        return pmu_gp_absent(p, i) ? -1 : i;
    case 0x4000:
        return pmu_fixed_absent(p, i) ? -1 : PMU_MAX_GP + i;
    default:
        return -1;
    }
}

/* Report the counters that run, what LBR records, and the privilege levels */
static void intel_collect(X86PMU *p)
{
    uint64_t on = pmu_version(p) >= 2 ? p->global_ctrl : pmu_ctr_bits(p);
    PMUActive a;
    int i;

    pmu_lbr_collect(p);
    if (p->status & STATUS_CTR_FRZ) {
        return;
    }
    for (i = 0; i < p->cpu->pmu_props.gp; i++) {
        uint64_t sel = p->sel[i];

        if (!(sel & EVTSEL_EN) || !(on & PMU_STATUS_BIT(i)) ||
            !pmu_intel_event(p, sel, &a)) {
            continue;
        }
        a.ctr = i;
        a.intr = sel & EVTSEL_INT;
        pmu_pebs_collect(p, &a);
        if (sel & EVTSEL_OS) {
            pmu_add_active(p, false, &a);
        }
        if (sel & EVTSEL_USR) {
            pmu_add_active(p, true, &a);
        }
    }
    for (i = 0; i < p->cpu->pmu_props.fixed; i++) {
        int ctl = p->fixed_ctrl >> (4 * i);

        if (!(on & PMU_STATUS_BIT(PMU_MAX_GP + i)) ||
            !pmu_intel_fixed_event(p, i, &a)) {
            continue;
        }
        a.ctr = PMU_MAX_GP + i;
        a.intr = ctl & FIXED_INT;
        pmu_pebs_collect(p, &a);
        if (ctl & FIXED_OS) {
            pmu_add_active(p, false, &a);
        }
        if (ctl & FIXED_USR) {
            pmu_add_active(p, true, &a);
        }
    }
}

/*
 * Freeze_PerfMon_On_PMI.  Up to version 3 the PMI clears GLOBAL_CTRL.  From
 * version 4 on ("streamlined") it sets CTR_FRZ, which stops all counters.
 */
static void intel_pmi(X86PMU *p)
{
    if (p->debugctl & DEBUGCTL_FREEZE_PERFMON) {
        if (pmu_version(p) >= 4) {
            p->status |= STATUS_CTR_FRZ;
        } else {
            p->global_ctrl = 0;
        }
    }
    pmu_lbr_pmi(p);
}

/*
 * Freeze_While_SMM: an SMI clears GLOBAL_CTRL, RSM restores it.  The SMI
 * handler may set GLOBAL_CTRL to count its own instructions.
 */
static void intel_smm(X86PMU *p, bool enter)
{
    pmu_lbr_smm(p, enter);
    if (enter && (p->debugctl & DEBUGCTL_FREEZE_SMM)) {
        p->smm_frozen = true;
        p->smm_global_ctrl = p->global_ctrl;
        p->global_ctrl = 0;
    } else if (!enter && p->smm_frozen) {
        p->smm_frozen = false;
        p->global_ctrl = p->smm_global_ctrl;
    }
}

static void intel_reset(X86PMU *p)
{
    p->global_ctrl = MAKE_64BIT_MASK(0, p->cpu->pmu_props.gp);
    pmu_lbr_reset(p);
}

const PMUVendor pmu_intel = {
    .name = "Intel",
    .setup = &pmu_intel_setup,
    .auto_mask = true,
    .reset = intel_reset,
    .collect = intel_collect,
    .pmi = intel_pmi,
    .smm = intel_smm,
    .owns = pmu_intel_owns,
    .wrmsr = pmu_intel_wrmsr,
    .rdmsr = pmu_intel_rdmsr,
    .rdpmc = intel_rdpmc,
    .event_name = pmu_intel_event_name,
};
