// SPDX-License-Identifier: GPL-2.0-only
/* Switch for the invariant checks. */
#include "checker.h"

DEFINE_STATIC_KEY_FALSE(kpmu_checker_key);
DEFINE_STATIC_KEY_FALSE(kpmu_extras_key);
const struct kpmu_checker *kpmu_checker;

/**
 * kpmu_checker_enable() - enable the invariant checks
 * @checker: the checks
 *
 * Context: task, may sleep; once, before the first event.
 */
void kpmu_checker_enable(const struct kpmu_checker *checker)
{
	kpmu_checker = checker;
	static_branch_enable(&kpmu_checker_key);
	static_branch_inc(&kpmu_extras_key);
}
