// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rotation: while groups wait for counters, each tick of a timer charges the
 * groups that run for their time and builds a new plan, least served groups first.
 *
 * The timer runs on a CPU only while a group waits there.  A task that is always
 * scheduled out before it fires rotates when it is scheduled in, by its own clock.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/smp.h>

#include "../compat/compat.h"
#include "../trace/kpmu_trace.h"
#include "../trace/stats.h"
#include "sched.h"

/* Bound of kpmu_ctx.ahead in both directions, in turns */
#define MAX_AHEAD	8

/* Charge a context; returns the ns per flexible group, 0 without such groups */
static u64 charge_ctx(struct kpmu_ctx *ctx, int *n)
{
	u64 sum = kpmu_queue_charge(ctx);

	ctx->had = 0;
	if (ctx->nr_flexible) {
		ctx->had = div_u64(sum, ctx->nr_flexible);
		++*n;
	}
	return ctx->had;
}

/* Adjust @ahead by the difference to the average of the others; @total is the sum of all @n */
static void adjust_ahead(struct kpmu_ctx *ctx, u64 total, int n)
{
	s64 most = MAX_AHEAD * kpmu_turn();

	if (!ctx->nr_flexible)
		return;
	ctx->ahead += ctx->had;
	ctx->ahead -= div_u64(total - ctx->had, n - 1);
	ctx->ahead = clamp(ctx->ahead, -most, most);
}

/**
 * kpmu_rotate_compare() - compare the running times of the contexts active here
 * @kc: this CPU, the clocks of its contexts up to date
 *
 * Only the time during which the contexts were active together is compared.
 *
 * Context: IRQs off, on @kc's CPU; at each rotation, and before a task switch.
 */
void kpmu_rotate_compare(struct kpmu_cpu *kc)
{
	struct kpmu_ctx *ctx, *task = kc->task;
	u64 total = 0;
	int n = 0;

	kpmu_for_each_cpu_ctx(ctx, kc)
		total += charge_ctx(ctx, &n);
	if (task)
		total += charge_ctx(task, &n);
	if (n < 2)
		return;
	for (ctx = kc->ctx.up; ctx; ctx = ctx->up)
		adjust_ahead(ctx, total, n);
	if (task)
		adjust_ahead(task, total, n);
}

/**
 * kpmu_rotate_ctx() - start a new turn, in which the least served groups are placed first
 * @ctx: the context, its clock up to date, its groups charged
 *
 * Context: its owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_rotate_ctx(struct kpmu_ctx *ctx)
{
	ctx->rotated = ctx->time;
	kpmu_ctx_changed(ctx);
}

static enum hrtimer_restart rotate_ctxs(struct hrtimer *timer)
{
	struct kpmu_cpu *kc = container_of(timer, struct kpmu_cpu, rotate);
	struct kpmu_ctx *task = kc->task, *ctx;
	const struct kpmu_plan *plan = kpmu_plan_of(kc);
	u64 clock;

	if (kc->offline || !(plan->cpu_waits | plan->task_waits)) {
		kc->armed = false;
		return HRTIMER_NORESTART;
	}
	clock = kpmu_local_clock();
	trace_kpmu_rotate(task ? task_pid_nr(task->task) : -1,
			  plan->cpu_waits + plan->task_waits);
	kpmu_for_each_cpu_ctx(ctx, kc)
		kpmu_ctx_tick(ctx, clock);
	if (task)
		kpmu_ctx_tick(task, clock);
	kpmu_rotate_compare(kc);
	kpmu_for_each_cpu_ctx(ctx, kc)
		kpmu_rotate_ctx(ctx);
	if (task)
		kpmu_rotate_ctx(task);
	kpmu_stat_inc(rotations);
	kpmu_resched(kc, clock);
	hrtimer_forward_now(timer, ns_to_ktime(kpmu_turn()));
	return HRTIMER_RESTART;
}

static void restart_here(void *unused)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);

	if (kc->armed)
		hrtimer_start(&kc->rotate, ns_to_ktime(kpmu_turn()),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * kpmu_rotate_restart() - apply a changed interval to all running timers
 *
 * Context: task, may sleep.
 */
void kpmu_rotate_restart(void)
{
	on_each_cpu(restart_here, NULL, 1);
}

/**
 * kpmu_rotate_init() - set up the rotation timer of a CPU
 * @kc: the CPU
 *
 * Context: module init.
 */
void kpmu_rotate_init(struct kpmu_cpu *kc)
{
	kpmu_hrtimer_setup(&kc->rotate, rotate_ctxs, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_PINNED_HARD);
}
