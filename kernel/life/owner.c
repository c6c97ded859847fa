// SPDX-License-Identifier: GPL-2.0-only
/*
 * The events opened by a task.  prctl(PR_TASK_PERF_EVENTS_DISABLE) and _ENABLE switch
 * all events that the calling thread has opened, whatever they count.
 *
 * Events that count their owner are found through its context.  The others are kept in
 * a few lists, hashed by owner.  No reference to the owner is held: the key made from a
 * task's address and start time distinguishes it from later tasks at the same address.
 *
 * A thread that executes a program becomes the leader of its process and gets the old leader's
 * start time.  So an event also has the key that its owner has after that.
 */
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../event/family.h"
#include "../sched/sched.h"
#include "life.h"

#define BUCKET_BITS	6

static struct bucket {
	spinlock_t bucket_lock;
	struct list_head events;
	struct list_head searches;
} buckets[1 << BUCKET_BITS];

#define KEY_BITS	(64 - BUCKET_BITS)

/* Key of a task that has the start time of @like.  The bucket, in the upper bits, is the task's */
static u64 key_of(const struct task_struct *task, const struct task_struct *like)
{
	u64 key = hash_64((u64)task + like->start_boottime, KEY_BITS);

	return (u64)hash_ptr(task, BUCKET_BITS) << KEY_BITS | key;
}

static struct bucket *bucket_of(u64 key)
{
	return &buckets[key >> KEY_BITS];
}

static noinline void list_event(struct kpmu_event *e)
{
	struct bucket *b = bucket_of(e->owner);

	spin_lock(&b->bucket_lock);
	list_add_tail(&e->owned, &b->events);
	spin_unlock(&b->bucket_lock);
}

static noinline u64 key_as_leader(const struct task_struct *task)
{
	u64 key;

	rcu_read_lock();
	key = key_of(task, READ_ONCE(task->group_leader));
	rcu_read_unlock();
	return key;
}

/**
 * kpmu_owner_set() - record the task that has opened an event
 * @e: the event, attached
 * @opener: the task
 *
 * Context: task.
 */
void kpmu_owner_set(struct kpmu_event *e, const struct task_struct *opener)
{
	e->owner = key_of(opener, opener);
	e->owner_led = e->owner;
	/* An exec of another thread makes this one the leader, or ends it */
	if (READ_ONCE(opener->group_leader) != opener)
		e->owner_led = key_as_leader(opener);
	/* Else it is found through its context */
	if (e->se.ctx->task != opener)
		list_event(e);
}

#define SOME	16

/**
 * struct search - a search for the events of one owner, a few at a time
 * @owner: key of the owner
 * @op: operation to apply to its events
 * @node: in the bucket's list of searches
 * @next: next event of the bucket to look at, NULL at the end
 * @begun: the scan of the context has begun
 * @n: number of events in @event
 * @event: events that are still to be controlled, held
 */
struct search {
	u64 owner;
	enum kpmu_op op;
	struct list_head node;
	struct kpmu_event *next;
	bool begun;
	int n;
	struct kpmu_event *event[SOME];
};

static struct kpmu_event *next_in_bucket(struct bucket *b, struct kpmu_event *e)
{
	return list_is_last(&e->owned, &b->events) ?
		       NULL : list_next_entry(e, owned);
}

/* Advance the searches that would continue at @e, which is about to be removed */
static void search_skip(struct bucket *b, struct kpmu_event *e)
{
	struct search *s;

	list_for_each_entry(s, &b->searches, node)
		if (s->next == e)
			s->next = next_in_bucket(b, e);
}

/**
 * kpmu_owner_clear() - remove an event from the list of its owner
 * @e: the event
 *
 * Context: task.
 */
void kpmu_owner_clear(struct kpmu_event *e)
{
	struct bucket *b = bucket_of(e->owner);

	if (!e->owned.next)
		return;
	spin_lock(&b->bucket_lock);
	search_skip(b, e);
	list_del(&e->owned);
	spin_unlock(&b->bucket_lock);
}

static bool is_found(const struct search *s, const struct kpmu_event *e)
{
	return (e->owner == s->owner || e->owner_led == s->owner) && !e->root;
}

static void hold_event(struct search *s, struct kpmu_event *e)
{
	kpmu_event_get(e);
	s->event[s->n++] = e;
}

static bool has_children(const struct kpmu_event *e)
{
	return e->family && !kpmu_family_is_alone(e->family);
}

/* The event has the requested state already.  This may change if the caller does not own its context */
static bool is_in_state(const struct kpmu_event *e, enum kpmu_op op)
{
	return READ_ONCE(e->se.state) == (op == KPMU_OP_ENABLE ? KPMU_ON : KPMU_OFF) &&
	       !has_children(e);
}

/* Events of a group that are handled in the time of one event */
#define SHARE	32

/* Control an event, or hold it.  Return: the time that this takes, in events */
static int control_own(struct search *s, struct kpmu_ctx *ctx, struct kpmu_event *e)
{
	if (!is_found(s, e))
		return 1;
	/* For a strict event, the operation also clears the error of a child */
	if (is_in_state(e, s->op) && likely(!(e->se.flags & KPMU_ATTR_STRICT)))
		return 1;
	if (has_children(e)) {
		hold_event(s, e);
		return 1;
	}
	kpmu_event_control_owned(ctx, e, s->op);
	/* Only members without a counter are controlled without a walk over the group */
	return e->se.leader == &e->se || kpmu_has_counter(&e->se) ?
		       1 + e->se.leader->group.nr / SHARE : 1;
}

/*
 * The events in the context of their owner are controlled here, unless their children are to be,
 * too.  A close removes an event from its context before it can be freed, so the events found
 * here can be held.  Return: true if there are more.
 */
static int search_owned(struct kpmu_ctx *ctx, void *data)
{
	struct search *s = data;
	struct kpmu_entity *e;
	int n = 0;

	if (!s->begun)
		kpmu_scan_begin(ctx);
	s->begun = true;
	while (n < KPMU_BATCH && s->n < SOME) {
		e = kpmu_scan_next(ctx);
		if (!e)
			return false;
		n += control_own(s, ctx, kpmu_event_of(e));
	}
	return true;
}

/* Likewise, a close removes the event from its bucket first */
static bool search_bucket(struct search *s, struct bucket *b)
{
	int i;

	spin_lock(&b->bucket_lock);
	for (i = 0; i < KPMU_BATCH && s->n < SOME && s->next; i++) {
		if (is_found(s, s->next) && !is_in_state(s->next, s->op))
			hold_event(s, s->next);
		s->next = next_in_bucket(b, s->next);
	}
	spin_unlock(&b->bucket_lock);
	return s->next;
}

static void search_begin(struct search *s, struct bucket *b)
{
	spin_lock(&b->bucket_lock);
	list_add(&s->node, &b->searches);
	s->next = list_first_entry_or_null(&b->events, struct kpmu_event, owned);
	spin_unlock(&b->bucket_lock);
}

static void search_end(struct search *s, struct bucket *b)
{
	spin_lock(&b->bucket_lock);
	list_del(&s->node);
	spin_unlock(&b->bucket_lock);
}

static void control_found(struct search *s)
{
	int i;

	for (i = 0; i < s->n; i++) {
		kpmu_event_control(s->event[i], s->op, false);
		kpmu_event_put(s->event[i]);
	}
	s->n = 0;
	cond_resched();
}

/**
 * kpmu_owner_control() - apply an operation to all events that current has opened
 * @op: the operation, as by the ioctl without PERF_IOC_FLAG_GROUP
 *
 * Context: task, may sleep.  prctl(2).
 */
void kpmu_owner_control(enum kpmu_op op)
{
	struct kpmu_ctx *ctx = kpmu_ctx_find_get(current);
	struct search s = { .owner = key_of(current, current), .op = op };
	struct bucket *b = bucket_of(s.owner);
	bool more;

	search_begin(&s, b);
	do {
		more = search_bucket(&s, b);
		control_found(&s);
	} while (more);
	search_end(&s, b);
	if (!ctx)
		return;
	do {
		more = kpmu_ctx_call(ctx, search_owned, &s);
		control_found(&s);
	} while (more);
	kpmu_ctx_put(ctx);
}

/**
 * kpmu_owners_init() - initialize the lists of events by owner
 *
 * Context: module init.
 */
void __init kpmu_owners_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		spin_lock_init(&buckets[i].bucket_lock);
		INIT_LIST_HEAD(&buckets[i].events);
		INIT_LIST_HEAD(&buckets[i].searches);
	}
}
