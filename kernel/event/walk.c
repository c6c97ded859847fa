// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks over the children of a family.
 *
 * A walk visits one child at a time as the owner of the child's context, while
 * tasks fork and exit.  Epochs keep it exact: each walk starts a new epoch and
 * marks the children it has visited.  A child inherited from a marked event is
 * marked too: it starts with the change made to its parent, or counts only what
 * follows the read of its parent.  Other new children are still visited.  The
 * values of a child that ends unmarked during a read are also collected for that
 * read.
 *
 * A change is made by kpmu_ctx_call() for each child.  A read only looks: children whose
 * contexts are idle are read under the family's lock, many at a time, and only those that
 * run on another CPU are visited there.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "../sched/borrow.h"
#include "../sched/sched.h"
#include "event.h"
#include "family.h"

struct visit {
	struct kpmu_event *child;
	int (*fn)(struct kpmu_event *child, void *data);
	void *data;
	bool group;		/* @fn handles the child's group, of which it is the leader */
};

static void mark_one(struct kpmu_event *e)
{
	struct kpmu_family *f = e->family;

	e->epoch = f->top->epoch;
	if (!list_empty(&e->sibling))
		list_move_tail(&e->sibling, &f->children);
	kpmu_check_family(f);
}

/*
 * Mark a child as visited; the families of a group have one lock and one epoch.  A child that has
 * ended is not linked any more, and its group is being taken apart.  Called by the owner of the
 * child's context, under the lock of the family.
 */
static void mark_visited(const struct visit *v, struct kpmu_event *child)
{
	struct kpmu_event *e;

	mark_one(child);
	if (v->group && child->se.attached)
		kpmu_for_each_member(e, child)
			mark_one(e);
}

static int visit_owned(struct kpmu_ctx *ctx, void *data)
{
	struct visit *v = data;
	struct kpmu_event *e = v->child;
	struct kpmu_family *top = e->family->top;
	int err = e->se.attached ? v->fn(e, v->data) : 0;

	raw_spin_lock(&top->family_lock);
	mark_visited(v, e);
	raw_spin_unlock(&top->family_lock);
	return err;
}

/* The first child not visited in this epoch; under the family's lock */
static struct kpmu_event *first_unseen(struct kpmu_family *f)
{
	struct kpmu_event *e;

	e = list_first_entry_or_null(&f->children, struct kpmu_event, sibling);
	return e && e->epoch != f->top->epoch ? e : NULL;
}

static struct kpmu_event *get_first_unseen(struct kpmu_family *f)
{
	struct kpmu_event *e;
	unsigned long flags;

	raw_spin_lock_irqsave(&f->top->family_lock, flags);
	e = first_unseen(f);
	if (e)
		kpmu_event_get(e);
	raw_spin_unlock_irqrestore(&f->top->family_lock, flags);
	return e;
}

/*
 * Read a child and mark it, if its context is not owned elsewhere.  The mark is part of the owner's
 * section: after it the child may end, and its members would not be marked any more.
 */
static bool look_at(const struct visit *v, struct kpmu_event *e, int *err)
{
	struct kpmu_ctx *ctx = e->se.ctx;

	if (!kpmu_ctx_borrow(ctx))
		return false;
	*err = v->fn(e, v->data);
	mark_visited(v, e);
	kpmu_ctx_return(ctx);
	return true;
}

/* Children that are read under the family's lock at a time, with IRQs off */
#define LOOKS	32

/*
 * Read unvisited children whose contexts are not owned elsewhere.  At the first other one,
 * hold it in v->child and stop.  Return: whether there may be more, or an error.
 */
static int look_at_some(struct kpmu_family *f, struct visit *v)
{
	struct kpmu_event *e = NULL;
	unsigned long flags;
	int n, err = 0;

	v->child = NULL;
	raw_spin_lock_irqsave(&f->top->family_lock, flags);
	for (n = 0; n < LOOKS && !err; n++) {
		e = first_unseen(f);
		if (!e)
			break;
		if (!look_at(v, e, &err)) {
			kpmu_event_get(e);
			v->child = e;
			break;
		}
	}
	raw_spin_unlock_irqrestore(&f->top->family_lock, flags);
	return err ?: !!e;
}

/**
 * kpmu_family_read() - read the children not visited in this epoch
 * @f: the family
 * @group: @fn reads a child's whole group
 * @fn: called for each attached child as the owner of its context, with or without the
 *	family_lock; it changes nothing; an error ends the walk
 * @data: for @fn
 *
 * Context: task, may sleep; the walk mutex of @f->top held.
 * Return: 0, or the error of @fn.
 */
int kpmu_family_read(struct kpmu_family *f, bool group,
		     int (*fn)(struct kpmu_event *child, void *data), void *data)
{
	struct visit v = { .fn = fn, .data = data, .group = group };
	int more;

	lockdep_assert_held(&f->top->walk_lock);
	do {
		more = look_at_some(f, &v);
		if (v.child) {
			more = kpmu_ctx_visit(v.child->se.ctx, visit_owned, &v) ?: 1;
			kpmu_event_put(v.child);
		}
		cond_resched();
	} while (more > 0);
	return more;
}

/* Change the children not visited in this epoch */
static void change_children(struct kpmu_family *f, struct visit *v)
{
	while ((v->child = get_first_unseen(f))) {
		kpmu_ctx_call(v->child->se.ctx, visit_owned, v);
		kpmu_event_put(v->child);
		cond_resched();
	}
}

/**
 * kpmu_family_walk() - apply a change to a root and to every child
 * @root: the root
 * @begin: called first, for the root
 * @fn: then for each attached child as the owner of its context; returns 0
 * @data: for both
 *
 * Children inherited meanwhile are not missed.  Only one walk of the group's families runs at a
 * time.
 *
 * Context: task, may sleep.
 */
void kpmu_family_walk(struct kpmu_event *root,
		      void (*begin)(struct kpmu_event *root, void *data),
		      int (*fn)(struct kpmu_event *child, void *data), void *data)
{
	struct kpmu_family *f = root->family, *top = f->top;
	struct visit v = { .fn = fn, .data = data };
	unsigned long flags;

	mutex_lock(&top->walk_lock);
	begin(root, data);
	raw_spin_lock_irqsave(&top->family_lock, flags);
	top->epoch++;
	raw_spin_unlock_irqrestore(&top->family_lock, flags);
	change_children(f, &v);
	mutex_unlock(&top->walk_lock);
}
