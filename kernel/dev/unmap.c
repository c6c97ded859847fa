// SPDX-License-Identifier: GPL-2.0-only
/* The end of a mapping, of a ring or of an AUX area. */
#include <linux/mm.h>

#include "../source/user_read.h"
#include "../ring/ring.h"
#include "../sampling/follow.h"
#include "dev.h"

/**
 * kpmu_event_unmapped() - account for the removal of a mapping
 * @e: the event
 * @grant: RDPMC grant of a ring mapping; NULL without, and for the AUX area
 *
 * The ring is kept until neither it nor its AUX area is mapped.
 *
 * Context: .close of a mapping, under the mmap lock; may sleep.
 */
void kpmu_event_unmapped(struct kpmu_event *e, struct kpmu_grant *grant)
{
	struct kpmu_ring *ring;
	bool last;

	kpmu_output_lock(e);
	ring = kpmu_output_ring(e);
	last = !--e->maps;
	kpmu_page_set(e, last ? NULL : ring->page, grant ? -1 : 0);
	if (last) {
		kpmu_ring_get(ring);
		kpmu_output_set(e, NULL);
	}
	kpmu_output_unlock(e);
	if (grant)
		kpmu_rdpmc_drop(grant);
	if (last) {
		/* Take the ring from other events: their records cannot be read any more */
		kpmu_output_strip(ring);
		kpmu_ring_uncharge(&ring->charge);
		kpmu_ring_put_ref(ring);
	}
}
