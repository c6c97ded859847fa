// SPDX-License-Identifier: GPL-2.0-only
/* Creating, copying and freeing events. */
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/time.h>

#include "../compat/ksym.h"
#include "../sched/sched.h"
#include "../trace/stats.h"
#include "event.h"
#include "family.h"
#include "sampling.h"

/* Limits the memory cost of an event; tools open thousands */
static_assert(sizeof(struct kpmu_event) <= 512);

static struct kmem_cache *event_cache;
static atomic64_t last_id;

/* Events that overflow in NMI context need a clock that can be read there. */
static int set_clock(struct kpmu_event *e, const struct kpmu_attr *attr,
		     const char **why)
{
	e->clockid = -1;
	if (!(attr->flags & KPMU_ATTR_USE_CLOCKID))
		return 0;
	switch (attr->clockid) {
	case CLOCK_REALTIME:
	case CLOCK_BOOTTIME:
	case CLOCK_TAI:
		if (e->se.hw.source->nmi) {
			*why = "this clock cannot be read in an NMI";
			return -EINVAL;
		}
		break;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
		break;
	default:
		*why = "no such clock for time stamps";
		return -EINVAL;
	}
	e->clockid = attr->clockid;
	return 0;
}

static void put_hardware(struct kpmu_event *e)
{
	if (e->taken && e->se.hw.source->put)
		e->se.hw.source->put(&e->se.hw);
}

static int permit(const struct kpmu_event *e, const struct kpmu_target *target,
		  const char **why)
{
	const struct kpmu_source *source = e->se.hw.source;
	u32 needs = source->needs ? source->needs(&e->se.hw, target) : 0;

	if (needs & KPMU_NEED_CPU)
		return kpmu_permit(KPMU_PERMIT_CPU, target->attr, NULL, why);
	if (needs & KPMU_NEED_RAW)
		return kpmu_permit(KPMU_PERMIT_RAW, target->attr, NULL, why);
	return 0;
}

/*
 * Many programs open and close one event after the other, and the slab allocator would
 * double the time of both: each CPU caches one free event.  Not with KASAN, which could
 * not detect a use after free then.
 */
static DEFINE_PER_CPU(struct kpmu_event *, spare);

static struct kpmu_event *get_memory(void)
{
	return this_cpu_xchg(spare, NULL) ?:
	       kmem_cache_alloc(event_cache, GFP_KERNEL);
}

static void put_memory(struct kpmu_event *e)
{
	if (IS_ENABLED(CONFIG_KASAN) || this_cpu_cmpxchg(spare, NULL, e))
		kmem_cache_free(event_cache, e);
}

/**
 * kpmu_event_alloc() - create an event from an attr
 * @target: what to count; the attr is checked for all but KPMU_ATTR_SUPPORT
 * @why: set to the reason of an error
 *
 * The event holds no hardware until kpmu_event_take().
 *
 * Context: task, may sleep.
 * Return: the event, not attached; -ENOMEM; -ENOENT for a type that no source serves;
 * -EINVAL for an unusable clockid; an error of the source or of a permission check.
 */
struct kpmu_event *kpmu_event_alloc(const struct kpmu_target *target,
				    const char **why)
{
	const struct kpmu_attr *attr = target->attr;
	const struct kpmu_source *source = kpmu_source_find(attr);
	struct kpmu_event *e;
	int err;

	if (!source) {
		*why = "no such event type";
		return ERR_PTR(-ENOENT);
	}
	e = get_memory();
	if (!e)
		return ERR_PTR(-ENOMEM);
	memset(e, 0, offsetof(struct kpmu_event, se.group.class));
	e->se.hw.source = source;
	e->se.hw.hint = -1;
	e->se.hw.idx = -1;
	e->se.state = attr->flags & KPMU_ATTR_DISABLED ? KPMU_OFF : KPMU_ON;
	e->read_format = attr->read_format;
	kpmu_read_layout(e);
	e->se.cpu = target->cpu;
	e->se.flags = attr->flags;
	if (attr->flags & KPMU_ATTR_WATERMARK)
		e->wakeup_watermark = attr->wakeup_watermark;
	e->type = attr->type;
	e->config = attr->config;
	kpmu_entity_init(&e->se, kpmu_read_max(e));
	refcount_set(&e->ref, 1);

	err = source->init(&e->se.hw, attr, why) ?: kpmu_sampling_init(e, attr);
	if (!err)
		err = permit(e, target, why);
	if (!err)
		err = set_clock(e, attr, why) ?:
		      kpmu_lsm_alloc(&e->label, attr->type, attr->config);
	if (err) {
		kpmu_sampling_free(e->sampling);
		kmem_cache_free(event_cache, e);
		return ERR_PTR(err);
	}
	e->se.id = atomic64_inc_return(&last_id);
	if (e->sampling)
		e->sampling->stream_id = e->se.id;
	kpmu_stat_inc(opens);
	return e;
}

/**
 * kpmu_event_take() - reserve the hardware of an event, or the source of its hits
 * @e: the event, not attached yet
 * @target: what to count; permission has been granted
 * @why: set to the reason of an error
 *
 * Released by the last kpmu_event_put().
 *
 * Context: task, may sleep; if the target is another task, under its exec_update_lock
 * unless source->waits.
 * Return: 0, or an error of the source.
 */
int kpmu_event_take(struct kpmu_event *e, const struct kpmu_target *target,
		    const char **why)
{
	const struct kpmu_source *source = e->se.hw.source;
	int err = source->get ? source->get(&e->se.hw, target, why) : 0;

	e->taken = !err;
	return err;
}

/* Copy the configuration of a parent's hardware part to a child's */
static void clone_hw(struct kpmu_hw *hw, const struct kpmu_hw *from)
{
	hw->source = from->source;
	hw->sel = from->sel;
	hw->extra = from->extra;
	if (!from->allowed)
		hw->match = from->match;
	hw->gated = from->gated;
	hw->allowed = from->allowed;
	hw->hint = from->hint;
	hw->idx = -1;
	hw->fixed = from->fixed;
	hw->kernel = from->kernel;
	hw->extra_reg = from->extra_reg;
	hw->extra_alt = from->extra_alt;
	hw->period = from->period;
	hw->next = from->period;
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
	struct kpmu_event *e = kmem_cache_alloc(event_cache,
						GFP_ATOMIC | __GFP_NOWARN);

	if (!e)
		return NULL;
	e->sampling = NULL;
	if (sampling) {
		e->sampling = kpmu_sampling_blank();
		if (!e->sampling) {
			kmem_cache_free(event_cache, e);
			return NULL;
		}
	}
	return e;
}

/**
 * kpmu_event_clone() - copy an event for a child task
 * @e: from kpmu_event_blank(); not attached afterwards
 * @from: the parent task's event, a root or a child
 *
 * The copy is enabled if @from is, counts from 0, and relies on the root's
 * kpmu_event_take().  It has two references, one for its context and one for its
 * family.
 *
 * Context: the owner of @from's context, IRQs off.
 */
void kpmu_event_clone(struct kpmu_event *e, struct kpmu_event *from)
{
	struct kpmu_event *root = from->root ?: from;
	struct kpmu_sampling *sampling = e->sampling;

	kpmu_ctx_assert_owned(from->se.ctx);
	memset(e, 0, offsetof(struct kpmu_event, se.group.class));
	clone_hw(&e->se.hw, &from->se.hw);
	e->sampling = sampling;
	if (from->sampling) {
		kpmu_sampling_clone(sampling, from->sampling);
		sampling->event = e;
		sampling->stream_id = atomic64_inc_return(&last_id);
	}
	e->se.state = from->se.state == KPMU_ON ? KPMU_ON : KPMU_OFF;
	e->read_format = root->read_format;
	kpmu_read_layout(e);
	e->se.cpu = root->se.cpu;
	e->se.flags = root->se.flags;
	e->clockid = root->clockid;
	e->type = root->type;
	e->config = root->config;
	e->se.id = root->se.id;
	e->root = root;
	kpmu_entity_init(&e->se, kpmu_read_max(e));
	INIT_LIST_HEAD(&e->sibling);
	refcount_set(&e->ref, 2);
}

/**
 * kpmu_event_unclone() - free the memory of an event
 * @e: from kpmu_event_blank() and not published, or without users
 *
 * Context: any but NMI.
 */
void kpmu_event_unclone(struct kpmu_event *e)
{
	kpmu_sampling_free(e->sampling);
	kmem_cache_free(event_cache, e);
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

static void free_event(struct rcu_head *rcu)
{
	kpmu_event_unclone(container_of(rcu, struct kpmu_event, rcu));
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
		kpmu_stat_inc(closes);
	}
	if (e->family)
		kpmu_family_put(e);
	if (e->sampling && !e->root) {
		kpmu_sampling_retire(e);
		return;
	}
	if (e->se.ctx)
		kpmu_ctx_put(e->se.ctx);
	/* Accessed under RCU: a leader by kpmu_leader_get(), others by overflows and hits */
	if (e->se.group.shared || e->sampling || kpmu_counts_hits(&e->se))
		call_rcu(&e->rcu, free_event);
	else
		put_memory(e);
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

	kpmu_owners_init();
	event_cache = KMEM_CACHE(kpmu_event, 0);
	if (!event_cache)
		return -ENOMEM;
	err = kpmu_sampling_setup();
	if (err)
		kmem_cache_destroy(event_cache);
	return err;
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
	kpmu_sampling_end();
	for_each_possible_cpu(cpu)
		if (per_cpu(spare, cpu))
			kmem_cache_free(event_cache, per_cpu(spare, cpu));
	kmem_cache_destroy(event_cache);
}
