// SPDX-License-Identifier: GPL-2.0-only
/* Contexts: their ownership, their start and their end. */
#include <linux/err.h>
#include <linux/sched/task.h>
#include <linux/smp.h>

#include "../trace/stats.h"
#include "sched.h"

static void ctx_end(struct kpmu_ctx *ctx, void (*tell)(struct kpmu_ctx *ctx));

static const struct kpmu_sched_ops *events;

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

/* Call @fn for a context active on this CPU, then update the counters */
static __always_inline int
call_active(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
	    void *data)
{
	u64 clock = local_clock();
	int ret;

	kpmu_ctx_tick(ctx, clock);
	ret = fn(ctx, data);
	if (unlikely(ctx->retired))
		kpmu_switch_out(ctx, clock);
	else
		kpmu_resched(this_cpu_ptr(&kpmu_cpu), clock);
	return ret;
}

struct call {
	struct kpmu_ctx *ctx;
	int (*fn)(struct kpmu_ctx *ctx, void *data);
	void *data;
	bool done;
	int ret;
};

static __always_inline void run_here(struct call *c, bool changes)
{
	struct kpmu_ctx *ctx = c->ctx;
	int cpu = smp_load_acquire(&ctx->cpu); /* pairs with kpmu_ctx_release() */

	if (cpu == smp_processor_id()) {
		c->ret = changes ? call_active(ctx, c->fn, c->data) : c->fn(ctx, c->data);
		c->done = true;
	} else if (cpu < 0) {
		raw_spin_lock(&ctx->ctx_lock);
		if (ctx->cpu < 0) {
			c->ret = c->fn(ctx, c->data);
			if (changes) {
				kpmu_ctx_follow(ctx, false);
				kpmu_check_ctx(ctx);
			}
			c->done = true;
		}
		raw_spin_unlock(&ctx->ctx_lock);
	}
}

/* Succeeds if the context is idle, or active on this CPU */
static void call_here(void *data)
{
	run_here(data, true);
}

/* Likewise, for a function that changes nothing */
static void visit_here(void *data)
{
	run_here(data, false);
}

/* Repeat @here, call_here() or visit_here(), until it succeeds on some CPU */
static noinline int call_elsewhere(struct call *c, smp_call_func_t here)
{
	unsigned long flags;
	int cpu;

	while (!c->done) {
		cpu = READ_ONCE(c->ctx->cpu);
		if (cpu < 0) {
			local_irq_save(flags);
			here(c);
			local_irq_restore(flags);
		} else {
			kpmu_stat_inc(remote);
			smp_call_function_single(cpu, here, c, 1);
		}
	}
	return c->ret;
}

/**
 * kpmu_ctx_call() - call a function as the owner of a context
 * @ctx: the context
 * @fn: the function; called with IRQs off and the context's time up to date
 * @data: for @fn
 *
 * Runs here if the context is idle or active here, else on the CPU where it is
 * active.  The counters reflect the changes of @fn when this returns.
 *
 * Context: task, IRQs on.
 * Return: what @fn returned.
 */
int kpmu_ctx_call(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data)
{
	struct call c = { .ctx = ctx, .fn = fn, .data = data };
	int ret;

	lockdep_assert_irqs_enabled();
	local_irq_disable();
	if (READ_ONCE(ctx->cpu) == smp_processor_id()) {
		ret = call_active(ctx, fn, data);
		local_irq_enable();
		return ret;
	}
	local_irq_enable();
	return call_elsewhere(&c, call_here);
}

/**
 * kpmu_ctx_visit() - kpmu_ctx_call() for a function that changes nothing
 * @ctx: the context
 * @fn: the function; called with IRQs off, the context's time may not be up to date
 * @data: for @fn
 *
 * @fn may fold counts, and advance the context's time.  The plan, the counters and what
 * follows the context (kpmu_ctx_follow()) are not updated afterwards.
 *
 * Context: task, IRQs on.
 * Return: what @fn returned.
 */
int kpmu_ctx_visit(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		   void *data)
{
	struct call c = { .ctx = ctx, .fn = fn, .data = data };

	lockdep_assert_irqs_enabled();
	local_irq_disable();
	visit_here(&c);
	local_irq_enable();
	return likely(c.done) ? c.ret : call_elsewhere(&c, visit_here);
}

/**
 * kpmu_ctx_try() - kpmu_ctx_call() without waiting for another CPU
 * @ctx: the context
 * @fn: the function
 * @data: for @fn
 *
 * Context: hard IRQ, on any CPU.
 * Return: true if @fn was called; false if the context is active on another CPU.
 */
bool kpmu_ctx_try(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data)
{
	struct call c = { .ctx = ctx, .fn = fn, .data = data };
	unsigned long flags;

	local_irq_save(flags);
	do {
		call_here(&c);
	} while (!c.done && READ_ONCE(ctx->cpu) < 0);
	local_irq_restore(flags);
	return c.done;
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
	return events->end(ctx, &end->gone);
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
	do {
		more = kpmu_ctx_call(ctx, end_ctx_owned, &end);
		events->put(&end.gone);
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
	} while (kpmu_ctxs_visit_empty(reap_ctx, &r));
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

	err = kpmu_contexts_init();
	if (err)
		return err;
	events = ops;
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
	kpmu_contexts_exit();
}
