// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fork: the child task gets its own copy of every group with inherit set,
 * before it first runs.  perf_event_open(2), inherit, inherit_thread.
 *
 * Called when the fork cannot fail any more.  An event that cannot be allocated
 * is therefore left out, and counted in the statistics (not_inherited).
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../event/family.h"
#include "../event/program.h"
#include "../sched/sched.h"
#include "../trace/stats.h"
#include "life.h"

struct fork {
	struct kpmu_ctx *ctx;		/* of the child task */
	unsigned long clone_flags;
	struct hlist_head blanks;	/* memory for copies, by mapped_node */
	u32 nr_blanks;
	struct hlist_head spares;	/* sampling parts taken from blanks */
	bool begun;
	bool first;			/* this is the first batch */
	u32 left;			/* groups left to scan, at most */
	u32 need;			/* events in the next group */
	bool sampling;			/* blanks have a sampling part */
	bool no_memory;
};

static void put_blank(struct fork *f, struct kpmu_event *e)
{
	hlist_add_head(&e->mapped_node, &f->blanks);
	f->nr_blanks++;
}

static struct kpmu_event *take_blank(struct fork *f)
{
	struct kpmu_event *e;

	if (hlist_empty(&f->blanks))
		return NULL;
	e = hlist_entry(f->blanks.first, struct kpmu_event, mapped_node);
	__hlist_del(&e->mapped_node);
	f->nr_blanks--;
	return e;
}

static void free_blanks(struct fork *f)
{
	struct kpmu_sampling *s;
	struct hlist_node *tmp;
	struct kpmu_event *e;

	while ((e = take_blank(f)))
		kpmu_event_free(e);
	hlist_for_each_entry_safe(s, tmp, &f->spares, side)
		kpmu_sampling_free(s);
	INIT_HLIST_HEAD(&f->spares);
}

/* Allocated in advance, as no memory can be allocated or freed under the locks taken later */
static void get_blanks(struct fork *f, u32 nr, bool sampling)
{
	struct kpmu_event *e;

	if (sampling && !f->sampling) {
		free_blanks(f);
		f->sampling = true;
	}
	while (f->nr_blanks < nr && !f->no_memory) {
		e = kpmu_event_blank(f->sampling);
		if (e)
			put_blank(f, e);
		else
			f->no_memory = true;
	}
}

/* Take a blank, with a sampling part if and only if @e has one */
static struct kpmu_event *blank_like(struct fork *f, const struct kpmu_event *e)
{
	struct kpmu_event *child = take_blank(f);

	if (!child || !child->sampling == !e->sampling)
		return child;
	if (child->sampling) {
		hlist_add_head(&child->sampling->side, &f->spares);
		child->sampling = NULL;
	} else if (f->spares.first) {
		child->sampling = hlist_entry(f->spares.first,
					      struct kpmu_sampling, side);
		hlist_del(f->spares.first);
	} else {
		put_blank(f, child);
		child = NULL;
	}
	return child;
}

static bool is_inherited(const struct fork *f, const struct kpmu_event *leader)
{
	if (!(leader->se.flags & KPMU_ATTR_INHERIT) || !leader->se.attached)
		return false;
	if (leader->se.flags & KPMU_ATTR_INHERIT_THREAD &&
	    !(f->clone_flags & CLONE_THREAD))
		return false;
	return true;
}

/* Copy an event to the child's context; NULL without memory, or if its root is closed */
static struct kpmu_event *copy_event(struct fork *f, struct kpmu_event *e,
				     struct kpmu_event *leader)
{
	struct kpmu_event *child = blank_like(f, e);

	if (!child) {
		kpmu_stat_inc(not_inherited);
		return NULL;
	}
	kpmu_event_clone(child, e);
	/*
	 * Once linked, the child is visible to family walks.  These wait for the
	 * lock of its context, held here until the copy is complete.
	 */
	child->se.ctx = f->ctx;
	if (!kpmu_family_link(child, e)) {
		put_blank(f, child);
		return NULL;
	}
	kpmu_program_inherit(child, e);
	kpmu_ctx_get(f->ctx);
	kpmu_event_join(child, f->ctx, leader);
	if (f->first)
		kpmu_plan_copy_entity(&e->se, &child->se);
	kpmu_stat_inc(inherited);
	return child;
}

static void copy_group(struct fork *f, struct kpmu_event *from)
{
	struct kpmu_event *leader = copy_event(f, from, NULL), *e;
	u32 going = 0;

	if (!leader)
		return;
	kpmu_for_each_member(e, from)
		if (!copy_event(f, e, leader) && e->family->closed)
			going++;
	/* The gen that the parent's group will have after its closed members have left */
	leader->se.group.gen = from->se.group.gen + going;
}

/* Return: 0, or -EAGAIN if there are more groups, which may need more blanks */
static int copy_batch(struct fork *f, struct kpmu_ctx *ctx)
{
	struct kpmu_event *leader;
	u32 n;

	for (n = 0; n < KPMU_BATCH; n++) {
		if (!f->left || !ctx->scan)
			return 0;
		leader = kpmu_event_of(ctx->scan);
		if (is_inherited(f, leader)) {
			f->need = leader->se.group.nr;
			if (f->nr_blanks < f->need && !f->no_memory)
				return -EAGAIN;
			copy_group(f, leader);
			f->need = 0;
		}
		kpmu_scan_group(ctx);
		f->left--;
	}
	return -EAGAIN;
}

static int fork_owned(struct kpmu_ctx *ctx, void *data)
{
	struct fork *f = data;
	int err = -EAGAIN;

	f->first = !f->begun;
	if (f->first) {
		kpmu_scan_begin(ctx);
		f->begun = true;
		f->left = ctx->nr_events;
	}
	/* The first sampling event has been attached meanwhile */
	if (!f->no_memory && ctx->nr_sampling && !f->sampling)
		return -EAGAIN;
	/* The child does not run yet: the holder of its context's lock owns the context */
	raw_spin_lock_nested(&f->ctx->ctx_lock, SINGLE_DEPTH_NESTING);
	if (!f->ctx->retired)
		err = copy_batch(f, ctx);
	if (f->first)
		kpmu_plan_copy(f->ctx, ctx, !err);
	kpmu_check_ctx(f->ctx);
	raw_spin_unlock(&f->ctx->ctx_lock);
	return err;
}

/**
 * kpmu_inherit() - copy the inherited events of current to a new task
 * @task: the new task, which has not run yet
 * @clone_flags: flags of clone(2)
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_inherit(struct task_struct *task, unsigned long clone_flags)
{
	struct kpmu_ctx *ctx = kpmu_ctx_find_get(current);
	struct fork f = {
		.clone_flags = clone_flags,
		.blanks = HLIST_HEAD_INIT,
	};
	int err = -EAGAIN;
	u32 nr;

	if (!ctx)
		return;
	if (kpmu_kept_take(ctx, task))
		err = 0;
	while (err == -EAGAIN) {
		nr = READ_ONCE(ctx->nr_inherit);
		if (!nr)
			break;
		f.ctx = kpmu_ctx_of_newborn(task);
		if (IS_ERR(f.ctx)) {
			kpmu_stat_inc(not_inherited);
			break;
		}
		/* Without memory, the child's call stacks do not outlast a switch */
		if (unlikely(READ_ONCE(ctx->branches)))
			kpmu_ctx_keep_branches(f.ctx, GFP_ATOMIC | __GFP_NOWARN);
		get_blanks(&f, max(min_t(u32, nr, KPMU_BATCH), f.need),
			   READ_ONCE(ctx->nr_sampling));
		err = kpmu_ctx_call(ctx, fork_owned, &f);
		kpmu_ctx_put(f.ctx);
	}
	free_blanks(&f);
	kpmu_ctx_put(ctx);
}
