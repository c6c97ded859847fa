// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts: found by task, owned by turns, ended at exit.
 */
#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/rhashtable.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "../trace/stats.h"
#include "sched.h"

/*
 * Task structs have no place for us, so contexts are found by the address of
 * their task, or of their cgroup and the CPU.
 */
struct owner_key {
	void *owner;
	int cpu;
};

static u32 key_hash(const void *data, u32 len, u32 seed)
{
	const struct owner_key *key = data;

	return (hash_ptr(key->owner, 32) + key->cpu) ^ seed;
}

static u32 ctx_hash(const void *data, u32 len, u32 seed)
{
	const struct kpmu_ctx *ctx = data;

	return (hash_ptr(ctx->key, 32) + ctx->home) ^ seed;
}

static int ctx_differs(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct kpmu_ctx *ctx = obj;
	const struct owner_key *key = arg->key;

	return ctx->key != key->owner || ctx->home != key->cpu;
}

static const struct rhashtable_params params = {
	.head_offset = offsetof(struct kpmu_ctx, hash),
	.hashfn = key_hash,
	.obj_hashfn = ctx_hash,
	.obj_cmpfn = ctx_differs,
	.min_size = 64,
};

static void ctx_end(struct kpmu_ctx *ctx, void (*tell)(struct kpmu_ctx *ctx));

static struct rhashtable contexts;
static atomic_t nr_contexts;		/* in the hash */
static struct kmem_cache *ctx_cache;

static void ctx_setup(struct kpmu_ctx *ctx, int home)
{
	memset(ctx, 0, offsetof(struct kpmu_ctx, placed));
	memset(&ctx->plan, 0, offsetof(struct kpmu_plan, groups));
	ctx->plan.slots.mask = 0;
	ctx->plan.slots.alt = 0;
	raw_spin_lock_init(&ctx->lock);
	ctx->cpu = -1;
	ctx->home = home;
	ctx->last_cpu = home;
	INIT_LIST_HEAD(&ctx->leaders);
	INIT_LIST_HEAD(&ctx->pinned);
	INIT_LIST_HEAD(&ctx->classes);
	INIT_LIST_HEAD(&ctx->bound);
	ctx->plan.cpu = -1;
	ctx->emptied = jiffies;
	refcount_set(&ctx->ref, 1);
}

void kpmu_ctx_get(struct kpmu_ctx *ctx)
{
	refcount_inc(&ctx->ref);
}

static void ctx_free(struct rcu_head *rcu)
{
	struct kpmu_ctx *ctx = container_of(rcu, struct kpmu_ctx, rcu);

	if (ctx->css)
		css_put(ctx->css);
	else
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
	const struct owner_key key = { task, -1 };

	return rhashtable_lookup(&contexts, &key, params);
}

/**
 * kpmu_ctx_find_cgroup() - the context of a cgroup on a CPU
 * @css: the cgroup
 * @cpu: the CPU
 *
 * Context: RCU (or IRQs off), which also bounds how long the result is good.
 */
struct kpmu_ctx *kpmu_ctx_find_cgroup(struct cgroup_subsys_state *css, int cpu)
{
	const struct owner_key key = { css, cpu };

	return rhashtable_lookup(&contexts, &key, params);
}

/* The running task's context, held, if it is active: without a search */
static struct kpmu_ctx *get_active(void)
{
	struct kpmu_ctx *ctx;

	local_irq_disable();
	ctx = this_cpu_read(kpmu_cpu.task);
	/* Nobody saw the switch to a task that came while the hook was not there */
	if (ctx && ctx->task == current)
		refcount_inc(&ctx->ref);
	else
		ctx = NULL;
	local_irq_enable();
	return ctx;
}

static struct kpmu_ctx *find_get(const struct owner_key *key)
{
	struct kpmu_ctx *ctx;

	rcu_read_lock();
	ctx = rhashtable_lookup(&contexts, key, params);
	if (ctx && !refcount_inc_not_zero(&ctx->ref))
		ctx = NULL;
	rcu_read_unlock();
	return ctx;
}

/**
 * kpmu_ctx_find_get() - the context of a task, held
 * @task: the task
 *
 * Context: any but NMI.
 * Return: the context, or NULL if the task has none.
 */
struct kpmu_ctx *kpmu_ctx_find_get(struct task_struct *task)
{
	const struct owner_key key = { task, -1 };

	return find_get(&key);
}

/* Find it or make it; @fresh says which */
static struct kpmu_ctx *find_or_make(const struct owner_key *key, gfp_t gfp,
				     bool *fresh)
{
	struct kpmu_ctx *ctx, *other;

	*fresh = false;
	ctx = find_get(key);
	if (ctx)
		return ctx;
	ctx = kmem_cache_alloc(ctx_cache, gfp);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx_setup(ctx, key->cpu);
	ctx->key = key->owner;
	if (key->cpu < 0) {
		ctx->task = get_task_struct(key->owner);
		ctx->follow = kpmu_ctx_borrows_mm(ctx);
	} else {
		ctx->css = key->owner;
		css_get(ctx->css);
	}
	refcount_inc(&ctx->ref);		/* the hash's */
	do {
		other = rhashtable_lookup_get_insert_key(&contexts, key,
							 &ctx->hash, params);
		if (!other) {
			atomic_inc(&nr_contexts);
			*fresh = true;
			return ctx;
		}
		if (!IS_ERR(other))
			other = find_get(key);
	} while (!other);
	ctx_free(&ctx->rcu);			/* never seen by anyone */
	return other;
}

static noinline struct kpmu_ctx *search_task(struct task_struct *task)
{
	const struct owner_key key = { task, -1 };
	struct kpmu_ctx *ctx;
	bool fresh;

	ctx = find_or_make(&key, GFP_KERNEL, &fresh);
	if (!fresh)
		return ctx;
	/* Either we see that it exits, or its exit sees the context */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING) {
		ctx_end(ctx, NULL);
		kpmu_ctx_put(ctx);
		return ERR_PTR(-ESRCH);
	}
	kpmu_ctx_start(ctx);
	return ctx;
}

/**
 * kpmu_ctx_of_task() - the context of a task, made if there is none
 * @task: the task
 *
 * A context that was empty for a while retires; whoever attaches to one must
 * look under its ownership whether it has, and come here again if so.
 *
 * Context: may sleep.
 * Return: the context, held; -ENOMEM, or -ESRCH for a task that is exiting.
 */
struct kpmu_ctx *kpmu_ctx_of_task(struct task_struct *task)
{
	struct kpmu_ctx *ctx = task == current ? get_active() : NULL;

	return ctx ?: search_task(task);
}

/**
 * kpmu_ctx_of_newborn() - the same for a task that has not run yet
 * @task: the task
 *
 * Context: any but NMI; the switch is hooked already.
 * Return: the context, held; -ENOMEM.
 */
struct kpmu_ctx *kpmu_ctx_of_newborn(struct task_struct *task)
{
	const struct owner_key key = { task, -1 };
	bool fresh;

	return find_or_make(&key, GFP_ATOMIC | __GFP_NOWARN, &fresh);
}

/**
 * kpmu_ctx_of_cgroup() - the context of a cgroup on a CPU, made if there is none
 * @css: the cgroup, held by the caller
 * @cpu: the CPU, possible
 *
 * It may retire as a task's does.
 *
 * Context: may sleep.
 * Return: the context, held; -ENOMEM.
 */
struct kpmu_ctx *kpmu_ctx_of_cgroup(struct cgroup_subsys_state *css, int cpu)
{
	const struct owner_key key = { css, cpu };
	bool fresh;
	struct kpmu_ctx *ctx = find_or_make(&key, GFP_KERNEL, &fresh);

	if (fresh)
		kpmu_cgroup_watch(cpu, 1);
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
		/* Nobody runs on a CPU that is offline; who sleeps may still be there */
		smp_call_function_single(cpu, start_here, &s, 1);
		kpmu_stat_inc(remote);
	} while (!s.found && READ_ONCE(ctx->cpu) < 0 &&
		 cpu != task_cpu(ctx->task));
}

/* The context is active on this CPU: run it, and let the counters follow */
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

/* Try from this CPU: the context is idle, or active right here */
static void call_here(void *data)
{
	struct call *c = data;
	int cpu = smp_load_acquire(&c->ctx->cpu); /* pairs with kpmu_ctx_release() */

	if (cpu == smp_processor_id()) {
		c->ret = call_active(c->ctx, c->fn, c->data);
		c->done = true;
	} else if (cpu < 0) {
		raw_spin_lock(&c->ctx->lock);
		if (c->ctx->cpu < 0) {
			c->ret = c->fn(c->ctx, c->data);
			kpmu_ctx_follow(c->ctx, false);
			kpmu_look_ctx(c->ctx);
			c->done = true;
		}
		raw_spin_unlock(&c->ctx->lock);
	}
}

static noinline int call_elsewhere(struct kpmu_ctx *ctx,
				   int (*fn)(struct kpmu_ctx *, void *),
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
	int ret;

	lockdep_assert_irqs_enabled();
	local_irq_disable();
	if (READ_ONCE(ctx->cpu) == smp_processor_id()) {
		ret = call_active(ctx, fn, data);
		local_irq_enable();
		return ret;
	}
	local_irq_enable();
	return call_elsewhere(ctx, fn, data);
}

/**
 * kpmu_ctx_try() - the same for whoever cannot wait
 * @ctx: the context
 * @fn: what to do
 * @data: for @fn
 *
 * Context: hard IRQ, on any CPU.
 * Return: whether it was done: not if the context is active on another CPU.
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

/* Is it us who says that this context does not run again? */
static bool retire(struct kpmu_ctx *ctx)
{
	if (ctx->retired)
		return false;
	ctx->retired = true;
	return true;
}

struct end {
	struct list_head gone;
	bool begun;		/* the scan of its events has begun */
};

static int end_owned(struct kpmu_ctx *ctx, void *data)
{
	struct end *end = data;

	if (!end->begun)
		kpmu_scan_begin(ctx);
	end->begun = true;
	return kpmu_events_end_owned(ctx, &end->gone);
}

static int end_idle_owned(struct kpmu_ctx *ctx, void *age)
{
	if (ctx->nr_events ||
	    time_before(jiffies, ctx->emptied + *(unsigned long *)age))
		return false;
	return retire(ctx);
}

static void unhash(struct kpmu_ctx *ctx)
{
	rhashtable_remove_fast(&contexts, &ctx->hash, params);
	atomic_dec(&nr_contexts);
	if (ctx->css)
		kpmu_cgroup_watch(ctx->home, -1);
	kpmu_ctx_put(ctx);
}

static int stop_owned(struct kpmu_ctx *ctx, void *unused)
{
	return retire(ctx);
}

/*
 * Nothing counts in this context any more; what was counted stays.  @tell sees it
 * when no sample can come any more and the events are yet there.
 *
 * First it leaves its CPU: an event that ended while it counts would lose what comes until the
 * counters are folded.  Two calls may come at once, of the task and of an open that sees it
 * exit; the one that retires the context ends its events.
 */
static void ctx_end(struct kpmu_ctx *ctx, void (*tell)(struct kpmu_ctx *ctx))
{
	struct end end = { .gone = LIST_HEAD_INIT(end.gone) };
	bool more;

	if (!kpmu_ctx_call(ctx, stop_owned, NULL))
		return;
	if (tell && READ_ONCE(ctx->nr_sampling))
		tell(ctx);
	do {
		more = kpmu_ctx_call(ctx, end_owned, &end);
		kpmu_events_put_list(&end.gone);
	} while (more);
	unhash(ctx);
}

/* How many contexts were retired; @left: some may be later */
static int reap_pass(unsigned long age, bool *left)
{
	struct rhashtable_iter iter;
	struct kpmu_ctx *ctx;
	int n = 0;

	*left = false;
	rhashtable_walk_enter(&contexts, &iter);
	rhashtable_walk_start(&iter);
	while ((ctx = rhashtable_walk_next(&iter))) {
		if (IS_ERR(ctx) || READ_ONCE(ctx->nr_events) ||
		    !refcount_inc_not_zero(&ctx->ref))
			continue;
		rhashtable_walk_stop(&iter);
		if (kpmu_ctx_call(ctx, end_idle_owned, &age)) {
			unhash(ctx);
			n++;
		} else {
			*left = true;
		}
		kpmu_ctx_put(ctx);
		cond_resched();
		rhashtable_walk_start(&iter);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return n;
}

/**
 * kpmu_ctxs_reap() - retire contexts that have no events
 * @age: jiffies that they must have been empty for
 *
 * Contexts outlive their last event for a while, because programs that open one
 * event often open the next.
 *
 * A walk misses whoever comes after one in its bucket that was taken out under the
 * walk's feet, so the last walk is one that has taken out nobody.
 *
 * Context: task, may sleep.
 * Return: whether some may be reaped later.
 */
bool kpmu_ctxs_reap(unsigned long age)
{
	bool left;

	while (reap_pass(age, &left))
		;
	return left;
}

/**
 * kpmu_ctxs_left() - is there any context of a task or cgroup?
 *
 * Context: any.  Nothing makes one any more if no event of a task or cgroup is there, nor can
 * come.
 */
bool kpmu_ctxs_left(void)
{
	return atomic_read(&nr_contexts);
}

/**
 * kpmu_ctx_exit() - a task is leaving: its events keep their last values
 * @task: current, on its way out or becoming somebody its observers may not
 *	look at
 * @tell: called before its events end, when they count no more
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_ctx_exit(struct task_struct *task,
		   void (*tell)(struct kpmu_ctx *ctx))
{
	struct kpmu_ctx *ctx;

	smp_mb();	/* pairs with kpmu_ctx_of_task() */
	ctx = kpmu_ctx_find_get(task);
	if (!ctx)
		return;
	ctx_end(ctx, tell);
	kpmu_ctx_put(ctx);
}

int __init kpmu_ctxs_init(void)
{
	int cpu, err;

	ctx_cache = KMEM_CACHE(kpmu_ctx, 0);
	if (!ctx_cache)
		return -ENOMEM;
	err = rhashtable_init(&contexts, &params);
	if (err) {
		kmem_cache_destroy(ctx_cache);
		return err;
	}
	for_each_possible_cpu(cpu) {
		ctx_setup(&per_cpu(kpmu_cpu, cpu).ctx, cpu);
		per_cpu(kpmu_cpu, cpu).offline = true;
		kpmu_gens_init(cpu);
		kpmu_rotate_init(per_cpu_ptr(&kpmu_cpu, cpu));
	}
	return 0;
}

/* No event is left, and no switch comes by */
void kpmu_ctxs_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu(kpmu_cpu, cpu).rotate);
	rcu_barrier();		/* contexts on their way to be freed */
	rhashtable_destroy(&contexts);
	kmem_cache_destroy(ctx_cache);
}
