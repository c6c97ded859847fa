// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>

#include "stats.h"

DEFINE_PER_CPU(struct kpmu_stats, kpmu_stats);

#define KPMU_STAT_ROW(name, text) \
	{ #name, text, offsetof(struct kpmu_stats, name) },
static const struct {
	const char *name;
	const char *text;
	size_t offset;
} rows[] = { KPMU_STATS(KPMU_STAT_ROW) };

/**
 * kpmu_stats_show() - print every statistic, summed over the CPUs
 * @m: output
 *
 * Context: any that may print; the sums are not a snapshot.
 */
void kpmu_stats_show(struct seq_file *m)
{
	int cpu, i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += *(u64 *)((char *)per_cpu_ptr(&kpmu_stats, cpu) +
					rows[i].offset);
		seq_printf(m, "%-12s %12llu  %s\n", rows[i].name, sum,
			   rows[i].text);
	}
}
