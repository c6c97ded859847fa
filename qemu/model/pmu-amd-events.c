/*
 * x86 performance monitoring unit for TCG: AMD's events
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Events of the PPRs of families 17h and 19h, and those that Linux uses on the
 * families before.  Other encodings count nothing.  The model has one level of
 * TLB, and knows nothing of instruction fetches.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-amd.h"

#define ZEN     0x17            /* the first family of Zen */
#define NONE    PMU_Q_NR

/*
 * An event whose unit mask selects occurrences of q has the bits that do so in
 * ld; 0: the unit mask is ignored.  If loads and stores have bits of their own,
 * those are ld and st, and their quantities q_ld and q_st; q is both together.
 */
typedef struct AMDEvent {
    uint16_t event;
    uint8_t kind, q;
    uint8_t from, to;           /* families */
    uint8_t ld, st;
    uint8_t q_ld, q_st;
    const char *name;
} AMDEvent;

static const AMDEvent amd_events[] = {
    { 0x076, K_CORE, 0, 0, 0xff, 0, 0, 0, 0, "CPU clocks not halted" },
    { 0x120, K_REF, 0, ZEN, 0xff, 1, 0, 0, 0, "P0 clocks not halted" },
    { 0x0c0, K_COUNT, PMU_Q_INSN, 0, 0xff, 0, 0, 0, 0, "ExRetInstr" },
    { 0x0c1, K_COUNT, PMU_Q_INSN, 0, 0xff, 0, 0, 0, 0, "ExRetOps" },
    { 0x0c2, K_COUNT, PMU_Q_BR, 0, 0xff, 0, 0, 0, 0, "ExRetBrn" },
    { 0x0c3, K_COUNT, PMU_Q_BR_MISS, 0, 0xff, 0, 0, 0, 0, "ExRetBrnMisp" },
    { 0x0c4, K_COUNT, PMU_Q_BR_TAKEN, 0, 0xff, 0, 0, 0, 0, "ExRetBrnTkn" },
    { 0x0c5, K_COUNT, PMU_Q_BR_MISS_TAKEN, 0, 0xff, 0, 0, 0, 0,
      "ExRetBrnTknMisp" },
    { 0x0c8, K_COUNT, PMU_Q_BR_RET, 0, 0xff, 0, 0, 0, 0, "ExRetNearRet" },
    { 0x0c9, K_COUNT, PMU_Q_BR_MISS_RET, 0, 0xff, 0, 0, 0, 0,
      "ExRetNearRetMispred" },
    { 0x0ca, K_COUNT, PMU_Q_BR_MISS_IND, ZEN, 0xff, 0, 0, 0, 0,
      "ExRetBrnIndMisp" },
    { 0x0d1, K_COUNT, PMU_Q_BR_COND, ZEN, 0xff, 0, 0, 0, 0, "ExRetCond" },

    { AMD_EVENT_FLOPS, K_COUNT, PMU_Q_FLOP, ZEN, 0xff, 0x0f, 0, 0, 0,
      "FpRetSseAvxOps" },
    { AMD_EVENT_MERGE, K_COUNT, NONE, ZEN, 0xff, 0, 0, 0, 0, "MergeEvent" },

    { 0x029, K_COUNT, NONE, ZEN, 0xff, 1, 2, PMU_Q_LD, PMU_Q_ST, "LsDispatch" },
    { 0x040, K_COUNT, PMU_Q_L1_REF, 0, 0xff, 0, 0, 0, 0, "DC accesses" },
    { 0x041, K_COUNT, PMU_Q_L1_MISS, 0, ZEN - 1, 0, 0, 0, 0, "DC misses" },
    { 0x045, K_COUNT, PMU_Q_TLB_MISS, ZEN, 0xff, 0xf0, 0, 0, 0,
      "LsL1DTlbMiss" },
    { 0x046, K_COUNT, PMU_Q_TLB_MISS, 0, ZEN - 1, 0, 0, 0, 0,
      "L1 and L2 DTLB misses" },
    { 0x060, K_COUNT, PMU_Q_L1_MISS, ZEN, 0xff, 0xa0, 0x48,
      PMU_Q_L1_MISS_LD, PMU_Q_L1_MISS_ST, "L2RequestG1" },
    { 0x064, K_COUNT, PMU_Q_LLC_MISS, ZEN, 0xff, 0x08, 0, 0, 0,
      "L2CacheReqStat" },
    { 0x07d, K_COUNT, PMU_Q_L1_MISS, 0, ZEN - 1, 2, 0, 0, 0, "L2 requests" },
    { 0x07e, K_COUNT, PMU_Q_LLC_MISS, 0, ZEN - 1, 2, 0, 0, 0, "L2 misses" },
};

static const AMDEvent *find_event(X86PMU *p, uint64_t sel)
{
    int family = pmu_amd_family(&p->cpu->env);

    for (int i = 0; i < ARRAY_SIZE(amd_events); i++) {
        const AMDEvent *e = &amd_events[i];

        if (e->event == EVTSEL_AMD_EVENT(sel) && family >= e->from &&
            family <= e->to) {
            return e;
        }
    }
    return NULL;
}

/* The quantity that the unit mask selects, or NONE */
static int quantity(const AMDEvent *e, int umask)
{
    if (!e->ld) {
        return e->q;
    } else if (!e->st) {
        return umask & e->ld ? e->q : NONE;
    } else if (umask & e->ld) {
        return umask & e->st ? e->q : e->q_ld;
    }
    return umask & e->st ? e->q_st : NONE;
}

/**
 * pmu_amd_event - decode an event select
 * @p: the PMU
 * @ctr: the number of the counter
 * @a: the counter
 *
 * Return: false if it counts nothing.
 */
bool pmu_amd_event(X86PMU *p, int ctr, PMUActive *a)
{
    uint64_t sel = p->sel[ctr];
    const AMDEvent *e = find_event(p, sel);
    int q = e ? quantity(e, EVTSEL_UMASK(sel)) : NONE;

    if (q == NONE) {
        return false;
    }
    *a = (PMUActive) { .q = q, .mul = 1, .div = 1 };
    if (q == PMU_Q_FLOP) {
        return pmu_amd_flops(p, ctr, a);
    }
    if (e->kind != K_COUNT) {
        pmu_select_clock(p, e->kind, a);
    }
    return pmu_select_cmask(p, e->kind, sel, a);
}

/**
 * pmu_amd_event_name - name of the event of a counter, for "info pmu"
 * @p: the PMU
 * @ctr: the counter
 *
 * Return: the name.
 */
const char *pmu_amd_event_name(X86PMU *p, int ctr)
{
    const AMDEvent *e = find_event(p, p->sel[ctr]);

    return e ? e->name : "unknown, counts nothing";
}
