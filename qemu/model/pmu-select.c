/*
 * x86 performance monitoring unit for TCG: event selects of all vendors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-select.h"

/**
 * pmu_select_clock - count a clock
 * @p: the PMU
 * @kind: K_CORE, K_REF or K_SLOTS
 * @a: the counter
 */
void pmu_select_clock(X86PMU *p, int kind, PMUActive *a)
{
    X86PMUProps *c = &p->cpu->pmu_props;

    a->q = PMU_Q_INSN;
    a->mul = kind == K_REF ? c->ref : c->cpi;
    a->div = kind == K_REF ? c->ref_div : c->cpi_div;
    if (kind == K_SLOTS) {
        a->mul *= PMU_SLOTS;
    }
}

/**
 * pmu_select_cmask - apply CMASK, INV and EDGE
 * @p: the PMU
 * @kind: kind of the event
 * @sel: event select
 * @a: the counter, which counts the event without these
 *
 * The cycles of the model are simple: each instruction
 * retires in a cycle of its own, an event occurs at most once in a cycle
 * (slots: 4 times in each), and there is a cycle without the event between two
 * occurrences.  With CMASK c > 0 the counter counts the cycles with at least c
 * occurrences: the number of occurrences, or 0 if c is too large.  INV counts
 * all other core cycles.  EDGE counts how often the condition becomes true:
 * never if it holds in every cycle or in none, else as often as the event
 * occurs.
 *
 * Return: false if it counts nothing.
 */
bool pmu_select_cmask(X86PMU *p, int kind, uint64_t sel, PMUActive *a)
{
    int c = EVTSEL_CMASK(sel);
    int per_cycle = kind == K_SLOTS ? PMU_SLOTS : 1;
    bool always = kind == K_CORE || kind == K_REF || kind == K_SLOTS;
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
        pmu_select_clock(p, kind == K_REF ? K_REF : K_CORE, a);
        return true;
    }
    if (inv && !edge) {
        int q = a->q;

        pmu_select_clock(p, K_CORE, a);
        a->q = q;
        a->less = true;
    }
    return true;
}
