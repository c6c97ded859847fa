/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When events count: contexts, plans and per-CPU state (state.h).
 *
 * A context holds the events of one task, of one CPU, or of one cgroup on one CPU.
 * While it is active on a CPU, that CPU owns it: other CPUs change it by an IPI
 * (kpmu_ctx_call()), so the owning CPU itself only needs IRQs off.  While it is
 * not active, the holder of its lock owns it.  A task switch holds one context
 * lock at a time.
 */
#ifndef KPMU_SCHED_H
#define KPMU_SCHED_H

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/sched.h>
#include <linux/static_call.h>

#include "../compat/tsc.h"
#include "../trace/checker.h"
#include "state.h"

/**
 * kpmu_ctx_now() - the clock of a context
 * @ctx: the context
 *
 * The clock advances only while the context is active.
 *
 * Context: owner of the context, IRQs off; or NMI on the CPU where it is active.
 * Return: ns.
 */
static inline u64 kpmu_ctx_now(const struct kpmu_ctx *ctx)
{
	if (ctx->cpu < 0)
		return ctx->time;
	return ctx->time + kpmu_local_clock() - ctx->since;
}

/**
 * kpmu_ctx_release_checked() - kpmu_ctx_release() after kpmu_check_ctx()
 * @ctx: the context
 *
 * Context: as kpmu_ctx_release().
 */
static inline void kpmu_ctx_release_checked(struct kpmu_ctx *ctx)
{
	smp_store_release(&ctx->cpu, -1); /* pairs with call_here() */
}

/**
 * kpmu_ctx_release() - end this CPU's ownership of a context
 * @ctx: the context; the counts of its events are folded
 *
 * All changes are visible to the next owner.  Context: IRQs off, on the CPU where it is active.
 */
static inline void kpmu_ctx_release(struct kpmu_ctx *ctx)
{
	kpmu_check_ctx(ctx);
	kpmu_ctx_release_checked(ctx);
}

/* The CPU context and the active cgroup contexts */
#define kpmu_for_each_cpu_ctx(ctx, kc) \
	for (ctx = &(kc)->ctx; ctx; ctx = ctx->up)

/**
 * kpmu_plan_of() - storage of the plan for the contexts active on this CPU
 * @kc: this CPU
 *
 * Context: IRQs off.
 * Return: the plan, which may have to be rebuilt, see kpmu_plan_is_good().
 */
static inline struct kpmu_plan *kpmu_plan_of(struct kpmu_cpu *kc)
{
	if (kc->task)
		return &kc->task->plan;
	return kc->ctx.up ? &kc->ctx.up->plan : &kc->ctx.plan;
}

/**
 * kpmu_mix() - combine two numbers into a hash
 * @key: a number, or the result for previous numbers
 * @val: the number to add
 *
 * The numbers are usually small, and the XOR of small numbers is the same for many pairs.
 * So @val is spread over all bits first.
 *
 * Context: any.
 * Return: the hash.
 */
static inline u64 kpmu_mix(u64 key, u64 val)
{
	return rol64(key ^ val * GOLDEN_RATIO_64, 29) * GOLDEN_RATIO_64;
}

/**
 * kpmu_cpu_gen() - one generation for the CPU context and the active cgroup contexts
 * @kc: this CPU
 *
 * Context: IRQs off.
 * Return: the generation; 0 if these contexts have no group to place.
 */
static inline u64 kpmu_cpu_gen(const struct kpmu_cpu *kc)
{
	const struct kpmu_ctx *ctx = kc->ctx.up;
	u64 gen = kc->ctx.gen;

	for (; unlikely(ctx); ctx = ctx->up)
		if (ctx->gen)
			gen = kpmu_mix(gen, ctx->gen);
	return gen;
}

/**
 * kpmu_plan_is_good() - does a plan match the contexts active on this CPU?
 * @plan: the plan
 * @kc: this CPU
 *
 * Context: IRQs off.
 * Return: true if it does, false if it must be built anew.
 */
static inline bool kpmu_plan_is_good(const struct kpmu_plan *plan,
				     const struct kpmu_cpu *kc)
{
	return plan->cpu_gen == kpmu_cpu_gen(kc) &&
	       plan->task_gen == (kc->task ? kc->task->gen : 0) &&
	       (plan->cpu < 0 || plan->cpu == kc->ctx.home);
}

/**
 * kpmu_groups_drop() - remove a leader from an array that contains it
 * @array: leaders; the order of the others stays
 * @nr: number of entries, decremented
 * @leader: the leader
 *
 * Context: owner of the leader's context, IRQs off.
 */
static inline void kpmu_groups_drop(struct kpmu_entity **array, u8 *nr,
				    struct kpmu_entity *leader)
{
	int i = 0;

	while (array[i] != leader)
		i++;
	for (--*nr; i < *nr; i++)
		array[i] = array[i + 1];
}

/**
 * kpmu_plan_stamp() - record that a plan matches the current state of the contexts
 * @plan: the plan, built or edited
 * @kc: this CPU
 *
 * The plan is valid on this CPU only if a CPU or cgroup context has groups to place, or a
 * group of the task is bound to a CPU or a kind of CPUs; else on any.
 *
 * Context: IRQs off.
 */
static __always_inline void kpmu_plan_stamp(struct kpmu_plan *plan,
					    struct kpmu_cpu *kc)
{
	const struct kpmu_ctx *task = kc->task;

	kc->stale = false;
	plan->cpu_gen = kpmu_cpu_gen(kc);
	plan->task_gen = task ? task->gen : 0;
	plan->cpu = plan->cpu_gen || (task && task->nr_bound) ? kc->ctx.home : -1;
}

/**
 * kpmu_plan_live() - test whether the plan in force may be edited
 * @ctx: a context that is about to change, its clock up to date
 *
 * Context: the context's owner, IRQs off; before the change.
 * Return: this CPU's state; NULL if it may not, or if the context is not active.
 */
static __always_inline struct kpmu_cpu *
kpmu_plan_live(const struct kpmu_ctx *ctx)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	const struct kpmu_plan *plan = kc->applied;

	if (ctx->cpu < 0 || !plan || kc->stale || plan->exclusive ||
	    plan->cpu_waits | plan->task_waits)
		return NULL;
	return kc;
}

/**
 * kpmu_ctx_assert_owned() - assert that the caller owns a context
 * @ctx: the context: active on this CPU with IRQs off, or idle and its lock held
 *
 * Checked with CONFIG_PROVE_LOCKING only.
 */
static inline void kpmu_ctx_assert_owned(const struct kpmu_ctx *ctx)
{
	lockdep_assert_irqs_disabled();
	lockdep_assert(READ_ONCE(ctx->cpu) < 0 ? lockdep_is_held(&ctx->ctx_lock) :
		       READ_ONCE(ctx->cpu) == raw_smp_processor_id());
}

/**
 * kpmu_ctx_borrows_mm() - is it the context of a kernel thread?
 * @ctx: the context
 *
 * A kernel thread runs on the mm of the previous task.
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool kpmu_ctx_borrows_mm(const struct kpmu_ctx *ctx)
{
	return ctx->task && ctx->task->flags & PF_KTHREAD;
}

/**
 * struct kpmu_sched_ops - calls from scheduling to the events above it
 * @follow: a context with @follow set has changed, or becomes active or idle: update user
 *	pages, timers and the reporting of hits.  Owner of the context, IRQs off, possibly
 *	under the run-queue lock
 * @keep: end the events of a context with @model set, which has retired and is idle: true if that is
 *	done, and the context out of the hash.  Task, may be atomic
 * @end: end a batch of the events of a context that has retired, from its scan on, and
 *	move what @put must release to @gone.  Owner of the context, IRQs off.  True if
 *	there are more
 * @put: release @gone.  Task, may be atomic
 * @lost: a strict group has entered error state: tell its readers.  Owner of the context, IRQs
 *	off, possibly under the run-queue lock
 * @turn: if kpmu_turns_key: a group's turn on the counters ends, its times are up to date.  Owner of
 *	the context, IRQs off, possibly under the run-queue lock; before the commit that takes its
 *	counters
 */
struct kpmu_sched_ops {
	void (*follow)(struct kpmu_ctx *ctx, bool active);
	bool (*keep)(struct kpmu_ctx *ctx);
	bool (*end)(struct kpmu_ctx *ctx, struct list_head *gone);
	void (*put)(struct list_head *gone);
	void (*lost)(struct kpmu_entity *leader);
	void (*turn)(struct kpmu_entity *leader);
};

/* kpmu_sched_ops.turn is wanted; stays on, as few switches end a turn */
DECLARE_STATIC_KEY_FALSE(kpmu_turns_key);

extern const struct kpmu_sched_ops *kpmu_sched_events;

static inline void kpmu_follow_none(struct kpmu_ctx *ctx, bool active)
{
}

/* Static call, avoids a retpoline at each task switch */
DECLARE_STATIC_CALL(kpmu_follow, kpmu_follow_none);

/**
 * kpmu_ctx_follow() - update the events of a context after a change
 * @ctx: the context
 * @active: the context is active on this CPU from now on
 *
 * See @follow of struct kpmu_sched_ops.
 *
 * Context: owner of the context, IRQs off; possibly under the run-queue lock.
 */
static __always_inline void kpmu_ctx_follow(struct kpmu_ctx *ctx, bool active)
{
	if (unlikely(ctx->follow & (active ? KPMU_FOLLOW_ACTIVE : KPMU_FOLLOW_IDLE)))
		static_call(kpmu_follow)(ctx, active);
}

/**
 * kpmu_ctx_tick() - advance the time of an active context
 * @ctx: the context
 * @clock: a reading of local_clock(), not before @ctx->since
 *
 * Context: owner of the context, IRQs off.
 */
static inline void kpmu_ctx_tick(struct kpmu_ctx *ctx, u64 clock)
{
	ctx->time += clock - ctx->since;
	ctx->since = clock;
}

/* state.c */
extern unsigned int kpmu_mux_interval_ms;
void kpmu_gens_init(int cpu);
void kpmu_ctx_changed(struct kpmu_ctx *ctx);
void kpmu_ctx_unplace(struct kpmu_ctx *ctx, struct kpmu_entity *leader);
void kpmu_strict_link(struct kpmu_ctx *ctx, struct kpmu_entity *leader);
void kpmu_strict_unlink(struct kpmu_ctx *ctx, struct kpmu_entity *leader);

/* Enabled while a firm group exists, and for up to a second after the last one */
extern struct static_key_false_deferred kpmu_firm_key;

/* Enabled while counters are reserved */
DECLARE_STATIC_KEY_FALSE(kpmu_reserved_key);

u32 kpmu_usable_now(const struct kpmu_entity *e, int cpu);

/**
 * kpmu_usable() - the counters that an event may use on a CPU
 * @e: the event
 * @cpu: the CPU; -1: any, without reservations
 *
 * Context: any; IRQs off on that CPU for a result that stays valid.
 * Return: bit mask of counters.
 */
static __always_inline u32 kpmu_usable(const struct kpmu_entity *e, int cpu)
{
	if (!static_branch_unlikely(&kpmu_reserved_key) || cpu < 0)
		return e->hw.allowed;
	return kpmu_usable_now(e, cpu);
}

/* time.c: time_enabled and time_running */
void kpmu_entity_clock(struct kpmu_entity *e, u64 now);
void kpmu_group_clocks(struct kpmu_entity *leader, u64 now);

u64 kpmu_entity_time(struct kpmu_hw *hw);

/* find.c: creation, lookup, references */
struct kpmu_ctx *kpmu_ctx_of_newborn(struct task_struct *task);
struct kpmu_ctx *kpmu_ctx_find_get(struct task_struct *task);
struct kpmu_ctx *kpmu_ctx_find_cgroup(struct cgroup_subsys_state *css, int cpu);
struct kpmu_ctx *kpmu_ctx_find_or_make(void *owner, int cpu, gfp_t gfp, bool *fresh);
int kpmu_ctx_keep_branches(struct kpmu_ctx *ctx, gfp_t gfp);
void kpmu_ctx_get(struct kpmu_ctx *ctx);
void kpmu_ctx_put(struct kpmu_ctx *ctx);
void kpmu_ctx_unhash(struct kpmu_ctx *ctx);
bool kpmu_ctx_reuse(struct kpmu_ctx *ctx, struct task_struct *task);
bool kpmu_ctx_disown(struct kpmu_ctx *ctx, int refs);
int kpmu_ctxs_visit_empty(bool (*fn)(struct kpmu_ctx *ctx, void *data), void *data);
int kpmu_ctxs_gather(bool (*want)(const struct kpmu_ctx *ctx, const void *data), const void *data,
		     struct kpmu_ctx **list, int max);
bool kpmu_ctxs_left(void);
int kpmu_contexts_init(void);
void kpmu_contexts_exit(void);

/**
 * struct kpmu_call - a call of a function as the owner of a context
 * @ctx: the context
 * @fn: the function, see kpmu_ctx_call()
 * @data: for @fn
 * @done: @fn was called
 * @ret: what it returned
 */
struct kpmu_call {
	struct kpmu_ctx *ctx;
	int (*fn)(struct kpmu_ctx *ctx, void *data);
	void *data;
	bool done;
	int ret;
};

/* call.c: ownership */
int kpmu_ctx_call(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data);
int kpmu_ctx_visit(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		   void *data);
bool kpmu_ctx_try(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data);
void kpmu_ctxs_call(struct kpmu_call *calls, int n, bool changes, struct cpumask *cpus);

/* ctx.c: start, end */
struct kpmu_ctx *kpmu_ctx_of_task(struct task_struct *task);
struct kpmu_ctx *kpmu_ctx_of_cgroup(struct cgroup_subsys_state *css, int cpu);
void kpmu_ctx_exit(struct task_struct *task,
		   void (*tell)(struct kpmu_ctx *ctx));
bool kpmu_ctxs_reap(unsigned long age);
int kpmu_ctxs_init(const struct kpmu_sched_ops *events);
void kpmu_ctxs_exit(void);

/* strict.c: groups that are always on their counters */
void kpmu_strict_begin(u64 flags);
void kpmu_strict_end(u64 flags);
bool kpmu_strict_asks(const struct kpmu_entity *e, const struct kpmu_entity *leader);
int kpmu_strict_lock(void);
void kpmu_strict_unlock(void);
int kpmu_strict_admit(struct kpmu_entity *e, struct kpmu_ctx *ctx, struct kpmu_entity *leader,
		      const char **why);
int kpmu_strict_leave(int cpu, u32 counters, const char **why);

/* reserved.c: counters that are set aside */
int kpmu_counters_set_aside(const struct cpumask *cpus, u32 counters, u16 id, const char **why);
void kpmu_counters_give_back(const struct cpumask *cpus, u32 counters);

/* scan.c: iterate over all entities of a context, in batches */
#define KPMU_BATCH	128
void kpmu_scan_begin(struct kpmu_ctx *ctx);
struct kpmu_entity *kpmu_scan_group(struct kpmu_ctx *ctx);
struct kpmu_entity *kpmu_scan_next(struct kpmu_ctx *ctx);

/* group.c: contexts and groups of entities; for the owner of the context */
bool kpmu_group_fits(struct kpmu_entity *leader, struct kpmu_entity *new);
void kpmu_entity_join(struct kpmu_entity *e, struct kpmu_ctx *ctx,
		      struct kpmu_entity *leader);
void kpmu_entity_leave(struct kpmu_ctx *ctx, struct kpmu_entity *e);

/* queue.c: candidates; for the owner of the context */
bool kpmu_queue_knows(const struct kpmu_entity *leader);
void kpmu_queue_add(struct kpmu_ctx *ctx, struct kpmu_entity *leader);
void kpmu_queue_del(struct kpmu_ctx *ctx, struct kpmu_entity *leader);
void kpmu_queue_park(struct kpmu_ctx *ctx, struct kpmu_entity *leader);
struct kpmu_entity *kpmu_queue_first(struct kpmu_ctx *ctx, struct kpmu_class *c);
struct kpmu_entity *kpmu_queue_next(struct kpmu_ctx *ctx,
				   struct kpmu_entity *leader);
u64 kpmu_queue_charge(struct kpmu_ctx *ctx);

/* free.c: groups that need no counter */
bool kpmu_group_is_free(const struct kpmu_entity *leader);
void kpmu_free_add(struct kpmu_ctx *ctx, struct kpmu_entity *leader);
void kpmu_free_del(struct kpmu_entity *leader);
void kpmu_free_move(struct kpmu_ctx *ctx);

/* plan.c */
void kpmu_plan_build(struct kpmu_plan *plan, struct kpmu_cpu *kc);

/* place.c */
bool kpmu_plan_fits(struct kpmu_entity *const *events, int n);
const char *kpmu_off_why(const struct kpmu_entity *e);
const char *kpmu_plan_why(struct kpmu_cpu *kc, struct kpmu_entity *leader);

/* edit.c */
void kpmu_plan_remove(struct kpmu_cpu *kc, struct kpmu_entity *leader);
void kpmu_plan_insert(struct kpmu_cpu *kc, struct kpmu_entity *leader);
struct kpmu_cpu *kpmu_plan_missing(const struct kpmu_ctx *ctx,
				   const struct kpmu_entity *leader);
void kpmu_plan_forget(struct kpmu_cpu *kc, const struct kpmu_entity *leader);

/**
 * kpmu_plan_waiting() - test whether a group only waits for counters
 * @ctx: its context
 * @leader: the group's leader
 *
 * Context: the context's owner, IRQs off; before the group leaves the queue.
 * Return: this CPU's state, for kpmu_plan_forget(); NULL if it does not wait, or if the plan in
 * force is stale.
 */
static inline struct kpmu_cpu *kpmu_plan_waiting(const struct kpmu_ctx *ctx,
						 const struct kpmu_entity *leader)
{
	if (leader->group.placed || !leader->group.queued || ctx->parked == leader)
		return NULL;
	return kpmu_plan_missing(ctx, leader);
}

/* copy.c */
void kpmu_plan_copy_entity(const struct kpmu_entity *from, struct kpmu_entity *to);
void kpmu_plan_copy(struct kpmu_ctx *to, const struct kpmu_ctx *from, bool all);

/* apply.c */
void kpmu_resched(struct kpmu_cpu *kc, u64 clock);
bool kpmu_ctx_activate(struct kpmu_cpu *kc, struct kpmu_ctx *ctx, u64 clock);
void kpmu_place_none(struct kpmu_ctx *ctx);

/* switch.c */
void kpmu_switch(struct task_struct *next);
void kpmu_switch_in(struct kpmu_ctx *ctx);
void kpmu_switch_out(struct kpmu_ctx *ctx, u64 clock);
void kpmu_cpu_online(void);
void kpmu_cpu_offline(void);

/* cgroup.c */
struct kpmu_ctx *kpmu_cgroup_enter(struct kpmu_cpu *kc, struct task_struct *task,
				   u64 clock);
void kpmu_cgroup_release(struct kpmu_ctx *left);
void kpmu_cgroup_leave(struct kpmu_cpu *kc, struct kpmu_ctx *ctx);
void kpmu_cgroup_watch(int cpu, int by);
void kpmu_cgroup_moved(void);

/* rotate.c */
void kpmu_rotate_init(struct kpmu_cpu *kc);
void kpmu_rotate_ctx(struct kpmu_ctx *ctx);
void kpmu_rotate_restart(void);
void kpmu_rotate_compare(struct kpmu_cpu *kc);

/**
 * kpmu_turn() - length of a turn, the interval of rotation
 *
 * Context: any.
 * Return: ns.
 */
static inline u64 kpmu_turn(void)
{
	return (u64)READ_ONCE(kpmu_mux_interval_ms) * NSEC_PER_MSEC;
}

/**
 * kpmu_rotate_due() - test whether a context must rotate when it is scheduled in
 * @ctx: a task context
 *
 * Context: its owner.
 * Return: true if a group waits and the context has run a turn since it rotated.
 */
static inline bool kpmu_rotate_due(const struct kpmu_ctx *ctx)
{
	return ctx->plan.task_waits && ctx->time - ctx->rotated >= kpmu_turn();
}

#endif
