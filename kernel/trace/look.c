// SPDX-License-Identifier: GPL-2.0-only
/* Switch for the invariant checks. */
#include "look.h"

DEFINE_STATIC_KEY_FALSE(kpmu_look_key);
const struct kpmu_looker *kpmu_looker;

/**
 * kpmu_look_by() - enable the invariant checks
 * @looker: the checks
 *
 * Context: task, may sleep; once, before the first event.
 */
void kpmu_look_by(const struct kpmu_looker *looker)
{
	kpmu_looker = looker;
	static_branch_enable(&kpmu_look_key);
}
