// SPDX-License-Identifier: GPL-2.0-only
/*
 * Families: an event with inherit set and what it has in the children of its
 * task.  The event behind the fd is the root; all descendants are children of
 * that one root, however deep the tasks' own tree is.
 *
 * A child is linked into its root's family from fork until its task exits or
 * the root is closed.  At exit its values are folded into the family.  So the
 * total is always: the root's own + folded + what is linked.
 *
 * Whoever goes through the children does so without a lock held, one child at a
 * time as the owner of the child's context, while tasks fork and exit.
 * Epochs keep that exact: a walk starts a new epoch and marks what it has
 * seen.  A child that is made from a marked event is marked too (it began with
 * what the walk did to its parent, or after what the walk read), others are
 * found by the walk.  What exits unmarked while a read is on its way is put
 * aside for that read.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../sched/sched.h"
#include "../trace/stats.h"
#include "event.h"
#include "family.h"

static struct kpmu_family *get(struct kpmu_family *f)
{
	refcount_inc(&f->ref);
	return f;
}

static void put(struct kpmu_family *f)
{
	struct kpmu_family *top;

	if (!refcount_dec_and_test(&f->ref))
		return;
	top = f->top;
	kfree(f);
	if (top != f)
		put(top);
}

/**
 * kpmu_family_new() - found the family of an event with inherit set
 * @root: the event, not attached yet
 * @leader: the group it will join, NULL for none; families of one group share
 *	a lock, so that the group is read as one
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOMEM.
 */
int kpmu_family_new(struct kpmu_event *root, struct kpmu_event *leader)
{
	struct kpmu_family *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	refcount_set(&f->ref, 1);
	INIT_LIST_HEAD(&f->children);
	raw_spin_lock_init(&f->lock);
	mutex_init(&f->walk);
	/* A leader of a CPU has none; the two are found not to match later */
	f->top = leader && leader->family ? get(leader->family->top) : f;
	root->family = f;
	return 0;
}

/**
 * kpmu_family_put() - an event of the family is no more
 * @e: the event
 *
 * Context: any but NMI.
 */
void kpmu_family_put(struct kpmu_event *e)
{
	put(e->family);
}

/**
 * kpmu_family_link() - a child is born
 * @e: the child, its family not set yet
 * @from: the event of the parent task that it was made from
 *
 * Context: owner of both contexts, IRQs off.
 * Return: false if the root was closed meanwhile: the child must not be.
 */
bool kpmu_family_link(struct kpmu_event *e, struct kpmu_event *from)
{
	struct kpmu_family *f = from->family, *top = f->top;
	bool ok;

	raw_spin_lock(&top->lock);
	ok = !f->closed;
	if (ok) {
		e->family = get(f);
		e->epoch = from->root ? from->epoch : top->epoch;
		if (e->epoch == top->epoch)
			list_add_tail(&e->sibling, &f->children);
		else
			list_add(&e->sibling, &f->children);
	}
	kpmu_look_family(f);
	raw_spin_unlock(&top->lock);
	return ok;
}

static void add(struct kpmu_total *to, const struct kpmu_total *t)
{
	to->count += t->count;
	to->enabled += t->enabled;
	to->running += t->running;
}

/**
 * kpmu_family_fold() - a child's task is gone: keep what it counted
 * @e: the child, its values final
 *
 * Context: owner of the child's context, IRQs off.
 * Return: whether it was linked; the link's reference is the caller's then.
 */
bool kpmu_family_fold(struct kpmu_event *e)
{
	struct kpmu_family *f = e->family, *top = f->top;
	struct kpmu_total t = {
		.count = kpmu_event_count(e),
		.enabled = e->clock.enabled,
		.running = e->clock.running,
	};
	bool linked;

	raw_spin_lock(&top->lock);
	linked = !list_empty(&e->sibling);
	if (linked) {
		list_del_init(&e->sibling);
		add(&f->folded, &t);
		if (top->reading && e->epoch != top->epoch)
			add(&f->late, &t);
	}
	kpmu_look_family(f);
	raw_spin_unlock(&top->lock);
	return linked;
}

/**
 * kpmu_family_begin() - a read of the family starts
 * @e: a root event; for more events of its group call it for each, the leader
 *	first
 * @t: the event's own values; what exited children counted is added
 *
 * Context: owner of the root's context, IRQs off; the walk mutex held.
 */
void kpmu_family_begin(struct kpmu_event *e, struct kpmu_total *t)
{
	struct kpmu_family *f = e->family, *top = f->top;

	/* By the task that reads, for which this CPU may do it */
	lockdep_assert(mutex_is_locked(&top->walk));
	raw_spin_lock(&top->lock);
	if (!top->reading) {
		top->reading = true;
		top->epoch++;
	}
	f->late = (struct kpmu_total){};
	add(t, &f->folded);
	raw_spin_unlock(&top->lock);
}

/**
 * kpmu_family_end() - all children have been looked at
 * @e: the event
 * @t: what exited unseen meanwhile is added
 *
 * Context: owner of the root's context, IRQs off; the walk mutex held.
 */
void kpmu_family_end(struct kpmu_event *e, struct kpmu_total *t)
{
	struct kpmu_family *f = e->family, *top = f->top;

	lockdep_assert(mutex_is_locked(&top->walk));
	raw_spin_lock(&top->lock);
	add(t, &f->late);
	raw_spin_unlock(&top->lock);
}

/**
 * kpmu_family_done() - a read is over
 * @top: the group's first family
 *
 * Context: task, may sleep; the walk mutex held.
 */
void kpmu_family_done(struct kpmu_family *top)
{
	unsigned long flags;

	lockdep_assert_held(&top->walk);
	raw_spin_lock_irqsave(&top->lock, flags);
	top->reading = false;
	raw_spin_unlock_irqrestore(&top->lock, flags);
}

struct visit {
	struct kpmu_event *child;
	int (*fn)(struct kpmu_event *child, void *data);
	void *data;
};

static int visit_owned(struct kpmu_ctx *ctx, void *data)
{
	struct visit *v = data;
	struct kpmu_event *e = v->child;
	struct kpmu_family *f = e->family, *top = f->top;
	int err = e->attached ? v->fn(e, v->data) : 0;

	raw_spin_lock(&top->lock);
	e->epoch = top->epoch;
	if (!list_empty(&e->sibling))
		list_move_tail(&e->sibling, &f->children);
	kpmu_look_family(f);
	raw_spin_unlock(&top->lock);
	return err;
}

static struct kpmu_event *first_unseen(struct kpmu_family *f)
{
	struct kpmu_event *e;
	unsigned long flags;

	raw_spin_lock_irqsave(&f->top->lock, flags);
	e = list_first_entry_or_null(&f->children, struct kpmu_event, sibling);
	if (e && e->epoch == f->top->epoch)
		e = NULL;
	if (e)
		kpmu_event_get(e);
	raw_spin_unlock_irqrestore(&f->top->lock, flags);
	return e;
}

/**
 * kpmu_family_visit() - go through the children not seen in this epoch
 * @f: the family
 * @fn: called as the owner of each child's context; stops on an error
 * @data: for @fn
 *
 * Context: task, may sleep; the walk mutex of the family's top held.
 * Return: what @fn returned last.
 */
int kpmu_family_visit(struct kpmu_family *f,
		      int (*fn)(struct kpmu_event *child, void *data), void *data)
{
	struct visit v = { .fn = fn, .data = data };
	int err = 0;

	lockdep_assert_held(&f->top->walk);
	while (!err && (v.child = first_unseen(f))) {
		err = kpmu_ctx_call(v.child->ctx, visit_owned, &v);
		kpmu_event_put(v.child);
		cond_resched();
	}
	return err;
}

/**
 * kpmu_family_walk() - do something to a root and to every child
 * @root: the root
 * @begin: called first, for the root
 * @fn: then for the children, as for kpmu_family_visit()
 * @data: for both
 *
 * Children born meanwhile are not missed.  No other walk of the group's families comes in
 * between.
 *
 * Context: task, may sleep.
 */
void kpmu_family_walk(struct kpmu_event *root,
		      void (*begin)(struct kpmu_event *root, void *data),
		      int (*fn)(struct kpmu_event *child, void *data), void *data)
{
	struct kpmu_family *f = root->family, *top = f->top;
	unsigned long flags;

	mutex_lock(&top->walk);
	begin(root, data);
	raw_spin_lock_irqsave(&top->lock, flags);
	top->epoch++;
	raw_spin_unlock_irqrestore(&top->lock, flags);
	kpmu_family_visit(f, fn, data);
	mutex_unlock(&top->walk);
}

/* The next child to end, unlinked: its link's reference is the caller's */
static struct kpmu_event *unlink_first(struct kpmu_family *f)
{
	struct kpmu_event *e;
	unsigned long flags;

	raw_spin_lock_irqsave(&f->top->lock, flags);
	f->closed = true;
	e = list_first_entry_or_null(&f->children, struct kpmu_event, sibling);
	if (e)
		list_del_init(&e->sibling);
	raw_spin_unlock_irqrestore(&f->top->lock, flags);
	return e;
}

/**
 * kpmu_family_close() - the root's fd is gone: its children end
 * @root: the root
 *
 * Context: task, may sleep.
 */
void kpmu_family_close(struct kpmu_event *root)
{
	struct kpmu_event *e;

	while ((e = unlink_first(root->family))) {
		if (kpmu_event_detach_child(e))
			kpmu_event_put(e);
		kpmu_event_put(e);
		cond_resched();
	}
}
