// SPDX-License-Identifier: GPL-2.0-only
/*
 * Putting plans into effect: at a task switch, after a change, at CPU hotplug.
 * All of it runs on the CPU concerned, with IRQs off.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>

#include "../compat/compat.h"
#include "../trace/stats.h"
#include "sched.h"

DEFINE_PER_CPU(struct kpmu_cpu, kpmu_cpu);

/* Are the context's groups in the plan those that are placed already? */
static bool same_groups(const struct kpmu_ctx *ctx, const struct kpmu_plan *plan)
{
	int i, n = 0;

	for (i = 0; i < plan->nr; i++) {
		if (plan->groups[i]->ctx != ctx)
			continue;
		if (n == ctx->nr_placed || ctx->placed[n] != plan->groups[i])
			return false;
		n++;
	}
	return n == ctx->nr_placed;
}

/* Make placement, and with it time_running, match the plan */
static void place_groups(struct kpmu_ctx *ctx, const struct kpmu_plan *plan)
{
	int i, n = 0;

	for (i = 0; i < plan->nr; i++)
		plan->groups[i]->group.mark = true;
	for (i = 0; i < ctx->nr_placed; i++) {
		struct kpmu_event *leader = ctx->placed[i];

		if (leader->group.mark)
			continue;
		leader->group.placed = false;
		kpmu_group_clocks(leader, ctx->time);
	}
	for (i = 0; i < plan->nr; i++) {
		struct kpmu_event *leader = plan->groups[i];

		leader->group.mark = false;
		if (leader->ctx != ctx)
			continue;
		ctx->placed[n++] = leader;
		if (leader->group.placed)
			continue;
		leader->group.placed = true;
		leader->group.charged = ctx->time;
		kpmu_group_clocks(leader, ctx->time);
	}
	ctx->nr_placed = n;
}

/*
 * Put a plan into force that is new, or is not the one in force.  Not inline:
 * most changes do not need it, nor the registers that it uses.
 */
static noinline void apply(struct kpmu_cpu *kc, struct kpmu_plan *plan, u64 clock)
{
	struct kpmu_ctx *task = kc->task, *ctx;

	if (kpmu_plan_is_good(plan, kc)) {
		kc->stale = false;
		kpmu_stat_inc(plan_hits);
	} else {
		kpmu_for_each_cpu_ctx(ctx, kc)
			kpmu_ctx_tick(ctx, clock);
		if (task)
			kpmu_ctx_tick(task, clock);
		kpmu_plan_build(plan, kc);
	}
	kpmu_for_each_cpu_ctx(ctx, kc) {
		if (!(plan->nr_cpu | ctx->nr_placed) || same_groups(ctx, plan))
			continue;
		kpmu_ctx_tick(ctx, clock);
		place_groups(ctx, plan);
	}
	if (task && !same_groups(task, plan)) {
		kpmu_ctx_tick(task, clock);
		place_groups(task, plan);
	}
	kc->applied = plan;
}

/**
 * kpmu_resched() - bring the plan and the counters of this CPU up to date
 * @kc: this CPU
 * @clock: local_clock() when the change began: one time for the whole change, so
 *	an event that is enabled and scheduled in by it has equal times
 *
 * Context: IRQs off; after any change to an active context.
 */
void kpmu_resched(struct kpmu_cpu *kc, u64 clock)
{
	struct kpmu_plan *plan = kpmu_plan_of(kc);
	struct kpmu_ctx *ctx = &kc->ctx;

	if (unlikely(kc->offline))
		return;
	if (kc->stale || kc->applied != plan)
		apply(kc, plan, clock);
	kpmu_commit(&plan->slots);
	if (plan->cpu_waits | plan->task_waits)
		kpmu_rotate_arm(kc);
	do {
		kpmu_ctx_follow(ctx, true);
		ctx = ctx->up;
	} while (unlikely(ctx));
	if (kc->task)
		kpmu_ctx_follow(kc->task, true);
	kpmu_look_cpu(kc);
}

/**
 * kpmu_ctx_activate() - make this CPU the owner of a context
 * @kc: this CPU
 * @ctx: the context
 * @clock: local_clock() of the change
 *
 * Context: IRQs off.
 * Return: false if the context has retired, or is active elsewhere.
 */
bool kpmu_ctx_activate(struct kpmu_cpu *kc, struct kpmu_ctx *ctx, u64 clock)
{
	bool ok;

	raw_spin_lock(&ctx->lock);
	ok = ctx->cpu < 0 && !ctx->retired;
	if (ok) {
		ctx->since = clock;
		WRITE_ONCE(ctx->cpu, kc->ctx.home);
		if (ctx->last_cpu != kc->ctx.home) {
			ctx->last_cpu = kc->ctx.home;
			kpmu_free_move(ctx);
		}
	}
	raw_spin_unlock(&ctx->lock);
	return ok;
}

/**
 * kpmu_switch() - switch contexts at a task switch
 * @next: the task switched in
 *
 * A counter that both tasks use alike is not programmed anew; see kpmu_commit().  The
 * cost does not depend on events of other tasks.
 *
 * Context: IRQs off; under the run-queue lock, except after system sleep.
 */
void kpmu_switch(struct task_struct *next)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	struct kpmu_ctx *old = kc->task, *new = NULL, *left = NULL, *ctx;
	bool cgroup = unlikely(kc->watch) && !kc->offline &&
		      kpmu_task_css(next) != kc->css;
	u64 clock;

	if (!kc->offline)
		new = kpmu_ctx_find(next);
	if (!old && !new && !cgroup)
		return;
	kpmu_stat_inc(switches);
	clock = local_clock();
	if (old)
		kpmu_ctx_tick(old, clock);
	if (unlikely(kc->ctx.nr_flexible || kc->ctx.up)) {
		kpmu_for_each_cpu_ctx(ctx, kc)
			kpmu_ctx_tick(ctx, clock);
		kpmu_rotate_settle(kc);
	}
	if (new && !kpmu_ctx_activate(kc, new, clock))
		new = NULL;
	kc->task = new;
	if (cgroup)
		left = kpmu_cgroup_enter(kc, next, clock);
	if (new && kpmu_rotate_due(new)) {
		kpmu_queue_charge(new);
		kpmu_rotate_ctx(new);
		kpmu_stat_inc(rotations);
	}
	kpmu_resched(kc, clock);
	/* The counters are folded, so other CPUs may own the contexts now */
	if (old) {
		kpmu_ctx_follow(old, false);
		kpmu_ctx_release(old);
	}
	if (cgroup)
		kpmu_cgroup_release(left);
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
	clock = local_clock();
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

	raw_spin_lock(&ctx->lock);
	ctx->since = local_clock();
	ctx->cpu = ctx->home;
	raw_spin_unlock(&ctx->lock);
	kc->offline = false;
	/* kpmu_cgroup_watch() does not reach a CPU that is offline */
	kc->watch = atomic_read(&kc->nr_cgroups);
	kpmu_counters_online();
	kpmu_resched(kc, ctx->since);
}

/**
 * kpmu_cpu_offline() - stop counting on this CPU; events keep their counts
 *
 * Context: on the CPU, IRQs off; CPU hotplug, or before system sleep.
 */
void kpmu_cpu_offline(void)
{
	static const struct kpmu_plan nothing;
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	struct kpmu_ctx *ctx, *left;
	u64 clock = local_clock();

	kpmu_for_each_cpu_ctx(ctx, kc) {
		kpmu_ctx_tick(ctx, clock);
		place_groups(ctx, &nothing);
	}
	left = kpmu_cgroup_enter(kc, NULL, clock);
	if (kc->task)
		kpmu_ctx_tick(kc->task, clock);
	kc->offline = true;
	/* If it kept running, it would migrate to another CPU with the other timers */
	hrtimer_try_to_cancel(&kc->rotate);
	kc->armed = false;
	kpmu_commit(&nothing.slots);
	kpmu_counters_offline();
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
