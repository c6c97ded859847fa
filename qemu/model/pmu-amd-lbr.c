/*
 * x86 performance monitoring unit for TCG: registers of AMD's LbrExtV2
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The stack of 16 last branch records of Zen 4.  The functions are for the rows
 * of amd_msrs[].  Bits that are not there are ignored and read as 0.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-amd.h"

/* LBR_SELECT: bits that suppress records; there is no call-stack mode */
#define SELECT_VALID    0x1ffull

/* FROM: address, its sign, mispredicted */
#define FROM_MISPRED    (1ull << 63)
/* TO: address, its sign, a bit that is 0, speculative, valid */
#define TO_RESERVED     (1ull << 61)
#define TO_SPEC         (1ull << 62)
#define TO_VALID        (1ull << 63)
#define TO_ADDR         (TO_RESERVED - 1)

/* FROM in even places, TO in odd ones; the first pair is the newest record */
int pmu_amd_rd_lbr(X86PMU *p, int i, uint64_t *val)
{
    const LBREntry *e = pmu_lbr_entry(p, i / 2);

    if (i & 1) {
        *val = (e->to & TO_ADDR) | (e->info & PMU_LBR_SPEC ? TO_SPEC : 0) |
               (e->info & PMU_LBR_VALID ? TO_VALID : 0);
    } else {
        *val = (e->from & ~FROM_MISPRED) |
               (e->info & PMU_LBR_MISPRED ? FROM_MISPRED : 0);
    }
    return 1;
}

int pmu_amd_wr_lbr(X86PMU *p, int i, uint64_t val)
{
    LBREntry *e = pmu_lbr_entry(p, i / 2);

    if (i & 1) {
        e->to = pmu_lbr_canonical(p, val);
        e->info = (e->info & PMU_LBR_MISPRED) |
                  (val & TO_SPEC ? PMU_LBR_SPEC : 0) |
                  (val & TO_VALID ? PMU_LBR_VALID : 0);
    } else {
        e->from = pmu_lbr_canonical(p, val);
        e->info = (e->info & ~PMU_LBR_MISPRED) |
                  (val & FROM_MISPRED ? PMU_LBR_MISPRED : 0);
    }
    return 1;
}

/* LBR_SELECT and DBG_EXTN_CFG */
int pmu_amd_rd_lbr_ctl(X86PMU *p, int i, uint64_t *val)
{
    *val = i ? p->lbr.extn_cfg : p->lbr.select;
    return 1;
}

int pmu_amd_wr_lbr_ctl(X86PMU *p, int i, uint64_t val)
{
    if (i) {
        p->lbr.extn_cfg = val & EXTN_CFG_LBR;
    } else {
        p->lbr.select = val & SELECT_VALID;
    }
    return 1;
}
