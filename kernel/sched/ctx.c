// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts: found by task, owned by turns, ended at exit.
 */
#include <linux/hash.h>
#include <linux/rhashtable.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "../trace/stats.h"
#include "sched.h"

/* Task structs have no place for us, so tasks are found by their address */
static u32 task_hash(const void *task, u32 len, u32 seed)
{
	return hash_ptr(*(void *const *)task, 32) ^ seed;
}

static int task_differs(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct kpmu_ctx *ctx = obj;

	return ctx->task != *(struct task_struct *const *)arg->key;
}

static const struct rhashtable_params params = {
	.key_len = sizeof(struct task_struct *),
	.key_offset = offsetof(struct kpmu_ctx, task),
	.head_offset = offsetof(struct kpmu_ctx, hash),
	.hashfn = task_hash,
	.obj_cmpfn = task_differs,
	.min_size = 64,
};

static void ctx_end(struct kpmu_ctx *ctx);

static struct rhashtable tasks;
static struct kmem_cache *ctx_cache;

static void ctx_setup(struct kpmu_ctx *ctx, int home)
{
	raw_spin_lock_init(&ctx->lock);
	ctx->cpu = -1;
	ctx->home = home;
	INIT_LIST_HEAD(&ctx->leaders);
	INIT_LIST_HEAD(&ctx->pinned);
	INIT_LIST_HEAD(&ctx->classes);
	ctx->plan.cpu = -1;
	refcount_set(&ctx->ref, 1);
}

void kpmu_ctx_get(struct kpmu_ctx *ctx)
{
	refcount_inc(&ctx->ref);
}

static void ctx_free(struct rcu_head *rcu)
{
	struct kpmu_ctx *ctx = container_of(rcu, struct kpmu_ctx, rcu);

	put_task_struct(ctx->task);
	kmem_cache_free(ctx_cache, ctx);
}

/**
 * kpmu_ctx_put() - give a reference back
 * @ctx: the context; a CPU's is never freed
 *
 * Context: any but NMI.
 */
void kpmu_ctx_put(struct kpmu_ctx *ctx)
{
	if (refcount_dec_and_test(&ctx->ref))
		call_rcu(&ctx->rcu, ctx_free);
}

/**
 * kpmu_ctx_find() - the context of a task
 * @task: the task
 *
 * Context: RCU (or IRQs off), which also bounds how long the result is good.
 */
struct kpmu_ctx *kpmu_ctx_find(struct task_struct *task)
{
	return rhashtable_lookup(&tasks, &task, params);
}

static struct kpmu_ctx *find_get(struct task_struct *task)
{
	struct kpmu_ctx *ctx;

	rcu_read_lock();
	ctx = kpmu_ctx_find(task);
	if (ctx && !refcount_inc_not_zero(&ctx->ref))
		ctx = NULL;
	rcu_read_unlock();
	return ctx;
}

/**
 * kpmu_ctx_of_task() - the context of a task, made if there is none
 * @task: the task
 *
 * A context retires with its last event; whoever attaches to one must look
 * under its ownership whether it has, and come here again if so.
 *
 * Context: may sleep.
 * Return: the context, held; -ENOMEM, or -ESRCH for a task that is exiting.
 */
struct kpmu_ctx *kpmu_ctx_of_task(struct task_struct *task)
{
	struct kpmu_ctx *ctx, *other;

	ctx = find_get(task);
	if (ctx)
		return ctx;
	ctx = kmem_cache_zalloc(ctx_cache, GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx_setup(ctx, -1);
	ctx->task = get_task_struct(task);
	refcount_inc(&ctx->ref);		/* the hash's */
	do {
		other = rhashtable_lookup_get_insert_fast(&tasks, &ctx->hash,
							  params);
		if (!other)
			break;
		if (IS_ERR(other)) {
			kpmu_ctx_put(ctx);
			kpmu_ctx_put(ctx);
			return other;
		}
		other = find_get(task);
	} while (!other);
	if (other) {
		ctx_free(&ctx->rcu);		/* never seen by anyone */
		return other;
	}
	/* Either we see that it exits, or its exit sees the context */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING) {
		ctx_end(ctx);
		kpmu_ctx_put(ctx);
		return ERR_PTR(-ESRCH);
	}
	kpmu_ctx_start(ctx);
	return ctx;
}

/**
 * kpmu_ctx_unhash() - take a context that is done for out of the hash
 * @ctx: a task's context, on which kpmu_ctx_retire() was called
 *
 * Context: IRQs on; once for each context.
 */
void kpmu_ctx_unhash(struct kpmu_ctx *ctx)
{
	rhashtable_remove_fast(&tasks, &ctx->hash, params);
	kpmu_ctx_put(ctx);
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

/**
 * kpmu_ctx_start() - if a new context's task runs now, let it count
 * @ctx: the context, in the hash
 *
 * From its next switch on the task is seen anyway.  Until then somebody must
 * go where it runs.  If it is not there any more and did not come back to
 * the same CPU, it has been switched.
 *
 * Context: may sleep.
 */
void kpmu_ctx_start(struct kpmu_ctx *ctx)
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
		if (smp_call_function_single(cpu, start_here, &s, 1))
			cpu = -1;	/* went offline: look again */
		kpmu_stat_inc(remote);
	} while (!s.found && READ_ONCE(ctx->cpu) < 0 &&
		 cpu != task_cpu(ctx->task));
}

struct call {
	struct kpmu_ctx *ctx;
	int (*fn)(struct kpmu_ctx *ctx, void *data);
	void *data;
	bool done;
	int ret;
};

/* We are the owner: run it, and let the CPU follow */
static void call_owned(struct call *c)
{
	struct kpmu_ctx *ctx = c->ctx;
	u64 clock;

	if (ctx->cpu < 0) {
		c->ret = c->fn(ctx, c->data);
	} else {
		clock = local_clock();
		kpmu_ctx_tick(ctx, clock);
		c->ret = c->fn(ctx, c->data);
		if (ctx->retired)
			kpmu_switch_out(ctx, clock);
		else
			kpmu_resched(this_cpu_ptr(&kpmu_cpu), clock);
	}
	c->done = true;
}

/* Try from this CPU: the context is idle, or active right here */
static void call_here(void *data)
{
	struct call *c = data;
	int cpu = smp_load_acquire(&c->ctx->cpu);

	if (cpu == smp_processor_id()) {
		call_owned(c);
	} else if (cpu < 0) {
		raw_spin_lock(&c->ctx->lock);
		if (c->ctx->cpu < 0)
			call_owned(c);
		raw_spin_unlock(&c->ctx->lock);
	}
}

/**
 * kpmu_ctx_call() - do something to a context, as its owner
 * @ctx: the context
 * @fn: what to do; atomic, IRQs off, the context's time up to date
 * @data: for @fn
 *
 * Runs here if the context is idle or active here, else on the CPU where it is
 * active.  What @fn changed takes effect on the counters before this returns.
 *
 * Context: task, IRQs on.
 * Return: what @fn returned.
 */
int kpmu_ctx_call(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data)
{
	struct call c = { .ctx = ctx, .fn = fn, .data = data };
	unsigned long flags;
	int cpu;

	for (;;) {
		local_irq_save(flags);
		call_here(&c);
		local_irq_restore(flags);
		if (c.done)
			return c.ret;
		cpu = READ_ONCE(ctx->cpu);
		if (cpu < 0)
			continue;
		kpmu_stat_inc(remote);
		smp_call_function_single(cpu, call_here, &c, 1);
		if (c.done)
			return c.ret;
	}
}

/**
 * kpmu_ctx_retire() - this context will not run any more
 * @ctx: a task's context
 *
 * Context: the context's owner.
 * Return: whether it was the first to say so; it then calls kpmu_ctx_unhash()
 * once it may.
 */
bool kpmu_ctx_retire(struct kpmu_ctx *ctx)
{
	if (ctx->retired)
		return false;
	ctx->retired = true;
	return true;
}

static int end_ctx(struct kpmu_ctx *ctx, void *unused)
{
	struct kpmu_event *leader, *e;

	list_for_each_entry(leader, &ctx->leaders, node) {
		kpmu_queue_del(ctx, leader);
		leader->attached = false;
		kpmu_for_each_member(e, leader)
			e->attached = false;
		kpmu_group_clocks(leader, ctx->time);
	}
	ctx->nr_events = 0;
	return kpmu_ctx_retire(ctx);
}

/* Nothing counts in this context any more; what was counted stays */
static void ctx_end(struct kpmu_ctx *ctx)
{
	if (kpmu_ctx_call(ctx, end_ctx, NULL))
		kpmu_ctx_unhash(ctx);
}

/**
 * kpmu_ctx_exit() - a task is leaving: its events keep their last values
 * @task: current, on its way out or becoming somebody its observers may not
 *	look at
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_ctx_exit(struct task_struct *task)
{
	struct kpmu_ctx *ctx;

	smp_mb();	/* pairs with kpmu_ctx_of_task() */
	ctx = find_get(task);
	if (!ctx)
		return;
	ctx_end(ctx);
	kpmu_ctx_put(ctx);
}

int __init kpmu_ctxs_init(void)
{
	int cpu;

	ctx_cache = KMEM_CACHE(kpmu_ctx, 0);
	if (!ctx_cache)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		ctx_setup(&per_cpu(kpmu_cpu, cpu).ctx, cpu);
		per_cpu(kpmu_cpu, cpu).offline = true;
		kpmu_rotate_init(per_cpu_ptr(&kpmu_cpu, cpu));
	}
	return rhashtable_init(&tasks, &params);
}

void kpmu_ctxs_exit(void)
{
	rcu_barrier();		/* contexts on their way to be freed */
	rhashtable_destroy(&tasks);
	kmem_cache_destroy(ctx_cache);
}
