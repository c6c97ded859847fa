/*
 * x86 performance monitoring unit for TCG: RDMSR, WRMSR, RDPMC
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "trace.h"

/*
 * RDMSR, WRMSR and RDPMC retire after they take effect.  A counter that they
 * read does not include the instruction.  A counter that they start includes
 * it; a counter that they stop does not.  The instruction is the last one of
 * its TB, which has counted it at its start.  If it faults,
 * x86_restore_state_to_opc() gives it back, so it must be counted at that point.
 */
static bool pmu_access_begin(CPUX86State *env)
{
    bool counted = env->hflags & HF_PMU_LEVEL;

    env->pmu.left[PMU_Q_INSN] += counted;
    return counted;
}

static void pmu_access_end(CPUX86State *env, bool counted, bool fault)
{
    env->pmu.left[PMU_Q_INSN] -= fault ? counted
                                       : (env->hflags & HF_PMU_MASK) != 0;
    if (unlikely(env_pmu(env)->pebs.on)) {
        /* It may be the first instruction of a counter that it starts */
        pmu_pebs_at(env, 0);
    }
}

/*
 * Effects of WRMSR, RDMSR and RDPMC.  Return 1 if done, 0 if the register is
 * not part of the PMU, -1 for #GP.  The statistics do not count accesses to
 * their own MSRs.
 */
int x86_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    X86PMU *p = env_pmu(env);
    bool counted;
    int r;

    if (!p) {
        return 0;
    }
    if (pmu_stats_owns(msr)) {
        return pmu_stats_wrmsr(p, msr, val);
    }
    if (!p->vendor->owns(p, msr)) {
        pmu_count_msr(p, msr, true);
        return 0;
    }

    counted = pmu_access_begin(env);
    pmu_fold(env);
    r = p->vendor->wrmsr(p, msr, val);
    pmu_config(env);
    pmu_rearm(env);
    pmu_access_end(env, counted, r < 0);

    trace_x86_pmu_wrmsr(env_cpu(env)->cpu_index, msr, val, r < 0 ? " #GP" : "");
    if (r < 0) {
        p->stats.faults++;
    } else {
        pmu_count_msr(p, msr, true);
    }
    return r;
}

int x86_pmu_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    X86PMU *p = env_pmu(env);
    bool counted;
    int r;

    if (!p) {
        return 0;
    }
    if (pmu_stats_owns(msr)) {
        counted = pmu_access_begin(env);
        x86_pmu_sync(env);
        pmu_access_end(env, counted, false);
        return pmu_stats_rdmsr(p, msr, val);
    }
    if (!p->vendor->owns(p, msr)) {
        pmu_count_msr(p, msr, false);
        return 0;
    }

    counted = pmu_access_begin(env);
    x86_pmu_sync(env);
    r = p->vendor->rdmsr(p, msr, val);
    pmu_access_end(env, counted, r < 0);

    trace_x86_pmu_rdmsr(env_cpu(env)->cpu_index, msr, r < 0 ? 0 : *val,
                        r < 0 ? " #GP" : "");
    if (r < 0) {
        p->stats.faults++;
    } else {
        pmu_count_msr(p, msr, false);
    }
    return r;
}

int x86_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val)
{
    X86PMU *p = env_pmu(env);
    bool counted;
    int ctr;

    if (!p) {
        return 0;
    }
    ctr = p->vendor->rdpmc(p, index);
    if (ctr < 0) {
        p->stats.faults++;
        return -1;
    }
    counted = pmu_access_begin(env);
    x86_pmu_sync(env);
    pmu_access_end(env, counted, false);
    *val = p->ctr[ctr];
    p->stats.rdpmc++;
    trace_x86_pmu_rdpmc(env_cpu(env)->cpu_index, index, *val);
    return 1;
}
