/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counter assignment as a pure function: which event gets which counter.
 * It uses no kernel services; also built and tested in user space.
 */
#ifndef KPMU_ASSIGN_H
#define KPMU_ASSIGN_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "shim.h"
#endif

#define KPMU_MAX_COUNTERS	32

/**
 * struct kpmu_matching - events placed on counters
 * @used: counters taken, a bit each
 * @nr: events placed
 * @allowed: per event, the counters it may use
 * @counter: per event, its counter
 * @owner: per counter in @used, its event; except the upper counter of a pair
 * @upper: of @used, the upper counters of the pairs that wide events have
 */
struct kpmu_matching {
	u32 used;
	u32 upper;
	u8 nr;
	u32 allowed[KPMU_MAX_COUNTERS];
	s8 counter[KPMU_MAX_COUNTERS];
	s8 owner[KPMU_MAX_COUNTERS];
};

/**
 * kpmu_matching_init() - start an assignment without events
 * @m: the assignment; its arrays stay uninitialized up to @m->nr and @m->used
 *
 * Context: any.
 */
static inline void kpmu_matching_init(struct kpmu_matching *m)
{
	m->used = 0;
	m->upper = 0;
	m->nr = 0;
}

bool kpmu_assign(struct kpmu_matching *m, u32 allowed, int hint);
bool kpmu_assign_group(struct kpmu_matching *m, const u32 *allowed,
		       const s8 *hint, u32 wide, int n);

#endif
