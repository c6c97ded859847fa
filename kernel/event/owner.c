// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose events are these?  prctl(PR_TASK_PERF_EVENTS_DISABLE) and _ENABLE switch
 * all events that the calling thread has opened, whatever they watch.
 *
 * Events hang in a few lists by their owner's hash.  Owners are not held; a
 * task's address and the time of its birth tell it from all others.
 */
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "event.h"

#define BUCKET_BITS	6

static struct bucket {
	spinlock_t lock;
	struct list_head events;	/* of one owner: in the order of their ids */
} buckets[1 << BUCKET_BITS];

static u64 key_of(const struct task_struct *task)
{
	return (u64)task * GOLDEN_RATIO_64 + task->start_boottime;
}

static struct bucket *bucket_of(u64 key)
{
	return &buckets[key >> (64 - BUCKET_BITS)];
}

/**
 * kpmu_owner_set() - the event is current's
 * @e: the event, new
 *
 * Context: task.
 */
void kpmu_owner_set(struct kpmu_event *e)
{
	struct bucket *b;

	e->owner = key_of(current);
	b = bucket_of(e->owner);
	spin_lock(&b->lock);
	list_add_tail(&e->owned, &b->events);
	spin_unlock(&b->lock);
}

/**
 * kpmu_owner_clear() - the event is nobody's any more
 * @e: the event
 *
 * Context: task.
 */
void kpmu_owner_clear(struct kpmu_event *e)
{
	struct bucket *b = bucket_of(e->owner);

	spin_lock(&b->lock);
	list_del(&e->owned);
	spin_unlock(&b->lock);
}

/* Take hold of the owner's next few events after the one with id @after */
static int next_events(u64 owner, u64 after, struct kpmu_event **found, int n)
{
	struct bucket *b = bucket_of(owner);
	struct kpmu_event *e;
	int i = 0;

	spin_lock(&b->lock);
	list_for_each_entry(e, &b->events, owned) {
		if (i == n)
			break;
		if (e->owner == owner && e->id > after &&
		    refcount_inc_not_zero(&e->ref))
			found[i++] = e;
	}
	spin_unlock(&b->lock);
	return i;
}

/**
 * kpmu_owner_control() - switch all events that current has opened
 * @op: what to do with each, as the ioctl without the group flag does
 *
 * Context: task, may sleep.  prctl(2).
 */
void kpmu_owner_control(enum kpmu_op op)
{
	struct kpmu_event *some[16];
	u64 owner = key_of(current), after = 0;
	int i, n;

	while ((n = next_events(owner, after, some, ARRAY_SIZE(some)))) {
		for (i = 0; i < n; i++) {
			after = some[i]->id;
			kpmu_event_control(some[i], op, false);
			kpmu_event_put(some[i]);
		}
		cond_resched();
	}
}

void __init kpmu_owners_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		spin_lock_init(&buckets[i].lock);
		INIT_LIST_HEAD(&buckets[i].events);
	}
}
