// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring that an event's records are written to: the one mapped through its own fd,
 * or another event's.  perf_event_open(2), PERF_EVENT_IOC_SET_OUTPUT.
 *
 * Writers, NMIs included, read e->ring under RCU; it is changed here under the event's
 * lock.  Inherited events write to the ring of their root event.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "../ring/ring.h"
#include "../sched/sched.h"
#include "event.h"
#include "family.h"
#include "histogram.h"
#include "sampling.h"

/**
 * struct place - an event's entry in the reader list of a ring
 * @reader: woken when new records arrive
 * @event: the event
 * @rcu: frees the entry after a grace period, as a wakeup may still use it
 *
 * An entry that has left a list can only be reused after a grace period, and nothing here waits for
 * one.
 */
struct place {
	struct kpmu_ring_reader reader;
	struct kpmu_event *event;
	struct rcu_head rcu;
};

/**
 * struct kpmu_output - output state of an event that has or had a ring
 * @wait: wait queue for poll(2)
 * @place: entry in the ring's reader list: @own or an allocated one; NULL without a ring
 * @own: an entry that needs no allocation, for an event that has one ring in its life
 * @own_left: RCU state of when @own left a list: it is free once a grace period has passed
 * @rcu: frees it after a grace period, as a wakeup may still use @wait and @own
 */
struct kpmu_output {
	wait_queue_head_t wait;
	struct place *place;
	struct place own;
	unsigned long own_left;
	struct rcu_head rcu;
};

/* A few locks shared by all events: a mutex is large, and these are seldom taken */
#define LOCK_BITS	5
static struct mutex output_locks[1 << LOCK_BITS];

static struct mutex *output_lock_of(const struct kpmu_event *e)
{
	return &output_locks[hash_ptr(e, LOCK_BITS)];
}

/**
 * kpmu_output_lock() - keep an event's ring and mappings unchanged
 * @e: the event
 *
 * Context: task, may sleep; with or without the mmap lock.
 */
void kpmu_output_lock(struct kpmu_event *e)
{
	mutex_lock(output_lock_of(e));
}

/**
 * kpmu_output_unlock() - release the lock taken by kpmu_output_lock()
 * @e: the event
 *
 * Context: task.
 */
void kpmu_output_unlock(struct kpmu_event *e)
{
	mutex_unlock(output_lock_of(e));
}

static void lock_outputs(struct kpmu_event *a, struct kpmu_event *b)
{
	struct mutex *first = min(output_lock_of(a), output_lock_of(b));
	struct mutex *second = max(output_lock_of(a), output_lock_of(b));

	mutex_lock(first);
	if (second != first)
		mutex_lock_nested(second, SINGLE_DEPTH_NESTING);
}

static void unlock_outputs(struct kpmu_event *a, struct kpmu_event *b)
{
	mutex_unlock(output_lock_of(a));
	if (output_lock_of(a) != output_lock_of(b))
		mutex_unlock(output_lock_of(b));
}

/**
 * kpmu_output_ring() - get an event's ring
 * @e: the event, locked
 *
 * Context: task.
 * Return: the ring; NULL without one.
 */
struct kpmu_ring *kpmu_output_ring(const struct kpmu_event *e)
{
	return rcu_dereference_protected(e->ring, lockdep_is_held(output_lock_of(e)));
}

static int make_output(struct kpmu_event *e)
{
	struct kpmu_output *o;

	if (e->output)
		return 0;
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o)
		return -ENOMEM;
	init_waitqueue_head(&o->wait);
	o->own_left = get_completed_synchronize_rcu();
	/* kpmu_output_poll() reads the pointer without the lock */
	smp_store_release(&e->output, o);
	return 0;
}

static struct place *make_place(struct kpmu_event *e)
{
	struct kpmu_output *o;
	struct place *p;

	if (make_output(e))
		return NULL;
	o = e->output;
	if (o->place != &o->own && poll_state_synchronize_rcu(o->own_left))
		p = &o->own;
	else
		p = kmalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return NULL;
	p->reader.wait = &o->wait;
	p->event = e;
	return p;
}

/* Free an entry that is in no list any more, but may still be used by a wakeup */
static void free_place(struct kpmu_output *o, struct place *p)
{
	if (p == &o->own)
		o->own_left = get_state_synchronize_rcu();
	else
		kfree_rcu(p, rcu);
}

/**
 * kpmu_output_set() - set, replace or remove an event's ring
 * @e: the event, locked
 * @ring: the ring, NULL for none; the event takes its own reference
 *
 * Writers already running may still use the old ring.
 *
 * Context: task, may sleep.
 * Return: 0; -ENOMEM; -EBUSY if the event has a histogram; -EINVAL if the ring is being removed from
 * all events.  Removing the ring never fails.
 */
int kpmu_output_set(struct kpmu_event *e, struct kpmu_ring *ring)
{
	struct kpmu_ring *old = kpmu_output_ring(e);
	struct place *place = NULL;

	if (old == ring)
		return 0;
	if (ring && kpmu_histogram_of(e))
		return -EBUSY;
	if (ring) {
		place = make_place(e);
		if (!place)
			return -ENOMEM;
		kpmu_ring_get(ring);
	}
	if (ring && !kpmu_ring_join(ring, &place->reader)) {
		if (place != &e->output->own)
			kfree(place);
		kpmu_ring_put_ref(ring);
		return -EINVAL;
	}
	rcu_assign_pointer(e->ring, ring);
	if (old) {
		kpmu_ring_leave(old, &e->output->place->reader);
		free_place(e->output, e->output->place);
		kpmu_ring_put_ref(old);
	}
	e->output->place = place;
	return 0;
}

/**
 * kpmu_output_count() - count the samples of an event in a histogram from now on
 * @e: the event, a root; it samples
 * @h: the histogram; the event takes its own reference
 *
 * Context: task, may sleep.
 * Return: 0; -EBUSY if the event has a ring, or has or had a histogram.
 */
int kpmu_output_count(struct kpmu_event *e, struct kpmu_histogram *h)
{
	int err = -EBUSY;

	kpmu_output_lock(e);
	if (!kpmu_output_ring(e) && !e->maps && !e->sampling->histogram) {
		refcount_inc(&h->ref);
		smp_store_release(&e->sampling->histogram, h); /* it is initialized */
		err = 0;
	}
	kpmu_output_unlock(e);
	return err;
}

/* @task: that of the event @e, which need not be attached; NULL if it has a CPU */
static bool may_share(const struct kpmu_event *e, const struct task_struct *task,
		      const struct kpmu_event *to)
{
	/* A ring is written by one CPU at a time */
	if (e->se.cpu != to->se.cpu || (e->se.cpu < 0 && task != to->se.ctx->task))
		return false;
	if (e->clockid != to->clockid)
		return false;
	return !((e->se.flags ^ to->se.flags) & KPMU_ATTR_WRITE_BACKWARD);
}

/**
 * kpmu_output_check() - can an event that is opened write its records to another event's ring?
 * @e: the event, not attached
 * @task: the task that it will count, or NULL
 * @to: the event that has the ring, attached
 *
 * This is checked before @e is attached, because an event that joins a group changes when the
 * group counts, even if its open fails afterwards.
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL if kpmu_output_redirect() would say so now.
 */
int kpmu_output_check(const struct kpmu_event *e, const struct task_struct *task,
		      struct kpmu_event *to)
{
	bool has_ring;

	if (!may_share(e, task, to))
		return -EINVAL;
	kpmu_output_lock(to);
	has_ring = kpmu_output_ring(to);
	kpmu_output_unlock(to);
	return has_ring ? 0 : -EINVAL;
}

/**
 * kpmu_output_redirect() - write an event's records to another event's ring
 * @e: the event, attached, and not mapped itself
 * @to: the event that has the ring; NULL to remove the ring of @e
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL if the two cannot share a ring, if @e is mapped, or if @to has no
 * ring; -ENOMEM.
 */
int kpmu_output_redirect(struct kpmu_event *e, struct kpmu_event *to)
{
	struct kpmu_ring *ring;
	int err = -EINVAL;

	if (e == to || (to && !may_share(e, e->se.ctx->task, to)))
		return -EINVAL;
	lock_outputs(e, to ?: e);
	ring = to ? kpmu_output_ring(to) : NULL;
	if (!e->maps && (ring || !to))
		err = kpmu_output_set(e, ring);
	unlock_outputs(e, to ?: e);
	return err;
}

/* The first event in a ring's reader list; it may leave at any time unless it is locked */
static struct kpmu_event *first_user(struct kpmu_ring *ring)
{
	struct kpmu_ring_reader *r;
	struct kpmu_event *e = NULL;

	spin_lock(&ring->readers_lock);
	r = list_first_entry_or_null(&ring->readers, struct kpmu_ring_reader,
				     node);
	if (r)
		e = container_of(r, struct place, reader)->event;
	spin_unlock(&ring->readers_lock);
	return e;
}

/**
 * kpmu_output_strip() - detach all events from a ring that is no longer mapped
 * @ring: the ring, held, not mapped
 *
 * No reference is taken to the events.  It would be the last one if the fd is closed
 * meanwhile, and dropping that makes a source take locks of the kernel's perf and of
 * uprobes, which must be taken before the mmap lock.  No reference is needed either:
 * output_lock_of() uses only the event's address, and a closing event leaves the ring under its
 * lock.  So an event that is still a reader once its lock is held stays until the unlock.
 *
 * Context: task, may sleep, under the mmap lock; no event locked.
 */
void kpmu_output_strip(struct kpmu_ring *ring)
{
	struct kpmu_event *e;

	/* It has no new readers any more, so this ends */
	kpmu_ring_close(ring);
	while ((e = first_user(ring))) {
		kpmu_output_lock(e);
		if (first_user(ring) == e)
			kpmu_output_set(e, NULL);
		kpmu_output_unlock(e);
	}
}

/**
 * kpmu_output_pause() - pause or resume a ring
 * @e: an event that writes to the ring
 * @pause: true to drop records from now on, false to accept them again
 *
 * Context: task.
 * Return: 0, or -EINVAL if there is no ring, or one without data pages.
 */
int kpmu_output_pause(struct kpmu_event *e, bool pause)
{
	struct kpmu_ring *ring;
	int err = -EINVAL;

	rcu_read_lock();
	ring = rcu_dereference(e->ring);
	if (ring && ring->nr_pages) {
		kpmu_ring_pause(ring, pause);
		err = 0;
	}
	rcu_read_unlock();
	return err;
}

/**
 * kpmu_output_poll() - poll(2)
 * @e: the event
 * @file: its file
 * @wait: poll table of the caller
 *
 * A poll consumes the readiness: the next one has to wait for new records.
 *
 * Context: task, may sleep.
 * Return: EPOLLHUP without a ring, or if the task is gone and no inherited events are left;
 * EPOLLERR for a pinned event in error state; EPOLLIN | EPOLLRDNORM if there are new records;
 * else 0.
 */
__poll_t kpmu_output_poll(struct kpmu_event *e, struct file *file,
			  struct poll_table_struct *wait)
{
	struct kpmu_output *o = smp_load_acquire(&e->output); /* pairs with make_output() */
	struct kpmu_ring *ring;
	__poll_t events = EPOLLHUP;

	if (o)
		poll_wait(file, &o->wait, wait);
	if (!READ_ONCE(e->se.attached) &&
	    !(e->family && !list_empty(&e->family->children)))
		return EPOLLHUP;
	if (kpmu_is_out(e))
		return EPOLLERR;
	rcu_read_lock();
	ring = rcu_dereference(e->ring);
	if (ring)
		events = kpmu_ring_poll(ring);
	rcu_read_unlock();
	return events;
}

/**
 * kpmu_output_end() - free the output state of an event without fd and mappings
 * @e: the event, detached
 *
 * Context: task, may sleep.
 */
void kpmu_output_end(struct kpmu_event *e)
{
	if (!e->output)
		return;
	kpmu_output_lock(e);
	kpmu_output_set(e, NULL);
	kpmu_output_unlock(e);
	kfree_rcu(e->output, rcu);
	e->output = NULL;
}

/**
 * kpmu_outputs_init() - initialize the output locks
 *
 * Context: module init.
 */
void __init kpmu_outputs_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(output_locks); i++)
		mutex_init(&output_locks[i]);
}
