/*
 * x86 performance monitoring unit for TCG: counting and overflow
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counting.  A TB that is translated with HF_PMU bits set in hflags begins by
 * subtracting the instructions, branches, loads and stores that it will retire
 * from per-vCPU countdowns (env->pmu.left[]).  The TB may exit early: at a
 * fault, an MMIO access that needs a TB of its own, or self-modifying code.
 * x86_restore_state_to_opc() then adds back the part that was not executed,
 * which is in a word of insn_start.  Quantities that are unknown at translation
 * are subtracted by helpers (pmu-model.c).
 *
 * Overflow.  Each countdown starts at the distance to the nearest overflow that
 * raises an interrupt.  A TB that would cross this point does not run.  It
 * calls helper_pmu_slow(), which requests a shorter TB, as -icount does.  An
 * overflow is therefore always detected between two instructions, right after
 * the one that caused it.
 *
 * Folding.  The architectural counters are brought up to date ("folded") only
 * when they may be read or when the set of counted events changes: at accesses
 * to PMU registers, when a countdown ends, and at changes between user and
 * supervisor mode if both levels count.  The HF_PMU bits describe what counts
 * at the *current* CPL.  Code at a level where nothing counts is the same as
 * without a PMU.  A change to such a level and back only changes the bits.
 *
 * Invariants:
 * - start[q] - left[q] is the number of occurrences since the last fold, all at
 *   privilege level p->user.  Either this is the current level, or nothing
 *   counts at the current level and the level in its HF_PMU bits is 0.
 * - Between two instructions, an overflow that must raise a PMI and is not yet
 *   detected implies left[PMU_Q_INSN] <= 0.  The next TB that counts does not
 *   run before the overflow is folded.
 * - A PEBS record that is due implies left[PMU_Q_INSN] <= 0 and a level > 0.
 * - While the vCPU runs, only its own thread accesses its PMU.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "hw/core/cpu.h"
#include "hw/i386/apic.h"
#include "trace.h"

#define NO_LIMIT     (INT64_MAX / 4)

/* pebs.alone has a bit for each quantity */
QEMU_BUILD_BUG_ON(PMU_Q_NR > 32);

static bool pmu_user(CPUX86State *env)
{
    return (env->hflags & HF_CPL_MASK) != 0;
}

/* Called by the vendor: counter a->ctr counts in user or supervisor mode. */
void pmu_add_active(X86PMU *p, bool user, const PMUActive *a)
{
    p->active[user][p->n_active[user]++] = *a;
    if (a->q >= PMU_Q_STATIC || a->mem) {
        p->nr_q = PMU_Q_NR;
    }
    if (a->mem) {
        p->tb_flags[user] |= PMU_TB_CACHE;
    }
    p->pebs.on |= a->pebs || a->ibs;
    p->pebs.mem |= a->mem || a->q == PMU_Q_LD_LAT;

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

/* Rebuild the state that is derived from the control registers. */
void pmu_config(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    bool lbr_was_on = p->lbr.on;
    int user;

    for (user = 0; user < 2; user++) {
        p->n_active[user] = 0;
        p->tb_flags[user] = PMU_TB_OFF;
    }
    p->nr_q = PMU_Q_STATIC;
    p->pebs.on = p->pebs.mem = false;
    p->vendor->collect(p);

    env->pmu.on = p->cpu->pmu_props.always || p->skid_left || pmu_due(p);
    for (user = 0; user < 2; user++) {
        if (p->n_active[user] && !(p->tb_flags[user] & PMU_TB_LEVEL)) {
            p->tb_flags[user] |= PMU_TB_INSN;
        }
        if (p->lbr.on && p->lbr.cpl[user]) {
            p->tb_flags[user] |= PMU_TB_BRANCH;
        }
        env->pmu.on |= p->tb_flags[user] != PMU_TB_OFF;
    }
    if (p->lbr.on && !lbr_was_on) {
        env->pmu.lbr_n[0] = env->pmu.lbr_n[1] = 0;
    }
    env->pmu.lbr = p->lbr.enabled;
    p->dirty = false;
}

/* The counter of the upper bits of a pair is not at its end */
static bool pmu_upper_left(X86PMU *p, const PMUActive *a)
{
    return a->upper && (p->ctr[a->upper] & PMU_UPPER_MASK) != PMU_UPPER_MASK;
}

/*
 * Occurrences of a->q (if "less": at least as many instructions) until the
 * counter overflows, or until its next event if it is armed.  NO_LIMIT if the
 * number is too large to compute.  If an overflow is only a carry of a pair: a
 * lower bound.
 */
static int64_t pmu_distance(X86PMU *p, const PMUActive *a)
{
    uint64_t need = p->pebs.armed >> a->ctr & 1 ? 1 :
                    pmu_ctr_mask(p) + 1 - p->ctr[a->ctr];

    if (pmu_upper_left(p, a)) {
        return pmu_ctr_mask(p) + 1;
    }
    if (a->mul == 1 && a->div == 1) {
        return need;
    }
    if (need > NO_LIMIT / a->div) {
        return NO_LIMIT;
    }
    return MAX(1, DIV_ROUND_UP((int64_t)(need * a->div - p->rem[a->ctr]),
                               a->mul));
}

static void set_tb_flags(CPUX86State *env, uint32_t flags)
{
    env->hflags = (env->hflags & ~HF_PMU_MASK) | flags << HF_PMU_SHIFT;
}

/* Load the countdowns for the nearest overflow at the current CPL. */
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

    p->pebs.alone = 0;
    for (i = 0; i < p->n_active[p->user]; i++) {
        const PMUActive *a = &p->active[p->user][i];
        bool alone = pmu_pebs_alone(p, a) || pmu_ibs_alone(p, a);

        if (a->intr || a->pebs) {
            /* For "less" this is a lower bound; recompute it then */
            q = a->less ? PMU_Q_INSN : a->q;
            p->pebs.alone |= (uint32_t)alone << q;
            /* The TB before is to end before the instruction with the event */
            lim[q] = MIN(lim[q], pmu_distance(p, a) -
                                 (alone && q == PMU_Q_INSN));
        }
    }
    if (p->skid_left) {
        lim[PMU_Q_INSN] = MIN(lim[PMU_Q_INSN], p->skid_left);
    }
    if (pmu_due(p)) {
        lim[PMU_Q_INSN] = 0;
    }

    /*
     * A TB may take the instruction countdown to 0; the next TB then takes the
     * slow path.  Occurrences of the other quantities are in the last
     * instruction of a TB, or the TB is shortened to end with them.  Their
     * countdowns start one lower, so that they become negative with the
     * occurrence that overflows.  The code that makes one negative calls
     * pmu_arm().
     */
    for (q = 0; q < p->nr_q; q++) {
        env->pmu.left[q] = p->start[q] = lim[q] - (q != PMU_Q_INSN);
    }

    flags = p->tb_flags[p->user];
    if (!(flags & PMU_TB_LEVEL) &&
        (p->cpu->pmu_props.always || p->skid_left || pmu_due(p))) {
        flags |= PMU_TB_INSN;
    }
    p->armed = flags;
    set_tb_flags(env, flags);
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
         * This code may: it runs between two instructions or in the last
         * instruction of a TB.
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

/* Raise a PMI, now or after the skid */
static void pmu_raise(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);

    if (p->skid_left) {
        return;                         /* shares the one that is pending */
    } else if (p->cpu->pmu_props.skid) {
        p->skid_left = p->cpu->pmu_props.skid;
        p->dirty = true;
    } else {
        pmu_deliver(env);
    }
}

/* Carry @n to the upper counter of a pair.  Returns true if it overflows. */
static bool pmu_carry(X86PMU *p, const PMUActive *a, uint64_t n)
{
    uint64_t sum = (p->ctr[a->upper] & PMU_UPPER_MASK) + n;

    p->ctr[a->upper] = sum & PMU_UPPER_MASK;
    return sum > PMU_UPPER_MASK;
}

/* Bring the counters up to date and raise a PMI if one overflowed. */
void pmu_fold(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    uint64_t mask = pmu_ctr_mask(p), insns;
    int64_t delta[PMU_Q_NR];
    bool pmi = false, overflow;
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
            /* t is negative if a fault followed x86_pmu_cpl_changed() */
            n = t >= 0 ? t / a->div : -DIV_ROUND_UP(-t, a->div);
            p->rem[a->ctr] = t - n * a->div;
        }
        if (a->less) {
            n -= delta[a->q];
        }
        overflow = n > 0 && *c + n > mask;
        if (unlikely(a->upper) && overflow) {
            overflow = pmu_carry(p, a, (*c + n) / (mask + 1));
        }
        if (overflow) {
            trace_x86_pmu_overflow(env_cpu(env)->cpu_index, a->ctr, env->eip);
        }
        if (unlikely(a->pebs)) {
            if (n > 0) {
                pmu_pebs_count(p, a, overflow);
            }
        } else if (overflow && !a->ibs) {
            p->status |= PMU_STATUS_BIT(a->ctr);
            pmi |= a->intr;
        }
        *c = (*c + n) & mask;
        if (unlikely(a->ibs) && overflow) {
            pmu_ibs_expire(p, a->ctr, delta);
        }
    }

    /* Overflows at one instruction share a PMI, as do those during its skid */
    if (p->skid_left) {
        p->skid_left -= MIN(p->skid_left, MAX((int64_t)insns, 0));
        if (!p->skid_left) {
            pmu_deliver(env);
        }
    } else if (p->pebs.due) {
        p->pebs.pmi |= pmi;             /* ... and with a record */
    } else if (pmi) {
        pmu_raise(env);
    }
}

/* @boundary: the CPU is between two instructions, so a record can be written */
static void pmu_sync(CPUX86State *env, bool boundary)
{
    X86PMU *p = env_pmu(env);

    if (!p || !env->pmu.on) {
        return;
    }
    pmu_fold(env);
    if (unlikely(p->pebs.due) && boundary && pmu_pebs_write(env)) {
        pmu_raise(env);
    }
    if (unlikely(p->ibs.due) && boundary) {
        pmu_ibs_finish(env);
    }
    if (p->dirty) {
        pmu_config(env);
    }
    pmu_rearm(env);
}

void x86_pmu_sync(CPUX86State *env)
{
    pmu_sync(env, false);
}

/**
 * pmu_sync_boundary - fold the countdowns between two instructions
 * @env: the CPU
 */
void pmu_sync_boundary(CPUX86State *env)
{
    pmu_sync(env, true);
}

/*
 * Handle a change of CPL without a fold.  This is possible at a return to the
 * level of the countdowns, and at a change to a level where nothing counts.
 * The countdowns are unchanged.  LBR may record at both levels.  Returns false
 * if a fold is needed.
 */
static bool pmu_change_is_cheap(CPUX86State *env, X86PMU *p)
{
    if (p->user == pmu_user(env)) {
        set_tb_flags(env, p->armed);
        return true;
    }
    if (!p->n_active[!p->user] && !p->cpu->pmu_props.always && !p->skid_left &&
        env->pmu.left[PMU_Q_INSN] > 0) {
        set_tb_flags(env, p->tb_flags[!p->user]);
        return true;
    }
    return false;
}

/*
 * Called by cpu_x86_load_seg_cache() when a load of SS changes the CPL.  The
 * instruction belongs to the old level.  Its TB counted it at its start.  If it
 * faults after this point and the new level counts as well, it is subtracted
 * from the count of the new level.  This can only happen to a task switch: all
 * other instructions load SS last.
 */
void x86_pmu_cpl_changed(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);

    if (!pmu_change_is_cheap(env, p)) {
        p->stats.cpl++;
        x86_pmu_sync(env);
    }
}

/*
 * Called before an SMI is delivered (enter), at the end of RSM (which itself
 * counts as SMM code) and on INIT.
 */
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

/*
 * Called by VMRUN, by #VMEXIT and by a WRMSR of EFER, when the mode has
 * changed.  VMRUN belongs to the host.
 */
void x86_pmu_virt(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);

    if (p) {
        pmu_fold(env);
        pmu_config(env);
        pmu_rearm(env);
    }
}

/*
 * True if the next TB would detect an overflow.  If the next instruction may
 * write a record its countdown is 0, too, but nothing has counted yet.
 */
bool x86_pmu_pending(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    int64_t left = env->pmu.left[PMU_Q_INSN];

    return (env->hflags & HF_PMU_LEVEL) && left <= 0 &&
           (!p->pebs.alone || pmu_due(p) || left != p->start[PMU_Q_INSN]);
}

/*
 * Called when the vCPU leaves cpu_exec().  It may halt next, so the PMI of an
 * overflow must be raised now.
 */
void x86_pmu_leave(CPUX86State *env)
{
    if (x86_pmu_pending(env)) {
        pmu_sync(env, true);
    }
}

/*
 * Called before an interrupt is taken.  An overflow at the same instruction
 * boundary must be handled first.  Otherwise its PMI would be taken at the
 * first instruction of the interrupt handler.  Returns true if a PMI may have
 * been raised.
 */
bool x86_pmu_boundary(CPUX86State *env)
{
    if (!x86_pmu_pending(env)) {
        return false;
    }
    pmu_sync(env, true);
    /* hflags may have changed: do not chain the last TB to the next one */
    env_cpu(env)->interrupt_request |= CPU_INTERRUPT_EXITTB;
    return true;
}

/*
 * Give back what a TB has counted but did not execute.  @flags are those of the
 * TB, @pk has the counts.
 */
void x86_pmu_give_back(CPUX86State *env, uint32_t flags, uint32_t pk)
{
    if (flags & HF_PMU_LEVEL) {
        env->pmu.left[PMU_Q_INSN] += PMU_PK_N(pk);
        env->pmu.left[PMU_Q_BR] += PMU_PK_B(pk);
        env->pmu.left[PMU_Q_LD] += PMU_PK_L(pk);
        env->pmu.left[PMU_Q_ST] += PMU_PK_S(pk);
    }
    if (flags & HF_PMU_BRANCH) {
        env->pmu.lbr_n[(flags & HF_CPL_MASK) != 0] -= PMU_PK_N(pk);
    }
}

/*
 * Called when an exception is raised.  If this happens during the delivery of
 * INT n, INT3 or INTO, that instruction has faulted and did not retire.  It was
 * the last instruction of its TB, so only its own counts are given back.
 */
void x86_pmu_delivery_failed(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);

    if (cs->exception_index >= 0 && cs->exception_index < EXCP_INTERRUPT &&
        env->exception_is_int) {
        x86_pmu_give_back(env, env->hflags, PMU_PACK(1, 0, 0, 1));
    }
}
