// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rotation: when groups wait for counters, those that run are charged for the
 * time they had at every tick of a timer, and the plan is made anew with the
 * least served first.
 *
 * The timer runs on a CPU only while something waits there.  A task that never
 * stays until the timer fires rotates when it comes back, by its own clock.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>

#include "../compat/compat.h"
#include "../trace/kpmu_trace.h"
#include "../trace/stats.h"
#include "sched.h"

unsigned int kpmu_mux_interval_ms = 4;

static u64 interval_ns(void)
{
	return (u64)READ_ONCE(kpmu_mux_interval_ms) * NSEC_PER_MSEC;
}

/**
 * kpmu_rotate_due() - has a context run a whole interval since it rotated?
 * @ctx: a task's context
 *
 * Context: its owner.
 */
bool kpmu_rotate_due(const struct kpmu_ctx *ctx)
{
	return ctx->plan.task_waits && ctx->time - ctx->rotated >= interval_ns();
}

/**
 * kpmu_rotate_ctx() - let the groups that waited longest go first
 * @ctx: the context, its clock up to date
 *
 * Context: its owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_rotate_ctx(struct kpmu_ctx *ctx)
{
	ctx->rotated = ctx->time;
	kpmu_queue_charge(ctx, ctx->time);
	kpmu_stat_inc(rotations);
}

/* The next context that had to wait goes first; else the same again */
static int next_turn(u32 waits, int first)
{
	u32 later = first < 31 ? waits & ~0u << (first + 1) : 0;

	if (later)
		return __ffs(later);
	return waits ? __ffs(waits) : first;
}

static enum hrtimer_restart rotate(struct hrtimer *timer)
{
	struct kpmu_cpu *kc = container_of(timer, struct kpmu_cpu, rotate);
	struct kpmu_ctx *task = kc->task, *ctx;
	const struct kpmu_plan *plan = kpmu_plan_of(kc);
	u64 clock;

	if (kc->offline || !(plan->cpu_waits | plan->task_waits)) {
		kc->armed = false;
		return HRTIMER_NORESTART;
	}
	clock = local_clock();
	trace_kpmu_rotate(task ? task_pid_nr(task->task) : -1,
			  plan->cpu_waits + plan->task_waits);
	kc->first = next_turn(plan->waits, kc->first);
	kpmu_for_each_cpu_ctx(ctx, kc) {
		kpmu_ctx_tick(ctx, clock);
		kpmu_rotate_ctx(ctx);
	}
	if (task) {
		kpmu_ctx_tick(task, clock);
		kpmu_rotate_ctx(task);
	}
	kpmu_resched(kc, clock);
	hrtimer_forward_now(timer, ns_to_ktime(interval_ns()));
	return HRTIMER_RESTART;
}

/**
 * kpmu_rotate_arm() - something waits on this CPU
 * @kc: this CPU
 *
 * Context: IRQs off, possibly under the run-queue lock.
 */
void kpmu_rotate_arm(struct kpmu_cpu *kc)
{
	if (kc->armed)
		return;
	kc->armed = true;
	hrtimer_start(&kc->rotate, ns_to_ktime(interval_ns()),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

void kpmu_rotate_init(struct kpmu_cpu *kc)
{
	kpmu_hrtimer_setup(&kc->rotate, rotate, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_PINNED_HARD);
}
