/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buckets: what the events of a CPU counted while each cgroup, or each task, ran.
 *
 * A switch to a task with another key (cgroup or task) reads the events once, and adds what they
 * counted since the last time to the bucket of the previous key.  No counter is stopped or written.
 *
 * Each CPU has two tables of buckets for a set of events.  One is in use, and the other is empty.  To
 * collect the counts, the CPU exchanges them at one moment, and the table that was in use is merged
 * into that of the set afterwards, in a task.  So the tables of CPUs are small and never grow.
 */
#ifndef KPMU_BUCKET_H
#define KPMU_BUCKET_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/types.h>

struct irq_work;
struct kpmu_ctx;
struct kpmu_entity;
struct pid_namespace;
struct task_struct;

/* Layout of a bucket in words; the values follow */
enum {
	KPMU_BUCKET_KEY,	/* a cgroup's id; a task's global tid */
	KPMU_BUCKET_SHOWN,	/* what user space sees instead: struct kpmu_bucket */
	KPMU_BUCKET_START,
	KPMU_BUCKET_VALUES,
};

/**
 * struct kpmu_bucket_table - buckets, found by their keys
 * @max: largest number of buckets
 * @nr: number of buckets
 * @bits: binary logarithm of the size of @index
 * @size: size of a bucket in words
 * @index: hash table of numbers of buckets, from 1; 0: free.  At least twice as large as @max
 * @buckets: @max buckets, then one for what no bucket was free for, and one for all counts
 */
struct kpmu_bucket_table {
	u32 max;
	u32 nr;
	u32 bits;
	u32 size;
	u32 *index;
	u64 *buckets;
};

/**
 * struct kpmu_bucket_key - the key of a task
 * @id: its cgroup's id, or its tid
 * @start: when the task started, if @id is a tid
 */
struct kpmu_bucket_key {
	u64 id;
	u64 start;
};

/**
 * struct kpmu_buckets - the buckets of a set's events on a CPU
 * @node: entry in the list of the CPU
 * @by_task: the keys are tasks, not cgroups
 * @used: number of the table in use
 * @each: words of a value: 1, or 3 with its times
 * @nr_events: number of @events
 * @events: the events; NULL for one that does not exist
 * @ns: the namespace of the tids that user space sees
 * @kick: to be queued when the table in use is half full
 * @key: key of the running task
 * @shown: its id as user space sees it
 * @now: its values in the table in use
 * @last: the values of the events when they were last read
 * @base: their values when the table in use was empty
 * @tables: both tables
 * @full: for each table: how often no bucket was free
 *
 * Owned by the owner of the CPU's context, except for the table that is not in use.
 */
struct kpmu_buckets {
	struct hlist_node node;
	bool by_task;
	u8 used;
	u32 each;
	u32 nr_events;
	struct kpmu_entity **events;
	struct pid_namespace *ns;
	struct irq_work *kick;
	struct kpmu_bucket_key key;
	u64 shown;
	u64 *now;
	u64 *last;
	u64 *base;
	struct kpmu_bucket_table tables[2];
	u64 full[2];
};

/* Limit of events with buckets on a CPU: bounds the work of a switch, with IRQs off */
#define KPMU_BUCKET_EVENTS	256

/**
 * kpmu_bucket_other() - the bucket for what no bucket was free for
 * @t: the table
 *
 * Context: owner of the table.
 * Return: the bucket.
 */
static inline u64 *kpmu_bucket_other(const struct kpmu_bucket_table *t)
{
	return t->buckets + (size_t)t->max * t->size;
}

/**
 * kpmu_bucket_all() - the bucket for all counts
 * @t: the table
 *
 * Context: owner of the table.
 * Return: the bucket.
 */
static inline u64 *kpmu_bucket_all(const struct kpmu_bucket_table *t)
{
	return kpmu_bucket_other(t) + t->size;
}

/* Enabled while a set with buckets is open */
DECLARE_STATIC_KEY_FALSE(kpmu_buckets_key);

u64 *kpmu_bucket_get(struct kpmu_bucket_table *t, u64 id, u64 start);
void kpmu_bucket_clear(struct kpmu_bucket_table *t);
int kpmu_buckets_add(struct kpmu_ctx *ctx, struct kpmu_buckets *b);
void kpmu_buckets_del(struct kpmu_ctx *ctx, struct kpmu_buckets *b);
void kpmu_buckets_flip(struct kpmu_ctx *ctx, struct kpmu_buckets *b);
void kpmu_buckets_restart(struct kpmu_ctx *ctx, struct kpmu_buckets *b);
void kpmu_buckets_enter(struct task_struct *next);
void kpmu_buckets_moved(void);
struct hlist_head *kpmu_buckets_here(void);

/**
 * kpmu_buckets_switch() - book what was counted for the outgoing task
 * @next: the task switched in
 *
 * Context: IRQs off; under the run-queue lock, or when the CPU has come online.
 */
static __always_inline void kpmu_buckets_switch(struct task_struct *next)
{
	if (static_branch_unlikely(&kpmu_buckets_key))
		kpmu_buckets_enter(next);
}

#endif
