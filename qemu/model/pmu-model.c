/*
 * x86 performance monitoring unit for TCG: branch prediction, caches, TLB
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small deterministic model.  It is updated only while one of its events is
 * counted, and only by code at a privilege level that is counted.  Branch
 * prediction is updated by code that LBR records, too.
 *
 * All tables use virtual addresses.  An index depends on address bits only.
 * For branches and the first-level cache it depends on the page offset only.
 * Physical memory thus does not change what a program counts, and neither does
 * address-space randomization for branches and the first-level cache.  The tags
 * of lower-half addresses include the address space (CR3, without the bit that
 * distinguishes the two page tables of a Linux process).  Nothing is flushed.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "tcg/pmu-gen.h"

#define LINE_BITS   6
#define PAGE_BITS   12

void pmu_model_reset(PMUModel *m)
{
    memset(m, 0, sizeof(*m));
    /* Weakly not taken */
    memset(m->bimodal, 1, sizeof(m->bimodal));
}

/* @ra: return address into the generated code, 0: a branch */
static void note(CPUX86State *env, int q, uintptr_t ra)
{
    if (--env->pmu.left[q] < 0) {
        pmu_arm(env);
        if (unlikely(env_pmu(env)->pebs.on) && ra) {
            pmu_pebs_at(env, ra);
        }
    }
}

/*
 * Look up @tag in the ways of a set, which are sorted by most recent use, and
 * move it to the front.  Returns false on a miss.
 */
static bool touch(uint64_t *way, int nr, uint64_t tag)
{
    bool hit = true;
    int i;

    for (i = 0; way[i] != tag; i++) {
        if (i == nr - 1) {
            hit = false;
            break;
        }
    }
    memmove(way + 1, way, i * sizeof(*way));
    way[0] = tag;
    return hit;
}

/* Tag of line or page @n of @addr.  It is never 0: this is an empty way. */
static uint64_t make_tag(CPUX86State *env, uint64_t addr, uint64_t n)
{
    uint64_t space = addr >> 63 ? 0 : (env->cr[3] >> 13) & 0x3fffff;

    return 1ull << 63 | (n ^ space << 41);
}

/* Returns the level that hits */
static int access_line(CPUX86State *env, PMUModel *m, uint64_t addr, bool st,
                       uintptr_t ra)
{
    uint64_t line = addr >> LINE_BITS;
    uint64_t tag = make_tag(env, addr, line);

    note(env, PMU_Q_L1_REF, ra);
    if (touch(&m->l1[line % PMU_L1_SETS * PMU_L1_WAYS], PMU_L1_WAYS, tag)) {
        return PMU_MEM_L1;
    }
    note(env, PMU_Q_L1_MISS, ra);
    note(env, st ? PMU_Q_L1_MISS_ST : PMU_Q_L1_MISS_LD, ra);
    if (touch(&m->llc[line % PMU_LLC_SETS * PMU_LLC_WAYS], PMU_LLC_WAYS, tag)) {
        return PMU_MEM_LLC;
    }
    note(env, PMU_Q_LLC_MISS, ra);
    note(env, st ? PMU_Q_LLC_MISS_ST : PMU_Q_LLC_MISS_LD, ra);
    return PMU_MEM_RAM;
}

/* Returns true on a miss */
static bool access_page(CPUX86State *env, PMUModel *m, uint64_t addr, bool st,
                        uintptr_t ra)
{
    uint64_t page = addr >> PAGE_BITS;
    uint64_t tag = make_tag(env, addr, page);

    if (touch(&m->tlb[page % PMU_TLB_SETS * PMU_TLB_WAYS], PMU_TLB_WAYS, tag)) {
        return false;
    }
    note(env, PMU_Q_TLB_MISS, ra);
    note(env, st ? PMU_Q_TLB_MISS_ST : PMU_Q_TLB_MISS_LD, ra);
    return true;
}

/* Called after a memory access; @desc is PMU_MEM_DESC() of it */
void helper_pmu_mem(CPUX86State *env, uint64_t addr, uint32_t desc)
{
    X86PMU *p = env_pmu(env);
    PMUModel *m = &p->model;
    uint64_t last = addr + MAX(PMU_MEM_SIZE(desc), 1) - 1;
    bool st = desc & PMU_MEM_ST;
    PMUMemInfo info = { addr, .valid = true, .lock = desc & PMU_MEM_LOCK };
    uintptr_t ra = GETPC();

    info.tlb_miss = access_page(env, m, addr, st, ra);
    if (addr >> PAGE_BITS != last >> PAGE_BITS) {
        info.tlb_miss |= access_page(env, m, last, st, ra);
    }
    info.level = access_line(env, m, addr, st, ra);
    while ((addr ^ last) >> LINE_BITS) {
        addr += 1 << LINE_BITS;
        info.level = MAX(info.level, access_line(env, m, addr, st, ra));
    }
    if (unlikely(p->pebs.mem) && pmu_pebs_access(env, &info, st)) {
        note(env, PMU_Q_LD_LAT, ra);
    }
}

/* Two-bit saturating counter: 0 and 1 predict not taken, 2 and 3 taken */
static bool predict_cond(PMUModel *m, uint32_t index, bool taken)
{
    uint8_t *c = &m->bimodal[index];
    bool right = (*c >= 2) == taken;

    if (taken && *c < 3) {
        ++*c;
    } else if (!taken && *c > 0) {
        --*c;
    }
    return right;
}

/* Predicts the last target of an indirect jump or call */
static bool predict_target(PMUModel *m, uint32_t index, uint64_t target)
{
    bool right = m->target[index] == target;

    m->target[index] = target;
    return right;
}

/* Ring of return addresses; deeper nesting overwrites the oldest */
static bool predict_return(PMUModel *m, uint64_t target)
{
    uint64_t top = m->ras[m->ras_top % PMU_RAS_SIZE];

    m->ras_top--;
    return top == target;
}

/* Let the model predict a near branch, and learn.  Returns false on a miss. */
static bool predict(PMUModel *m, uint32_t desc, uint64_t from, uint64_t to)
{
    uint32_t index = from % PMU_BTB_SIZE;
    bool right = true;

    if (desc & PMU_BR_COND) {
        right = predict_cond(m, index, desc & PMU_BR_TAKEN);
    }
    if (desc & PMU_BR_RET) {
        right = predict_return(m, to);
    } else if (desc & PMU_BR_IND) {
        right = predict_target(m, index, to);
    }
    if (desc & PMU_BR_CALL) {
        m->ras[++m->ras_top % PMU_RAS_SIZE] = from + PMU_BR_LEN(desc);
    }
    return right;
}

static void note_miss(CPUX86State *env, uint32_t desc)
{
    note(env, PMU_Q_BR_MISS, 0);
    if (desc & PMU_BR_TAKEN) {
        note(env, PMU_Q_BR_MISS_TAKEN, 0);
    }
    if (desc & PMU_BR_RET) {
        note(env, PMU_Q_BR_MISS_RET, 0);
    }
    if (desc & PMU_BR_IND) {
        note(env, PMU_Q_BR_MISS_IND, 0);
    }
}

/*
 * Called for a near branch at a level at which something counts, if a branch
 * event is counted or LBR records.  @desc is PMU_BR_DESC() of the branch, @from
 * its linear address, @to its linear target.
 */
void helper_pmu_branch(CPUX86State *env, uint32_t desc, target_ulong from,
                       target_ulong to)
{
    X86PMU *p = env_pmu(env);
    bool right = predict(&p->model, desc, from, to);

    p->pebs.ip = from;
    /* The countdowns of other quantities are not loaded */
    if (p->nr_q > PMU_Q_STATIC) {
        if (desc & PMU_BR_COND) {
            note(env, PMU_Q_BR_COND, 0);
            if (!(desc & PMU_BR_TAKEN)) {
                note(env, PMU_Q_BR_NTAKEN, 0);
            }
        }
        if (desc & PMU_BR_TAKEN) {
            note(env, PMU_Q_BR_TAKEN, 0);
        }
        if (desc & PMU_BR_RET) {
            note(env, PMU_Q_BR_RET, 0);
        }
        if (desc & PMU_BR_CALL) {
            note(env, PMU_Q_BR_CALL, 0);
        }
        if (!right) {
            note_miss(env, desc);
        }
    }
    if (unlikely(env->pmu.lbr)) {
        pmu_lbr_near(env, desc, from, to, !right);
    }
}

/* The same at a level at which nothing counts, for LBR */
void helper_pmu_lbr(CPUX86State *env, uint32_t desc, target_ulong from,
                    target_ulong to)
{
    bool right = predict(&env_pmu(env)->model, desc, from, to);

    pmu_lbr_near(env, desc, from, to, !right);
}
