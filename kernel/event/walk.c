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
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "../sched/sched.h"
#include "event.h"
#include "family.h"

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
	int err = e->se.attached ? v->fn(e, v->data) : 0;

	raw_spin_lock(&top->family_lock);
	e->epoch = top->epoch;
	if (!list_empty(&e->sibling))
		list_move_tail(&e->sibling, &f->children);
	kpmu_check_family(f);
	raw_spin_unlock(&top->family_lock);
	return err;
}

static struct kpmu_event *first_unseen(struct kpmu_family *f)
{
	struct kpmu_event *e;
	unsigned long flags;

	raw_spin_lock_irqsave(&f->top->family_lock, flags);
	e = list_first_entry_or_null(&f->children, struct kpmu_event, sibling);
	if (e && e->epoch == f->top->epoch)
		e = NULL;
	if (e)
		kpmu_event_get(e);
	raw_spin_unlock_irqrestore(&f->top->family_lock, flags);
	return e;
}

/**
 * kpmu_family_visit() - visit the children not visited in this epoch
 * @f: the family
 * @fn: called for each attached child as the owner of its context; an error ends
 *	the walk
 * @data: for @fn
 *
 * Context: task, may sleep; the walk mutex of @f->top held.
 * Return: 0, or the error of @fn.
 */
int kpmu_family_visit(struct kpmu_family *f,
		      int (*fn)(struct kpmu_event *child, void *data), void *data)
{
	struct visit v = { .fn = fn, .data = data };
	int err = 0;

	lockdep_assert_held(&f->top->walk_lock);
	while (!err && (v.child = first_unseen(f))) {
		err = kpmu_ctx_call(v.child->se.ctx, visit_owned, &v);
		kpmu_event_put(v.child);
		cond_resched();
	}
	return err;
}

/**
 * kpmu_family_walk() - apply a change to a root and to every child
 * @root: the root
 * @begin: called first, for the root
 * @fn: then for the children, as for kpmu_family_visit()
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
	unsigned long flags;

	mutex_lock(&top->walk_lock);
	begin(root, data);
	raw_spin_lock_irqsave(&top->family_lock, flags);
	top->epoch++;
	raw_spin_unlock_irqrestore(&top->family_lock, flags);
	kpmu_family_visit(f, fn, data);
	mutex_unlock(&top->walk_lock);
}
