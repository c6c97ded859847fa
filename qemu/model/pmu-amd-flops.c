/*
 * x86 performance monitoring unit for TCG: AMD's large increments
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The event of retired floating-point operations, of which one instruction does
 * up to 16, and pairs of counters that can count them all: MergeEvent on the
 * odd counter makes it the upper bits of the even one.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-amd.h"
#include "exec/helper-proto.h"
#include "tcg/pmu-gen.h"

/* An increment of a single counter has 4 bits */
#define MAX_SINGLE  15

/* The counter with the upper bits of @ctr, 0: none */
static int upper(X86PMU *p, int ctr)
{
    int odd = ctr | 1;

    return odd != ctr && p->sel[odd] & EVTSEL_EN &&
           EVTSEL_AMD_EVENT(p->sel[odd]) == AMD_EVENT_MERGE &&
           pmu_amd_enabled(p) & PMU_STATUS_BIT(odd) ? odd : 0;
}

/**
 * pmu_amd_flops - let a counter count floating-point operations
 * @p: the PMU
 * @ctr: its number
 * @a: the counter
 *
 * Return: false if it counts nothing: with CMASK, INV or EDGE, which would
 * compare increments.
 */
bool pmu_amd_flops(X86PMU *p, int ctr, PMUActive *a)
{
    uint64_t sel = p->sel[ctr];

    a->q = PMU_Q_FLOP + ctr;
    a->upper = upper(p, ctr);
    return !EVTSEL_CMASK(sel) && !(sel & (EVTSEL_INV | EVTSEL_EDGE));
}

/* Called at the end of an instruction; @desc is PMU_FLOPS() of what it does */
void helper_pmu_flops(CPUX86State *env, uint32_t desc)
{
    X86PMU *p = env_pmu(env);

    for (int i = 0; i < p->n_active[p->user]; i++) {
        const PMUActive *a = &p->active[p->user][i];
        int n = 0;

        if (a->q < PMU_Q_FLOP || a->q > PMU_Q_FLOP_LAST) {
            continue;
        }
        for (int kind = 0; kind < PMU_FLOPS_KINDS; kind++) {
            if (EVTSEL_UMASK(p->sel[a->ctr]) >> kind & 1) {
                n += PMU_FLOPS_OF(desc, kind);
            }
        }
        env->pmu.left[a->q] -= a->upper ? n : MIN(n, MAX_SINGLE);
        if (env->pmu.left[a->q] < 0) {
            pmu_arm(env);
        }
    }
}
