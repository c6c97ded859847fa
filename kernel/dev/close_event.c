// SPDX-License-Identifier: GPL-2.0-only
/* The end of an event. */
#include "../event/family.h"
#include "../hooks/hooks.h"
#include "../life/life.h"
#include "../record/sample.h"
#include "../record/side_band.h"
#include "dev.h"

static __always_inline void release_hooks(struct kpmu_event *e)
{
	if (kpmu_has_chains(e))
		kpmu_chains_put();
	kpmu_hooks_put(e->hooks);
	if (unlikely(e->se.flags & KPMU_ATTR_ADMITTED)) {
		kpmu_strict_end(e->se.flags);
		kpmu_reservation_put(e->se.flags);
	}
	kpmu_side_count(e->se.flags, -1);
}

/**
 * kpmu_event_unhook() - release an event's hooks and call-chain buffers
 * @e: the event, after get_hooks()
 *
 * Context: task, may sleep; kpmu_hooks_put_later() must follow.
 */
void kpmu_event_unhook(struct kpmu_event *e)
{
	release_hooks(e);
}

/**
 * kpmu_event_close() - end an event that has no fd (any more)
 * @e: the event, attached
 *
 * Context: task, may sleep.
 */
void kpmu_event_close(struct kpmu_event *e)
{
	kpmu_event_detach(e);
	if (e->family)
		kpmu_family_close(e);
	if (e->output)
		kpmu_output_end(e);
	release_hooks(e);
	kpmu_event_put(e);
	kpmu_hooks_put_later();
}
