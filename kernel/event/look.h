/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads of children under the lock of their family, inlined: hundreds may be read at once. */
#ifndef KPMU_LOOK_H
#define KPMU_LOOK_H

#include "../sched/borrow.h"
#include "event.h"
#include "family.h"

/**
 * kpmu_family_look() - read all children at one moment, without waiting
 * @f: the family; the caller limits the number of its children
 * @fn: called for each child as the owner of its context; it changes nothing
 * @data: for @fn
 *
 * No child can be added or end meanwhile, as this takes the family's lock.  The lock of a child's
 * context must be taken before the family's lock, so it can only be tried here.  A linked child
 * exists, and is attached: it ends as its context's owner unlinks it.
 *
 * Context: under the family_lock, IRQs off.
 * Return: 0; -EBUSY if the context of a child is owned elsewhere; the error of @fn.
 */
static __always_inline int
kpmu_family_look(struct kpmu_family *f, int (*fn)(struct kpmu_event *child, void *data),
		 void *data)
{
	struct kpmu_event *e;
	int err = 0;

	list_for_each_entry(e, &f->children, sibling) {
		struct kpmu_ctx *ctx = e->se.ctx;

		if (!kpmu_ctx_borrow(ctx))
			return -EBUSY;
		err = fn(e, data);
		kpmu_ctx_return(ctx);
		if (err)
			break;
	}
	return err;
}

#endif
