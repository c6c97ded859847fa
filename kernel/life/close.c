// SPDX-License-Identifier: GPL-2.0-only
/* The end of the inherited events of a root whose fd is closed. */
#include <linux/list.h>
#include <linux/sched.h>

#include "../event/family.h"
#include "../sched/sched.h"
#include "life.h"

/* Close the family and unlink its first child; the caller gets the link's reference */
static struct kpmu_event *unlink_first(struct kpmu_family *f)
{
	struct kpmu_event *e;
	unsigned long flags;

	raw_spin_lock_irqsave(&f->top->family_lock, flags);
	f->closed = true;
	e = list_first_entry_or_null(&f->children, struct kpmu_event, sibling);
	if (e)
		kpmu_family_unlink(e);
	raw_spin_unlock_irqrestore(&f->top->family_lock, flags);
	return e;
}

/**
 * kpmu_family_close() - end all children of a root whose fd is closed
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
