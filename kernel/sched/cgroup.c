// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cgroup events.  A watched cgroup has a context for each CPU it is watched on.
 * The context is active while the running task is in that cgroup or below it, so
 * its clock, and with it time_enabled, advances only then.
 *
 * The active contexts are linked behind the CPU context, from the task's cgroup
 * towards the root.  A switch between tasks of one cgroup compares two
 * pointers.  A switch to another cgroup looks up its ancestors, so its cost is
 * the depth of the tree, however many cgroups are watched.
 */
#include <linux/cgroup.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "../compat/compat.h"
#include "../trace/stats.h"
#include "sched.h"

/* Activate and link the contexts of a cgroup and its ancestors; returns the first */
static struct kpmu_ctx *find_chain(struct kpmu_cpu *kc,
				   struct cgroup_subsys_state *css, u64 clock)
{
	struct kpmu_ctx *first = NULL, **end = &first, *ctx;

	for (; css; css = css->parent) {
		ctx = kpmu_ctx_find_cgroup(css, kc->ctx.home);
		if (!ctx || (ctx->cpu < 0 && !kpmu_ctx_activate(kc, ctx, clock)))
			continue;
		ctx->wanted = true;
		*end = ctx;
		end = &ctx->next_up;
	}
	*end = NULL;
	return first;
}

/**
 * kpmu_cgroup_enter() - make the contexts of a task's cgroups the active ones
 * @kc: this CPU
 * @task: the task switched in, NULL to leave no cgroup context active
 * @clock: local_clock() of the change
 *
 * Context: IRQs off; kpmu_resched() and then kpmu_cgroup_release() must follow.
 * Return: contexts that are not active any more but still hold counters.
 */
struct kpmu_ctx *kpmu_cgroup_enter(struct kpmu_cpu *kc, struct task_struct *task,
				   u64 clock)
{
	struct cgroup_subsys_state *css = task ? kpmu_task_css(task) : NULL;
	struct kpmu_ctx *first, *ctx, *left = NULL, *next;

	first = find_chain(kc, css, clock);
	kc->css = css;
	for (ctx = kc->ctx.up; ctx; ctx = next) {
		next = ctx->up;
		if (ctx->wanted)
			continue;
		kpmu_ctx_tick(ctx, clock);
		ctx->next_left = left;
		left = ctx;
	}
	kc->ctx.up = first;
	for (ctx = first; ctx; ctx = ctx->up) {
		ctx->wanted = false;
		ctx->up = ctx->next_up;
	}
	kc->stale = true;
	return left;
}

/**
 * kpmu_cgroup_release() - release contexts that are not active any more
 * @left: from kpmu_cgroup_enter()
 *
 * Context: IRQs off; after kpmu_resched(), which folds their counters.
 */
void kpmu_cgroup_release(struct kpmu_ctx *left)
{
	struct kpmu_ctx *next;

	for (; left; left = next) {
		next = left->next_left;
		left->up = NULL;
		kpmu_ctx_follow(left, false);
		kpmu_ctx_release(left);
	}
}

/**
 * kpmu_cgroup_leave() - unlink a retired context
 * @kc: this CPU
 * @ctx: the context, active here
 *
 * Context: IRQs off; kpmu_resched() and kpmu_ctx_release() must follow.
 */
void kpmu_cgroup_leave(struct kpmu_cpu *kc, struct kpmu_ctx *ctx)
{
	struct kpmu_ctx **p = &kc->ctx.up;

	while (*p && *p != ctx)
		p = &(*p)->up;
	if (*p)
		*p = ctx->up;
	ctx->up = NULL;
	kc->stale = true;
}

static void check_here(void *unused)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	struct kpmu_ctx *left;
	unsigned long flags;
	u64 clock;

	local_irq_save(flags);
	kc->watch = atomic_read(&kc->nr_cgroups);
	if (!kc->offline) {
		clock = kpmu_local_clock();
		left = kpmu_cgroup_enter(kc, kc->watch ? current : NULL, clock);
		kpmu_resched(kc, clock);
		kpmu_cgroup_release(left);
	}
	local_irq_restore(flags);
}

/**
 * kpmu_cgroup_watch() - count the cgroups watched on a CPU, update its contexts
 * @cpu: the CPU
 * @by: 1 for one more, -1 for one less
 *
 * Context: task, IRQs on.
 */
void kpmu_cgroup_watch(int cpu, int by)
{
	atomic_add(by, &per_cpu(kpmu_cpu, cpu).nr_cgroups);
	smp_call_function_single(cpu, check_here, NULL, 1);
}

static bool cpu_has_ctx(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(kpmu_cpu, cpu).watch);
}

/**
 * kpmu_cgroup_moved() - tasks have been moved to another cgroup
 *
 * A running task counts for its new cgroup when this returns.  With IRQs off it does nothing.
 *
 * Context: task, may be atomic.
 */
void kpmu_cgroup_moved(void)
{
	if (!irqs_disabled())
		on_each_cpu_cond(cpu_has_ctx, check_here, NULL, true);
}
