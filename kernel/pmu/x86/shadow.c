// SPDX-License-Identifier: GPL-2.0-only
/* What is known of the PMU, and the shadow of each CPU's registers. */
#include <linux/cache.h>
#include <linux/percpu.h>

#include "msr.h"

struct x86_pmu x86_pmu __ro_after_init;
struct x86_kind x86_kinds[KPMU_NR_KINDS];
DEFINE_STATIC_KEY_DEFERRED_FALSE(x86_ctrl_key, HZ);

DEFINE_PER_CPU(struct x86_cpu, x86_cpu);

/* For x86_rdpmc_index() */
#define FIXED(n)	((1u << 30) + (n))
const u32 x86_rdpmc_indices[KPMU_NR_SLOTS] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	FIXED(0), FIXED(1), FIXED(2), FIXED(3), FIXED(4), FIXED(5), FIXED(6), FIXED(7),
	FIXED(8), FIXED(9), FIXED(10), FIXED(11), FIXED(12), FIXED(13), FIXED(14), FIXED(15),
};
static_assert(X86_FIXED == 16 && KPMU_NR_SLOTS == 32);
