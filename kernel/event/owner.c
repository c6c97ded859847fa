// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose events are these?  prctl(PR_TASK_PERF_EVENTS_DISABLE) and _ENABLE switch
 * all events that the calling thread has opened, whatever they watch.
 *
 * Events that watch their owner are found in its context.  Others hang in a few
 * lists by their owner's hash.  Owners are not held; a task's address and the
 * time of its birth tell it from all others.
 */
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../sched/sched.h"
#include "event.h"

#define BUCKET_BITS	6

static struct bucket {
	spinlock_t lock;
	struct list_head events;
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
 * kpmu_owner_set() - say whose the event is
 * @e: the event, attached
 * @who: the task that opens it
 *
 * Context: task.
 */
void kpmu_owner_set(struct kpmu_event *e, const struct task_struct *who)
{
	struct bucket *b;

	e->owner = key_of(who);
	if (e->ctx->task == who)
		return;			/* found through its context */
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

	if (!e->owned.next)
		return;
	spin_lock(&b->lock);
	list_del(&e->owned);
	spin_unlock(&b->lock);
}

#define SOME	16

/**
 * struct search - the owner's next few events, by id
 * @owner: whose
 * @after: only with ids above this one
 * @n: how many were found
 * @event: the found ones, held, in order of their ids
 */
struct search {
	u64 owner;
	u64 after;
	int n;
	struct kpmu_event *event[SOME];
};

/* Keep it if it is among the first */
static void consider(struct search *s, struct kpmu_event *e)
{
	int i = s->n;

	if (e->owner != s->owner || e->root || e->id <= s->after)
		return;
	if (i == SOME) {
		if (e->id > s->event[SOME - 1]->id)
			return;
		i--;
	} else {
		s->n++;
	}
	for (; i > 0 && s->event[i - 1]->id > e->id; i--)
		s->event[i] = s->event[i - 1];
	s->event[i] = e;
}

static void hold(struct search *s)
{
	int i;

	for (i = 0; i < s->n; i++)
		kpmu_event_get(s->event[i]);
}

/* Closing an event takes it out of its context before it can be freed */
static int search_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_event *leader, *e;
	struct search *s = data;

	list_for_each_entry(leader, &ctx->leaders, node) {
		consider(s, leader);
		kpmu_for_each_member(e, leader)
			consider(s, e);
	}
	hold(s);
	return 0;
}

/* Likewise out of the bucket */
static void search_bucket(struct search *s)
{
	struct bucket *b = bucket_of(s->owner);
	struct kpmu_event *e;

	spin_lock(&b->lock);
	list_for_each_entry(e, &b->events, owned)
		consider(s, e);
	hold(s);
	spin_unlock(&b->lock);
}

static void control(struct search *s, enum kpmu_op op)
{
	int i;

	for (i = 0; i < s->n; i++) {
		s->after = s->event[i]->id;
		kpmu_event_control(s->event[i], op, false);
		kpmu_event_put(s->event[i]);
	}
	cond_resched();
}

/**
 * kpmu_owner_control() - switch all events that current has opened
 * @op: what to do with each, as the ioctl without the group flag does
 *
 * Context: task, may sleep.  prctl(2).
 */
void kpmu_owner_control(enum kpmu_op op)
{
	struct kpmu_ctx *ctx = kpmu_ctx_find_get(current);
	struct search s = { .owner = key_of(current) };

	do {
		s.n = 0;
		search_bucket(&s);
		control(&s, op);
	} while (s.n);
	s.after = 0;
	while (ctx) {
		s.n = 0;
		kpmu_ctx_call(ctx, search_owned, &s);
		if (!s.n)
			break;
		control(&s, op);
	}
	if (ctx)
		kpmu_ctx_put(ctx);
}

void __init kpmu_owners_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		spin_lock_init(&buckets[i].lock);
		INIT_LIST_HEAD(&buckets[i].events);
	}
}
