/*
 * x86 performance monitoring unit for TCG: arguments of helpers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef I386_TCG_PMU_GEN_H
#define I386_TCG_PMU_GEN_H

/* helper_pmu_branch(), helper_pmu_lbr(): kind and length of the branch */
#define PMU_BR_TAKEN    (1u << 0)
#define PMU_BR_COND     (1u << 1)
#define PMU_BR_CALL     (1u << 2)
#define PMU_BR_RET      (1u << 3)
#define PMU_BR_IND      (1u << 4)
#define PMU_BR_DESC(kind, len)  ((kind) | (uint32_t)(len) << 8)
#define PMU_BR_LEN(desc)        ((desc) >> 8)

/* helper_pmu_mem(): size and kind of the access */
#define PMU_MEM_ST      (1u << 0)
#define PMU_MEM_LOCK    (1u << 1)
#define PMU_MEM_WRITES  (1u << 2)   /* a store, or a load that also stores */
#define PMU_MEM_DESC(size, st, lock, writes) \
    ((st) | (lock) << 1 | (writes) << 2 | (size) << 3)
#define PMU_MEM_SIZE(desc)              ((desc) >> 3)

/*
 * helper_pmu_flops(): 8 bits with the number of operations for each kind.  The
 * kinds are bits of AMD's unit mask.
 */
#define PMU_FLOPS_ADD   0   /* additions and subtractions */
#define PMU_FLOPS_MUL   1
#define PMU_FLOPS_DIV   2   /* divisions and square roots */
#define PMU_FLOPS_MAC   3   /* multiply-accumulate: 2 operations each */
#define PMU_FLOPS_KINDS 4
#define PMU_FLOPS(kind, n)              ((uint32_t)(n) << 8 * (kind))
#define PMU_FLOPS_OF(desc, kind)        ((desc) >> 8 * (kind) & 0xff)

#endif
