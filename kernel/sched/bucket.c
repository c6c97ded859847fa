// SPDX-License-Identifier: GPL-2.0-only
/* Buckets of a CPU, see bucket.h.  All that runs at a switch is here. */
#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "../compat/compat.h"
#include "bucket.h"
#include "sched.h"

DEFINE_STATIC_KEY_FALSE(kpmu_buckets_key);

/**
 * struct bucket_cpu - the buckets of a CPU
 * @list: struct kpmu_buckets, one for each set
 * @nr_events: sum of their events
 */
struct bucket_cpu {
	struct hlist_head list;
	u32 nr_events;
};

static DEFINE_PER_CPU(struct bucket_cpu, bucket_cpu);

/* ---- tables --------------------------------------------------------------------- */

/**
 * kpmu_bucket_get() - find or make a bucket
 * @t: the table
 * @id: first part of the key
 * @start: second part of the key
 *
 * A new bucket has values of 0, and the caller sets KPMU_BUCKET_SHOWN.  At least half of the index
 * is free, so the search ends soon.
 *
 * Context: owner of the table.
 * Return: the bucket; NULL if it does not exist and the table is full.
 */
u64 *kpmu_bucket_get(struct kpmu_bucket_table *t, u64 id, u64 start)
{
	u32 mask = (1u << t->bits) - 1, at = hash_64(kpmu_mix(id, start), t->bits);
	u64 *bucket;

	for (; t->index[at]; at = (at + 1) & mask) {
		bucket = t->buckets + (size_t)(t->index[at] - 1) * t->size;
		if (bucket[KPMU_BUCKET_KEY] == id && bucket[KPMU_BUCKET_START] == start)
			return bucket;
	}
	if (t->nr == t->max)
		return NULL;
	bucket = t->buckets + (size_t)t->nr * t->size;
	t->index[at] = ++t->nr;
	bucket[KPMU_BUCKET_KEY] = id;
	bucket[KPMU_BUCKET_START] = start;
	memset(bucket + KPMU_BUCKET_VALUES, 0,
	       (t->size - KPMU_BUCKET_VALUES) * sizeof(u64));
	return bucket;
}

/**
 * kpmu_bucket_clear() - remove all buckets from a table
 * @t: the table
 *
 * Context: owner of the table.
 */
void kpmu_bucket_clear(struct kpmu_bucket_table *t)
{
	memset(t->index, 0, sizeof(*t->index) << t->bits);
	memset(kpmu_bucket_other(t), 0, 2 * t->size * sizeof(u64));
	t->nr = 0;
}

/* ---- the switch ----------------------------------------------------------------- */

static __always_inline struct kpmu_bucket_key bucket_key_of(const struct kpmu_buckets *b,
							    struct task_struct *task)
{
	struct cgroup_subsys_state *css;

	if (!b->by_task) {
		css = kpmu_task_css(task);
		return (struct kpmu_bucket_key){ .id = css ? cgroup_id(css->cgroup) : 0 };
	}
	/* The idle tasks of all CPUs have one key */
	if (is_idle_task(task))
		return (struct kpmu_bucket_key){ };
	return (struct kpmu_bucket_key){ .id = task->pid, .start = task->start_boottime };
}

static __always_inline void set_key(struct kpmu_buckets *b, struct kpmu_bucket_key key,
				    struct task_struct *task)
{
	b->key = key;
	b->shown = key.id;
	if (unlikely(b->by_task && b->ns != &init_pid_ns))
		b->shown = __task_pid_nr_ns(task, PIDTYPE_PID, b->ns);
}

/* Read the events once, and add what they counted since the last time to @to */
static __always_inline void read_events(struct kpmu_ctx *ctx, struct kpmu_buckets *b, u64 *to)
{
	u64 now = b->each > 1 ? kpmu_ctx_now(ctx) : 0, *last = b->last, count;
	struct kpmu_entity *e;
	struct kpmu_times t;
	u32 i;

	for (i = 0; i < b->nr_events; i++, to += b->each, last += b->each) {
		e = b->events[i];
		if (unlikely(!e))
			continue;
		count = e->hw.source->read(&e->hw);
		to[0] += count - last[0];
		last[0] = count;
		if (b->each == 1)
			continue;
		t = kpmu_times_at(&e->clock, now);
		to[1] += t.enabled - last[1];
		last[1] = t.enabled;
		to[2] += t.running - last[2];
		last[2] = t.running;
	}
}

/* Find the bucket of @b->key */
static void choose(struct kpmu_buckets *b)
{
	struct kpmu_bucket_table *t = &b->tables[b->used];
	u32 nr = t->nr;
	u64 *bucket = kpmu_bucket_get(t, b->key.id, b->key.start);

	if (unlikely(!bucket)) {
		b->full[b->used]++;
		bucket = kpmu_bucket_other(t);
	} else if (unlikely(t->nr != nr)) {
		bucket[KPMU_BUCKET_SHOWN] = b->shown;
		if (t->nr == DIV_ROUND_UP(t->max, 2))
			irq_work_queue(b->kick);
	}
	b->now = bucket + KPMU_BUCKET_VALUES;
}

/**
 * kpmu_buckets_enter() - count for a task from now on
 * @next: the task
 *
 * What was counted until now is booked for the previous task, unless both have the same key.
 *
 * Context: IRQs off.
 */
void kpmu_buckets_enter(struct task_struct *next)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	struct kpmu_bucket_key key;
	struct kpmu_buckets *b;

	/* While the CPU is offline, its events do not count, and others own its buckets */
	if (kc->offline)
		return;
	hlist_for_each_entry(b, &this_cpu_ptr(&bucket_cpu)->list, node) {
		key = bucket_key_of(b, next);
		if (key.id == b->key.id && key.start == b->key.start)
			continue;
		read_events(&kc->ctx, b, b->now);
		set_key(b, key, next);
		choose(b);
	}
}

static bool cpu_has_buckets(int cpu, void *unused)
{
	return !hlist_empty(&per_cpu(bucket_cpu, cpu).list);
}

static void enter_here(void *unused)
{
	unsigned long flags;

	local_irq_save(flags);
	kpmu_buckets_enter(current);
	local_irq_restore(flags);
}

/**
 * kpmu_buckets_moved() - tasks have been moved to another cgroup
 *
 * A running task counts for its new cgroup when this returns.  With IRQs off it does nothing.
 *
 * Context: task, may be atomic.
 */
void kpmu_buckets_moved(void)
{
	if (static_branch_unlikely(&kpmu_buckets_key) && !irqs_disabled())
		on_each_cpu_cond(cpu_has_buckets, enter_here, NULL, true);
}

/* ---- sets ----------------------------------------------------------------------- */

/* Start from the present values of the events */
static void rebase(struct kpmu_ctx *ctx, struct kpmu_buckets *b)
{
	size_t size = sizeof(*b->last) * b->nr_events * b->each;

	/* Only for b->last: what was counted before is in no bucket */
	read_events(ctx, b, b->base);
	memcpy(b->base, b->last, size);
}

/* The table in use becomes that of the collector */
static void exchange_tables(struct kpmu_buckets *b)
{
	b->used ^= 1;
	choose(b);
}

/**
 * kpmu_buckets_add() - begin to count in buckets on a CPU
 * @ctx: the CPU's context
 * @b: the buckets; .by_task, .each, .nr_events, .events, .ns and .kick are set, the tables are empty,
 *	and there is room for the values
 *
 * Context: owner of @ctx, IRQs off.
 * Return: 0; -EINVAL if the set has buckets on this CPU already; -ENOSPC if the CPU has too many
 * events with buckets.
 */
int kpmu_buckets_add(struct kpmu_ctx *ctx, struct kpmu_buckets *b)
{
	struct bucket_cpu *c = per_cpu_ptr(&bucket_cpu, ctx->home);
	const struct kpmu_buckets *other;

	hlist_for_each_entry(other, &c->list, node)
		if (other->kick == b->kick)
			return -EINVAL;
	if (c->nr_events + b->nr_events > KPMU_BUCKET_EVENTS)
		return -ENOSPC;
	c->nr_events += b->nr_events;
	rebase(ctx, b);
	hlist_add_head(&b->node, &c->list);
	/* If the CPU is offline, it gets its key when it comes online, before anything counts */
	if (ctx->cpu >= 0)
		set_key(b, bucket_key_of(b, current), current);
	choose(b);
	return 0;
}

/**
 * kpmu_buckets_del() - end counting in buckets on a CPU
 * @ctx: the CPU's context
 * @b: the buckets
 *
 * Context: owner of @ctx, IRQs off.
 */
void kpmu_buckets_del(struct kpmu_ctx *ctx, struct kpmu_buckets *b)
{
	hlist_del_init(&b->node);
	per_cpu(bucket_cpu, ctx->home).nr_events -= b->nr_events;
}

/**
 * kpmu_buckets_flip() - put the counts until now into the table that is not in use then
 * @ctx: the CPU's context
 * @b: the buckets; the table that is not in use is empty
 *
 * Context: owner of @ctx, IRQs off.
 */
void kpmu_buckets_flip(struct kpmu_ctx *ctx, struct kpmu_buckets *b)
{
	u64 *all = kpmu_bucket_all(&b->tables[b->used]) + KPMU_BUCKET_VALUES;
	u32 i;

	read_events(ctx, b, b->now);
	for (i = 0; i < b->nr_events * b->each; i++) {
		all[i] = b->last[i] - b->base[i];
		b->base[i] = b->last[i];
	}
	exchange_tables(b);
}

/**
 * kpmu_buckets_restart() - forget what was counted, after the events were reset
 * @ctx: the CPU's context
 * @b: the buckets; the table that is not in use is empty; the other one is to be cleared
 *
 * Context: owner of @ctx, IRQs off.
 */
void kpmu_buckets_restart(struct kpmu_ctx *ctx, struct kpmu_buckets *b)
{
	rebase(ctx, b);
	exchange_tables(b);
}

/**
 * kpmu_buckets_here() - the buckets of this CPU, for checks
 *
 * Context: IRQs off.
 * Return: list of struct kpmu_buckets.
 */
struct hlist_head *kpmu_buckets_here(void)
{
	return &this_cpu_ptr(&bucket_cpu)->list;
}
