// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/seq_file.h>

#include "stats.h"

DEFINE_PER_CPU(struct kpmu_stats, kpmu_stats);

/**
 * kpmu_stats_show() - print every statistic, summed over the CPUs
 * @m: where to
 *
 * Context: any that may print; the sums are not a snapshot.
 */
void kpmu_stats_show(struct seq_file *m)
{
	int cpu;

#define KPMU_STAT_SHOW(name, text)					\
	do {								\
		u64 sum = 0;						\
									\
		for_each_possible_cpu(cpu)				\
			sum += per_cpu(kpmu_stats, cpu).name;		\
		seq_printf(m, "%-12s %12llu  %s\n", #name, sum, text);	\
	} while (0);
	KPMU_STATS(KPMU_STAT_SHOW)
#undef KPMU_STAT_SHOW
}
