/*
 * x86 performance monitoring unit for TCG: event selects of all vendors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_PMU_SELECT_H
#define I386_TCG_PMU_SELECT_H

#include "pmu-internal.h"

/* Bits of event selects that all vendors have */
#define EVTSEL_EVENT        0x000000ffull
#define EVTSEL_UMASK(s)     (((s) >> 8) & 0xff)
#define EVTSEL_USR          (1ull << 16)
#define EVTSEL_OS           (1ull << 17)
#define EVTSEL_EDGE         (1ull << 18)
#define EVTSEL_INT          (1ull << 20)
#define EVTSEL_EN           (1ull << 22)
#define EVTSEL_INV          (1ull << 23)
#define EVTSEL_CMASK(s)     (((s) >> 24) & 0xff)

#define PMU_SLOTS   4

/* How an event is computed from the quantities */
enum {
    K_COUNT,            /* occurrences of q, at most one per cycle */
    K_CORE,             /* core cycles */
    K_REF,              /* reference cycles */
    K_SLOTS,            /* pipeline slots: PMU_SLOTS in each core cycle */
    K_OFFCORE,          /* selected by OFFCORE_RSP register number q */
};

/* pmu-select.c */
void pmu_select_clock(X86PMU *p, int kind, PMUActive *a);
bool pmu_select_cmask(X86PMU *p, int kind, uint64_t sel, PMUActive *a);

#endif
