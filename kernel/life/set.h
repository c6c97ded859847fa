/* SPDX-License-Identifier: GPL-2.0-only */
/* A set: events on several targets that are read and controlled together. */
#ifndef KPMU_SET_H
#define KPMU_SET_H

#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/mutex.h>

#include "../ring/ring.h"
#include "../sched/sched.h"
#include "life.h"

struct file;
struct kpmu_buckets;
struct kpmu_collect;
struct kpmu_set;
struct kpmu_snapshots;
struct kpmu_timeline;
struct kpmu_timelines;
struct poll_table_struct;
struct vm_area_struct;

/**
 * struct kpmu_set_unit - events of a set that have a context in common
 * @set: the set
 * @first: number of the first of them
 * @n: how many there are; they are numbered in a row
 * @buckets: what they count by cgroup or task, or NULL
 * @timeline: its records, or NULL
 */
struct kpmu_set_unit {
	struct kpmu_set *set;
	u32 first;
	u32 n;
	struct kpmu_buckets *buckets;
	struct kpmu_timeline *timeline;
};

/**
 * struct kpmu_set - a set of events
 * @set_lock: serializes reads and operations
 * @nr_targets: number of targets
 * @nr_events: number of events on each target
 * @each: words of the result for each event: 1, or 3 with its times
 * @labelled: some of the events have a label of security modules
 * @families: some of the events are inherited by child tasks
 * @nr_words: length of the result of a read, in words
 * @seq: number of the last read
 * @op: the operation in progress
 * @events: the events, those of the first target first; NULL for one that does not exist
 * @hw: for kpmu_counters_peek(): the source's part of each event that uses a counter of the core
 *	PMU, else of one that is never on a counter
 * @units: the events by their contexts
 * @calls: a call for each of @units
 * @nr_units: number of @units
 * @words: the result of a read
 * @cpus: for kpmu_ctxs_call()
 * @snapshots: what is mapped, or NULL
 * @collect: the counts by cgroup or task, or NULL
 * @timelines: records of switches and counters, or NULL
 * @hooks: kernel hooks in use beside those of the events, one bit for each of enum kpmu_lazy
 * @charged: the memory, as the locked memory of its user
 */
struct kpmu_set {
	struct mutex set_lock;
	u32 nr_targets;
	u32 nr_events;
	u32 each;
	bool labelled;
	bool families;
	size_t nr_words;
	u64 seq;
	enum kpmu_op op;
	struct kpmu_event **events;
	struct kpmu_hw **hw;
	struct kpmu_set_unit *units;
	struct kpmu_call *calls;
	u32 nr_units;
	u64 *words;
	cpumask_var_t cpus;
	struct kpmu_snapshots *snapshots;
	struct kpmu_collect *collect;
	struct kpmu_timelines *timelines;
	u32 hooks;
	struct kpmu_ring_charged charged;
};

#define KPMU_SET_HEAD	3	/* words before the values */

/**
 * kpmu_set_size() - number of events of a set, also of those that do not exist
 * @s: the set
 *
 * Context: any.
 * Return: the number.
 */
static inline u32 kpmu_set_size(const struct kpmu_set *s)
{
	return s->nr_targets * s->nr_events;
}

/**
 * kpmu_snapshots_bytes() - memory for the snapshots of a set
 * @nr_slots: number of slots
 * @words: length of a read's result in words
 *
 * Context: any.
 * Return: bytes.
 */
static inline size_t kpmu_snapshots_bytes(u32 nr_slots, size_t words)
{
	return PAGE_ALIGN(PAGE_SIZE + nr_slots * words * sizeof(u64));
}

/**
 * kpmu_set_call() - call a function for each unit of a set, as the owner of its context
 * @s: the set
 * @fn: the function; its second argument is the struct kpmu_set_unit
 * @changes: see kpmu_ctxs_call()
 *
 * Context: task, may sleep; set_lock held.
 */
static inline void kpmu_set_call(struct kpmu_set *s, int (*fn)(struct kpmu_ctx *, void *),
				 bool changes)
{
	u32 i;

	if (s->nr_units == 1) {
		if (changes)
			kpmu_ctx_call(s->calls->ctx, fn, s->units);
		else
			kpmu_ctx_visit(s->calls->ctx, fn, s->units);
		return;
	}
	for (i = 0; i < s->nr_units; i++)
		s->calls[i].fn = fn;
	kpmu_ctxs_call(s->calls, s->nr_units, changes, s->cpus);
}

/* collect.c: counts by cgroup or task */
size_t kpmu_collect_bytes(u32 nr_cpus, u32 nr_buckets, u32 words);
int kpmu_collect_start(struct kpmu_set *s, u32 nr_buckets, bool by_task, bool delta);
void kpmu_collect_stop(struct kpmu_set *s);
ssize_t kpmu_collect_read(struct kpmu_set *s, char __user *buf, size_t len);
void kpmu_collect_forget(struct kpmu_set *s);

/* set.c */
struct kpmu_set *kpmu_set_new(u32 nr_targets, u32 nr_events, bool times, size_t more);
void kpmu_set_free(struct kpmu_set *s);
void kpmu_set_ready(struct kpmu_set *s);
ssize_t kpmu_set_read(struct kpmu_set *s, char __user *buf, size_t len);
void kpmu_set_fill(struct kpmu_set *s);
int kpmu_set_control(struct kpmu_set *s, enum kpmu_op op);

/* snapshots.c */
int kpmu_snapshots_start(struct kpmu_set *s, u32 nr_slots, u64 period);
void kpmu_snapshots_stop(struct kpmu_set *s);
__poll_t kpmu_snapshots_poll(struct kpmu_set *s, struct file *file,
			     struct poll_table_struct *wait);
int kpmu_snapshots_mmap(struct kpmu_set *s, struct vm_area_struct *vma);

/* set_timeline.c */
size_t kpmu_timelines_bytes(u32 nr_cpus, u32 nr_slots, u32 nr_events);
int kpmu_timelines_start(struct kpmu_set *s, const s32 *cpus, u32 nr_slots, u64 period);
void kpmu_timelines_stop(struct kpmu_set *s);
__poll_t kpmu_timelines_poll(struct kpmu_set *s, struct file *file,
			     struct poll_table_struct *wait);
int kpmu_timelines_mmap(struct kpmu_set *s, struct vm_area_struct *vma);

#endif
