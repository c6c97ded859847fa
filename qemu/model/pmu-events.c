/*
 * x86 performance monitoring unit for TCG: Intel's events
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Architectural events and the model-specific ones that Linux and perf use on
 * Skylake, Icelake and Sapphire Rapids.  An event is listed if these processors
 * agree on its encoding or if the encoding has no other meaning on any of them.
 * Other encodings count nothing.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"

#define EVTSEL_EDGE     (1ull << 18)
#define EVTSEL_INV      (1ull << 23)
#define EVTSEL_CMASK(s) (((s) >> 24) & 0xff)

/* How an event is computed from the quantities */
enum {
    K_COUNT,            /* occurrences of q, at most one per cycle */
    K_CORE,             /* core cycles */
    K_REF,              /* reference cycles */
    K_SLOTS,            /* pipeline slots: SLOTS in each core cycle */
    K_OFFCORE,          /* selected by OFFCORE_RSP register number q */
};

#define SLOTS   4

/* Bits of the OFFCORE_RSP registers that the model evaluates */
#define OFFCORE_DATA_RD     (1ull << 0)
#define OFFCORE_RFO         (1ull << 1)
#define OFFCORE_ANY_OR_HIT  0x3d0000ull
#define OFFCORE_MISS        (~0ull << 22)

typedef struct IntelEvent {
    uint16_t code;      /* umask << 8 | event select */
    uint8_t kind;
    uint8_t q;
    int8_t arch;        /* bit of CPUID.0AH:EBX, -1: not architectural */
    const char *name;
    bool old;           /* the encoding has another meaning in version 5 */
} IntelEvent;

static const IntelEvent intel_events[] = {
    { 0x003c, K_CORE, 0, 0, "CPU_CLK_UNHALTED.CORE" },
    { 0x00c0, K_COUNT, PMU_Q_INSN, 1, "INST_RETIRED.ANY_P" },
    { 0x013c, K_REF, 0, 2, "CPU_CLK_UNHALTED.REF" },
    { 0x4f2e, K_COUNT, PMU_Q_L1_MISS, 3, "LONGEST_LAT_CACHE.REFERENCE" },
    { 0x412e, K_COUNT, PMU_Q_LLC_MISS, 4, "LONGEST_LAT_CACHE.MISS" },
    { 0x00c4, K_COUNT, PMU_Q_BR, 5, "BR_INST_RETIRED.ALL_BRANCHES" },
    { 0x00c5, K_COUNT, PMU_Q_BR_MISS, 6, "BR_MISP_RETIRED.ALL_BRANCHES" },
    { 0x01a4, K_SLOTS, 0, 7, "TOPDOWN.SLOTS_P" },

    { 0x01c0, K_COUNT, PMU_Q_INSN, -1, "INST_RETIRED.PREC_DIST" },
    { 0x01c4, K_COUNT, PMU_Q_BR_COND, -1, "BR_INST_RETIRED.CONDITIONAL", true },
    { 0x02c4, K_COUNT, PMU_Q_BR_CALL, -1, "BR_INST_RETIRED.NEAR_CALL" },
    { 0x08c4, K_COUNT, PMU_Q_BR_RET, -1, "BR_INST_RETIRED.NEAR_RETURN" },
    { 0x10c4, K_COUNT, PMU_Q_BR_NTAKEN, -1, "BR_INST_RETIRED.COND_NTAKEN" },
    { 0x11c4, K_COUNT, PMU_Q_BR_COND, -1, "BR_INST_RETIRED.COND" },
    { 0x20c4, K_COUNT, PMU_Q_BR_TAKEN, -1, "BR_INST_RETIRED.NEAR_TAKEN" },
    { 0x0151, K_COUNT, PMU_Q_L1_MISS, -1, "L1D.REPLACEMENT" },
    { 0x01cd, K_COUNT, PMU_Q_LD_LAT, -1, "MEM_TRANS_RETIRED.LOAD_LATENCY" },
    { 0xe124, K_COUNT, PMU_Q_L1_MISS_LD, -1, "L2_RQSTS.ALL_DEMAND_DATA_RD" },
    { 0x81d0, K_COUNT, PMU_Q_LD, -1, "MEM_INST_RETIRED.ALL_LOADS" },
    { 0x82d0, K_COUNT, PMU_Q_ST, -1, "MEM_INST_RETIRED.ALL_STORES" },
    { 0x08d1, K_COUNT, PMU_Q_L1_MISS_LD, -1, "MEM_LOAD_RETIRED.L1_MISS" },
    { 0x20d1, K_COUNT, PMU_Q_LLC_MISS_LD, -1, "MEM_LOAD_RETIRED.L3_MISS" },
    { 0x0e08, K_COUNT, PMU_Q_TLB_MISS_LD, -1,
      "DTLB_LOAD_MISSES.WALK_COMPLETED" },
    { 0x0e12, K_COUNT, PMU_Q_TLB_MISS_LD, -1,
      "DTLB_LOAD_MISSES.WALK_COMPLETED" },
    { 0x0e49, K_COUNT, PMU_Q_TLB_MISS_ST, -1,
      "DTLB_STORE_MISSES.WALK_COMPLETED" },
    { 0x0e13, K_COUNT, PMU_Q_TLB_MISS_ST, -1,
      "DTLB_STORE_MISSES.WALK_COMPLETED" },
    { 0x01b7, K_OFFCORE, 0, -1, "OFFCORE_RESPONSE_0" },
    { 0x01bb, K_OFFCORE, 1, -1, "OFFCORE_RESPONSE_1" },
    { 0x012a, K_OFFCORE, 0, -1, "OCR (0)" },
    { 0x012b, K_OFFCORE, 1, -1, "OCR (1)" },
};

static const IntelEvent *find_event(X86PMU *p, uint64_t sel)
{
    bool old = p->cpu->pmu_props.version < 5;

    for (int i = 0; i < ARRAY_SIZE(intel_events); i++) {
        const IntelEvent *e = &intel_events[i];

        if (e->code == (sel & 0xffff) && (old || !e->old)) {
            /* Its threshold is a register of PEBS */
            return e->kind == K_COUNT && e->q == PMU_Q_LD_LAT &&
                   !pmu_pebs_fmt(p) ? NULL : e;
        }
    }
    return NULL;
}

static void set_clock(X86PMU *p, int kind, PMUActive *a)
{
    X86PMUProps *c = &p->cpu->pmu_props;

    a->q = PMU_Q_INSN;
    a->mul = kind == K_REF ? c->ref : c->cpi;
    a->div = kind == K_REF ? c->ref_div : c->cpi_div;
    if (kind == K_SLOTS) {
        a->mul *= SLOTS;
    }
}

static bool set_offcore(X86PMU *p, int n, PMUActive *a)
{
    uint64_t rsp = p->offcore[n];
    bool hit = rsp & OFFCORE_ANY_OR_HIT;

    if (!hit && !(rsp & OFFCORE_MISS)) {
        return false;
    }
    switch (rsp & (OFFCORE_DATA_RD | OFFCORE_RFO)) {
    case OFFCORE_DATA_RD:
        a->q = hit ? PMU_Q_L1_MISS_LD : PMU_Q_LLC_MISS_LD;
        return true;
    case OFFCORE_RFO:
        a->q = hit ? PMU_Q_L1_MISS_ST : PMU_Q_LLC_MISS_ST;
        return true;
    case OFFCORE_DATA_RD | OFFCORE_RFO:
        a->q = hit ? PMU_Q_L1_MISS : PMU_Q_LLC_MISS;
        return true;
    default:
        return false;
    }
}

/*
 * CMASK, INV and EDGE.  The cycles of the model are simple: each instruction
 * retires in a cycle of its own, an event occurs at most once in a cycle
 * (slots: 4 times in each), and there is a cycle without the event between two
 * occurrences.  With CMASK c > 0 the counter counts the cycles with at least c
 * occurrences: the number of occurrences, or 0 if c is too large.  INV counts
 * all other core cycles.  EDGE counts how often the condition becomes true:
 * never if it holds in every cycle or in none, else as often as the event
 * occurs.
 */
static bool apply_cmask(X86PMU *p, const IntelEvent *e, uint64_t sel,
                        PMUActive *a)
{
    int c = EVTSEL_CMASK(sel);
    int per_cycle = e->kind == K_SLOTS ? SLOTS : 1;
    bool always = e->kind == K_CORE || e->kind == K_REF || e->kind == K_SLOTS;
    bool inv = sel & EVTSEL_INV, edge = sel & EVTSEL_EDGE;

    if (!c) {
        return !(edge && always);       /* INV has no effect without CMASK */
    }
    if (always || c > per_cycle) {
        /* The condition holds in every cycle or in none */
        bool on = (always && c <= per_cycle) != inv;

        if (!on || edge) {
            return false;
        }
        set_clock(p, e->kind == K_REF ? K_REF : K_CORE, a);
        return true;
    }
    if (inv && !edge) {
        int q = a->q;

        set_clock(p, K_CORE, a);
        a->q = q;
        a->less = true;
    }
    return true;
}

/* Decode event select @sel into @a; false if it counts nothing. */
bool pmu_intel_event(X86PMU *p, uint64_t sel, PMUActive *a)
{
    const IntelEvent *e = find_event(p, sel);

    if (!e || (e->arch >= 0 && p->cpu->pmu_props.unavail >> e->arch & 1)) {
        return false;
    }
    *a = (PMUActive) { .q = e->q, .mul = 1, .div = 1 };
    switch (e->kind) {
    case K_COUNT:
        break;
    case K_OFFCORE:
        if (!set_offcore(p, e->q, a)) {
            return false;
        }
        break;
    default:
        set_clock(p, e->kind, a);
        break;
    }
    return apply_cmask(p, e, sel, a);
}

/* Fixed counters: instructions, core cycles, reference cycles, slots */
bool pmu_intel_fixed_event(X86PMU *p, int n, PMUActive *a)
{
    static const uint8_t kinds[PMU_MAX_FIXED] = {
        K_COUNT, K_CORE, K_REF, K_SLOTS
    };

    *a = (PMUActive) { .q = PMU_Q_INSN, .mul = 1, .div = 1 };
    if (kinds[n] != K_COUNT) {
        set_clock(p, kinds[n], a);
    }
    return true;
}

/* Name of the event of a counter, for "info pmu" */
const char *pmu_intel_event_name(X86PMU *p, int ctr)
{
    static const char *const fixed[PMU_MAX_FIXED] = {
        "INST_RETIRED.ANY", "CPU_CLK_UNHALTED.CORE",
        "CPU_CLK_UNHALTED.REF_TSC", "TOPDOWN.SLOTS"
    };
    const IntelEvent *e;

    if (ctr >= PMU_MAX_GP) {
        return fixed[ctr - PMU_MAX_GP];
    }
    e = find_event(p, p->sel[ctr]);
    return e ? e->name : "unknown, counts nothing";
}
