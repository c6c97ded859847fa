/*
 * x86 performance monitoring unit for TCG: AMD's instruction-based sampling
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The chapter "Instruction-Based Sampling" of AMD's APM, volume 2.  Each of the
 * two samplers counts up to MaxCnt in all modes of the CPU, tags what comes
 * next, and raises the interrupt of the extended LVT with what it has seen of
 * it.  TCG has no micro-ops and no fetches: each instruction is one of both.
 *
 * A sampler is a counter whose overflow is the end of a phase.  It counts
 * nothing but instructions, until PMU_IBS_WARM_CNT before the tag.  Then all
 * accesses and branches are passed to the model of caches and prediction, so
 * that it knows something when the tagged instruction asks it.  This
 * instruction is a TB of its own, as for a precise event (pmu-pebs.c).  If it
 * faults, the next one that retires is sampled.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "pmu-amd.h"
#include "hw/core/cpu.h"
#include "hw/i386/apic.h"
#include "tcg/pmu-gen.h"

#define PMU_IBS_WARM_CNT    1024

#define PMU_IBS_LVT_OFFSET  0       /* what a BIOS selects */

static const struct {
    uint8_t reg;
    uint64_t enable, valid;
} samplers[PMU_IBS_NR] = {
    [PMU_IBS_FETCH] = { IBS_FETCH_CTL, FETCH_EN, FETCH_VAL },
    [PMU_IBS_OP] = { IBS_OP_CTL, OP_EN, OP_VAL },
};

static uint64_t max_count(X86PMU *p, int which)
{
    uint64_t ctl = p->ibs.reg[samplers[which].reg];

    return which == PMU_IBS_OP
           ? (ctl & 0xffff) << 4 | (ctl & OP_MAX_EXT) : (ctl & 0xffff) << 4;
}

static uint64_t current_count(X86PMU *p, int which)
{
    uint64_t ctl = p->ibs.reg[samplers[which].reg];

    return which == PMU_IBS_OP ? (ctl & OP_CUR) >> OP_CUR_SHIFT
                               : (ctl & FETCH_CNT) >> FETCH_CNT_SHIFT << 4;
}

static void set_count(X86PMU *p, int which, uint64_t n)
{
    uint64_t *ctl = &p->ibs.reg[samplers[which].reg];

    if (which == PMU_IBS_OP) {
        *ctl = (*ctl & ~OP_CUR) | (n << OP_CUR_SHIFT & OP_CUR);
    } else {
        *ctl = (*ctl & ~FETCH_CNT) | (n >> 4 << FETCH_CNT_SHIFT & FETCH_CNT);
    }
}

/* Let the counter of a sampler overflow after @n */
static void aim(X86PMU *p, int which, uint64_t n, int state)
{
    p->ctr[AMD_CTR_IBS + which] = pmu_ctr_mask(p) + 1 - n;
    p->ibs.state[which] = state;
    p->dirty = true;
}

/* Count from where the register says */
static void begin(X86PMU *p, int which)
{
    uint64_t ctl = p->ibs.reg[samplers[which].reg];
    uint64_t max = max_count(p, which), now = current_count(p, which);
    uint64_t n = max > now ? max - now : 1;
    uint64_t warm = which == PMU_IBS_OP ? PMU_IBS_WARM_CNT : 0;

    if (!(ctl & samplers[which].enable) || ctl & samplers[which].valid ||
        !max) {
        p->ibs.state[which] = PMU_IBS_OFF;
    } else if (n > warm) {
        aim(p, which, n - warm, PMU_IBS_COUNT);
    } else {
        aim(p, which, n, PMU_IBS_WARM);
    }
}

/* Bring the count in the register up to date */
static void update(X86PMU *p, int which)
{
    uint64_t left = pmu_ctr_mask(p) + 1 - p->ctr[AMD_CTR_IBS + which];
    uint64_t max = max_count(p, which);

    switch (p->ibs.state[which]) {
    case PMU_IBS_OFF:
        return;
    case PMU_IBS_COUNT:
        left += which == PMU_IBS_OP ? PMU_IBS_WARM_CNT : 0;
        break;
    case PMU_IBS_WARM:
        break;
    default:
        left = 0;
    }
    set_count(p, which, max > left ? max - left : 0);
}

/**
 * pmu_ibs_collect - let the samplers count that are enabled
 * @p: the PMU
 */
void pmu_ibs_collect(X86PMU *p)
{
    const X86PMUProps *c = &p->cpu->pmu_props;

    for (int i = 0; i < PMU_IBS_NR; i++) {
        bool cycles = i == PMU_IBS_OP && !(p->ibs.reg[IBS_OP_CTL] & OP_CNT_CTL);
        PMUActive a = {
            AMD_CTR_IBS + i, PMU_Q_INSN, .intr = true, .ibs = true,
            .mul = cycles ? c->cpi : 1, .div = cycles ? c->cpi_div : 1,
            .mem = i == PMU_IBS_OP && p->ibs.state[i] >= PMU_IBS_WARM,
        };

        if (p->ibs.state[i] == PMU_IBS_OFF || p->ibs.state[i] == PMU_IBS_DUE) {
            continue;
        }
        for (int user = 0; user < 2; user++) {
            pmu_add_active(p, user, &a);
            if (a.mem) {
                p->tb_flags[user] |= PMU_TB_BRANCH;
            }
        }
    }
}

/**
 * pmu_ibs_alone - true if the deadline of a counter is that of a tag
 * @p: the PMU
 * @a: the counter
 */
bool pmu_ibs_alone(X86PMU *p, const PMUActive *a)
{
    return a->ibs && p->ibs.state[a->ctr - AMD_CTR_IBS] == PMU_IBS_TAG;
}

/**
 * pmu_ibs_branch - the tagged instruction may be this branch
 * @p: the PMU
 * @desc: PMU_BR_DESC() of it
 * @to: where it goes
 * @miss: it was mispredicted
 */
void pmu_ibs_branch(X86PMU *p, uint32_t desc, uint64_t to, bool miss)
{
    PMUIbs *b = &p->ibs;

    b->taken = desc & PMU_BR_TAKEN;
    b->ret = desc & PMU_BR_RET;
    b->miss = miss;
    b->target = to;
}

/**
 * pmu_ibs_begin - an instruction that may be the tagged one begins
 * @p: the PMU
 */
void pmu_ibs_begin(X86PMU *p)
{
    p->ibs.taken = p->ibs.ret = p->ibs.miss = false;
    p->ibs.target = 0;
}

/**
 * pmu_ibs_expire - the counter of a sampler has overflowed
 * @p: the PMU
 * @ctr: the counter
 * @delta: what was counted of each quantity
 */
void pmu_ibs_expire(X86PMU *p, int ctr, const int64_t *delta)
{
    int which = ctr - AMD_CTR_IBS;
    uint64_t over = p->ctr[ctr];
    PMUIbs *b = &p->ibs;

    switch (b->state[which]) {
    case PMU_IBS_COUNT:
        if (which == PMU_IBS_OP && over < PMU_IBS_WARM_CNT) {
            aim(p, which, PMU_IBS_WARM_CNT - over, PMU_IBS_WARM);
            return;
        }
        /* fall through */
    case PMU_IBS_WARM:
        p->rem[ctr] = 0;
        aim(p, which, 1, PMU_IBS_TAG);
        return;
    case PMU_IBS_TAG:
        b->state[which] = PMU_IBS_DUE;
        b->due = true;
        b->branch = delta[PMU_Q_BR] > 0;
        if (which == PMU_IBS_OP) {
            b->ld = delta[PMU_Q_LD] > 0;
            b->st = delta[PMU_Q_ST] > 0;
        }
        p->dirty = true;
        return;
    }
}

/* Raise the interrupt of the extended LVT that IBS uses */
static void interrupt(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);
    X86PMU *p = env_pmu(env);
    bool io = cs->neg.can_do_io, delivered = false;

    if (p->cpu->apic_state) {
        BQL_LOCK_GUARD();
        /* Between two instructions: see pmu_deliver() */
        cs->neg.can_do_io = true;
        delivered = apic_deliver_eilvt(p->cpu->apic_state,
                                       p->ibs.eilvt[PMU_IBS_LVT_OFFSET]);
        cs->neg.can_do_io = io;
    }
    if (delivered) {
        p->stats.pmi++;
    } else {
        p->stats.pmi_lost++;
    }
}

/**
 * pmu_ibs_finish - complete the samples of the instruction that has retired
 * @env: the CPU, between two instructions
 *
 * A sample that its filter rejects is dropped, and the count begins again.
 */
void pmu_ibs_finish(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    PMUIbs *b = &p->ibs;
    bool raise = false;

    b->due = false;
    for (int i = 0; i < PMU_IBS_NR; i++) {
        if (b->state[i] != PMU_IBS_DUE) {
            continue;
        }
        set_count(p, i, 0);
        if (i == PMU_IBS_OP ? pmu_ibs_fill_op(env) : pmu_ibs_fill_fetch(env)) {
            b->reg[samplers[i].reg] |= samplers[i].valid;
            if (i == PMU_IBS_FETCH) {
                set_count(p, i, max_count(p, i));
            }
            b->state[i] = PMU_IBS_OFF;
            raise = true;
        } else {
            begin(p, i);
        }
    }
    p->dirty = true;
    if (raise) {
        interrupt(env);
    }
}

/**
 * pmu_ibs_reset - set the registers that are not 0 after a reset
 * @p: the PMU
 */
void pmu_ibs_reset(X86PMU *p)
{
    for (int i = 0; i < PMU_IBS_EILVT_NR; i++) {
        p->ibs.eilvt[i] = PMU_IBS_EILVT_MASKED;
    }
}

/* Functions for the rows of amd_msrs[] */
int pmu_ibs_rd(X86PMU *p, int i, uint64_t *val)
{
    if (i == IBS_CTL) {
        *val = 1u << 8 | PMU_IBS_LVT_OFFSET;
        return 1;
    }
    if (i == IBS_FETCH_CTL || i == IBS_OP_CTL) {
        update(p, i == IBS_OP_CTL ? PMU_IBS_OP : PMU_IBS_FETCH);
    }
    *val = p->ibs.reg[i];
    return 1;
}

int pmu_ibs_wr(X86PMU *p, int i, uint64_t val)
{
    uint32_t caps = pmu_ibs_caps(&p->cpu->env);
    int which = i == IBS_OP_CTL ? PMU_IBS_OP : PMU_IBS_FETCH;

    switch (i) {
    case IBS_CTL:
        return 1;
    case IBS_FETCH_CTL:
        val &= FETCH_VALID | (caps & IBS_CAPS_ZEN4 ? FETCH_L3_MISS : 0);
        break;
    case IBS_OP_CTL:
        val &= OP_VALID | (caps & IBS_CAPS_ZEN4 ? OP_L3_MISS : 0) |
               (caps & IBS_CAPS_LDLAT ? OP_LDLAT : 0);
        break;
    }
    p->ibs.reg[i] = val;
    if (i == IBS_FETCH_CTL || i == IBS_OP_CTL) {
        p->rem[AMD_CTR_IBS + which] = 0;
        begin(p, which);
    }
    return 1;
}
