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
#include <linux/smp.h>

#include "../compat/compat.h"
#include "../trace/kpmu_trace.h"
#include "../trace/stats.h"
#include "sched.h"

unsigned int kpmu_mux_interval_ms = 4;

/* How far one of the two contexts may remember that it had less, in turns */
#define MAX_AHEAD	8

/**
 * kpmu_rotate_due() - has a context run a whole interval since it rotated?
 * @ctx: a task's context
 *
 * Context: its owner.
 */
bool kpmu_rotate_due(const struct kpmu_ctx *ctx)
{
	return ctx->plan.task_waits && ctx->time - ctx->rotated >= kpmu_turn();
}

/* Charge a context; what its groups had each, or 0 if it asks for nothing */
static u64 settle_one(struct kpmu_ctx *ctx, int *n)
{
	u64 sum = kpmu_queue_charge(ctx);

	ctx->had = 0;
	if (ctx->nr_flexible) {
		ctx->had = div_u64(sum, ctx->nr_flexible);
		++*n;
	}
	return ctx->had;
}

/* What it had more than the other @n - 1, which had @total with it */
static void compare(struct kpmu_ctx *ctx, u64 total, int n)
{
	s64 most = MAX_AHEAD * kpmu_turn();

	if (!ctx->nr_flexible)
		return;
	ctx->ahead += ctx->had;
	ctx->ahead -= div_u64(total - ctx->had, n - 1);
	ctx->ahead = clamp(ctx->ahead, -most, most);
}

/**
 * kpmu_rotate_settle() - settle what the contexts that are active here had
 * @kc: this CPU, the clocks of its contexts up to date
 *
 * They are there at the same time only now and then.  So what each had of the
 * counters is compared over just that time.
 *
 * Context: IRQs off, on @kc's CPU; at each rotation, and before a switch.
 */
void kpmu_rotate_settle(struct kpmu_cpu *kc)
{
	struct kpmu_ctx *ctx, *task = kc->task;
	u64 total = 0;
	int n = 0;

	kpmu_for_each_cpu_ctx(ctx, kc)
		total += settle_one(ctx, &n);
	if (task)
		total += settle_one(task, &n);
	if (n < 2)
		return;
	for (ctx = kc->ctx.up; ctx; ctx = ctx->up)
		compare(ctx, total, n);
	if (task)
		compare(task, total, n);
}

/**
 * kpmu_rotate_first() - whose flexible groups go first
 * @kc: this CPU
 *
 * Context: IRQs off, on @kc's CPU.
 * Return: which of the active contexts: 0 the CPU's own, then those of
 * cgroups, then the task's.
 */
int kpmu_rotate_first(struct kpmu_cpu *kc)
{
	/* Up to a little: the times of turns that should be equal never are */
	s64 least = -(s64)kpmu_turn() / 6;
	struct kpmu_ctx *ctx;
	int turn = 0, first = 0;

	for (ctx = kc->ctx.up; ctx; ctx = ctx->up) {
		turn++;
		if (ctx->ahead < least) {
			least = ctx->ahead;
			first = turn;
		}
	}
	return kc->task && kc->task->ahead < least ? turn + 1 : first;
}

/**
 * kpmu_rotate_ctx() - let the groups that waited longest go first
 * @ctx: the context, its clock up to date, what its groups had charged
 *
 * Context: its owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_rotate_ctx(struct kpmu_ctx *ctx)
{
	ctx->rotated = ctx->time;
	kpmu_ctx_changed(ctx);
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
	kpmu_for_each_cpu_ctx(ctx, kc)
		kpmu_ctx_tick(ctx, clock);
	if (task)
		kpmu_ctx_tick(task, clock);
	kpmu_rotate_settle(kc);
	kpmu_for_each_cpu_ctx(ctx, kc)
		kpmu_rotate_ctx(ctx);
	if (task)
		kpmu_rotate_ctx(task);
	kpmu_stat_inc(rotations);
	kpmu_resched(kc, clock);
	hrtimer_forward_now(timer, ns_to_ktime(kpmu_turn()));
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
	hrtimer_start(&kc->rotate, ns_to_ktime(kpmu_turn()),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static void restart_here(void *unused)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);

	if (kc->armed)
		hrtimer_start(&kc->rotate, ns_to_ktime(kpmu_turn()),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * kpmu_rotate_restart() - the period has changed, and is to be used at once
 *
 * Context: task, may sleep.
 */
void kpmu_rotate_restart(void)
{
	on_each_cpu(restart_here, NULL, 1);
}

void kpmu_rotate_init(struct kpmu_cpu *kc)
{
	kpmu_hrtimer_setup(&kc->rotate, rotate, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_PINNED_HARD);
}
