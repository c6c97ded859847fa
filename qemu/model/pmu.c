/*
 * x86 performance monitoring unit for TCG: counting and overflow
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counting.  A TB translated while the HF_PMU bits of hflags are set subtracts,
 * when it starts, what it is going to retire from per-vCPU countdowns
 * (env->pmu.left[]).  Where it is left early - a fault, an MMIO access that
 * needs a TB of its own, self-modifying code - x86_restore_state_to_opc() gives
 * back what was not executed, from a word that insn_start carries.  Events that
 * only helpers can see are subtracted by those helpers (pmu-model.c).
 *
 * Overflow.  The countdowns start at the distance to the nearest overflow that
 * raises an interrupt.  A TB that would cross it is not run: it calls
 * helper_pmu_slow(), which asks for a shorter TB, as -icount does.  So an
 * overflow is always seen between two instructions, the first of which is the
 * one that overflowed.
 *
 * Folding.  Architectural counters are only brought up to date ("folded") when
 * somebody may look, or when what counts changes: at accesses to PMU registers,
 * at deadlines, and where the CPL changes between user and supervisor and both
 * count.  Since the HF_PMU bits say what counts at the *current* CPL, code at a
 * level where nothing counts is the same as without a PMU; the change to such a
 * level, and the one back, only change the bits.
 *
 * Invariants:
 * - start[q] - left[q] is what happened since the last fold, all of it at the
 *   privilege level p->user.  That is the current one, or the current one has
 *   no HF_PMU bits and nothing counts there.
 * - Between two instructions, an overflow that must interrupt and has not yet
 *   been noticed implies left[PMU_Q_INSN] <= 0, and the next TB with HF_PMU set
 *   does not run before it was folded.
 * - Only the vCPU's own thread touches its PMU while the vCPU runs.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "exec/helper-proto.h"
#include "exec/translation-block.h"
#include "hw/core/cpu.h"
#include "hw/i386/apic.h"
#include "trace.h"

#define NO_LIMIT     (INT64_MAX / 4)

static bool pmu_user(CPUX86State *env)
{
    return (env->hflags & HF_CPL_MASK) != 0;
}

/* For vendors: counter a->ctr counts in user mode or in supervisor mode. */
void pmu_add_active(X86PMU *p, bool user, const PMUActive *a)
{
    p->active[user][p->n_active[user]++] = *a;
    if (a->q >= PMU_Q_STATIC) {
        p->nr_q = PMU_Q_NR;
    }

    switch (a->q) {
    case PMU_Q_INSN:
    case PMU_Q_BR:
        break;
    case PMU_Q_LD:
    case PMU_Q_ST:
        p->tb_flags[user] = MAX(p->tb_flags[user] & PMU_TB_LEVEL, PMU_TB_MEM) |
                            (p->tb_flags[user] & PMU_TB_BRANCH);
        break;
    case PMU_Q_BR_MISS ... PMU_Q_BR_RET:
        p->tb_flags[user] |= PMU_TB_BRANCH;
        break;
    default:
        p->tb_flags[user] |= PMU_TB_CACHE;
        break;
    }
}

/* Rebuild what is derived from the control registers. */
void pmu_config(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    int user;

    for (user = 0; user < 2; user++) {
        p->n_active[user] = 0;
        p->tb_flags[user] = PMU_TB_OFF;
    }
    p->nr_q = PMU_Q_STATIC;
    p->vendor->collect(p);

    env->pmu.on = p->cpu->pmu_props.always || p->skid_left;
    for (user = 0; user < 2; user++) {
        if (p->n_active[user] && !(p->tb_flags[user] & PMU_TB_LEVEL)) {
            p->tb_flags[user] |= PMU_TB_INSN;
        }
        env->pmu.on |= p->n_active[user] != 0;
    }
    p->dirty = false;
}

/* Events of a->q until the counter overflows; NO_LIMIT: far away */
static int64_t pmu_distance(X86PMU *p, const PMUActive *a)
{
    uint64_t need = pmu_ctr_mask(p) + 1 - p->ctr[a->ctr];

    if (a->mul == 1 && a->div == 1) {
        return need;
    }
    if (need > NO_LIMIT / a->div) {
        return NO_LIMIT;
    }
    return MAX(1, DIV_ROUND_UP((int64_t)(need * a->div - p->rem[a->ctr]),
                               a->mul));
}

/* Start the countdowns towards the nearest overflow at the current CPL. */
void pmu_rearm(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    int64_t lim[PMU_Q_NR];
    uint32_t flags;
    int q, i;

    p->user = pmu_user(env);
    for (q = 0; q < p->nr_q; q++) {
        lim[q] = NO_LIMIT;
    }

    for (i = 0; i < p->n_active[p->user]; i++) {
        const PMUActive *a = &p->active[p->user][i];

        if (a->intr) {
            /* For "less", the soonest it can be; look again then. */
            q = a->less ? PMU_Q_INSN : a->q;
            lim[q] = MIN(lim[q], pmu_distance(p, a));
        }
    }
    if (p->skid_left) {
        lim[PMU_Q_INSN] = MIN(lim[PMU_Q_INSN], p->skid_left);
    }

    /*
     * A TB may take instructions down to 0, and then the next one traps.  The
     * other events come with their TB's last instruction, or the TB is made to
     * end with them; so their countdown goes below 0 with the one that
     * overflows, and whoever takes it there calls pmu_arm().
     */
    for (q = 0; q < p->nr_q; q++) {
        env->pmu.left[q] = p->start[q] = lim[q] - (q != PMU_Q_INSN);
    }

    flags = p->tb_flags[p->user];
    if (!(flags & PMU_TB_LEVEL) && (p->cpu->pmu_props.always || p->skid_left)) {
        flags |= PMU_TB_INSN;
    }
    p->armed = flags;
    env->hflags = (env->hflags & ~HF_PMU_MASK) | flags << HF_PMU_SHIFT;
}

/* Make the next TB that has HF_PMU set take the slow path. */
void pmu_arm(CPUX86State *env)
{
    env_pmu(env)->start[PMU_Q_INSN] -= env->pmu.left[PMU_Q_INSN];
    env->pmu.left[PMU_Q_INSN] = 0;
}

static void pmu_deliver(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);
    X86PMU *p = env_pmu(env);
    bool io = cs->neg.can_do_io;
    bool delivered = false;

    trace_x86_pmu_pmi(cs->cpu_index, p->status, env->eip);
    p->vendor->pmi(p);
    p->dirty = true;

    if (p->cpu->apic_state) {
        BQL_LOCK_GUARD();
        /*
         * With -icount, only code that may do I/O may raise an interrupt.
         * Here it is between two instructions or in the last one of a TB.
         */
        cs->neg.can_do_io = true;
        delivered = apic_deliver_pmi(p->cpu->apic_state, p->vendor->auto_mask);
        cs->neg.can_do_io = io;
    }
    if (delivered) {
        p->stats.pmi++;
    } else {
        p->stats.pmi_lost++;
    }
}

/* Bring the counters up to date and raise what overflowed. */
void pmu_fold(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    uint64_t mask = pmu_ctr_mask(p), insns;
    int64_t delta[PMU_Q_NR];
    bool pmi = false;
    int q, i;

    p->stats.sync++;
    for (q = 0; q < p->nr_q; q++) {
        delta[q] = p->start[q] - env->pmu.left[q];
        p->start[q] = env->pmu.left[q];
    }
    insns = delta[PMU_Q_INSN];
    p->stats.retired[p->user] += insns;

    for (i = 0; i < p->n_active[p->user]; i++) {
        const PMUActive *a = &p->active[p->user][i];
        uint64_t *c = &p->ctr[a->ctr];
        int64_t t, n;

        t = delta[a->less ? PMU_Q_INSN : a->q] * a->mul + p->rem[a->ctr];
        n = t;
        if (a->div != 1) {
            /* Negative if x86_pmu_cpl_changed() was followed by a fault */
            n = t >= 0 ? t / a->div : -DIV_ROUND_UP(-t, a->div);
            p->rem[a->ctr] = t - n * a->div;
        }
        if (a->less) {
            n -= delta[a->q];
        }
        if (n > 0 && *c + n > mask) {
            p->status |= PMU_STATUS_BIT(a->ctr);
            pmi |= a->intr;
            trace_x86_pmu_overflow(env_cpu(env)->cpu_index, a->ctr, env->eip);
        }
        *c = (*c + n) & mask;
    }

    /* Overflows at the same instruction share a PMI; so do those in its skid */
    if (p->skid_left) {
        p->skid_left -= MIN(p->skid_left, MAX((int64_t)insns, 0));
        if (!p->skid_left) {
            pmu_deliver(env);
        }
    } else if (pmi && p->cpu->pmu_props.skid) {
        p->skid_left = p->cpu->pmu_props.skid;
        p->dirty = true;
    } else if (pmi) {
        pmu_deliver(env);
    }
}

void x86_pmu_sync(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);

    if (!p || !env->pmu.on) {
        return;
    }
    pmu_fold(env);
    if (p->dirty) {
        pmu_config(env);
    }
    pmu_rearm(env);
}

/*
 * Nothing counts at the new level, or at the one that the countdowns are for
 * and to which this goes back: they can wait as they are.
 */
static bool pmu_change_is_cheap(CPUX86State *env, X86PMU *p)
{
    if (p->user == pmu_user(env)) {
        env->hflags |= p->armed << HF_PMU_SHIFT;
        return true;
    }
    if (!p->n_active[!p->user] && !p->cpu->pmu_props.always && !p->skid_left &&
        env->pmu.left[PMU_Q_INSN] > 0) {
        env->hflags &= ~HF_PMU_MASK;
        return true;
    }
    return false;
}

/*
 * From cpu_x86_load_seg_cache(), where CPL changes (with SS): the instruction
 * that does it belongs to the old level; it was counted when its TB started.
 * Should it fault after all, its give-back is taken from the new level if that
 * counts, too.  This can only happen to a task switch: all other instructions
 * load SS last.
 */
void x86_pmu_cpl_changed(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);

    if (!pmu_change_is_cheap(env, p)) {
        p->stats.cpl++;
        x86_pmu_sync(env);
    }
}

/* An SMI is about to be delivered; or RSM ends, which itself was in SMM. */
void x86_pmu_smm(CPUX86State *env, bool enter)
{
    X86PMU *p = env_pmu(env);

    if (!p) {
        return;
    }
    pmu_fold(env);
    p->vendor->smm(p, enter);
    pmu_config(env);
    pmu_rearm(env);
}

/* Is there an overflow that the next TB would notice? */
bool x86_pmu_pending(CPUX86State *env)
{
    return (env->hflags & HF_PMU_MASK) && env->pmu.left[PMU_Q_INSN] <= 0;
}

/* Leaving cpu_exec(), maybe to halt: HLT must not sleep on an overflow. */
void x86_pmu_leave(CPUX86State *env)
{
    if (x86_pmu_pending(env)) {
        x86_pmu_sync(env);
    }
}

/*
 * Before an interrupt is taken: an overflow at this very boundary comes first,
 * or its PMI would be taken at the first instruction of the handler.  Returns
 * whether there may be one.
 */
bool x86_pmu_boundary(CPUX86State *env)
{
    if (!x86_pmu_pending(env)) {
        return false;
    }
    x86_pmu_sync(env);
    /* hflags may have changed: do not chain the last TB to the next one */
    env_cpu(env)->interrupt_request |= CPU_INTERRUPT_EXITTB;
    return true;
}

/*
 * An exception is raised.  If that happens while another one is delivered, and
 * that one came from INT n, INT3 or INTO, then the instruction has faulted and
 * did not retire.  It was the last one of its TB.
 */
void x86_pmu_delivery_failed(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);

    if (cs->exception_index >= 0 && cs->exception_index < EXCP_INTERRUPT &&
        env->exception_is_int && (env->hflags & HF_PMU_MASK)) {
        env->pmu.left[PMU_Q_INSN]++;
        env->pmu.left[PMU_Q_BR]++;
    }
}

/*
 * A TB (@pk: what it counts, @tb_insns: its length for -icount) found that a
 * countdown would run out.  Returns 0 if the TB can be run after all, else the
 * TB is left and looked up again.
 */
uint32_t helper_pmu_slow(CPUX86State *env, uint32_t pk, uint32_t tb_insns)
{
    CPUState *cs = env_cpu(env);
    int64_t *left = env->pmu.left;
    uint32_t old_hf = env->hflags;
    int n = PMU_PK_N(pk), b = PMU_PK_B(pk), l = PMU_PK_L(pk), s = PMU_PK_S(pk);
    int len = n + !!(pk & PMU_PK_FAULT);
    int limit = 0;

    /* It has subtracted already. */
    left[PMU_Q_INSN] += n;
    left[PMU_Q_BR] += b;
    left[PMU_Q_LD] += l;
    left[PMU_Q_ST] += s;

    env_pmu(env)->stats.slow++;
    x86_pmu_sync(env);

    if ((old_hf ^ env->hflags) & HF_PMU_MASK ||
        (int16_t)cs->neg.icount_decr.u16.high < 0) {
        goto leave;
    }
    /* No more instructions than are left, no more loads or stores either. */
    limit = MIN(left[PMU_Q_INSN], len);
    if (l) {
        limit = MIN(limit, left[PMU_Q_LD] + 1);
    }
    if (s) {
        limit = MIN(limit, left[PMU_Q_ST] + 1);
    }
    if (limit < len) {
        goto leave;
    }

    left[PMU_Q_INSN] -= n;
    left[PMU_Q_BR] -= b;
    left[PMU_Q_LD] -= l;
    left[PMU_Q_ST] -= s;
    if (left[PMU_Q_BR] < 0 || left[PMU_Q_LD] < 0 || left[PMU_Q_ST] < 0) {
        pmu_arm(env);
    }
    return 0;

leave:
    if (limit) {
        cs->cflags_next_tb = (curr_cflags(cs) & ~CF_COUNT_MASK) | limit;
    }
    if (curr_cflags(cs) & CF_USE_ICOUNT) {
        /* gen_tb_start() has charged this TB, which does not run */
        cs->neg.icount_decr.u16.low += tb_insns;
    }
    return 1;
}
