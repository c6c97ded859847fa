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
 *
 * Each CPU has caches of its own.  A line that another CPU has modified misses
 * the first-level cache: the table of owners, which all CPUs share, has the CPU
 * that was the last to write to a line.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "tcg/pmu-gen.h"

#define LINE_BITS   6
#define PAGE_BITS   12

/*
 * By the low bits of a line's number: the tag of a line that a CPU has modified,
 * with the number of the CPU in place of these bits; 0: none.  CPUs write to it
 * concurrently, each entry at once.
 */
static uint64_t owner[PMU_OWNED];

#define LINE_OF(entry)      ((entry) & -(uint64_t)PMU_OWNED)

static uint64_t owner_entry(const X86PMU *p, uint64_t tag)
{
    return LINE_OF(tag) | CPU(p->cpu)->cpu_index % PMU_OWNED;
}

/* The lines of this CPU belong to none */
static void disown(X86PMU *p)
{
    for (int i = 0; i < PMU_OWNED; i++) {
        if (owner[i] && owner[i] == owner_entry(p, owner[i])) {
            qatomic_set(&owner[i], 0);
        }
    }
}

static void clear(PMUModel *m)
{
    memset(m, 0, sizeof(*m));
    /* Weakly not taken */
    memset(m->bimodal, 1, sizeof(m->bimodal));
}

/**
 * pmu_model_reset - power-up and reset of a CPU
 * @p: its PMU
 */
void pmu_model_reset(X86PMU *p)
{
    clear(&p->model);
    disown(p);
}

/**
 * pmu_model_cold - clear caches, TLB and prediction of a CPU, and all owners
 * @p: its PMU
 */
void pmu_model_cold(X86PMU *p)
{
    clear(&p->model);
    for (int i = 0; i < PMU_OWNED; i++) {
        qatomic_set(&owner[i], 0);
    }
}

/**
 * pmu_model_save - copy the lines that a CPU owns to its own state
 * @p: its PMU
 */
void pmu_model_save(X86PMU *p)
{
    for (int i = 0; i < PMU_OWNED; i++) {
        bool mine = owner[i] && owner[i] == owner_entry(p, owner[i]);

        p->model.owned[i] = mine ? owner[i] : 0;
    }
}

/**
 * pmu_model_load - let a CPU own the lines in its state, and no others
 * @p: its PMU
 */
void pmu_model_load(X86PMU *p)
{
    disown(p);
    for (int i = 0; i < PMU_OWNED; i++) {
        if (p->model.owned[i]) {
            owner[i] = owner_entry(p, p->model.owned[i]);
        }
    }
    memset(p->model.owned, 0, sizeof(p->model.owned));
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

/*
 * The CPU accesses a line, and owns it from then on if it @writes to it.  If it
 * reads a line of another CPU, it belongs to none.  Returns true if it belonged
 * to another CPU.
 */
static bool take_line(X86PMU *p, uint64_t tag, bool writes)
{
    uint64_t *o = &owner[tag % PMU_OWNED], old = qatomic_read(o);
    uint64_t mine = owner_entry(p, tag);
    bool taken = old != mine && LINE_OF(old) == LINE_OF(tag);

    if (writes && old != mine) {
        qatomic_set(o, mine);
    } else if (taken) {
        qatomic_set(o, 0);
    }
    return taken;
}

/* Returns the level that hits; @desc as for helper_pmu_mem() */
static int access_line(CPUX86State *env, PMUModel *m, uint64_t addr,
                       uint32_t desc, uintptr_t ra)
{
    uint64_t line = addr >> LINE_BITS;
    uint64_t tag = make_tag(env, addr, line);
    bool st = desc & PMU_MEM_ST;
    bool taken = take_line(env_pmu(env), tag, desc & PMU_MEM_WRITES), llc;

    note(env, PMU_Q_L1_REF, ra);
    if (touch(&m->l1[line % PMU_L1_SETS * PMU_L1_WAYS], PMU_L1_WAYS, tag) &&
        !taken) {
        return PMU_MEM_L1;
    }
    note(env, PMU_Q_L1_MISS, ra);
    note(env, st ? PMU_Q_L1_MISS_ST : PMU_Q_L1_MISS_LD, ra);
    llc = touch(&m->llc[line % PMU_LLC_SETS * PMU_LLC_WAYS], PMU_LLC_WAYS, tag);
    if (taken) {
        if (!st) {
            note(env, PMU_Q_HITM_LD, ra);
        }
        return PMU_MEM_HITM;
    }
    if (llc) {
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
    info.size = PMU_MEM_SIZE(desc);
    info.level = access_line(env, m, addr, desc, ra);
    while ((addr ^ last) >> LINE_BITS) {
        addr += 1 << LINE_BITS;
        info.level = MAX(info.level, access_line(env, m, addr, desc, ra));
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
    if (unlikely(p->pebs.on)) {
        pmu_ibs_branch(p, desc, to, !right);
    }
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
