// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of cgroups.  A watched cgroup has a context for each CPU it is watched on.
 * It is active while the task that runs there is in that cgroup or below
 * it, so its clock, and with it time_enabled, runs just then.
 *
 * The active contexts hang behind the CPU's own as a chain, from the task's
 * cgroup upwards.  A switch between tasks of one cgroup compares two
 * pointers.  A switch to another cgroup looks up its ancestors, so it costs by
 * the depth of the tree, however many cgroups are watched.
 */
#include <linux/cgroup.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "../compat/compat.h"
#include "../trace/stats.h"
#include "sched.h"

/* Put the watched ones of a cgroup and its ancestors in a row */
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
 * kpmu_cgroup_enter() - let the cgroup contexts of this CPU be those of a task
 * @kc: this CPU
 * @task: the task that comes, NULL if none may be active
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
 * kpmu_cgroup_release() - all is folded: others may have the contexts now
 * @left: from kpmu_cgroup_enter()
 *
 * Context: IRQs off.
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
 * kpmu_cgroup_leave() - a context has retired: out of the chain with it
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
		clock = local_clock();
		left = kpmu_cgroup_enter(kc, kc->watch ? current : NULL, clock);
		kpmu_resched(kc, clock);
		kpmu_cgroup_release(left);
	}
	local_irq_restore(flags);
}

/**
 * kpmu_cgroup_watch() - a cgroup is watched on a CPU, or is not any more
 * @cpu: the CPU
 * @by: 1 or -1
 *
 * Context: task, IRQs on.
 */
void kpmu_cgroup_watch(int cpu, int by)
{
	atomic_add(by, &per_cpu(kpmu_cpu, cpu).nr_cgroups);
	smp_call_function_single(cpu, check_here, NULL, 1);
}

static bool watches(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(kpmu_cpu, cpu).watch);
}

/**
 * kpmu_cgroup_moved() - tasks have been moved to another cgroup
 *
 * Running ones count for it when this returns.
 *
 * Context: task, may be atomic.
 */
void kpmu_cgroup_moved(void)
{
	if (!irqs_disabled())
		on_each_cpu_cond(watches, check_here, NULL, true);
}
