// SPDX-License-Identifier: GPL-2.0-only
/* What is known of the PMU, and the shadow of each CPU's registers. */
#include <linux/cache.h>
#include <linux/percpu.h>

#include "x86.h"

struct x86_pmu x86_pmu __ro_after_init;
struct x86_kind x86_kinds[KPMU_NR_KINDS];

DEFINE_PER_CPU(struct x86_cpu, x86_cpu);
