// SPDX-License-Identifier: GPL-2.0-only
/* Contexts: their start and their end. */
#include <linux/err.h>
#include <linux/sched/task.h>
#include <linux/smp.h>

#include "../trace/stats.h"
#include "sched.h"

static void ctx_end(struct kpmu_ctx *ctx, void (*tell)(struct kpmu_ctx *ctx));

/* The running task's context, referenced, if it is active; without a hash lookup */
static struct kpmu_ctx *get_active(void)
{
	struct kpmu_ctx *ctx;

	local_irq_disable();
	ctx = this_cpu_read(kpmu_cpu.task);
	/* A switch to current is missed if the hook was not in place then */
	if (ctx && ctx->task == current)
		refcount_inc(&ctx->ref);
	else
		ctx = NULL;
	local_irq_enable();
	return ctx;
}

struct start {
	struct kpmu_ctx *ctx;
	bool found;
};

static void start_here(void *data)
{
	struct start *s = data;

	if (s->ctx->task != current)
		return;
	kpmu_switch_in(s->ctx);
	s->found = true;
}

/*
 * Activate a new context, which is in the hash, if its task is running.
 *
 * A switch to the task activates the context, but a task that is running already needs
 * an IPI.  If that does not find the task running, it is repeated only if the task has
 * moved to another CPU; otherwise the next switch to the task is not missed.
 */
static void start_ctx(struct kpmu_ctx *ctx)
{
	struct start s = { .ctx = ctx };
	unsigned long flags;
	int cpu;

	if (ctx->task == current) {
		local_irq_save(flags);
		kpmu_switch_in(ctx);
		local_irq_restore(flags);
		return;
	}
	do {
		cpu = task_cpu(ctx->task);
		/* Fails if the CPU is offline: a sleeping task may still be assigned to it */
		smp_call_function_single(cpu, start_here, &s, 1);
		kpmu_stat_inc(remote);
	} while (!s.found && READ_ONCE(ctx->cpu) < 0 &&
		 cpu != task_cpu(ctx->task));
}

static noinline struct kpmu_ctx *search_task(struct task_struct *task)
{
	struct kpmu_ctx *ctx;
	bool fresh;

	ctx = kpmu_ctx_find_or_make(task, -1, GFP_KERNEL, &fresh);
	if (!fresh)
		return ctx;
	/* Either PF_EXITING is seen here, or kpmu_ctx_exit() finds the context */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING) {
		ctx_end(ctx, NULL);
		kpmu_ctx_put(ctx);
		return ERR_PTR(-ESRCH);
	}
	start_ctx(ctx);
	return ctx;
}

/**
 * kpmu_ctx_of_task() - find or create the context of a task
 * @task: the task
 *
 * A context that stays empty retires.  A caller that attaches an event must check
 * ctx->retired as the owner, and call this again if it is set.
 *
 * Context: may sleep.
 * Return: the context, referenced; -ENOMEM, or -ESRCH if the task is exiting.
 */
struct kpmu_ctx *kpmu_ctx_of_task(struct task_struct *task)
{
	struct kpmu_ctx *ctx = task == current ? get_active() : NULL;

	return ctx ?: search_task(task);
}

/**
 * kpmu_ctx_of_cgroup() - find or create the context of a cgroup on a CPU
 * @css: the cgroup, referenced by the caller
 * @cpu: a possible CPU
 *
 * It may retire, see kpmu_ctx_of_task().
 *
 * Context: may sleep.
 * Return: the context, referenced; -ENOMEM.
 */
struct kpmu_ctx *kpmu_ctx_of_cgroup(struct cgroup_subsys_state *css, int cpu)
{
	bool fresh;
	struct kpmu_ctx *ctx = kpmu_ctx_find_or_make(css, cpu, GFP_KERNEL, &fresh);

	if (fresh)
		kpmu_cgroup_watch(cpu, 1);
	return ctx;
}

/* Mark a context retired; returns false if it was already */
static bool mark_retired(struct kpmu_ctx *ctx)
{
	if (ctx->retired)
		return false;
	ctx->retired = true;
	return true;
}

struct end {
	struct list_head gone;
	bool begun;		/* the scan of the events has begun */
};

static int end_ctx_owned(struct kpmu_ctx *ctx, void *data)
{
	struct end *end = data;

	if (!end->begun)
		kpmu_scan_begin(ctx);
	end->begun = true;
	return kpmu_sched_events->end(ctx, &end->gone);
}

static int end_idle_owned(struct kpmu_ctx *ctx, void *age)
{
	if (ctx->nr_events ||
	    time_before(jiffies, ctx->emptied + *(unsigned long *)age))
		return false;
	return mark_retired(ctx);
}

/* The caller has a reference of its own */
static void unhash_ctx(struct kpmu_ctx *ctx)
{
	kpmu_ctx_unhash(ctx);
	if (ctx->css)
		kpmu_cgroup_watch(ctx->home, -1);
}

static int stop_ctx_owned(struct kpmu_ctx *ctx, void *unused)
{
	return mark_retired(ctx);
}

/*
 * Retire a context and end its events; their counts stay.  @tell is called in between: no
 * sample can follow any more, and the events still exist.
 *
 * The context leaves its CPU first: an event that ended while counting would lose its counts
 * since the last fold.  The exiting task and a concurrent open may both call this; the call that
 * retires the context ends the events.
 */
static void ctx_end(struct kpmu_ctx *ctx, void (*tell)(struct kpmu_ctx *ctx))
{
	struct end end = { .gone = LIST_HEAD_INIT(end.gone) };
	bool more;

	if (!kpmu_ctx_call(ctx, stop_ctx_owned, NULL))
		return;
	if (tell && READ_ONCE(ctx->nr_sampling))
		tell(ctx);
	if (ctx->model && kpmu_sched_events->keep(ctx))
		return;
	do {
		more = kpmu_ctx_call(ctx, end_ctx_owned, &end);
		kpmu_sched_events->put(&end.gone);
	} while (more);
	unhash_ctx(ctx);
}

struct reap {
	unsigned long age;
	bool left;		/* some may be retired later */
};

static bool reap_ctx(struct kpmu_ctx *ctx, void *data)
{
	struct reap *r = data;

	if (kpmu_ctx_call(ctx, end_idle_owned, &r->age)) {
		unhash_ctx(ctx);
		return true;
	}
	r->left = true;
	return false;
}

/**
 * kpmu_ctxs_reap() - retire contexts that have no events
 * @age: jiffies for which they must have been empty
 *
 * Contexts outlive their last event for a while, because programs that open one
 * event often open the next.
 *
 * A pass may miss contexts behind those that it removes, so passes are repeated until
 * one removes nothing.
 *
 * Context: task, may sleep.
 * Return: true if some may be reaped later.
 */
bool kpmu_ctxs_reap(unsigned long age)
{
	struct reap r = { .age = age };

	do {
		r.left = false;
	} while (kpmu_ctxs_left() && kpmu_ctxs_visit_empty(reap_ctx, &r));
	return r.left;
}

/**
 * kpmu_ctx_exit() - end the events of a task; they keep their last values
 * @task: current, at exit; or at exec, if the hook of exec does not work any more
 * @tell: called if there are events that sample, after they stopped and before they end
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_ctx_exit(struct task_struct *task,
		   void (*tell)(struct kpmu_ctx *ctx))
{
	struct kpmu_ctx *ctx;

	smp_mb();	/* pairs with search_task() */
	ctx = kpmu_ctx_find_get(task);
	if (!ctx)
		return;
	ctx_end(ctx, tell);
	kpmu_ctx_put(ctx);
}

/**
 * kpmu_ctxs_init() - set up contexts and the state of each CPU
 * @ops: calls to the events above
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int __init kpmu_ctxs_init(const struct kpmu_sched_ops *ops)
{
	int cpu, err;

	kpmu_tsc_init();
	err = kpmu_contexts_init();
	if (err)
		return err;
	kpmu_sched_events = ops;
	static_call_update(kpmu_follow, ops->follow);
	for_each_possible_cpu(cpu) {
		per_cpu(kpmu_cpu, cpu).offline = true;
		kpmu_gens_init(cpu);
		kpmu_rotate_init(per_cpu_ptr(&kpmu_cpu, cpu));
	}
	return 0;
}

/**
 * kpmu_ctxs_exit() - free what kpmu_ctxs_init() allocated
 *
 * Context: module exit; no event is left, and the hooks are removed.
 */
void kpmu_ctxs_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu(kpmu_cpu, cpu).rotate);
	static_key_deferred_flush(&kpmu_firm_key);
	kpmu_contexts_exit();
}
