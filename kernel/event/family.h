/* SPDX-License-Identifier: GPL-2.0-only */
/* An event and its children in the children of its task: see family.c. */
#ifndef KPMU_FAMILY_H
#define KPMU_FAMILY_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

struct kpmu_event;

/* What an event, or several together, counted */
struct kpmu_total {
	u64 count;
	u64 enabled;
	u64 running;
};

/**
 * struct kpmu_family - a root event's children
 * @ref: the root, each child, families of whose group this one is the first
 * @top: the family of the group's first event, whose @lock, @walk, @epoch and
 *	@reading serve all families of the group
 * @lock: guards the lists and sums; inside the locks of contexts
 * @walk: one walk at a time
 * @epoch: number of the walk in progress, or of the last one
 * @reading: the walk in progress is a read
 * @closed: the root is closed, no children any more
 * @children: events, those not seen by the walk in progress first
 * @folded: what children counted whose tasks are gone
 * @late: the part of @folded that the read in progress has not seen
 */
struct kpmu_family {
	refcount_t ref;
	struct kpmu_family *top;
	raw_spinlock_t lock;
	struct mutex walk;
	u64 epoch;
	bool reading;
	bool closed;
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
int kpmu_family_visit(struct kpmu_family *f,
		      int (*fn)(struct kpmu_event *child, void *data),
		      void *data);
void kpmu_family_walk(struct kpmu_event *root,
		      void (*begin)(struct kpmu_event *root, void *data),
		      int (*fn)(struct kpmu_event *child, void *data),
		      void *data);
void kpmu_family_close(struct kpmu_event *root);

#endif
