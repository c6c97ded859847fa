// SPDX-License-Identifier: GPL-2.0-only
/* Rules of the buckets of a CPU. */
#include <linux/list.h>

#include "../sched/bucket.h"
#include "check.h"

#define CHECK_VALUES	4

/* What the table in use has for value @v, in all of its buckets */
static u64 sum_of(const struct kpmu_bucket_table *t, u32 v)
{
	u64 sum = kpmu_bucket_other(t)[KPMU_BUCKET_VALUES + v];
	u32 i;

	for (i = 0; i < t->nr; i++)
		sum += t->buckets[(size_t)i * t->size + KPMU_BUCKET_VALUES + v];
	return sum;
}

static bool sums_are_counts(struct check_state *l)
{
	const struct kpmu_buckets *b;
	u32 v, n;

	hlist_for_each_entry(b, kpmu_buckets_here(), node) {
		n = min_t(u32, b->nr_events * b->each, CHECK_VALUES);
		for (v = 0; v < n; v++)
			if (sum_of(&b->tables[b->used], v) != b->last[v] - b->base[v])
				return false;
	}
	return true;
}

static bool tables_have_room(struct check_state *l)
{
	const struct kpmu_bucket_table *t;
	const struct kpmu_buckets *b;

	hlist_for_each_entry(b, kpmu_buckets_here(), node) {
		t = &b->tables[b->used];
		if (t->nr > t->max || 2 * t->max > 1u << t->bits || b->now < t->buckets ||
		    b->now >= kpmu_bucket_all(t))
			return false;
	}
	return true;
}

struct check_rule check_bucket_rules[] = {
	{ "bucket-room", tables_have_room },
	{ "bucket-sum", sums_are_counts },
	{ }
};
