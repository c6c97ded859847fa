// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts become active and idle: at a task switch, when a context is new or retires, at CPU
 * hotplug.  All of it runs on the CPU concerned, with IRQs off.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>

#include "../compat/compat.h"
#include "../trace/stats.h"
#include "apply.h"
#include "bucket.h"
#include "recent.h"

/* A group waits, and the context has run a turn since it rotated */
static noinline void rotate_task(struct kpmu_ctx *ctx)
{
	kpmu_queue_charge(ctx);
	kpmu_rotate_ctx(ctx);
	kpmu_stat_inc(rotations);
}

/*
 * Switch to a task whose context is @new.
 * plain: the CPU is online, and has neither flexible groups nor contexts of cgroups
 * css: the task is in other cgroups than the previous one, and cgroups are watched
 */
static __always_inline void switch_task(struct kpmu_cpu *kc, struct task_struct *next,
					struct kpmu_ctx *new, bool plain, bool css)
{
	struct kpmu_ctx *old = kc->task, *left = NULL, *ctx;
	u64 clock;

	kpmu_stat_inc(switches);
	clock = kpmu_local_clock();
	if (old)
		kpmu_ctx_tick(old, clock);
	if (!plain && (kc->ctx.nr_flexible || kc->ctx.up)) {
		kpmu_for_each_cpu_ctx(ctx, kc)
			kpmu_ctx_tick(ctx, clock);
		kpmu_rotate_compare(kc);
	}
	if (new && !kpmu_ctx_activate_inline(kc, new, clock))
		new = NULL;
	kc->task = new;
	if (css)
		left = kpmu_cgroup_enter(kc, next, clock);
	if (new && unlikely(kpmu_rotate_due(new)))
		rotate_task(new);
	kpmu_resched_inline(kc, new, clock, plain);
	/* The counters are folded, so other CPUs may own the contexts now */
	if (old) {
		kpmu_ctx_follow(old, false);
		kpmu_ctx_release(old);
	}
	if (css)
		kpmu_cgroup_release(left);
}

/* The plan is not the one of the last time, or groups wait */
static noinline void replan(struct kpmu_cpu *kc, struct kpmu_ctx *new, u64 clock)
{
	struct kpmu_plan *plan = &new->plan;

	if (kpmu_rotate_due(new))
		rotate_task(new);
	if (!kpmu_plan_enforce(kc, new, plan))
		kpmu_plan_apply(kc, plan, clock);
	if ((plan->cpu_waits | plan->task_waits) && !kc->armed)
		kpmu_rotate_arm(kc);
}

/*
 * switch_task() between two tasks with contexts on a plain CPU, the most frequent case: what is
 * known there is not tested.
 *
 * Return: false if the context of the next task has retired, or is active elsewhere; nothing is done then
 */
static __always_inline bool switch_between(struct kpmu_cpu *kc, struct kpmu_ctx *old,
					   struct kpmu_ctx *new)
{
	struct kpmu_plan *plan = &new->plan;
	u64 clock = kpmu_local_clock();

	if (unlikely(!kpmu_ctx_activate_inline(kc, new, clock)))
		return false;
	kpmu_stat_inc(switches);
	kpmu_ctx_tick(old, clock);
	kc->task = new;
	if (unlikely(plan->cpu_waits | plan->task_waits) ||
	    unlikely(!kpmu_plan_enforce(kc, new, plan)))
		replan(kc, new, clock);
	kpmu_commit(&plan->slots);
	kpmu_drivers_commit(&plan->slots);
	kpmu_ctx_follow(&kc->ctx, true);
	kpmu_ctx_follow(new, true);
	kpmu_ctx_follow(old, false);
	if (static_branch_unlikely(&kpmu_extras_key)) {
		kpmu_timelines_placed();
		kpmu_check_cpu(kc);
		kpmu_check_ctx(old);
	}
	/* The counters are folded, so another CPU may own the context now */
	kpmu_ctx_release_checked(old);
	return true;
}

/* On a CPU that is offline, or on which flexible groups or cgroups are counted */
static noinline void switch_any(struct kpmu_cpu *kc, struct task_struct *next)
{
	bool css = kc->watch && !kc->offline && kpmu_task_css(next) != kc->css;
	struct kpmu_ctx *new = NULL;

	if (!kc->offline)
		new = kpmu_ctx_of_next(kc, next);
	if (kc->task || new || css)
		switch_task(kc, next, new, false, css);
}

static __always_inline void switch_contexts(struct kpmu_cpu *kc, struct task_struct *next)
{
	struct kpmu_ctx *old, *new;

	if (unlikely(kc->unusual | kc->ctx.nr_flexible)) {
		switch_any(kc, next);
		return;
	}
	new = kpmu_ctx_of_next(kc, next);
	old = kc->task;
	if (old && new && switch_between(kc, old, new))
		return;
	if (old || new)
		switch_task(kc, next, new, true, false);
}

/* Branches are recorded for some event: none of a task may be seen by another one */
static noinline void switch_branches(struct kpmu_cpu *kc, struct task_struct *next)
{
	kpmu_branches_leave(current, kc->task ? kc->task->branches : NULL);
	switch_contexts(kc, next);
	kpmu_branches_enter(next, kc->task ? kc->task->branches : NULL);
}

/**
 * kpmu_switch() - switch contexts at a task switch
 * @next: the task switched in
 *
 * A counter that both tasks use in the same way is not reprogrammed; see kpmu_commit().  The
 * cost does not depend on events of other tasks.
 *
 * Context: IRQs off; under the run-queue lock, except when the CPU has come online.
 */
void kpmu_switch(struct task_struct *next)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);

	if (static_branch_unlikely(&kpmu_branches_key.key))
		switch_branches(kc, next);
	else
		switch_contexts(kc, next);
}

/**
 * kpmu_switch_in() - activate a new context of the running task
 * @ctx: the context, new in the hash
 *
 * Context: IRQs off, current is the context's task.
 */
void kpmu_switch_in(struct kpmu_ctx *ctx)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	u64 clock;

	if (kc->task || kc->offline)
		return;
	clock = kpmu_local_clock();
	if (!kpmu_ctx_activate(kc, ctx, clock))
		return;
	kc->task = ctx;
	kpmu_resched(kc, clock);
}

/**
 * kpmu_switch_out() - deactivate a retired context
 * @ctx: the context, of the running task or of its cgroup or an ancestor
 * @clock: local_clock() of the change
 *
 * Context: IRQs off, the context's owner.
 */
void kpmu_switch_out(struct kpmu_ctx *ctx, u64 clock)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);

	if (ctx->css)
		kpmu_cgroup_leave(kc, ctx);
	else if (!WARN_ON_ONCE(kc->task != ctx))
		kc->task = NULL;
	kpmu_resched(kc, clock);
	kpmu_ctx_follow(ctx, false);
	kpmu_ctx_release(ctx);
}

/**
 * kpmu_cpu_online() - allow counting on this CPU
 *
 * Context: on the CPU, IRQs off; CPU hotplug, or after system sleep.
 */
void kpmu_cpu_online(void)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	struct kpmu_ctx *ctx = &kc->ctx;

	raw_spin_lock(&ctx->ctx_lock);
	ctx->since = kpmu_local_clock();
	ctx->cpu = ctx->home;
	raw_spin_unlock(&ctx->ctx_lock);
	kc->offline = false;
	/* kpmu_cgroup_watch() does not reach a CPU that is offline */
	kc->watch = atomic_read(&kc->nr_cgroups);
	kpmu_counters_online();
	kpmu_buckets_switch(current);
	kpmu_timelines_online();
	kpmu_resched(kc, ctx->since);
}

/**
 * kpmu_cpu_offline() - stop counting on this CPU; events keep their counts
 *
 * Context: on the CPU, IRQs off; CPU hotplug, or before system sleep.
 */
void kpmu_cpu_offline(void)
{
	static struct kpmu_slots nothing;
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	struct kpmu_ctx *ctx, *left;
	u64 clock = kpmu_local_clock();

	kpmu_for_each_cpu_ctx(ctx, kc) {
		kpmu_ctx_tick(ctx, clock);
		kpmu_place_none(ctx);
	}
	left = kpmu_cgroup_enter(kc, NULL, clock);
	if (kc->task)
		kpmu_ctx_tick(kc->task, clock);
	kc->offline = true;
	/* If it kept running, it would migrate to another CPU with the other timers */
	hrtimer_try_to_cancel(&kc->rotate);
	kc->armed = false;
	kpmu_commit(&nothing);
	kpmu_drivers_commit(&nothing);
	kpmu_counters_offline();
	kpmu_timelines_placed();
	kc->applied = NULL;
	kpmu_ctx_follow(&kc->ctx, false);
	kpmu_cgroup_release(left);
	if (kc->task) {
		kpmu_ctx_follow(kc->task, false);
		kpmu_ctx_release(kc->task);
		kc->task = NULL;
	}
	kpmu_ctx_release(&kc->ctx);
}
