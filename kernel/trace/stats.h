/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics: plain per-CPU counters, summed up when they are printed. */
#ifndef KPMU_STATS_H
#define KPMU_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

/* X(name, description) */
#define KPMU_STATS(X)							\
	X(opens,	"events created: opened, or for KPMU_IOC_EXPLAIN")	\
	X(closes,	"events destroyed")				\
	X(inherited,	"events inherited")				\
	X(kept,		"contexts of exited tasks used again for others")	\
	X(hits_unfiltered, "hits lost to filters that took too long")	\
	X(not_inherited, "events not inherited for lack of memory")	\
	X(plans,	"plans computed")				\
	X(plan_hits,	"cached plans used again")			\
	X(commits,	"commits that changed the hardware")		\
	X(handovers,	"counters handed over without a stop")		\
	X(selectors,	"event selectors written")			\
	X(counters,	"counters written")				\
	X(switches,	"task switches with events on either side")	\
	X(rotations,	"rotations")					\
	X(pmis,		"overflow interrupts of kpmu")			\
	X(pmis_late,	"overflows of a counter without an owner")	\
	X(overflows,	"overflows of events that sample")		\
	X(throttled,	"groups throttled")	\
	X(remote,	"calls to another CPU")

struct kpmu_stats {
#define KPMU_STAT_FIELD(name, text) u64 name;
	KPMU_STATS(KPMU_STAT_FIELD)
#undef KPMU_STAT_FIELD
};

DECLARE_PER_CPU(struct kpmu_stats, kpmu_stats);

#define kpmu_stat_inc(name)	this_cpu_inc(kpmu_stats.name)
#define kpmu_stat_add(name, n)	this_cpu_add(kpmu_stats.name, n)

struct seq_file;
void kpmu_stats_show(struct seq_file *m);

#endif
