// SPDX-License-Identifier: GPL-2.0-only
/*
 * Families: an event with inherit set and the events that child tasks inherit
 * from it.  The event behind the fd is the root; all inherited events are children
 * of that one root, however deep the tree of tasks is.
 *
 * A child is linked into its root's family from fork until it ends (task exit,
 * remove_on_exec) or the root is closed.  When it ends, its values are added to
 * the family (folded).  So the total is always: root + folded + linked children.
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

static struct kpmu_family *get_family(struct kpmu_family *f)
{
	refcount_inc(&f->ref);
	return f;
}

static void put_family(struct kpmu_family *f)
{
	struct kpmu_family *top;

	if (!refcount_dec_and_test(&f->ref))
		return;
	top = f->top;
	kfree(f);
	if (top != f)
		put_family(top);
}

/**
 * kpmu_family_new() - create the family of an event with inherit set
 * @root: the event, not attached yet
 * @leader: leader of the group it will join, NULL for none; the families of a group
 *	share a lock, so that the group can be read consistently
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
	raw_spin_lock_init(&f->family_lock);
	mutex_init(&f->walk_lock);
	/* The leader of a CPU's group has no family; the attach refuses it later */
	f->top = leader && leader->family ? get_family(leader->family->top) : f;
	root->family = f;
	return 0;
}

/**
 * kpmu_family_put() - drop an event's reference to its family
 * @e: the event, about to be freed
 *
 * Context: any but NMI.
 */
void kpmu_family_put(struct kpmu_event *e)
{
	put_family(e->family);
}

/**
 * kpmu_family_link() - add a child to its family
 * @e: the child: new, its family not set yet; or kept, not linked
 * @from: the event of the parent task that it is a copy of
 *
 * Context: owner of both contexts, IRQs off.
 * Return: false if the root was closed meanwhile: the child must be discarded.
 */
bool kpmu_family_link(struct kpmu_event *e, struct kpmu_event *from)
{
	struct kpmu_family *f = from->family, *top = f->top;
	bool ok;

	raw_spin_lock(&top->family_lock);
	ok = !f->closed;
	if (ok) {
		if (!e->family)
			e->family = get_family(f);
		e->epoch = from->root ? from->epoch : top->epoch;
		if (e->epoch == top->epoch)
			list_add_tail(&e->sibling, &f->children);
		else
			list_add(&e->sibling, &f->children);
		WRITE_ONCE(f->nr, f->nr + 1);
	}
	kpmu_check_family(f);
	raw_spin_unlock(&top->family_lock);
	return ok;
}

static void add_total(struct kpmu_total *to, const struct kpmu_total *t)
{
	to->count += t->count;
	to->times.enabled += t->times.enabled;
	to->times.running += t->times.running;
}

/**
 * kpmu_family_unlink() - remove a child from its family
 * @e: the child, linked
 *
 * Context: under the family_lock, IRQs off.
 */
void kpmu_family_unlink(struct kpmu_event *e)
{
	struct kpmu_family *f = e->family;

	list_del_init(&e->sibling);
	smp_store_release(&f->nr, f->nr - 1);	/* pairs with kpmu_family_is_alone() */
}

/**
 * kpmu_family_fold() - unlink a child that ends and add its values to the family
 * @e: the child, its values final
 *
 * Context: owner of the child's context, IRQs off.
 * Return: whether it was linked; the caller then owns the link's reference.
 */
bool kpmu_family_fold(struct kpmu_event *e)
{
	struct kpmu_family *f = e->family, *top = f->top;
	struct kpmu_total t = {
		.count = kpmu_event_count(e),
		.times = { e->se.clock.enabled, e->se.clock.running },
	};
	bool linked;

	raw_spin_lock(&top->family_lock);
	linked = !list_empty(&e->sibling);
	if (linked) {
		add_total(&f->folded, &t);
		if (top->reading && e->epoch != top->epoch)
			add_total(&f->late, &t);
		kpmu_family_unlink(e);
	}
	kpmu_check_family(f);
	raw_spin_unlock(&top->family_lock);
	return linked;
}

/**
 * kpmu_family_begin() - begin a read of a family
 * @e: a root event; to read a group, call it for each event, the leader first
 * @t: the event's own values; those of children that have ended are added
 *
 * Context: owner of the root's context, IRQs off; the walk mutex held.
 */
void kpmu_family_begin(struct kpmu_event *e, struct kpmu_total *t)
{
	struct kpmu_family *f = e->family, *top = f->top;

	/* Held by the reading task, maybe on another CPU: no lockdep_assert_held() */
	lockdep_assert(mutex_is_locked(&top->walk_lock));
	raw_spin_lock(&top->family_lock);
	if (!top->reading) {
		top->reading = true;
		top->epoch++;
	}
	f->late = (struct kpmu_total){};
	add_total(t, &f->folded);
	raw_spin_unlock(&top->family_lock);
}

/**
 * kpmu_family_end() - collect the children that a read has missed
 * @e: a root event, all of its children visited
 * @t: the values of children that ended before they were visited are added
 *
 * Context: owner of the root's context, IRQs off; the walk mutex held.
 */
void kpmu_family_end(struct kpmu_event *e, struct kpmu_total *t)
{
	struct kpmu_family *f = e->family, *top = f->top;

	lockdep_assert(mutex_is_locked(&top->walk_lock));
	raw_spin_lock(&top->family_lock);
	add_total(t, &f->late);
	raw_spin_unlock(&top->family_lock);
}

/**
 * kpmu_family_done() - end a read
 * @top: family of the group's first event
 *
 * Context: task, may sleep; the walk mutex held.
 */
void kpmu_family_done(struct kpmu_family *top)
{
	unsigned long flags;

	lockdep_assert_held(&top->walk_lock);
	raw_spin_lock_irqsave(&top->family_lock, flags);
	top->reading = false;
	raw_spin_unlock_irqrestore(&top->family_lock, flags);
}
