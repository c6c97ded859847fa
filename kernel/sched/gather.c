// SPDX-License-Identifier: GPL-2.0-only
/* Walks over all contexts of tasks and cgroups. */
#include <linux/rhashtable.h>
#include <linux/sched.h>

#include "recent.h"

/**
 * kpmu_ctxs_visit_empty() - call a function for each context of a task or cgroup without events
 * @fn: the function, which may sleep and take the context out of the hash
 * @data: for @fn
 *
 * Removing an entry makes the walk skip the next one in its bucket.
 *
 * Context: task, may sleep.
 * Return: 0 if @fn has returned false for all contexts, and none was missed.
 */
int kpmu_ctxs_visit_empty(bool (*fn)(struct kpmu_ctx *ctx, void *data), void *data)
{
	struct rhashtable_iter iter;
	struct kpmu_ctx *ctx;
	int n = 0, ended = kpmu_walk_begin();

	rhashtable_walk_enter(&kpmu_contexts, &iter);
	rhashtable_walk_start(&iter);
	while ((ctx = rhashtable_walk_next(&iter))) {
		if (IS_ERR(ctx) || READ_ONCE(ctx->nr_events) ||
		    !refcount_inc_not_zero(&ctx->ref))
			continue;
		rhashtable_walk_stop(&iter);
		n += fn(ctx, data);
		kpmu_ctx_put(ctx);
		cond_resched();
		rhashtable_walk_start(&iter);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return n + !kpmu_walk_end(ended);
}

static int gather_once(bool (*want)(const struct kpmu_ctx *ctx, const void *data), const void *data,
		       struct kpmu_ctx **list, int max)
{
	struct rhashtable_iter iter;
	struct kpmu_ctx *ctx;
	int i, n = 0;

	rhashtable_walk_enter(&kpmu_contexts, &iter);
	rhashtable_walk_start(&iter);
	while ((ctx = rhashtable_walk_next(&iter))) {
		if (IS_ERR(ctx) || !want(ctx, data))
			continue;
		if (n < max && !refcount_inc_not_zero(&ctx->ref))
			continue;
		if (n < max)
			list[n] = ctx;
		n++;
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	for (i = 0; n > max && i < max; i++)
		kpmu_ctx_put(list[i]);
	return n;
}

/**
 * kpmu_ctxs_gather() - list contexts of tasks and cgroups
 * @want: whether a context is to be listed; RCU, without ownership
 * @data: for @want
 * @list: set to the contexts, each with a reference; some may be in it twice
 * @max: room in @list
 *
 * A context that is in the hash all the time is not missed.
 *
 * Context: task.
 * Return: the number; more than @max if there is not enough room, then without any reference.
 */
int kpmu_ctxs_gather(bool (*want)(const struct kpmu_ctx *ctx, const void *data), const void *data,
		     struct kpmu_ctx **list, int max)
{
	int n, i, ended;

	for (;;) {
		ended = kpmu_walk_begin();
		n = gather_once(want, data, list, max);
		if (kpmu_walk_end(ended) || n > max)
			return n;
		for (i = 0; i < n; i++)
			kpmu_ctx_put(list[i]);
	}
}
