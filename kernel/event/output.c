// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an event's records go: the ring that its own fd is mapped as, or that of
 * another event.  perf_event_open(2), PERF_EVENT_IOC_SET_OUTPUT.
 *
 * e->ring is read under RCU by whoever writes, in an NMI too, and changed under
 * the event's lock here.  Inherited events write to their root's.
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

/**
 * struct place - an event's place among the readers of a ring
 * @reader: woken when something comes
 * @event: whose it is
 * @rcu: a waking may be at this place when the event has left it
 *
 * Each time it joins a ring it gets another one, so that nothing waits for RCU here.
 */
struct place {
	struct kpmu_ring_reader reader;
	struct kpmu_event *event;
	struct rcu_head rcu;
};

/**
 * struct kpmu_output - what an event has that ever had a ring
 * @wait: polls of it wait here
 * @place: where it is now; NULL without a ring
 * @rcu: a waking may still look at it
 */
struct kpmu_output {
	wait_queue_head_t wait;
	struct place *place;
	struct rcu_head rcu;
};

/* Few locks for all events: a mutex is large, and seldom taken */
#define LOCK_BITS	5
static struct mutex locks[1 << LOCK_BITS];

static struct mutex *lock_of(const struct kpmu_event *e)
{
	return &locks[hash_ptr(e, LOCK_BITS)];
}

/**
 * kpmu_output_lock() - keep an event's ring and mappings as they are
 * @e: the event
 *
 * Context: task; under the mmap lock or without.
 */
void kpmu_output_lock(struct kpmu_event *e)
{
	mutex_lock(lock_of(e));
}

void kpmu_output_unlock(struct kpmu_event *e)
{
	mutex_unlock(lock_of(e));
}

static void lock_both(struct kpmu_event *a, struct kpmu_event *b)
{
	struct mutex *first = min(lock_of(a), lock_of(b));
	struct mutex *second = max(lock_of(a), lock_of(b));

	mutex_lock(first);
	if (second != first)
		mutex_lock_nested(second, SINGLE_DEPTH_NESTING);
}

static void unlock_both(struct kpmu_event *a, struct kpmu_event *b)
{
	mutex_unlock(lock_of(a));
	if (lock_of(a) != lock_of(b))
		mutex_unlock(lock_of(b));
}

/**
 * kpmu_output_ring() - an event's ring
 * @e: the event, locked
 */
struct kpmu_ring *kpmu_output_ring(const struct kpmu_event *e)
{
	return rcu_dereference_protected(e->ring, lockdep_is_held(lock_of(e)));
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
	/* A poll looks at it without the lock */
	smp_store_release(&e->output, o);
	return 0;
}

static struct place *make_place(struct kpmu_event *e)
{
	struct place *p;

	if (make_output(e))
		return NULL;
	p = kmalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return NULL;
	p->reader.wait = &e->output->wait;
	p->event = e;
	return p;
}

/**
 * kpmu_output_set() - give an event a ring, or another, or none
 * @e: the event, locked
 * @ring: the ring, NULL for none; the event takes its own reference
 *
 * Whoever writes at this moment may still use the old one.
 *
 * Context: task, may sleep.
 * Return: 0; -ENOMEM; -EINVAL if the ring is being taken from all events.  Taking away never
 * fails.
 */
int kpmu_output_set(struct kpmu_event *e, struct kpmu_ring *ring)
{
	struct kpmu_ring *old = kpmu_output_ring(e);
	struct place *place = NULL;

	if (old == ring)
		return 0;
	if (ring) {
		place = make_place(e);
		if (!place)
			return -ENOMEM;
		kpmu_ring_get(ring);
	}
	if (ring && !kpmu_ring_join(ring, &place->reader)) {
		kfree(place);
		kpmu_ring_put_ref(ring);
		return -EINVAL;
	}
	rcu_assign_pointer(e->ring, ring);
	if (old) {
		kpmu_ring_leave(old, &e->output->place->reader);
		kfree_rcu(e->output->place, rcu);
		kpmu_ring_put_ref(old);
	}
	e->output->place = place;
	return 0;
}

static bool may_share(const struct kpmu_event *e, const struct kpmu_event *to)
{
	/* One CPU writes at a time */
	if (e->cpu != to->cpu ||
	    (e->cpu < 0 && e->ctx->task != to->ctx->task))
		return false;
	if (e->clockid != to->clockid)
		return false;
	return !((e->flags ^ to->flags) & KPMU_ATTR_WRITE_BACKWARD);
}

/**
 * kpmu_output_redirect() - let an event write to another's ring
 * @e: the event, attached, and not mapped itself
 * @to: the other, with a ring; NULL: to none
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL if the two cannot share one, if @e is mapped, or if @to has
 * none; -ENOMEM.
 */
int kpmu_output_redirect(struct kpmu_event *e, struct kpmu_event *to)
{
	struct kpmu_ring *ring;
	int err = -EINVAL;

	if (e == to || (to && !may_share(e, to)))
		return -EINVAL;
	lock_both(e, to ?: e);
	ring = to ? kpmu_output_ring(to) : NULL;
	if (!e->maps && (ring || !to))
		err = kpmu_output_set(e, ring);
	unlock_both(e, to ?: e);
	return err;
}

/* The first event of a ring's readers; it may go at once, unless it is locked */
static struct kpmu_event *first_user(struct kpmu_ring *ring)
{
	struct kpmu_ring_reader *r;
	struct kpmu_event *e = NULL;

	spin_lock(&ring->lock);
	r = list_first_entry_or_null(&ring->readers, struct kpmu_ring_reader,
				     node);
	if (r)
		e = container_of(r, struct place, reader)->event;
	spin_unlock(&ring->lock);
	return e;
}

/**
 * kpmu_output_strip() - nobody can read a ring any more: take it from all
 * @ring: the ring, held, not mapped
 *
 * No reference is taken to the events: if an fd is closed meanwhile the last one would be
 * put here, and what a source gives back then takes locks of the kernel's perf and of
 * uprobes, which come before the mmap lock.  Nor is one needed.  An event's lock goes by its
 * address alone, and an event that closes leaves the ring under that lock.  So what is
 * still a reader when its lock is held stays until that is given back.
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
 * kpmu_output_pause() - drop the records of a ring, or no more
 * @e: an event that writes there
 * @pause: which
 *
 * Context: task.
 * Return: 0, or -EINVAL if there is no ring, or one without records.
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
 * @wait: the caller's
 *
 * Readiness is consumed: without anything new the next poll has to wait.
 *
 * Context: task.
 * Return: EPOLLHUP without a ring or when the task is gone; EPOLLERR for a pinned
 * event in error state; EPOLLIN if something came.
 */
__poll_t kpmu_output_poll(struct kpmu_event *e, struct file *file,
			  struct poll_table_struct *wait)
{
	struct kpmu_output *o = smp_load_acquire(&e->output); /* make_output() */
	struct kpmu_ring *ring;
	__poll_t events = EPOLLHUP;

	if (o)
		poll_wait(file, &o->wait, wait);
	if (!READ_ONCE(e->attached) &&
	    !(e->family && !list_empty(&e->family->children)))
		return EPOLLHUP;
	if (READ_ONCE(e->state) == KPMU_ERROR)
		return EPOLLERR;
	rcu_read_lock();
	ring = rcu_dereference(e->ring);
	if (ring)
		events = kpmu_ring_poll(ring);
	rcu_read_unlock();
	return events;
}

/**
 * kpmu_output_end() - the event has no fd any more, and so no mapping
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

void __init kpmu_outputs_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(locks); i++)
		mutex_init(&locks[i]);
}
