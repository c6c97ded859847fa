/*
 * x86 performance monitoring unit for TCG: precise events (PEBS)
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The overflow of a counter with PEBS arms it.  The next event of the counter
 * writes a record.  With precise distribution (PDIR), the overflow does.
 *
 * The record needs the address of the instruction with the event.  The counts
 * of generated code tell only the TB.  So the TB before is cut (pmu.c), that
 * instruction becomes a TB of its own, and the slow path of this TB takes down
 * its address.  Helpers that count find it by unwinding.
 *
 * When the countdowns are folded, the counters whose event it was become "due".
 * The record is written at the next instruction boundary, before any other
 * instruction and before an interrupt, when all registers have their values.
 * A fold may be in the middle of an instruction, at a change of CPL.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-intel.h"
#include "hw/core/cpu.h"
#include "tcg/insn-start-words.h"

#define EVENT_PREC_DIST     0x01c0
#define EVENT_MEM_TRANS     0xcd    /* these events have a data address */
#define EVENT_MEM_INST      0xd0
#define EVENT_MEM_LOAD      0xd1
#define EVENT_MEM_L3_HIT    0xd2

/* Data source of a load */
#define SOURCE_L1           0x01
#define SOURCE_L3           0x04
#define SOURCE_L3_HITM      0x07
#define SOURCE_RAM          0x0c
/* Data source of a store */
#define SOURCE_STORE_HIT    0x01
/* Of both */
#define SOURCE_TLB_MISS     0x10
#define SOURCE_LOCK         0x20

/* Cycles that a load takes: by the level that hits, and for a TLB miss */
static const uint16_t load_cycles[] = {
    [PMU_MEM_L1] = 4, [PMU_MEM_LLC] = 40, [PMU_MEM_HITM] = 80, [PMU_MEM_RAM] = 200
};
#define TLB_MISS_CYCLES     20

static bool has_address(X86PMU *p, int ctr)
{
    uint8_t event;

    if (ctr >= PMU_MAX_GP) {
        return false;
    }
    event = p->sel[ctr] & EVTSEL_EVENT;
    return event == EVENT_MEM_TRANS || event == EVENT_MEM_INST ||
           event == EVENT_MEM_LOAD || event == EVENT_MEM_L3_HIT;
}

/**
 * pmu_pebs_groups - what a record of a counter has beside the basic group
 * @p: the PMU
 * @ctr: the counter
 *
 * Return: bits as in MSR_PEBS_DATA_CFG.
 */
uint32_t pmu_pebs_groups(X86PMU *p, int ctr)
{
    int fixed = ctr - PMU_MAX_GP;
    bool on = fixed < 0 ? p->sel[ctr] & EVTSEL_ADAPTIVE
                        : p->fixed_ctrl & FIXED_ADAPTIVE(fixed);

    return on ? p->pebs.data_cfg : 0;
}

/**
 * pmu_pebs_collect - let a counter that runs write records, if it is enabled
 * @p: the PMU
 * @a: the counter
 */
void pmu_pebs_collect(X86PMU *p, PMUActive *a)
{
    bool adaptive = pmu_pebs_fmt(p) >= PMU_PEBS_ADAPTIVE;

    if (!(pmu_pebs_counters(p) & p->pebs.enable & PMU_STATUS_BIT(a->ctr))) {
        return;
    }
    a->pebs = true;
    a->intr = false;
    a->pdir = adaptive ? a->ctr == PMU_MAX_GP
                       : a->ctr == 1 && (p->sel[1] & 0xffff) == EVENT_PREC_DIST;
    a->mem = has_address(p, a->ctr) &&
             (!adaptive || pmu_pebs_groups(p, a->ctr) & PEBS_CFG_MEM);
}

/**
 * pmu_pebs_alone - true if the deadline of a counter writes a record
 * @p: the PMU
 * @a: the counter
 *
 * The instruction with the event must then be a TB of its own.
 */
bool pmu_pebs_alone(X86PMU *p, const PMUActive *a)
{
    return a->pebs && (a->pdir || p->pebs.armed >> a->ctr & 1);
}

/**
 * pmu_pebs_limit - length to which a TB is cut before an event with a record
 * @env: the CPU; its countdowns do not include the TB
 * @pk: counts of the TB
 * @len: its length
 *
 * Instructions, which are always counted, are not considered.
 *
 * Return: the length.
 */
int pmu_pebs_limit(CPUX86State *env, uint32_t pk, int len)
{
    uint32_t alone = env_pmu(env)->pebs.alone;
    const int64_t *left = env->pmu.left;
    int limit = len;

    if (len == 1) {
        return 1;
    }
    if (alone >> PMU_Q_BR & 1 && PMU_PK_B(pk) > left[PMU_Q_BR]) {
        limit = len - 1;
    }
    if (alone >> PMU_Q_LD & 1 && PMU_PK_L(pk) > left[PMU_Q_LD]) {
        limit = MIN(limit, MAX(left[PMU_Q_LD], 1));
    }
    if (alone >> PMU_Q_ST & 1 && PMU_PK_S(pk) > left[PMU_Q_ST]) {
        limit = MIN(limit, MAX(left[PMU_Q_ST], 1));
    }
    return limit;
}

/**
 * pmu_pebs_at - take down the address of an instruction, for a record
 * @env: the CPU
 * @ra: return address into the generated code if env->eip may be stale, else 0
 */
void pmu_pebs_at(CPUX86State *env, uintptr_t ra)
{
    X86PMU *p = env_pmu(env);
    uint64_t data[TARGET_INSN_START_WORDS];

    p->pebs.ip = pmu_pebs_linear(env);
    /* The first word is the offset in the page: see restore_state_to_opc() */
    if (ra && cpu_unwind_state_data(env_cpu(env), ra, data)) {
        p->pebs.ip = (p->pebs.ip & TARGET_PAGE_MASK) | data[0];
    }
}

/**
 * pmu_pebs_begin - an instruction that may write a record begins
 * @env: the CPU
 */
void pmu_pebs_begin(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);

    pmu_pebs_at(env, 0);
    p->pebs.last[0].valid = p->pebs.last[1].valid = false;
    pmu_ibs_begin(p);
}

/**
 * pmu_pebs_access - take down a memory access
 * @env: the CPU
 * @m: the access
 * @st: it is a store
 *
 * Return: true if it is a load with a latency above the threshold.
 */
bool pmu_pebs_access(CPUX86State *env, const PMUMemInfo *m, bool st)
{
    X86PMU *p = env_pmu(env);

    p->pebs.last[st] = *m;
    return !st && pmu_pebs_latency(m) > p->pebs.ld_lat;
}

/**
 * pmu_pebs_latency - cycles of a load; the model invents them
 * @m: the access
 */
uint64_t pmu_pebs_latency(const PMUMemInfo *m)
{
    return load_cycles[m->level] + (m->tlb_miss ? TLB_MISS_CYCLES : 0);
}

/* Memory information of the record */
static void set_memory(X86PMU *p, const PMUActive *a)
{
    PMUPebs *b = &p->pebs;
    bool st = a->q == PMU_Q_ST;
    /* Locked instructions are shown as a load */
    const PMUMemInfo *m = b->last[st].valid ? &b->last[st] : &b->last[!st];
    static const uint8_t source[] = {
        [PMU_MEM_L1] = SOURCE_L1, [PMU_MEM_LLC] = SOURCE_L3,
        [PMU_MEM_HITM] = SOURCE_L3_HITM, [PMU_MEM_RAM] = SOURCE_RAM
    };

    b->has_mem = true;
    b->addr = b->source = b->latency = 0;
    if (!m->valid) {
        return;
    }
    b->addr = m->addr;
    if (st) {
        b->source = m->level == PMU_MEM_L1 ? SOURCE_STORE_HIT : 0;
    } else {
        b->source = source[m->level];
    }
    b->source |= (m->tlb_miss ? SOURCE_TLB_MISS : 0) |
                 (m->lock ? SOURCE_LOCK : 0);
    if (a->q == PMU_Q_LD_LAT && pmu_pebs_has_latency(p, a->ctr)) {
        b->latency = pmu_pebs_latency(m);
    }
}

/**
 * pmu_pebs_count - a counter with PEBS has counted at least one event
 * @p: the PMU
 * @a: the counter
 * @overflow: it has overflowed
 */
void pmu_pebs_count(X86PMU *p, const PMUActive *a, bool overflow)
{
    uint32_t bit = 1u << a->ctr;

    if (p->pebs.armed & bit || (overflow && a->pdir)) {
        p->pebs.due |= bit;
        if (a->mem && !p->pebs.has_mem) {
            set_memory(p, a);
        }
    } else if (overflow) {
        p->pebs.armed |= bit;
        p->status |= PMU_STATUS_BIT(a->ctr);
    }
}
