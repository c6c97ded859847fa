/* SPDX-License-Identifier: GPL-2.0-only */
/* An event and the events that child tasks inherit from it: family.c, walk.c. */
#ifndef KPMU_FAMILY_H
#define KPMU_FAMILY_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

#include "../sched/entity.h"

struct kpmu_event;

/* Count and times, of one event or summed up */
struct kpmu_total {
	u64 count;
	struct kpmu_times times;
};

/**
 * struct kpmu_family - the children of a root event
 * @ref: the root, each child, and the other families that have this one as @top
 * @top: family of the group's first event; its @family_lock, @walk_lock, @epoch and
 *	@reading serve all families of the group
 * @family_lock: protects the lists and sums; nests inside the locks of contexts
 * @walk_lock: serializes walks
 * @epoch: number of the current or last walk
 * @reading: the current walk is a read
 * @closed: the root is closed, no child can be added
 * @children: child events, those not visited by the current walk first
 * @folded: sum of the children that have ended
 * @late: the part of @folded that the current read has not seen
 * @nr: number of @children; decremented after @folded has been updated
 */
struct kpmu_family {
	refcount_t ref;
	struct kpmu_family *top;
	raw_spinlock_t family_lock;
	struct mutex walk_lock;
	u64 epoch;
	bool reading;
	bool closed;
	u32 nr;
	struct list_head children;
	struct kpmu_total folded;
	struct kpmu_total late;
};

int kpmu_family_new(struct kpmu_event *root, struct kpmu_event *leader);
void kpmu_family_put(struct kpmu_event *e);
bool kpmu_family_link(struct kpmu_event *e, struct kpmu_event *from);
bool kpmu_family_fold(struct kpmu_event *e);
void kpmu_family_begin(struct kpmu_event *e, struct kpmu_total *t);
void kpmu_family_end(struct kpmu_event *e, struct kpmu_total *t);
void kpmu_family_done(struct kpmu_family *top);
void kpmu_family_unlink(struct kpmu_event *e);

/**
 * kpmu_family_is_alone() - has a root no children now?
 * @f: its family
 *
 * If the owner of the root's context finds none, there is none while it owns the context, and
 * @f->folded does not change: only the tasks of a family can fork new children.  The owner
 * needs no lock.
 *
 * Context: any; without ownership the result may be stale.
 * Return: true if it has none.
 */
static inline bool kpmu_family_is_alone(const struct kpmu_family *f)
{
	return !smp_load_acquire(&f->nr);	/* pairs with kpmu_family_unlink() */
}

/* walk.c */
int kpmu_family_read(struct kpmu_family *f, bool group,
		     int (*fn)(struct kpmu_event *child, void *data),
		     void *data);
void kpmu_family_walk(struct kpmu_event *root,
		      void (*begin)(struct kpmu_event *root, void *data),
		      int (*fn)(struct kpmu_event *child, void *data),
		      void *data);

#endif
