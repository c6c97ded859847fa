/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of scheduling: plans, contexts, CPUs.  Their functions are in sched.h. */
#ifndef KPMU_SCHED_STATE_H
#define KPMU_SCHED_STATE_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>

#include "../source/counters.h"
#include "entity.h"

/**
 * struct kpmu_plan - the groups that run, and the event on each counter
 * @cpu_gen: generation of the CPU and cgroup contexts it was built from
 * @task_gen: generation of the task context, 0 without one
 * @serial: number of the build of the plan; a copy has that of the original
 * @cpu: CPU it is valid on, -1 for any
 * @cpu_waits: flexible groups of the CPU and cgroup contexts that did not fit
 * @task_waits: flexible groups of the task context that did not fit
 * @upper: the second counters of wide events, see struct kpmu_matching; none is in @slots
 * @exclusive: its only group is exclusive
 * @nr_cpu: groups in it that belong to the CPU and cgroup contexts
 * @nr: groups in it, of all contexts
 * @groups: leaders of these groups
 * @slots: event on each counter, for kpmu_commit()
 */
struct kpmu_plan {
	u64 cpu_gen;
	u64 task_gen;
	u64 serial;
	int cpu;
	u32 cpu_waits;
	u32 task_waits;
	u32 upper;
	bool exclusive;
	u8 nr_cpu;
	u8 nr;
	struct kpmu_entity *groups[KPMU_NR_SLOTS];
	struct kpmu_slots slots;
};

/* Flags of kpmu_ctx.follow: when kpmu_followers_update() is needed */
#define KPMU_FOLLOW_ACTIVE	BIT(0)	/* at changes of an active context, and when it becomes active */
#define KPMU_FOLLOW_IDLE	BIT(1)	/* at changes of an idle context, and when it becomes idle */
#define KPMU_FOLLOW_ALWAYS	(KPMU_FOLLOW_ACTIVE | KPMU_FOLLOW_IDLE)

/**
 * struct kpmu_ctx - the events of a task, of a CPU, or of a cgroup on a CPU
 * @ctx_lock: protects the context while it is not active; taken under the run-queue
 *	lock, struct kpmu_family.family_lock nests inside
 * @cpu: CPU it is active on, or -1; set under @ctx_lock, reset by kpmu_ctx_release()
 *	without it
 * @home: CPU of a CPU or cgroup context; -1 for a task context
 * @last_cpu: CPU it is or was last active on, -1 if never
 * @retired: it is not activated again: its task exited, or it was empty for long
 * @task: task of a task context, referenced; else NULL
 * @css: cgroup of a cgroup context, referenced; else NULL
 * @key: @task or @css, for the hash
 * @up: next active cgroup context of the CPU, towards the root; the CPU context
 *	is the list head
 * @next_up: next context in the list that kpmu_cgroup_enter() builds
 * @next_left: next context in the list for kpmu_cgroup_release()
 * @wanted: scratch of kpmu_cgroup_enter()
 * @follow: KPMU_FOLLOW_*, for @mapped, @timed, @nr_freq, @nr_gated, or a kernel thread
 * @gen: changes whenever plans built from it become invalid; 0: no group to place, and no counter
 *	is reserved
 * @model: @gen of the parent's context when @plan was copied from there; 0: it cannot be kept, see
 *	kpmu_plan_copy()
 * @copied: @gen then
 * @time: ns it was active, up to @since
 * @since: local_clock() of the last update of @time
 * @leaders: all groups, enabled or not
 * @scan: next event of the scan in progress, see scan.c
 * @pinned: enabled pinned groups
 * @strict: attached strict groups, enabled or not
 * @classes: enabled flexible groups, by the counters they need
 * @bound: enabled groups of a task that need no counter but are bound to a CPU
 * @hits: events that count hits, see sampling/hit.c
 * @parked: disabled group that stays in the queue, see kpmu_queue_park()
 * @side: events with side-band records
 * @mapped: events with a user page to keep up to date
 * @timed: events whose source or timer follows the context, see kpmu_is_followed()
 * @nr_classes: classes in @classes
 * @nr_pinned: enabled pinned groups
 * @nr_strict: groups in @strict
 * @nr_firm: those of them to which nothing has precedence (KPMU_ATTR_FIRM)
 * @nr_flexible: enabled flexible groups
 * @nr_bound: enabled groups bound to one CPU or one kind of CPUs; in a CPU or cgroup context, all
 * @reserved: of a CPU context: the counters that are reserved on the CPU
 * @nr_events: attached events
 * @nr_inherit: attached events with inherit set
 * @nr_sampling: attached events that write records
 * @nr_freq: attached events with a sampling frequency
 * @nr_gated: events in @hits whose hits are reported only while they run
 * @emptied: jiffies when the last event left
 * @min_served: lower bound for group.served of a group that joins, ns
 * @rotated: @time of the last rotation
 * @had: scratch of kpmu_rotate_compare()
 * @ahead: ns that its groups ran more, on average, than those of the contexts
 *	active at the same time; the CPU context: 0
 * @branches: of a task: where its branches are kept while it does not run, see
 *	KPMU_BRANCHES_KEPT; NULL if they are not
 * @ref: held by events, by the hash, by lookups
 * @hash: node in the hash of task and cgroup contexts
 * @rcu: frees it when no task switch can access it any more
 * @nr_placed: groups placed now
 * @placed: their leaders
 * @plan: last plan stored here, see kpmu_plan_of()
 */
struct kpmu_ctx {
	raw_spinlock_t ctx_lock;
	int cpu;
	int home;
	int last_cpu;
	bool retired;
	bool wanted;
	u8 follow;
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	void *key;
	struct kpmu_ctx *up;
	struct kpmu_ctx *next_up;
	struct kpmu_ctx *next_left;
	u64 gen;
	u64 model;
	u64 copied;
	u64 time;
	u64 since;
	struct list_head leaders;
	struct kpmu_entity *scan;
	struct list_head pinned;
	struct list_head strict;
	struct list_head classes;
	struct list_head bound;
	struct hlist_head hits;
	struct kpmu_entity *parked;
	struct hlist_head side;
	struct hlist_head mapped;
	struct hlist_head timed;
	u32 nr_classes;
	u32 nr_pinned;
	u32 nr_strict;
	u32 nr_firm;
	u32 nr_flexible;
	u32 nr_bound;
	u32 reserved;
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
	void *branches;
	refcount_t ref;
	struct rhash_head hash;
	struct rcu_head rcu;
	u8 nr_placed;
	/* From here on ctx_setup() zeroes only what is read before it is written */
	struct kpmu_entity *placed[KPMU_NR_SLOTS];
	struct kpmu_plan plan;
};

/* Limit of events per context: bounds the per-event work of a switch, with IRQs off */
#define KPMU_CTX_MAX	16384

/* Key of the rest class, for groups beyond the limit of classes; see queue.c */
#define KPMU_KEY_REST	U64_MAX

#define KPMU_RECENT_SHIFT	5
#define KPMU_NR_RECENT		(1 << KPMU_RECENT_SHIFT)

/**
 * kpmu_not_zeroed() - constructor of slab caches whose users set all that they read
 * @object: of the cache
 *
 * Many kernels zero what they allocate (init_on_alloc), but not if the cache has a constructor.
 *
 * Context: any.
 */
static inline void kpmu_not_zeroed(void *object)
{
}

/**
 * struct kpmu_recent - the result of a lookup of a task's context
 * @task: the task; only compared
 * @ctx: its context, or NULL if it had none
 * @epoch: kpmu_ctx_epoch at the lookup; the result is valid until this changes
 */
struct kpmu_recent {
	struct task_struct *task;
	struct kpmu_ctx *ctx;
	unsigned long epoch;
};

/**
 * struct kpmu_cpu - per-CPU scheduling state; used on its CPU with IRQs off
 * @ctx: the CPU context
 * @task: the active task context, or NULL
 * @stale: an active context has changed since the plan in force was built or edited
 * @applied: the plan in force, NULL while offline
 * @rotate: the rotation timer
 * @armed: @rotate is started
 * @nr_cgroups: cgroups watched on this CPU
 * @watch: @nr_cgroups was not 0 when this CPU last read it
 * @css: cgroup whose contexts are active; not referenced, only compared
 * @offline: nothing may count here now
 * @unusual: not 0 if @offline or @watch; without @watch, no context of a cgroup is active
 * @reserved_by: the id of the reservation of each counter in @ctx.reserved
 * @recent: lookups of tasks' contexts, see kpmu_ctx_of_next()
 */
struct kpmu_cpu {
	struct kpmu_ctx ctx;
	struct kpmu_ctx *task;
	bool stale;
	struct kpmu_plan *applied;
	struct hrtimer rotate;
	bool armed;
	union {
		struct {
			bool offline;
			bool watch;
		};
		u16 unusual;
	};
	atomic_t nr_cgroups;
	struct cgroup_subsys_state *css;
	struct kpmu_recent recent[KPMU_NR_RECENT];
	u16 reserved_by[KPMU_NR_SLOTS];
};

DECLARE_PER_CPU(struct kpmu_cpu, kpmu_cpu);

#endif
