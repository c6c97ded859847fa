// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of events, and references to them.
 */
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../compat/ksym.h"
#include "../sched/sched.h"
#include "../trace/stats.h"
#include "event.h"
#include "family.h"
#include "program.h"
#include "rates.h"
#include "sampling.h"

/* Limits the memory cost of an event; tools open thousands */
static_assert(sizeof(struct kpmu_event) <= 512);

static struct kmem_cache *cache;
static struct workqueue_struct *ends;

/*
 * Many programs open and close one event after the other, or fork and wait for children with
 * inherited events.  The slab allocator would double the time of an open and a close: it checks,
 * accounts, and often zeroes memory a second time.  So each CPU caches free events; those of a
 * CPU that goes offline are kept.  Not with KASAN, which could not detect a use after free then.
 */
#define NR_SPARES	8

struct spares {
	u32 nr;
	struct kpmu_event *event[NR_SPARES];
};

static DEFINE_PER_CPU(struct spares, spares);

static struct kpmu_event *take_memory(gfp_t gfp)
{
	struct kpmu_event *e = NULL;
	unsigned long flags;
	struct spares *s;

	local_irq_save(flags);
	s = this_cpu_ptr(&spares);
	if (s->nr)
		e = s->event[--s->nr];
	local_irq_restore(flags);
	return e ?: kmem_cache_alloc(cache, gfp);
}

static void put_memory(struct kpmu_event *e)
{
	unsigned long flags;
	struct spares *s;

	local_irq_save(flags);
	s = this_cpu_ptr(&spares);
	if (!IS_ENABLED(CONFIG_KASAN) && s->nr < NR_SPARES) {
		s->event[s->nr++] = e;
		e = NULL;
	}
	local_irq_restore(flags);
	if (e)
		kmem_cache_free(cache, e);
}

/**
 * kpmu_event_new() - allocate an event, zeroed and with one reference
 *
 * Context: task, may sleep.
 * Return: the event, or NULL.
 */
struct kpmu_event *kpmu_event_new(void)
{
	struct kpmu_event *e = take_memory(GFP_KERNEL);

	if (!e)
		return NULL;
	memset(e, 0, offsetof(struct kpmu_event, se.group.class));
	refcount_set(&e->ref, 1);
	return e;
}

/**
 * kpmu_event_blank() - allocate memory for kpmu_event_clone()
 * @sampling: with the part for events that write records
 *
 * Context: any but NMI, with no raw spinlock held.
 * Return: the memory, or NULL.
 */
struct kpmu_event *kpmu_event_blank(bool sampling)
{
	struct kpmu_event *e = take_memory(GFP_ATOMIC | __GFP_NOWARN);

	if (!e)
		return NULL;
	e->sampling = NULL;
	if (sampling) {
		e->sampling = kpmu_sampling_blank();
		if (!e->sampling) {
			put_memory(e);
			return NULL;
		}
	}
	return e;
}

/**
 * kpmu_event_free() - free the memory of an event
 * @e: from kpmu_event_blank() and not published, or without users
 *
 * Context: any but NMI.
 */
void kpmu_event_free(struct kpmu_event *e)
{
	kpmu_sampling_free(e->sampling);
	put_memory(e);
}

/**
 * kpmu_event_get() - take a reference
 * @e: the event, which has one already
 *
 * Context: any.
 */
void kpmu_event_get(struct kpmu_event *e)
{
	refcount_inc(&e->ref);
}

/**
 * kpmu_leader_get() - get the leader of an event's group, with a reference
 * @e: the event; its group may change concurrently
 *
 * Context: any but NMI.
 * Return: the leader.
 */
struct kpmu_event *kpmu_leader_get(struct kpmu_event *e)
{
	struct kpmu_event *leader;

	rcu_read_lock();
	do {
		leader = kpmu_leader(e);
	} while (!refcount_inc_not_zero(&leader->ref));
	rcu_read_unlock();
	return leader;
}

static void put_hardware(struct kpmu_event *e)
{
	if (e->taken && e->se.hw.source->put)
		e->se.hw.source->put(&e->se.hw);
}

/* Only a root holds a reference to a driver's source; it outlives the use by its children */
static void put_source(const struct kpmu_event *e)
{
	if (!e->root && unlikely(e->se.hw.source->owner))
		kpmu_source_put(e->se.hw.source);
}

static void free_event(struct rcu_head *rcu)
{
	struct kpmu_event *e = container_of(rcu, struct kpmu_event, rcu);

	put_source(e);
	kpmu_event_free(e);
}

static void end_retired(struct work_struct *work)
{
	struct kpmu_sampling *s = container_of(to_rcu_work(work),
					       struct kpmu_sampling, end);
	struct kpmu_event *e = s->event;

	irq_work_sync(&s->notify);
	cancel_work_sync(&s->stop);
	if (e->se.ctx)
		kpmu_ctx_put(e->se.ctx);
	put_source(e);
	kpmu_event_free(e);
}

/* Free a root event that writes records: its irq_work may be pending, and uses its context */
static void retire_event(struct kpmu_event *e)
{
	INIT_RCU_WORK(&e->sampling->end, end_retired);
	queue_rcu_work(ends, &e->sampling->end);
}

/**
 * kpmu_event_put() - drop a reference
 * @e: the event, detached if this is the last reference
 *
 * Context: task; may sleep for a root, may be atomic for a child.
 */
void kpmu_event_put(struct kpmu_event *e)
{
	if (!refcount_dec_and_test(&e->ref))
		return;
	if (!e->root) {
		put_hardware(e);
		if (e->label)
			kpmu_lsm_free(e->label);
		if (unlikely(kpmu_rates_of(e)))
			kpmu_rates_free(e);
		kpmu_stat_inc(closes);
	}
	if (e->family)
		kpmu_family_put(e);
	if (e->sampling || (!e->root && e->idle))
		kpmu_program_leave(e);
	if (e->sampling && !e->root) {
		retire_event(e);
		return;
	}
	if (e->se.ctx)
		kpmu_ctx_put(e->se.ctx);
	/* Accessed under RCU: a leader by kpmu_leader_get(), others by overflows and hits */
	if (e->se.group.shared || e->sampling || kpmu_counts_hits(&e->se)) {
		call_rcu(&e->rcu, free_event);
		return;
	}
	put_source(e);
	put_memory(e);
}

/**
 * kpmu_events_drain() - wait until all retired events are freed
 *
 * They hold references to contexts, which are freed after this.
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_events_drain(void)
{
	rcu_barrier();		/* its callbacks queue the work */
	flush_workqueue(ends);
}

/**
 * kpmu_events_init() - set up the allocation of events
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int __init kpmu_events_init(void)
{
	int err;

	cache = kmem_cache_create("kpmu_event", sizeof(struct kpmu_event),
				  __alignof__(struct kpmu_event), 0, kpmu_not_zeroed);
	if (!cache)
		return -ENOMEM;
	err = kpmu_sampling_setup();
	if (err)
		goto err_cache;
	ends = alloc_workqueue("kpmu", WQ_UNBOUND, 0);
	if (ends)
		return 0;
	err = -ENOMEM;
	kpmu_sampling_end();
err_cache:
	kmem_cache_destroy(cache);
	return err;
}

static void free_spares(struct spares *s)
{
	while (s->nr)
		kmem_cache_free(cache, s->event[--s->nr]);
}

/**
 * kpmu_events_exit() - free what kpmu_events_init() has set up
 *
 * Context: module exit or failed init, no event left; may sleep.
 */
void kpmu_events_exit(void)
{
	int cpu;

	rcu_barrier();		/* pending free_event() calls */
	destroy_workqueue(ends);
	kpmu_sampling_end();
	for_each_possible_cpu(cpu)
		free_spares(per_cpu_ptr(&spares, cpu));
	kmem_cache_destroy(cache);
}
