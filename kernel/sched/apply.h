/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that the task switch calls, inlined there: a call costs ten instructions. */
#ifndef KPMU_APPLY_H
#define KPMU_APPLY_H

#include "../source/drivers.h"
#include "../trace/stats.h"
#include "sched.h"
#include "timeline.h"

void kpmu_plan_apply(struct kpmu_cpu *kc, struct kpmu_plan *plan, u64 clock);
void kpmu_rotate_arm(struct kpmu_cpu *kc);

/**
 * kpmu_plan_enforce() - put a plan into force if nothing else has to be done for that
 * @kc: this CPU; no context of a cgroup is active
 * @task: kc->task
 * @plan: its plan
 *
 * The groups that a task's context has as placed are always those of its plan if this is
 * good, because it contains the groups of no other plan.
 *
 * Context: IRQs off.
 * Return: false if kpmu_plan_apply() is needed.
 */
static __always_inline bool kpmu_plan_enforce(struct kpmu_cpu *kc, const struct kpmu_ctx *task,
					      struct kpmu_plan *plan)
{
	/* As kpmu_plan_is_good() */
	if (plan->nr_cpu | kc->ctx.nr_placed || plan->cpu_gen != kc->ctx.gen ||
	    plan->task_gen != (task ? task->gen : 0) ||
	    (plan->cpu >= 0 && plan->cpu != kc->ctx.home))
		return false;
	kc->stale = false;
	kc->applied = plan;
	kpmu_stat_inc(plan_hits);
	return true;
}

/**
 * kpmu_resched_inline() - kpmu_resched() without a call
 * @kc: this CPU
 * @task: kc->task
 * @clock: local_clock() when the change began
 * @plain: the CPU is online, and no context of a cgroup is active
 *
 * Context: as kpmu_resched().
 */
static __always_inline void kpmu_resched_inline(struct kpmu_cpu *kc, struct kpmu_ctx *task,
						u64 clock, bool plain)
{
	struct kpmu_plan *plan = plain && task ? &task->plan : kpmu_plan_of(kc);
	struct kpmu_ctx *ctx = &kc->ctx;

	if (!plain && unlikely(kc->offline))
		return;
	if ((kc->stale || kc->applied != plan) && !(plain && kpmu_plan_enforce(kc, task, plan)))
		kpmu_plan_apply(kc, plan, clock);
	kpmu_commit(&plan->slots);
	kpmu_drivers_commit(&plan->slots);
	if ((plan->cpu_waits | plan->task_waits) && !kc->armed)
		kpmu_rotate_arm(kc);
	do {
		kpmu_ctx_follow(ctx, true);
		ctx = ctx->up;
	} while (!plain && unlikely(ctx));
	if (task)
		kpmu_ctx_follow(task, true);
	kpmu_timelines_placed();
	kpmu_check_cpu(kc);
}

#if defined(CONFIG_DEBUG_SPINLOCK) || defined(CONFIG_LOCKDEP)
#define KPMU_LOCK_CHECKED	true
#else
#define KPMU_LOCK_CHECKED	false
#endif

/**
 * kpmu_ctx_lock_inline() - take the lock of a context without a call
 * @ctx: the context
 *
 * raw_spin_lock() and raw_spin_unlock(), which disable preemption as well, cost 20 instructions more.
 *
 * Context: IRQs off.
 */
static __always_inline void kpmu_ctx_lock_inline(struct kpmu_ctx *ctx)
{
	if (KPMU_LOCK_CHECKED) {
		raw_spin_lock(&ctx->ctx_lock);
		return;
	}
	arch_spin_lock(&ctx->ctx_lock.raw_lock);
	__acquire(&ctx->ctx_lock);
}

/**
 * kpmu_ctx_unlock_inline() - release a lock taken by kpmu_ctx_lock_inline()
 * @ctx: the context
 *
 * Context: IRQs off.
 */
static __always_inline void kpmu_ctx_unlock_inline(struct kpmu_ctx *ctx)
{
	if (KPMU_LOCK_CHECKED) {
		raw_spin_unlock(&ctx->ctx_lock);
		return;
	}
	__release(&ctx->ctx_lock);
	arch_spin_unlock(&ctx->ctx_lock.raw_lock);
}

/**
 * kpmu_ctx_activate_inline() - kpmu_ctx_activate() without a call
 * @kc: this CPU
 * @ctx: the context
 * @clock: local_clock() of the change
 *
 * Context: as kpmu_ctx_activate().
 * Return: false if the context has retired, or is active elsewhere.
 */
static __always_inline bool kpmu_ctx_activate_inline(struct kpmu_cpu *kc, struct kpmu_ctx *ctx,
						     u64 clock)
{
	kpmu_ctx_lock_inline(ctx);
	if (unlikely(ctx->cpu >= 0 || ctx->retired)) {
		kpmu_ctx_unlock_inline(ctx);
		return false;
	}
	ctx->since = clock;
	WRITE_ONCE(ctx->cpu, kc->ctx.home);
	if (ctx->last_cpu != kc->ctx.home) {
		ctx->last_cpu = kc->ctx.home;
		kpmu_free_move(ctx);
	}
	kpmu_ctx_unlock_inline(ctx);
	return true;
}

#endif
