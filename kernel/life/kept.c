// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts of children that have exited, kept for the next children.
 *
 * A shell or make forks one child after the other, each inherits the same events, and most exit
 * soon.  So when a child exits whose context has nothing but copies of the parent's events
 * (kpmu_plan_copy()), its counts go to the families as always, but the context and the events are not
 * freed: each CPU keeps one such context.  The next child of the same parent gets it, with the plan,
 * and only its counts and times start anew.
 *
 * A context that is kept is in no hash and no family, so nothing finds it, and it does not
 * learn that a root is closed: e->root may be stale.  It is used again only if the parent's context has the
 * generation of the copy and as many events, so has the same enabled ones, and no root has been closed.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

#include "../event/family.h"
#include "../sched/sched.h"
#include "../trace/stats.h"
#include "life.h"

static DEFINE_PER_CPU(struct kpmu_ctx *, kept);

#define for_each_event(e, ctx) list_for_each_entry(e, &(ctx)->leaders, se.node)

static void free_ctx(struct kpmu_ctx *ctx)
{
	struct kpmu_event *e, *tmp;

	kpmu_ctx_get(ctx);
	list_for_each_entry_safe(e, tmp, &ctx->leaders, se.node) {
		list_del_init(&e->se.node);
		kpmu_event_put(e);
	}
	kpmu_ctx_put(ctx);
}

/* Nothing but its tasks has changed since the copy, so all its events count, and no member is among them */
static bool is_unchanged(const struct kpmu_ctx *ctx)
{
	return ctx->gen == ctx->copied && ctx->plan.task_gen == ctx->gen &&
	       ctx->nr_events == ctx->nr_inherit && ctx->nr_events == ctx->nr_placed &&
	       ctx->nr_placed == ctx->plan.nr && !ctx->nr_sampling && !ctx->follow &&
	       !ctx->branches && !static_branch_unlikely(&kpmu_turns_key);
}

/*
 * Walks, or the close of a root, have found events of the context and will visit them.  They find them
 * detached, and leave the context's references alone.
 */
static noinline void give_up(struct kpmu_ctx *ctx)
{
	struct kpmu_event *e;

	for_each_event(e, ctx) {
		kpmu_queue_del(ctx, &e->se);
		kpmu_ctx_unplace(ctx, &e->se);
		e->se.attached = false;
	}
}

/* Add the counts to the families; returns whether only the context refers to the events then */
static int fold_owned(struct kpmu_ctx *ctx, void *unused)
{
	struct kpmu_event *e;
	bool alone = true;

	if (!is_unchanged(ctx))
		return false;
	for_each_event(e, ctx) {
		kpmu_group_clocks(&e->se, ctx->time);
		kpmu_event_finish(e);
		kpmu_check_gone(&e->se);
		alone &= refcount_read(&e->ref) == 1;
	}
	if (!alone)
		give_up(ctx);
	return alone;
}

/**
 * kpmu_kept_put() - end the events of a child that exits, and keep its context
 * @ctx: the context, retired, idle and with ctx->model; the caller has a reference
 *
 * Context: task, IRQs on, may be atomic.
 * Return: false if the context has changed since it was copied, or is in use: the caller must end it.
 */
bool kpmu_kept_put(struct kpmu_ctx *ctx)
{
	if (!kpmu_ctx_call(ctx, fold_owned, NULL))
		return false;
	kpmu_ctx_unhash(ctx);
	if (kpmu_ctx_disown(ctx, ctx->nr_events + 1))
		ctx = xchg(raw_cpu_ptr(&kept), ctx);
	if (ctx)
		free_ctx(ctx);
	return true;
}

/* As new: its count and times are 0, and the family has it */
static bool link_event(struct kpmu_event *e, struct kpmu_event *from, u64 now)
{
	local64_set(&e->se.hw.count, 0);
	e->se.clock.enabled = 0;
	e->se.clock.running = 0;
	e->se.clock.since = now;
	e->se.clock.is_enabled = true;
	e->se.clock.is_running = true;
	e->on_exec = e->root->on_exec;
	e->se.group.gen = from->se.group.gen;
	if (!kpmu_family_link(e, from))
		return false;
	refcount_inc(&e->ref);
	return true;
}

/* The parent's events in the order of their copies */
static int link_owned(struct kpmu_ctx *parent, void *data)
{
	struct kpmu_ctx *ctx = data;
	struct kpmu_event *from, *e;
	int ok = false;

	/* The child does not run yet: the holder of its context's lock owns the context */
	raw_spin_lock_nested(&ctx->ctx_lock, SINGLE_DEPTH_NESTING);
	if (parent->gen != ctx->model || parent->nr_events != ctx->nr_events)
		goto unlock;
	from = list_first_entry(&parent->leaders, struct kpmu_event, se.node);
	for_each_event(e, ctx) {
		if (unlikely(e->family != from->family) || !link_event(e, from, ctx->time))
			goto unlock;
		from = list_next_entry(from, se.node);
	}
	ctx->retired = false;
	kpmu_check_ctx(ctx);
	ok = true;
unlock:
	raw_spin_unlock(&ctx->ctx_lock);
	return ok;
}

/* Of the events of a context that could not be used again, some may be linked */
static int unlink_owned(struct kpmu_ctx *ctx, void *unused)
{
	struct kpmu_event *e;

	for_each_event(e, ctx)
		if (kpmu_family_fold(e))
			refcount_dec(&e->ref);
	give_up(ctx);
	return 0;
}

static struct kpmu_ctx *find_kept(const struct kpmu_ctx *parent)
{
	struct kpmu_ctx **place = raw_cpu_ptr(&kept), *ctx;
	bool fits;

	rcu_read_lock();
	ctx = READ_ONCE(*place);
	fits = ctx && ctx->model == READ_ONCE(parent->gen);
	rcu_read_unlock();
	return fits && cmpxchg(place, ctx, NULL) == ctx ? ctx : NULL;
}

/**
 * kpmu_kept_take() - give a new task the context that was kept of a former child of its parent
 * @parent: context of the parent, which is current
 * @task: the new task, which has not run yet
 *
 * Context: task, IRQs on, may be atomic.
 * Return: false if none was kept that fits.
 */
bool kpmu_kept_take(struct kpmu_ctx *parent, struct task_struct *task)
{
	struct kpmu_ctx *ctx = find_kept(parent);
	bool hashed, ok;

	if (!ctx)
		return false;
	/* Not preempted while the context, retired still, can be found: an opener would try again and again */
	preempt_disable();
	hashed = kpmu_ctx_reuse(ctx, task);
	ok = hashed && kpmu_ctx_visit(parent, link_owned, ctx);
	preempt_enable();
	if (ok) {
		kpmu_stat_add(inherited, ctx->nr_events);
		kpmu_stat_inc(kept);
		return true;
	}
	if (hashed) {
		kpmu_ctx_call(ctx, unlink_owned, NULL);
		kpmu_ctx_unhash(ctx);
	}
	free_ctx(ctx);
	return false;
}

/**
 * kpmu_kept_free() - free the contexts that are kept
 *
 * Context: task, may sleep.
 */
void kpmu_kept_free(void)
{
	struct kpmu_ctx *ctx;
	int cpu;

	for_each_possible_cpu(cpu) {
		ctx = xchg(per_cpu_ptr(&kept, cpu), NULL);
		if (ctx)
			free_ctx(ctx);
	}
}
