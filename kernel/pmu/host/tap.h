/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taps: events of the kernel's own perf that report hits to kpmu.  A tap is shared by all
 * kpmu events that count the same hits, or belongs to a single event.
 */
#ifndef KPMU_TAP_H
#define KPMU_TAP_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "../../source/source.h"
#include "gate.h"
#include "point.h"

struct event_filter;
struct kpmu_watch;
struct pt_regs;
struct seq_file;

/**
 * struct kpmu_tap - an origin of hits
 * @key: identifies its hits
 * @node: entry in the list taps or points, if shared or a replacement
 * @users: number of kpmu events that use it
 * @shared: may be used by every kpmu event of its type and config
 * @attr: attr of the kernel's events
 * @counts: @point reports the hits, there are no events in @on
 * @point: the probe, if @counts
 * @instead: if @counts: the tap that replaces the probe once BPF is attached
 * @as: if this is such a replacement: the tap that it reports hits for
 * @nr: entries in @on
 * @gated: hits of the events in @on are delivered only while a kpmu event needs them
 * @watch: instead of an event in @on: a breakpoint, armed while the kpmu event runs; NULL if none
 * @dead: entry in the list of taps to be freed after grace periods
 * @rcu: instead of @dead, if one grace period of RCU is enough
 * @on: the kernel's events: one for each CPU, or a single one
 */
struct kpmu_tap {
	struct kpmu_hit_key key;
	struct list_head node;
	int users;
	bool shared;
	struct perf_event_attr attr;
	bool counts;
	struct kpmu_point point;
	struct kpmu_tap *instead;
	const struct kpmu_tap *as;
	int nr;
	bool gated;
	struct kpmu_watch *watch;
	union {
		struct llist_node dead;
		struct rcu_head rcu;
	};
	struct kpmu_gate on[];
};

/* tap.c */
void kpmu_tap_hit(struct perf_event *event, struct perf_sample_data *data,
		  struct pt_regs *regs);
struct kpmu_tap *kpmu_tap_new(const struct perf_event_attr *attr, int nr);
void kpmu_tap_free(struct kpmu_tap *tap);
void kpmu_tap_bury(void);
struct kpmu_tap *kpmu_tap_own(const struct perf_event_attr *attr,
			      struct task_struct *task, int cpu);
struct kpmu_tap *kpmu_tap_silent(const struct kpmu_tap *like);
struct perf_event *kpmu_tap_event(struct kpmu_tap *tap);
bool kpmu_tap_is_gated(const struct kpmu_tap *tap);

/* taps.c */
struct kpmu_tap *kpmu_tap_share(u32 type, u64 config);
struct kpmu_tap *kpmu_tap_count(u64 config);
int kpmu_tap_enable_bpf(struct kpmu_tap *tap);
struct kpmu_tap *kpmu_tap_full(const struct kpmu_tap *like);
struct event_filter *kpmu_tap_filter(struct kpmu_tap *tap, char *filter);
void kpmu_tap_put(struct kpmu_tap *tap);
void kpmu_taps_cpu_up(int cpu);
void kpmu_taps_exit(void);
void kpmu_taps_show(struct seq_file *m);

/**
 * kpmu_tap_of() - the tap whose hits an event counts
 * @hw: the event's hw part; hw->key must be the key of a tap, not a source's static key
 *
 * Context: any.
 * Return: the tap; the event holds a reference.
 */
static inline struct kpmu_tap *kpmu_tap_of(const struct kpmu_hw *hw)
{
	return container_of(hw->key, struct kpmu_tap, key);
}

#endif
