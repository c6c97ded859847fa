// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buckets of a set: what CPUs have in their tables (sched/bucket.h) is collected in a table of the
 * set, by each read, and by a work item when a CPU's table is half full.
 */
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <uapi/linux/kpmu.h>

#include "../compat/compat.h"
#include "../sched/bucket.h"
#include "set.h"

/* Buckets in each table of a CPU */
#define MAX_ON_CPU	256

/**
 * struct kpmu_collect - the buckets of a set
 * @set: the set, whose set_lock is held for all below
 * @sum: what was collected
 * @full: how often no bucket was free
 * @delta: a read takes what it returns
 * @ns: the pid namespace of the opener
 * @kick: starts @work
 * @work: collects
 */
struct kpmu_collect {
	struct kpmu_set *set;
	struct kpmu_bucket_table sum;
	u64 full;
	bool delta;
	struct pid_namespace *ns;
	struct irq_work kick;
	struct work_struct work;
};

/* ---- memory --------------------------------------------------------------------- */

static u32 index_bits(u32 max)
{
	return ilog2(roundup_pow_of_two(2 * max));
}

static size_t table_bytes(u32 max, u32 words)
{
	return (sizeof(u32) << index_bits(max)) +
	       (max + 2) * (KPMU_BUCKET_VALUES + words) * sizeof(u64);
}

static u32 max_on_cpu(u32 nr_buckets)
{
	return min_t(u32, nr_buckets, MAX_ON_CPU);
}

/**
 * kpmu_collect_bytes() - memory for buckets
 * @nr_cpus: number of CPUs
 * @nr_buckets: number of buckets
 * @words: words of the values of a bucket
 *
 * Context: any.
 * Return: bytes.
 */
size_t kpmu_collect_bytes(u32 nr_cpus, u32 nr_buckets, u32 words)
{
	size_t cpu = sizeof(struct kpmu_buckets) + 3 * words * sizeof(u64) +
		     2 * table_bytes(max_on_cpu(nr_buckets), words);

	return sizeof(struct kpmu_collect) + table_bytes(nr_buckets, words) + nr_cpus * cpu;
}

static bool alloc_table(struct kpmu_bucket_table *t, u32 max, u32 words, int node)
{
	t->max = max;
	t->bits = index_bits(max);
	t->size = KPMU_BUCKET_VALUES + words;
	t->index = kvzalloc_node(sizeof(*t->index) << t->bits, GFP_KERNEL_ACCOUNT, node);
	t->buckets = kvzalloc_node((max + 2) * t->size * sizeof(u64), GFP_KERNEL_ACCOUNT, node);
	return t->index && t->buckets;
}

static void free_bucket_table(struct kpmu_bucket_table *t)
{
	kvfree(t->index);
	kvfree(t->buckets);
}

static void free_buckets(struct kpmu_buckets *b)
{
	if (!b)
		return;
	free_bucket_table(&b->tables[0]);
	free_bucket_table(&b->tables[1]);
	kfree(b->events);
	kfree(b->last);
	kfree(b->base);
	kfree(b);
}

static struct kpmu_buckets *alloc_buckets(const struct kpmu_set *s, int cpu, u32 max)
{
	struct kpmu_buckets *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	u32 words = s->nr_events * s->each;
	int node = cpu_to_node(cpu);

	if (!b)
		return NULL;
	b->each = s->each;
	b->nr_events = s->nr_events;
	b->kick = &s->collect->kick;
	b->ns = s->collect->ns;
	INIT_HLIST_NODE(&b->node);
	b->events = kcalloc(s->nr_events, sizeof(*b->events), GFP_KERNEL_ACCOUNT);
	b->last = kcalloc(words, sizeof(u64), GFP_KERNEL_ACCOUNT);
	b->base = kcalloc(words, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (b->events && b->last && b->base && alloc_table(&b->tables[0], max, words, node) &&
	    alloc_table(&b->tables[1], max, words, node))
		return b;
	free_buckets(b);
	return NULL;
}

/* ---- collecting ----------------------------------------------------------------- */

static void add_values(u64 *to, const u64 *from, const struct kpmu_bucket_table *t)
{
	u32 i;

	for (i = KPMU_BUCKET_VALUES; i < t->size; i++)
		to[i] += from[i];
}

static bool is_empty(const u64 *bucket, const struct kpmu_bucket_table *t)
{
	return !memchr_inv(bucket + KPMU_BUCKET_VALUES, 0,
			   (t->size - KPMU_BUCKET_VALUES) * sizeof(u64));
}

static void merge_bucket(struct kpmu_collect *c, const u64 *from)
{
	u64 *to;

	if (is_empty(from, &c->sum))
		return;
	to = kpmu_bucket_get(&c->sum, from[KPMU_BUCKET_KEY], from[KPMU_BUCKET_START]);
	if (to) {
		to[KPMU_BUCKET_SHOWN] = from[KPMU_BUCKET_SHOWN];
	} else {
		c->full++;
		to = kpmu_bucket_other(&c->sum);
	}
	add_values(to, from, &c->sum);
}

static void merge_table(struct kpmu_collect *c, struct kpmu_bucket_table *from)
{
	u32 i;

	for (i = 0; i < from->nr; i++)
		merge_bucket(c, from->buckets + (size_t)i * from->size);
	add_values(kpmu_bucket_other(&c->sum), kpmu_bucket_other(from), from);
	add_values(kpmu_bucket_all(&c->sum), kpmu_bucket_all(from), from);
	kpmu_bucket_clear(from);
	cond_resched();
}

static int flip_unit(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_buckets *b = ((const struct kpmu_set_unit *)data)->buckets;

	/* If the set could not be started on all CPUs, the work item may still run */
	if (b && !hlist_unhashed(&b->node))
		kpmu_buckets_flip(ctx, b);
	return 0;
}

static void collect_buckets(struct kpmu_collect *c)
{
	struct kpmu_set *s = c->set;
	struct kpmu_buckets *b;
	u32 i;

	lockdep_assert_held(&s->set_lock);
	kpmu_set_call(s, flip_unit, false);
	for (i = 0; i < s->nr_units; i++) {
		b = s->units[i].buckets;
		if (!b)
			continue;
		merge_table(c, &b->tables[!b->used]);
		c->full += b->full[!b->used];
		b->full[!b->used] = 0;
	}
}

static void forget_sum(struct kpmu_collect *c)
{
	kpmu_bucket_clear(&c->sum);
	c->full = 0;
}

/**
 * kpmu_collect_forget() - forget all counts, after kpmu_buckets_restart() on each CPU
 * @s: the set
 *
 * Context: task; set_lock held.
 */
void kpmu_collect_forget(struct kpmu_set *s)
{
	struct kpmu_buckets *b;
	u32 i;

	lockdep_assert_held(&s->set_lock);
	for (i = 0; i < s->nr_units; i++) {
		b = s->units[i].buckets;
		kpmu_bucket_clear(&b->tables[!b->used]);
		b->full[!b->used] = 0;
	}
	forget_sum(s->collect);
}

static void work_fn(struct work_struct *work)
{
	struct kpmu_collect *c = container_of(work, struct kpmu_collect, work);

	mutex_lock(&c->set->set_lock);
	collect_buckets(c);
	mutex_unlock(&c->set->set_lock);
}

static void kick_fn(struct irq_work *kick)
{
	queue_work(KPMU_UNBOUND_WQ, &container_of(kick, struct kpmu_collect, kick)->work);
}

/* ---- reading -------------------------------------------------------------------- */

static char __user *put_bucket(char __user *to, u64 *bucket, const struct kpmu_bucket_table *t)
{
	size_t size = (t->size - KPMU_BUCKET_SHOWN) * sizeof(u64);

	return copy_to_user(to, bucket + KPMU_BUCKET_SHOWN, size) ? NULL : to + size;
}

static char __user *put_all(struct kpmu_collect *c, char __user *to)
{
	struct kpmu_bucket_table *t = &c->sum;
	u64 *all = kpmu_bucket_all(t), *other = kpmu_bucket_other(t);
	u32 i;

	all[KPMU_BUCKET_SHOWN] = KPMU_BUCKET_ALL;
	other[KPMU_BUCKET_SHOWN] = KPMU_BUCKET_OTHER;
	to = put_bucket(to, all, t);
	if (to)
		to = put_bucket(to, other, t);
	for (i = 0; i < t->nr && to; i++) {
		to = put_bucket(to, t->buckets + (size_t)i * t->size, t);
		cond_resched();
	}
	return to;
}

static_assert(sizeof(struct kpmu_bucket) ==
	      (KPMU_BUCKET_VALUES - KPMU_BUCKET_SHOWN) * sizeof(u64));

/**
 * kpmu_collect_read() - read(2) of a set with buckets
 * @s: the set
 * @buf: the caller's buffer
 * @len: its length in bytes
 *
 * Context: task, may sleep; set_lock held.
 * Return: bytes written; -ENOSPC if the result is longer than the buffer; -EFAULT.
 */
ssize_t kpmu_collect_read(struct kpmu_set *s, char __user *buf, size_t len)
{
	struct kpmu_collect *c = s->collect;
	struct kpmu_bucket_head head = { .time = ktime_get_ns(), .nr_events = s->nr_events };
	char __user *end;
	size_t size;

	collect_buckets(c);
	head.nr_buckets = c->sum.nr + 2;
	head.overflows = c->full;
	size = (c->sum.size - KPMU_BUCKET_SHOWN) * sizeof(u64);
	if (len < sizeof(head) + head.nr_buckets * size)
		return -ENOSPC;
	head.seq = s->seq + 1;
	if (copy_to_user(buf, &head, sizeof(head)))
		return -EFAULT;
	end = put_all(c, buf + sizeof(head));
	if (!end)
		return -EFAULT;
	s->seq++;
	if (c->delta)
		forget_sum(c);
	return end - buf;
}

/* ---- start and stop ------------------------------------------------------------- */

static int add_unit(struct kpmu_ctx *ctx, void *data)
{
	return kpmu_buckets_add(ctx, data);
}

static int del_unit(struct kpmu_ctx *ctx, void *data)
{
	kpmu_buckets_del(ctx, data);
	return 0;
}

/* Only the first of its events exists for sure */
static int start_unit(struct kpmu_set *s, struct kpmu_set_unit *u, u32 max, bool by_task)
{
	struct kpmu_event **at = s->events + u->first;
	struct kpmu_ctx *ctx = (*at)->se.ctx;
	u32 i, first = u->first % s->nr_events;
	struct kpmu_buckets *b;

	if (first + u->n > s->nr_events)
		return -EINVAL;		/* the same CPU twice */
	b = alloc_buckets(s, ctx->home, max);
	if (!b)
		return -ENOMEM;
	u->buckets = b;
	b->by_task = by_task;
	for (i = 0; i < u->n; i++)
		b->events[first + i] = at[i] ? &at[i]->se : NULL;
	return kpmu_ctx_call(ctx, add_unit, b);
}

static struct kpmu_collect *alloc_collect(struct kpmu_set *s, u32 nr_buckets)
{
	struct kpmu_collect *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	if (!alloc_table(&c->sum, nr_buckets, s->nr_events * s->each, NUMA_NO_NODE)) {
		free_bucket_table(&c->sum);
		kfree(c);
		return NULL;
	}
	c->set = s;
	c->ns = get_pid_ns(task_active_pid_ns(current));
	init_irq_work(&c->kick, kick_fn);
	INIT_WORK(&c->work, work_fn);
	return c;
}

/**
 * kpmu_collect_start() - count in buckets
 * @s: the set, ready for reads, of events on CPUs
 * @nr_buckets: number of buckets
 * @by_task: by task, not by cgroup
 * @delta: a read takes what it returns
 *
 * kpmu_collect_stop() must follow, also after an error.
 *
 * Context: task, may sleep; switches of tasks are hooked.
 * Return: 0; -ENOMEM; -EINVAL if a CPU is in it twice; -ENOSPC if a CPU has too many events with
 * buckets.
 */
int kpmu_collect_start(struct kpmu_set *s, u32 nr_buckets, bool by_task, bool delta)
{
	int err = 0;
	u32 i;

	s->collect = alloc_collect(s, nr_buckets);
	if (!s->collect)
		return -ENOMEM;
	s->collect->delta = delta;
	static_branch_inc(&kpmu_buckets_key);
	static_branch_inc(&kpmu_extras_key);
	mutex_lock(&s->set_lock);
	for (i = 0; i < s->nr_units && !err; i++)
		err = start_unit(s, &s->units[i], max_on_cpu(nr_buckets), by_task);
	mutex_unlock(&s->set_lock);
	return err;
}

/**
 * kpmu_collect_stop() - count in buckets no more, and free them
 * @s: the set
 *
 * Context: task, may sleep; the events still exist.
 */
void kpmu_collect_stop(struct kpmu_set *s)
{
	struct kpmu_collect *c = s->collect;
	struct kpmu_buckets *b;
	u32 i;

	if (!c)
		return;
	for (i = 0; i < s->nr_units; i++) {
		b = s->units[i].buckets;
		if (b && !hlist_unhashed(&b->node))
			kpmu_ctx_call(s->calls[i].ctx, del_unit, b);
	}
	static_branch_dec(&kpmu_extras_key);
	static_branch_dec(&kpmu_buckets_key);
	irq_work_sync(&c->kick);
	cancel_work_sync(&c->work);
	for (i = 0; i < s->nr_units; i++)
		free_buckets(s->units[i].buckets);
	free_bucket_table(&c->sum);
	put_pid_ns(c->ns);
	kfree(c);
	s->collect = NULL;
}
