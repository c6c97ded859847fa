/*
 * x86 performance monitoring unit for TCG: the slow path of a TB
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "exec/helper-proto.h"
#include "exec/translation-block.h"
#include "hw/core/cpu.h"

/*
 * Length of the TB up to the instruction, load or store that overflows, or to
 * the instruction before one that may write a record
 */
static int slow_limit(CPUX86State *env, uint32_t pk, int len)
{
    const int64_t *left = env->pmu.left;
    int limit = MIN(MAX(left[PMU_Q_INSN], 1), len);

    if (PMU_PK_L(pk)) {
        limit = MIN(limit, left[PMU_Q_LD] + 1);
    }
    if (PMU_PK_S(pk)) {
        limit = MIN(limit, left[PMU_Q_ST] + 1);
    }
    if (unlikely(env_pmu(env)->pebs.alone)) {
        limit = MIN(limit, pmu_pebs_limit(env, pk, len));
    }
    return limit;
}

/*
 * Called by a TB that would make a countdown negative.  @pk has the counts of
 * the TB, @charged is the number of instructions that gen_tb_start() has
 * charged for -icount.  PMU_UNCHARGED: the TB is the one instruction that
 * reaches an exception in a replay: it is not charged, and runs although the
 * CPU is asked to exit.  Returns 0 if the TB can run after all.  Otherwise the
 * TB exits, and the next one is looked up.
 */
uint32_t helper_pmu_slow(CPUX86State *env, uint32_t pk, uint32_t charged)
{
    CPUState *cs = env_cpu(env);
    int64_t *left = env->pmu.left;
    uint32_t old_hf = env->hflags;
    int n = PMU_PK_N(pk), b = PMU_PK_B(pk), l = PMU_PK_L(pk), s = PMU_PK_S(pk);
    int len = n + !!(pk & PMU_PK_FAULT);
    bool replay = charged == PMU_UNCHARGED;
    int limit = 0;

    charged = replay ? 0 : charged;
    /* The TB has already subtracted its counts. */
    left[PMU_Q_INSN] += n;
    left[PMU_Q_BR] += b;
    left[PMU_Q_LD] += l;
    left[PMU_Q_ST] += s;

    env_pmu(env)->stats.slow++;
    /* A record that is due has the time before the TB, and time does not go back */
    cs->neg.icount_decr.u16.low += charged;
    pmu_sync_boundary(env);

    if ((old_hf ^ env->hflags) & HF_PMU_MASK ||
        (!replay && (int16_t)cs->neg.icount_decr.u16.high < 0)) {
        goto leave;
    }
    limit = slow_limit(env, pk, len);
    if (limit < len) {
        goto leave;
    }
    if (unlikely(env_pmu(env)->pebs.alone)) {
        pmu_pebs_begin(env);
    }

    cs->neg.icount_decr.u16.low -= charged;
    left[PMU_Q_INSN] -= n;
    left[PMU_Q_BR] -= b;
    left[PMU_Q_LD] -= l;
    left[PMU_Q_ST] -= s;
    if (left[PMU_Q_BR] < 0 || left[PMU_Q_LD] < 0 || left[PMU_Q_ST] < 0) {
        pmu_arm(env);
    }
    return 0;

leave:
    if (replay) {
        cs->cflags_next_tb = (curr_cflags(cs) & ~(CF_COUNT_MASK | CF_USE_ICOUNT)) |
                             CF_NOIRQ | 1;
    } else if (limit) {
        cs->cflags_next_tb = (curr_cflags(cs) & ~CF_COUNT_MASK) | limit;
    }
    return 1;
}
