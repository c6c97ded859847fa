/*
 * x86 performance monitoring unit for TCG: Intel's events
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Architectural events and the model-specific ones that Linux and perf use on
 * Skylake, Icelake, Sapphire Rapids and the performance cores of Alder Lake.  An
 * event is listed if these processors agree on its encoding or if the encoding
 * has no other meaning on any of them.  Efficiency cores of a hybrid machine have
 * a table of their own, that of Gracemont.  Other encodings count nothing.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-intel.h"

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
    { 0x04d2, K_COUNT, PMU_Q_HITM_LD, -1, "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM" },
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

static const IntelEvent atom_events[] = {
    { 0x003c, K_CORE, 0, 0, "CPU_CLK_UNHALTED.CORE" },
    { 0x00c0, K_COUNT, PMU_Q_INSN, 1, "INST_RETIRED.ANY_P" },
    { 0x013c, K_REF, 0, 2, "CPU_CLK_UNHALTED.REF" },
    { 0x4f2e, K_COUNT, PMU_Q_L1_MISS, 3, "LONGEST_LAT_CACHE.REFERENCE" },
    { 0x412e, K_COUNT, PMU_Q_LLC_MISS, 4, "LONGEST_LAT_CACHE.MISS" },
    { 0x00c4, K_COUNT, PMU_Q_BR, 5, "BR_INST_RETIRED.ALL_BRANCHES" },
    { 0x00c5, K_COUNT, PMU_Q_BR_MISS, 6, "BR_MISP_RETIRED.ALL_BRANCHES" },

    { 0x7ec4, K_COUNT, PMU_Q_BR_COND, -1, "BR_INST_RETIRED.COND" },
    { 0xc0c4, K_COUNT, PMU_Q_BR_TAKEN, -1, "BR_INST_RETIRED.NEAR_TAKEN" },
    { 0xf7c4, K_COUNT, PMU_Q_BR_RET, -1, "BR_INST_RETIRED.NEAR_RETURN" },
    { 0xf9c4, K_COUNT, PMU_Q_BR_CALL, -1, "BR_INST_RETIRED.NEAR_CALL" },
    { 0x80c5, K_COUNT, PMU_Q_BR_MISS_TAKEN, -1, "BR_MISP_RETIRED.NEAR_TAKEN" },
    { 0xebc5, K_COUNT, PMU_Q_BR_MISS_IND, -1, "BR_MISP_RETIRED.INDIRECT" },
    { 0xf7c5, K_COUNT, PMU_Q_BR_MISS_RET, -1, "BR_MISP_RETIRED.RETURN" },
    { 0x81d0, K_COUNT, PMU_Q_LD, -1, "MEM_UOPS_RETIRED.ALL_LOADS" },
    { 0x82d0, K_COUNT, PMU_Q_ST, -1, "MEM_UOPS_RETIRED.ALL_STORES" },
    { 0x80d1, K_COUNT, PMU_Q_LLC_MISS_LD, -1, "MEM_LOAD_UOPS_RETIRED.DRAM_HIT" },
    { 0x0e08, K_COUNT, PMU_Q_TLB_MISS_LD, -1,
      "DTLB_LOAD_MISSES.WALK_COMPLETED" },
    { 0x0e49, K_COUNT, PMU_Q_TLB_MISS_ST, -1,
      "DTLB_STORE_MISSES.WALK_COMPLETED" },
    { 0x01b7, K_OFFCORE, 0, -1, "OCR (0)" },
    { 0x02b7, K_OFFCORE, 1, -1, "OCR (1)" },
};

static const IntelEvent *find_event(X86PMU *p, uint64_t sel)
{
    bool old = p->cpu->pmu_props.version < 5, atom = pmu_atom(p->cpu);
    const IntelEvent *events = atom ? atom_events : intel_events;
    int nr = atom ? ARRAY_SIZE(atom_events) : ARRAY_SIZE(intel_events);

    for (int i = 0; i < nr; i++) {
        const IntelEvent *e = &events[i];

        if (e->code == (sel & 0xffff) && (old || !e->old)) {
            /* Its threshold is a register of PEBS */
            return e->kind == K_COUNT && e->q == PMU_Q_LD_LAT &&
                   !pmu_pebs_fmt(p) ? NULL : e;
        }
    }
    return NULL;
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
        pmu_select_clock(p, e->kind, a);
        break;
    }
    return pmu_select_cmask(p, e->kind, sel, a);
}

/* Fixed counters: instructions, core cycles, reference cycles, slots */
bool pmu_intel_fixed_event(X86PMU *p, int n, PMUActive *a)
{
    static const uint8_t kinds[PMU_MAX_FIXED] = {
        K_COUNT, K_CORE, K_REF, K_SLOTS
    };

    *a = (PMUActive) { .q = PMU_Q_INSN, .mul = 1, .div = 1 };
    if (kinds[n] != K_COUNT) {
        pmu_select_clock(p, kinds[n], a);
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
