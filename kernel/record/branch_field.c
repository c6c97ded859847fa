// SPDX-License-Identifier: GPL-2.0-only
/* The branch stack of a sample, PERF_SAMPLE_BRANCH_STACK. */
#include <linux/minmax.h>

#include "../event/sampling.h"
#include "sample.h"

/**
 * kpmu_sample_branches() - the branch stack of a sample
 * @e: the event; its samples contain branch stacks
 * @s: details of the hit, from the event's source
 *
 * Context: as kpmu_sample_write().
 * Return: the branches; NULL if there are none.
 */
const struct kpmu_branches *kpmu_sample_branches(const struct kpmu_event *e, const struct kpmu_hit *s)
{
	const struct kpmu_hw *hw = &e->se.hw;

	if (s->precise && s->precise->branches)
		return s->precise->branches;
	return hw->source->branches ? hw->source->branches(hw) : NULL;
}

/**
 * kpmu_branches_size() - size of the branch stack of a sample, which it looks up
 * @f: the sample
 *
 * Context: as kpmu_sample_write().
 * Return: the size in bytes.
 */
u32 kpmu_branches_size(struct kpmu_filling *f)
{
	const struct kpmu_sampling *s = f->e->sampling;

	f->branches = kpmu_sample_branches(f->e, f->s);
	if (!f->branches)
		return sizeof(u64);
	f->nr_branches = min_t(u64, f->branches->nr, s->max_stack);
	return (1 + s->branch_index) * sizeof(u64) +
	       f->nr_branches * sizeof(struct kpmu_branch);
}

/**
 * kpmu_branches_put() - write the branch stack of a sample
 * @f: the sample, after kpmu_branches_size()
 *
 * Context: as kpmu_sample_write().
 */
void kpmu_branches_put(struct kpmu_filling *f)
{
	if (!f->branches) {
		kpmu_fill_word(f, 0);
		return;
	}
	kpmu_fill_word(f, f->nr_branches);
	if (f->e->sampling->branch_index)
		kpmu_fill_word(f, f->branches->index);
	kpmu_ring_put(&f->r.h, f->branches->entry,
		      f->nr_branches * sizeof(struct kpmu_branch));
}
