// SPDX-License-Identifier: GPL-2.0-only
/* A strict group has lost its counters: what its readers are told. */
#include "../record/record.h"
#include "life.h"

static void tell_of_loss(struct kpmu_event *e)
{
	struct kpmu_event *root = e->root ?: e;

	if (!e->sampling || !root->sampling)
		return;
	/* For readers of the root, also if only an inherited copy has lost its counters */
	WRITE_ONCE(root->sampling->out, true);
	kpmu_record_out(e);
	kpmu_notify_error(root);
}

/**
 * kpmu_events_lost() - .lost of struct kpmu_sched_ops
 * @leader: the group's leader
 *
 * Context: see there.
 */
void kpmu_events_lost(struct kpmu_entity *leader)
{
	tell_of_loss(kpmu_event_of(leader));
}
