// SPDX-License-Identifier: GPL-2.0-only
/* Contexts: creation, lookup by task or cgroup, references. */
#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/rhashtable.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "recent.h"

/*
 * A task_struct has no field for a context, so contexts are hashed by the address
 * of their task, or of their cgroup and the CPU.
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

atomic_long_t kpmu_ctx_epoch = ATOMIC_LONG_INIT(1);	/* 0 is no epoch */
struct rhashtable kpmu_contexts;
atomic_t kpmu_nr_contexts;		/* in the hash */
static struct kmem_cache *ctx_cache;

static void ctx_setup(struct kpmu_ctx *ctx, int home)
{
	memset(ctx, 0, offsetof(struct kpmu_ctx, placed));
	memset(&ctx->plan, 0, offsetof(struct kpmu_plan, groups));
	ctx->plan.slots.like = 0;
	ctx->plan.slots.mask = 0;
	ctx->plan.slots.driven = 0;
	ctx->plan.slots.alt = 0;
	raw_spin_lock_init(&ctx->ctx_lock);
	ctx->cpu = -1;
	ctx->home = home;
	ctx->last_cpu = home;
	INIT_LIST_HEAD(&ctx->leaders);
	INIT_LIST_HEAD(&ctx->pinned);
	INIT_LIST_HEAD(&ctx->strict);
	INIT_LIST_HEAD(&ctx->classes);
	INIT_LIST_HEAD(&ctx->bound);
	ctx->plan.cpu = -1;
	ctx->emptied = jiffies;
	refcount_set(&ctx->ref, 1);
}

/**
 * kpmu_ctx_get() - take a reference
 * @ctx: the context; its reference count is not 0
 *
 * Context: any.
 */
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
	kfree(ctx->branches);
	kmem_cache_free(ctx_cache, ctx);
}

/**
 * kpmu_ctx_keep_branches() - keep a task's branches while it does not run
 * @ctx: context of the task, held
 * @gfp: how to allocate memory for them
 *
 * Context: as @gfp says.
 * Return: 0 or -ENOMEM.
 */
int kpmu_ctx_keep_branches(struct kpmu_ctx *ctx, gfp_t gfp)
{
	void *room;

	if (READ_ONCE(ctx->branches))
		return 0;
	room = kzalloc(kpmu_core.branches_size, gfp);
	if (!room)
		return -ENOMEM;
	if (cmpxchg(&ctx->branches, NULL, room))
		kfree(room);
	return 0;
}

/**
 * kpmu_ctx_put() - drop a reference
 * @ctx: the context; a CPU context is never freed
 *
 * Context: any but NMI.
 */
void kpmu_ctx_put(struct kpmu_ctx *ctx)
{
	if (refcount_dec_and_test(&ctx->ref))
		call_rcu(&ctx->rcu, ctx_free);
}

/* The context of a task, or NULL.  RCU or IRQs off, which also bounds the lifetime of the result */
static struct kpmu_ctx *look_up_task(struct task_struct *task)
{
	const struct owner_key key = { task, -1 };

	return rhashtable_lookup(&kpmu_contexts, &key, params);
}

/**
 * kpmu_ctx_look_up() - look up the context of a task, and keep the result
 * @kc: this CPU
 * @task: the task
 *
 * The epoch is read first, so that a result that becomes invalid meanwhile is not kept.
 *
 * Context: see kpmu_ctx_of_next().
 * Return: the context, or NULL.
 */
struct kpmu_ctx *kpmu_ctx_look_up(struct kpmu_cpu *kc, struct task_struct *task)
{
	struct kpmu_recent *r = kpmu_recent_of(kc, task);

	r->epoch = atomic_long_read(&kpmu_ctx_epoch);
	smp_rmb();	/* pairs with ctxs_changed() */
	r->task = task;
	r->ctx = look_up_task(task);
	return r->ctx;
}

/* The hash of contexts has changed; a context that left it is not freed yet */
static void ctxs_changed(void)
{
	smp_mb__before_atomic();	/* pairs with kpmu_ctx_look_up() */
	atomic_long_inc(&kpmu_ctx_epoch);
	smp_mb__after_atomic();		/* pairs with the barrier of the task switch */
}

/**
 * kpmu_ctx_find_cgroup() - look up the context of a cgroup on a CPU
 * @css: the cgroup
 * @cpu: the CPU
 *
 * Context: RCU (or IRQs off), which also bounds the lifetime of the result.
 * Return: the context, or NULL.
 */
struct kpmu_ctx *kpmu_ctx_find_cgroup(struct cgroup_subsys_state *css, int cpu)
{
	const struct owner_key key = { css, cpu };

	return rhashtable_lookup(&kpmu_contexts, &key, params);
}

static struct kpmu_ctx *get_ctx(const struct owner_key *key)
{
	struct kpmu_ctx *ctx;

	rcu_read_lock();
	ctx = rhashtable_lookup(&kpmu_contexts, key, params);
	if (ctx && !refcount_inc_not_zero(&ctx->ref))
		ctx = NULL;
	rcu_read_unlock();
	smp_mb__after_atomic();			/* pairs with kpmu_ctx_disown() */
	if (ctx && unlikely(READ_ONCE(ctx->key) != key->owner)) {
		kpmu_ctx_put(ctx);
		ctx = NULL;
	}
	return ctx;
}

/**
 * kpmu_ctx_find_get() - look up the context of a task and take a reference
 * @task: the task
 *
 * Context: any but NMI.
 * Return: the context, or NULL if the task has none.
 */
struct kpmu_ctx *kpmu_ctx_find_get(struct task_struct *task)
{
	const struct owner_key key = { task, -1 };

	return get_ctx(&key);
}

static struct kpmu_ctx *make_ctx(const struct owner_key *key, gfp_t gfp)
{
	struct kpmu_ctx *ctx = kmem_cache_alloc(ctx_cache, gfp);

	if (!ctx)
		return NULL;
	ctx_setup(ctx, key->cpu);
	ctx->key = key->owner;
	if (key->cpu < 0) {
		ctx->task = get_task_struct(key->owner);
		ctx->follow = kpmu_ctx_borrows_mm(ctx) ? KPMU_FOLLOW_ALWAYS : 0;
	} else {
		ctx->css = key->owner;
		css_get(ctx->css);
	}
	refcount_inc(&ctx->ref);		/* held by the hash */
	return ctx;
}

/**
 * kpmu_ctx_find_or_make() - look up a context, or create it
 * @owner: the task or cgroup
 * @cpu: the CPU of a cgroup context, -1 for a task context
 * @gfp: allocation flags
 * @fresh: set to whether the context is new
 *
 * Context: may sleep if @gfp permits it; any but NMI otherwise.
 * Return: the context, referenced; -ENOMEM.
 */
struct kpmu_ctx *kpmu_ctx_find_or_make(void *owner, int cpu, gfp_t gfp, bool *fresh)
{
	const struct owner_key key = { owner, cpu };
	struct kpmu_ctx *ctx, *other;

	*fresh = false;
	ctx = get_ctx(&key);
	if (ctx)
		return ctx;
	ctx = make_ctx(&key, gfp);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	do {
		other = rhashtable_lookup_get_insert_key(&kpmu_contexts, &key,
							 &ctx->hash, params);
		if (!other) {
			atomic_inc(&kpmu_nr_contexts);
			if (cpu < 0)
				ctxs_changed();
			*fresh = true;
			return ctx;
		}
		if (!IS_ERR(other))
			other = get_ctx(&key);
	} while (!other);
	ctx_free(&ctx->rcu);			/* never published */
	return other;
}

/**
 * kpmu_ctx_of_newborn() - find or create the context of a task that has not run yet
 * @task: the task
 *
 * Context: any but NMI; the hook of the task switch is in place.
 * Return: the context, referenced; -ENOMEM.
 */
struct kpmu_ctx *kpmu_ctx_of_newborn(struct task_struct *task)
{
	bool fresh;

	return kpmu_ctx_find_or_make(task, -1, GFP_ATOMIC | __GFP_NOWARN, &fresh);
}

/**
 * kpmu_ctx_unhash() - take a retired context out of the hash
 * @ctx: the context
 *
 * Context: task.
 */
void kpmu_ctx_unhash(struct kpmu_ctx *ctx)
{
	rhashtable_remove_fast(&kpmu_contexts, &ctx->hash, params);
	ctxs_changed();
	atomic_dec(&kpmu_nr_contexts);
	kpmu_ctx_put(ctx);
}

/**
 * kpmu_ctx_disown() - forget the task of a context that left the hash, to use it for another one
 * @ctx: the context, retired
 * @refs: the references that the caller knows
 *
 * A lookup by the task that takes its reference afterwards sees that the key has changed, see get_ctx().
 *
 * Context: any.
 * Return: false if there are more references: it must not be used again.
 */
bool kpmu_ctx_disown(struct kpmu_ctx *ctx, int refs)
{
	WRITE_ONCE(ctx->key, NULL);
	smp_mb();				/* pairs with get_ctx() */
	return refcount_read(&ctx->ref) == refs;
}

/*
 * A walk follows the entries from one to the next.  If one of them is put elsewhere, the walk goes on
 * there, and misses others.  So entries are not reused while a walk is wanted, and a walk
 * is repeated if a reuse had begun before.
 */
static atomic_t walks, reuses_begun, reuses_ended;

/* Return: false if a context must not be reused, as a walk is wanted; end_reuse() must follow anyway */
static bool begin_reuse(void)
{
	atomic_inc(&reuses_begun);
	smp_mb__after_atomic();			/* pairs with kpmu_walk_begin() */
	return !atomic_read(&walks);
}

static void end_reuse(void)
{
	smp_mb__before_atomic();		/* a walk that sees this sees the entry */
	atomic_inc(&reuses_ended);
}

/**
 * kpmu_walk_begin() - begin a walk over the hash: no context is put elsewhere until it ends
 *
 * Context: task.
 * Return: for kpmu_walk_end().
 */
int kpmu_walk_begin(void)
{
	int ended;

	atomic_inc(&walks);
	smp_mb__after_atomic();			/* pairs with begin_reuse() */
	ended = atomic_read(&reuses_ended);
	smp_rmb();				/* before the walk */
	return ended;
}

/**
 * kpmu_walk_end() - end a walk over the hash
 * @ended: from kpmu_walk_begin()
 *
 * Context: task.
 * Return: false if the walk may have missed contexts.
 */
bool kpmu_walk_end(int ended)
{
	smp_rmb();				/* after the walk */
	atomic_dec(&walks);
	return atomic_read(&reuses_begun) == ended;
}

/**
 * kpmu_ctx_reuse() - make a context that was disowned that of another task, and hash it
 * @ctx: the context, retired
 * @task: the task, which has not run yet and has no context
 *
 * Context: any but NMI.
 * Return: false if that is not possible now.
 */
bool kpmu_ctx_reuse(struct kpmu_ctx *ctx, struct task_struct *task)
{
	const struct owner_key key = { task, -1 };
	struct task_struct *former = ctx->task;
	bool ok = false;

	/* Not counted as begun during a walk: it would have to be repeated */
	if (task->flags & PF_KTHREAD || atomic_read(&walks))
		return false;
	if (begin_reuse()) {
		ctx->task = get_task_struct(task);
		WRITE_ONCE(ctx->key, task);
		refcount_inc(&ctx->ref);	/* held by the hash */
		ok = !rhashtable_lookup_get_insert_key(&kpmu_contexts, &key, &ctx->hash, params);
	}
	if (ok) {
		put_task_struct(former);
		atomic_inc(&kpmu_nr_contexts);
		ctxs_changed();
	} else if (ctx->key) {
		WRITE_ONCE(ctx->key, NULL);
		put_task_struct(task);
		ctx->task = former;
		kpmu_ctx_put(ctx);
	}
	end_reuse();
	return ok;
}

/**
 * kpmu_ctxs_left() - check whether any context of a task or cgroup exists
 *
 * Context: any.
 * Return: true if there is one.  False is final while no event of a task or cgroup exists or
 * is being opened.
 */
bool kpmu_ctxs_left(void)
{
	return atomic_read(&kpmu_nr_contexts);
}

/**
 * kpmu_contexts_init() - set up the CPU contexts and the hash of the others
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int __init kpmu_contexts_init(void)
{
	int cpu, err;

	ctx_cache = kmem_cache_create("kpmu_ctx", sizeof(struct kpmu_ctx),
				      __alignof__(struct kpmu_ctx), 0, kpmu_not_zeroed);
	if (!ctx_cache)
		return -ENOMEM;
	err = rhashtable_init(&kpmu_contexts, &params);
	if (err) {
		kmem_cache_destroy(ctx_cache);
		return err;
	}
	for_each_possible_cpu(cpu)
		ctx_setup(&per_cpu(kpmu_cpu, cpu).ctx, cpu);
	return 0;
}

/**
 * kpmu_contexts_exit() - free what kpmu_contexts_init() allocated
 *
 * Context: module exit; no context is in use any more.
 */
void kpmu_contexts_exit(void)
{
	rcu_barrier();		/* contexts waiting to be freed */
	rhashtable_destroy(&kpmu_contexts);
	kmem_cache_destroy(ctx_cache);
}
