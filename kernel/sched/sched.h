/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When events count: contexts, plans and the CPU's state.
 *
 * A context holds the events of one task or of one CPU.  While it is active on
 * a CPU it belongs to that CPU: whoever wants to touch it goes there (by
 * kpmu_ctx_call()), so on the CPU itself nothing but IRQs-off is needed.
 * While it is not active it belongs to whoever has its lock.  A switch takes
 * one context's lock at a time.
 */
#ifndef KPMU_SCHED_H
#define KPMU_SCHED_H

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/rhashtable-types.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>

#include "../event/event.h"
#include "../trace/look.h"

/**
 * struct kpmu_plan - which groups run now, on which counters
 * @cpu_gen: generation of the CPU's and cgroups' contexts that it was made from
 * @task_gen: generation of the task's context, 0 without one
 * @serial: unique, to tell plans apart
 * @cpu: the CPU it is good for, -1 if any
 * @cpu_waits: flexible groups of the CPU and cgroups that found no room
 * @task_waits: the same of the task's context
 * @exclusive: the only group in it wants to be alone
 * @nr_cpu: groups of the CPU's context in it
 * @nr: groups in it, of both contexts
 * @groups: their leaders
 * @slots: for the source
 */
struct kpmu_plan {
	u64 cpu_gen;
	u64 task_gen;
	u64 serial;
	int cpu;
	u32 cpu_waits;
	u32 task_waits;
	bool exclusive;
	u8 nr_cpu;
	u8 nr;
	struct kpmu_event *groups[KPMU_NR_SLOTS];
	struct kpmu_slots slots;
};

/**
 * struct kpmu_ctx - the events of a task, of a CPU, or of a cgroup on a CPU
 * @lock: guards it while not active; innermost lock of kpmu, taken under the
 *	run-queue lock
 * @cpu: where it is active, -1 if nowhere; changes under @lock
 * @home: context of a CPU or of a cgroup: its CPU; of a task: -1
 * @last_cpu: where it is or was active, -1 if it never was
 * @retired: it does not run again: its task is gone, or it was empty for long
 * @task: task context: the task, held; else NULL
 * @css: cgroup context: the cgroup, held; else NULL
 * @key: @task or @css, for the hash
 * @up: CPU context: the first active cgroup context here; of those, the next
 * @next_up: scratch of kpmu_cgroup_enter()
 * @next_left: likewise
 * @wanted: likewise
 * @follow: there is something in @mapped or in @timed, or @nr_freq or @nr_gated is not 0
 * @gen: changes whenever a plan made from it becomes wrong; 0: nothing enabled
 * @time: ns it was active, up to @since
 * @since: local_clock() when it became active
 * @leaders: all groups, enabled or not
 * @scan: the event that comes next in a scan, see scan.c
 * @pinned: enabled pinned groups
 * @classes: enabled flexible groups by what they need
 * @bound: enabled groups of a task that need no counter, but a certain CPU
 * @hits: events that count hits
 * @parked: a group that is off, but keeps its place for a moment
 * @side: events with side-band records
 * @mapped: events whose user page is to be kept right
 * @timed: clock events that sample
 * @nr_classes: classes in @classes
 * @nr_pinned: enabled pinned groups
 * @nr_flexible: enabled flexible groups
 * @nr_bound: enabled groups bound to one CPU (task context)
 * @nr_events: attached events
 * @nr_inherit: those of them with inherit set
 * @nr_sampling: those of them that write records
 * @nr_freq: those of them that want a frequency
 * @nr_gated: those in @hits whose hits are told only while they run
 * @emptied: jiffies when the last event left
 * @min_served: what a group that joins is taken to have been served
 * @rotated: @time of the last rotation
 * @had: scratch of the settling
 * @ahead: ns that its groups had more, on average, than those of the contexts that
 *	were active beside it; the CPU's own: 0
 * @ref: events, the hash
 * @hash: in the hash of tasks and cgroups
 * @rcu: a switch may still look at it when the last reference goes
 * @nr_placed: groups placed now
 * @placed: their leaders
 * @plan: the last plan made for it
 */
struct kpmu_ctx {
	raw_spinlock_t lock;
	int cpu;
	int home;
	int last_cpu;
	bool retired;
	bool wanted;
	bool follow;
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	void *key;
	struct kpmu_ctx *up;
	struct kpmu_ctx *next_up;
	struct kpmu_ctx *next_left;
	u64 gen;
	u64 time;
	u64 since;
	struct list_head leaders;
	struct kpmu_event *scan;
	struct list_head pinned;
	struct list_head classes;
	struct list_head bound;
	struct hlist_head hits;
	struct kpmu_event *parked;
	struct hlist_head side;
	struct hlist_head mapped;
	struct hlist_head timed;
	u32 nr_classes;
	u32 nr_pinned;
	u32 nr_flexible;
	u32 nr_bound;
	u32 nr_events;
	u32 nr_inherit;
	u32 nr_sampling;
	u32 nr_freq;
	u32 nr_gated;
	unsigned long emptied;
	u64 min_served;
	u64 rotated;
	u64 had;
	s64 ahead;
	refcount_t ref;
	struct rhash_head hash;
	struct rcu_head rcu;
	u8 nr_placed;
	/* From here on nothing needs to be zero in a new one, see ctx_setup() */
	struct kpmu_event *placed[KPMU_NR_SLOTS];
	struct kpmu_plan plan;
};

/* Events of a context, at most: bounds what is done for each at a switch, with IRQs off */
#define KPMU_CTX_MAX	16384

/* The key of the class for groups that found no class of their own, see queue.c */
#define KPMU_KEY_REST	U64_MAX

/**
 * struct kpmu_cpu - a CPU's scheduling state; its own, with IRQs off
 * @ctx: the CPU's context
 * @task: the active task context, or NULL
 * @stale: an active context has changed since the plan in force was made
 * @applied: the plan in force, NULL while offline
 * @rotate: the rotation timer
 * @armed: it is running
 * @nr_cgroups: cgroups watched here
 * @watch: @nr_cgroups was not 0 when this CPU looked last
 * @css: the cgroup whose contexts are active; just for comparing
 * @offline: nothing may run here now
 */
struct kpmu_cpu {
	struct kpmu_ctx ctx;
	struct kpmu_ctx *task;
	bool stale;
	struct kpmu_plan *applied;
	struct hrtimer rotate;
	bool armed;
	bool offline;
	bool watch;
	atomic_t nr_cgroups;
	struct cgroup_subsys_state *css;
};

DECLARE_PER_CPU(struct kpmu_cpu, kpmu_cpu);

/* The context's clock: it runs while the context is active */
static inline u64 kpmu_ctx_now(const struct kpmu_ctx *ctx)
{
	if (ctx->cpu < 0)
		return ctx->time;
	return ctx->time + local_clock() - ctx->since;
}

/* The context is this CPU's no more: whoever sees that sees all that was done */
static inline void kpmu_ctx_release(struct kpmu_ctx *ctx)
{
	kpmu_look_ctx(ctx);
	smp_store_release(&ctx->cpu, -1); /* pairs with kpmu_ctx_call() */
}

/* The contexts of a CPU that do not come and go with each task */
#define kpmu_for_each_cpu_ctx(ctx, kc) \
	for (ctx = &(kc)->ctx; ctx; ctx = ctx->up)

/* The plan that is for what is active on this CPU now, good or not */
static inline struct kpmu_plan *kpmu_plan_of(struct kpmu_cpu *kc)
{
	if (kc->task)
		return &kc->task->plan;
	return kc->ctx.up ? &kc->ctx.up->plan : &kc->ctx.plan;
}

/*
 * Many numbers as one.  They are small, so each is spread over all bits before it
 * meets another: of two small numbers as they are, many pairs have the same XOR.
 */
static inline u64 kpmu_mix(u64 key, u64 val)
{
	return rol64(key ^ val * GOLDEN_RATIO_64, 29) * GOLDEN_RATIO_64;
}

/* One generation for the contexts of the CPU and of the cgroups */
static inline u64 kpmu_cpu_gen(const struct kpmu_cpu *kc)
{
	const struct kpmu_ctx *ctx = kc->ctx.up;
	u64 gen = kc->ctx.gen;

	for (; unlikely(ctx); ctx = ctx->up)
		if (ctx->gen)
			gen = kpmu_mix(gen, ctx->gen);
	return gen;
}

static inline bool kpmu_plan_is_good(const struct kpmu_plan *plan,
				     const struct kpmu_cpu *kc)
{
	return plan->cpu_gen == kpmu_cpu_gen(kc) &&
	       plan->task_gen == (kc->task ? kc->task->gen : 0) &&
	       (plan->cpu < 0 || plan->cpu == kc->ctx.home);
}

/**
 * kpmu_plan_live() - is the plan in force on this CPU open to small changes?
 * @ctx: a context that is about to change, its clock up to date
 *
 * Context: the context's owner, IRQs off; before the change.
 * Return: the CPU, or NULL.
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
 * kpmu_ctx_assert_owned() - whatever changes a context owns it
 * @ctx: the context: active on this CPU with IRQs off, or idle and its lock held
 *
 * Looked at with CONFIG_PROVE_LOCKING only.
 */
static inline void kpmu_ctx_assert_owned(const struct kpmu_ctx *ctx)
{
	lockdep_assert_irqs_disabled();
	lockdep_assert(READ_ONCE(ctx->cpu) < 0 ? lockdep_is_held(&ctx->lock) :
		       READ_ONCE(ctx->cpu) == raw_smp_processor_id());
}

/* Is it of a kernel thread, which runs in the mm of the task before? */
static inline bool kpmu_ctx_borrows_mm(const struct kpmu_ctx *ctx)
{
	return ctx->task && ctx->task->flags & PF_KTHREAD;
}

/* After a change: what programs read by themselves follows, and timers do */
static __always_inline void kpmu_ctx_follow(struct kpmu_ctx *ctx, bool active)
{
	if (unlikely(ctx->follow))
		kpmu_followers_update(ctx, active);
}

/* Bring the context's time up to a reading of local_clock() */
static inline void kpmu_ctx_tick(struct kpmu_ctx *ctx, u64 clock)
{
	ctx->time += clock - ctx->since;
	ctx->since = clock;
}

/* time.c: an event's times follow its state */
void kpmu_clock_set(struct kpmu_clock *c, u64 now, bool enabled, bool running);
void kpmu_event_clock(struct kpmu_event *e, u64 now);
void kpmu_group_clocks(struct kpmu_event *leader, u64 now);

u64 kpmu_event_time(struct kpmu_hw *hw);

/* An event's count, for the context's owner */
static __always_inline u64 kpmu_event_count(struct kpmu_event *e)
{
	return e->hw.source->read(&e->hw);
}

/* ctx.c */
struct kpmu_ctx *kpmu_ctx_of_task(struct task_struct *task);
struct kpmu_ctx *kpmu_ctx_of_newborn(struct task_struct *task);
struct kpmu_ctx *kpmu_ctx_find(struct task_struct *task);
struct kpmu_ctx *kpmu_ctx_find_get(struct task_struct *task);
struct kpmu_ctx *kpmu_ctx_find_cgroup(struct cgroup_subsys_state *css, int cpu);
struct kpmu_ctx *kpmu_ctx_of_cgroup(struct cgroup_subsys_state *css, int cpu);
void kpmu_ctx_get(struct kpmu_ctx *ctx);
void kpmu_ctx_put(struct kpmu_ctx *ctx);
int kpmu_ctx_call(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data);
bool kpmu_ctx_try(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data);
void kpmu_ctx_start(struct kpmu_ctx *ctx);
void kpmu_ctx_exit(struct task_struct *task,
		   void (*tell)(struct kpmu_ctx *ctx));
bool kpmu_ctxs_reap(unsigned long age);
bool kpmu_ctxs_left(void);
int kpmu_ctxs_init(void);
void kpmu_ctxs_exit(void);

/* queue.c: which groups are candidates; in the context's ownership */
bool kpmu_queue_knows(const struct kpmu_event *leader);
void kpmu_queue_add(struct kpmu_ctx *ctx, struct kpmu_event *leader);
void kpmu_queue_del(struct kpmu_ctx *ctx, struct kpmu_event *leader);
void kpmu_queue_park(struct kpmu_ctx *ctx, struct kpmu_event *leader);
struct kpmu_event *kpmu_queue_first(struct kpmu_ctx *ctx, struct kpmu_class *c);
struct kpmu_event *kpmu_queue_next(struct kpmu_ctx *ctx,
				   struct kpmu_event *leader);
u64 kpmu_queue_charge(struct kpmu_ctx *ctx);
void kpmu_ctx_changed(struct kpmu_ctx *ctx);
void kpmu_gens_init(int cpu);

/* free.c: groups that need no counter */
bool kpmu_group_is_free(const struct kpmu_event *leader);
void kpmu_free_add(struct kpmu_ctx *ctx, struct kpmu_event *leader);
void kpmu_free_del(struct kpmu_event *leader);
void kpmu_free_move(struct kpmu_ctx *ctx);

/* plan.c */
void kpmu_plan_build(struct kpmu_plan *plan, struct kpmu_cpu *kc);
bool kpmu_plan_fits(struct kpmu_event *const *events, int n);
const char *kpmu_plan_why(struct kpmu_cpu *kc, struct kpmu_event *leader);
void kpmu_plan_remove(struct kpmu_cpu *kc, struct kpmu_event *leader);
void kpmu_plan_insert(struct kpmu_cpu *kc, struct kpmu_event *leader);
void kpmu_ctx_unplace(struct kpmu_ctx *ctx, struct kpmu_event *leader);

/* switch.c */
void kpmu_resched(struct kpmu_cpu *kc, u64 clock);
void kpmu_switch(struct task_struct *next);
void kpmu_switch_in(struct kpmu_ctx *ctx);
void kpmu_switch_out(struct kpmu_ctx *ctx, u64 clock);
bool kpmu_ctx_activate(struct kpmu_cpu *kc, struct kpmu_ctx *ctx, u64 clock);
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
void kpmu_rotate_arm(struct kpmu_cpu *kc);
bool kpmu_rotate_due(const struct kpmu_ctx *ctx);
void kpmu_rotate_ctx(struct kpmu_ctx *ctx);
void kpmu_rotate_restart(void);
void kpmu_rotate_settle(struct kpmu_cpu *kc);
int kpmu_rotate_first(struct kpmu_cpu *kc);
extern unsigned int kpmu_mux_interval_ms;

/* How long a turn is, ns */
static inline u64 kpmu_turn(void)
{
	return (u64)READ_ONCE(kpmu_mux_interval_ms) * NSEC_PER_MSEC;
}

#endif
