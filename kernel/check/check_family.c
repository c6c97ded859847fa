// SPDX-License-Identifier: GPL-2.0-only
/* Rules of families. */
#include "check.h"

/* Limit of children per check */
#define CHILDREN	64

static bool children_are_ours(struct check_state *l)
{
	struct kpmu_family *f = l->family;
	struct kpmu_event *e;
	int n = 0;

	list_for_each_entry(e, &f->children, sibling)
		if (!e->root || e->family != f || ++n == CHILDREN)
			break;
	return n == CHILDREN ||
	       (list_entry_is_head(e, &f->children, sibling) && f->nr == n);
}

/* Children that the walk in progress has not visited are at the front of the list */
static bool unseen_come_first(struct check_state *l)
{
	struct kpmu_family *f = l->family;
	bool seen = false;
	struct kpmu_event *e;
	int n = 0;

	list_for_each_entry(e, &f->children, sibling) {
		if (e->epoch == f->top->epoch)
			seen = true;
		else if (seen)
			return false;
		if (++n == CHILDREN)
			break;
	}
	return true;
}

static bool is_held(struct check_state *l)
{
	struct kpmu_family *f = l->family;
	struct kpmu_event *e;
	u32 n = 0;

	list_for_each_entry(e, &f->children, sibling)
		if (!refcount_read(&e->ref) || ++n == CHILDREN)
			break;
	return refcount_read(&f->ref) >= n && refcount_read(&f->top->ref) &&
	       (n == CHILDREN || list_entry_is_head(e, &f->children, sibling));
}

static bool late_is_part(struct check_state *l)
{
	const struct kpmu_times *all = &l->family->folded.times;
	const struct kpmu_times *part = &l->family->late.times;

	return part->enabled <= all->enabled && part->running <= all->running &&
	       all->running <= all->enabled;
}

struct check_rule check_family_rules[] = {
	{ "family-children", children_are_ours },
	{ "family-epoch", unseen_come_first },
	{ "family-refs", is_held },
	{ "family-sums", late_is_part },
	{ }
};
