// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fork: the child task gets its own copy of every group with inherit set,
 * before it first runs.  perf_event_open(2), inherit, inherit_thread.
 *
 * We are called when a fork cannot fail any more.  An event that cannot be had
 * for want of memory is therefore missed, and counted in the statistics.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../sched/sched.h"
#include "../trace/stats.h"
#include "event.h"
#include "family.h"

struct fork {
	struct kpmu_ctx *ctx;		/* the child's */
	unsigned long clone_flags;
	struct kpmu_event *blanks;	/* linked by their leader */
	u32 nr_blanks;
	bool no_memory;
};

/* As many as may be needed; nothing can be allocated under the locks to come */
static void get_blanks(struct fork *f, u32 nr, bool sampling)
{
	struct kpmu_event *e;

	while (f->nr_blanks < nr && !f->no_memory) {
		e = kpmu_event_blank(sampling);
		if (!e) {
			f->no_memory = true;
			break;
		}
		e->leader = f->blanks;
		f->blanks = e;
		f->nr_blanks++;
	}
}

static struct kpmu_event *take_blank(struct fork *f)
{
	struct kpmu_event *e = f->blanks;

	if (e) {
		f->blanks = e->leader;
		f->nr_blanks--;
	}
	return e;
}

static bool wanted(const struct fork *f, const struct kpmu_event *leader)
{
	if (!(leader->flags & KPMU_ATTR_INHERIT) || !leader->attached)
		return false;
	if (leader->flags & KPMU_ATTR_INHERIT_THREAD &&
	    !(f->clone_flags & CLONE_THREAD))
		return false;
	return true;
}

/* A copy in the child's context; NULL if there is to be none */
static struct kpmu_event *copy(struct fork *f, struct kpmu_event *e,
			       struct kpmu_event *leader)
{
	struct kpmu_event *child = take_blank(f);

	if (child && e->sampling && !child->sampling) {
		kpmu_event_unclone(child);
		child = NULL;
	}
	if (!child) {
		kpmu_stat_inc(not_inherited);
		return NULL;
	}
	kpmu_event_clone(child, e);
	/*
	 * Once linked it is found by whoever walks the family; its context keeps
	 * them out, whose lock we hold until all is in place.
	 */
	child->ctx = f->ctx;
	if (!kpmu_family_link(child, e)) {
		kpmu_event_unclone(child);
		return NULL;
	}
	kpmu_ctx_get(f->ctx);
	kpmu_event_join(child, f->ctx, leader);
	kpmu_stat_inc(inherited);
	return child;
}

static void copy_group(struct fork *f, struct kpmu_event *from)
{
	struct kpmu_event *leader = copy(f, from, NULL), *e;
	u32 going = 0;

	if (!leader)
		return;
	kpmu_for_each_member(e, from)
		if (!copy(f, e, leader) && e->family->closed)
			going++;
	/* The two are comparable as they are, or will be when those have gone */
	leader->group.gen = from->group.gen + going;
}

static int fork_owned(struct kpmu_ctx *ctx, void *data)
{
	struct fork *f = data;
	struct kpmu_event *leader;
	int err = 0;

	/* Others have attached more meanwhile */
	if (f->nr_blanks < ctx->nr_inherit && !f->no_memory)
		return -EAGAIN;
	/* The child does not run yet: its context belongs to the lock's holder */
	raw_spin_lock_nested(&f->ctx->lock, SINGLE_DEPTH_NESTING);
	if (f->ctx->retired)
		err = -EAGAIN;
	else
		list_for_each_entry(leader, &ctx->leaders, node)
			if (wanted(f, leader))
				copy_group(f, leader);
	raw_spin_unlock(&f->ctx->lock);
	return err;
}

/**
 * kpmu_inherit() - current has forked
 * @task: the new task, which has not run yet
 * @clone_flags: of clone(2)
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_inherit(struct task_struct *task, unsigned long clone_flags)
{
	struct kpmu_ctx *ctx = kpmu_ctx_find_get(current);
	struct fork f = { .clone_flags = clone_flags };
	struct kpmu_event *e;
	int err = -EAGAIN;

	if (!ctx)
		return;
	while (err == -EAGAIN && READ_ONCE(ctx->nr_inherit)) {
		f.ctx = kpmu_ctx_of_newborn(task);
		if (IS_ERR(f.ctx)) {
			kpmu_stat_inc(not_inherited);
			break;
		}
		get_blanks(&f, READ_ONCE(ctx->nr_inherit),
			   READ_ONCE(ctx->nr_sampling));
		err = kpmu_ctx_call(ctx, fork_owned, &f);
		kpmu_ctx_put(f.ctx);
	}
	while ((e = take_blank(&f)))
		kpmu_event_unclone(e);
	kpmu_ctx_put(ctx);
}
