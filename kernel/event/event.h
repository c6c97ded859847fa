/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event: what stands behind an fd.
 *
 * event/ and sched/ are two halves of one thing: event/ knows what an event is
 * and what a user may do with it, sched/ when it counts.  So the two may
 * include each other, through this header and sched/sched.h only.
 */
#ifndef KPMU_EVENT_H
#define KPMU_EVENT_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "../abi/attr.h"
#include "../pmu/source.h"

struct fasync_struct;
struct file;
struct kpmu_output;
struct kpmu_ctx;
struct kpmu_ring;
struct kpmu_family;
struct kpmu_sampling;
struct poll_table_struct;
struct task_struct;

/*
 * What the user asked for.  Whether an event counts also depends on its leader
 * (a member is off while the leader is) and on the plan.
 */
enum kpmu_state {
	KPMU_OFF,	/* disabled */
	KPMU_ON,	/* enabled */
	KPMU_ERROR,	/* pinned, but there was no room: off until told again */
};

/**
 * struct kpmu_clock - an event's two times, in ns of its context's clock
 * @enabled: how long it was enabled, up to @since
 * @running: how long it counted, up to @since
 * @since: when the two were last brought up to date
 * @is_enabled: it is enabled since then
 * @is_running: it counts since then
 * @is_still: of an event that counts hits: its group was throttled, and may be so still
 */
struct kpmu_clock {
	u64 enabled;
	u64 running;
	u64 since;
	bool is_enabled;
	bool is_running;
	bool is_still;
};

struct kpmu_event;

/* Events in a group, at most: bounds the walks over a group with IRQs off */
#define KPMU_GROUP_MAX	4096

/**
 * struct kpmu_class - flexible groups of one context that need the same
 * @key: what they need, as one number: a class either fits or does not
 * @node: in the context's list of classes
 * @groups: the groups, the least served first
 * @next: the next candidate (a leader) while a plan is built
 * @nr: how many groups
 * @cpu: the CPU they are bound to, -1 for any
 *
 * Lives in one of its groups, and moves to another when that one leaves.
 */
struct kpmu_class {
	u64 key;
	struct list_head node;
	struct rb_root_cached groups;
	struct kpmu_event *next;
	u32 nr;
	int cpu;
};

/**
 * struct kpmu_group - what a leader has more than a member
 * @members: the other events, in order of creation
 * @nr: events in the group, the leader included
 * @max: @nr may not exceed it, or one of the group's reads would become too long;
 *	at most KPMU_GROUP_MAX
 * @gen: changes with the members; an inherited group starts with its parent's
 * @shared: it has or had members, which may look at the leader
 * @placed: it runs in the plan that its context applied last
 * @queued: it is in a class (flexible), in the pinned list, or @free
 * @free: it needs no counter; then it is in no plan
 * @mark: scratch of the apply: it is in the plan
 * @served: running time received, ns
 * @order: @served in whole turns, more or less: the place in the class
 * @charged: the context's time up to which @served is right
 * @rb: in its class
 * @pinned_node: in the context's pinned list; if it is free, in the list of those
 *	bound to a CPU
 * @class: storage for the class, if this group happens to keep it
 */
struct kpmu_group {
	struct list_head members;
	u32 nr;
	u32 gen;
	u16 max;
	bool shared;
	bool placed;
	bool queued;
	bool free;
	bool mark;
	u64 served;
	u64 order;
	u64 charged;
	union {
		struct rb_node rb;
		struct list_head pinned_node;
	};
	struct kpmu_class class;
};

/**
 * struct kpmu_event - one event
 * @hw: what its source works on
 * @state: what the user asked for; under the context's lock
 * @attached: it is in a context's scheduling; cleared at close, exit, exec
 * @read_format: as in the attr
 * @read_size: bytes of a read's result for a group of one
 * @read_more: bytes for each more event of its group
 * @clockid: the clock of its time stamps, -1 for local_clock()
 * @hooks: the hooks it needs, a bit each of enum kpmu_lazy
 * @cpu: the CPU it is bound to, -1 for any
 * @taken: its source holds hardware, or what else gives hits, for it; a root only
 * @flags: the attr's flag word
 * @clock: its times
 * @ctx: the context; never changes, held
 * @leader: the group's leader, itself for one
 * @node: a member's place in the leader's list
 * @id: unique, never used again
 * @type: as in the attr
 * @config: as in the attr
 * @fasync: who wants SIGIO
 * @ring: where its records go; RCU
 * @output: what it has that ever had a ring
 * @sampling: what it has that writes records; NULL for one that only counts
 * @wakeup_watermark: of the attr, in bytes; 0 if it counts samples
 * @maps: its mappings; with none, @ring is another event's
 * @user_reads: those of them that can read its counter by themselves
 * @pause: of a leader: throttled and without counters, its group stands still up to this
 *	tick, in jiffies
 * @mapped_node: in the context's list of mapped events
 * @hit_node: in the context's list of events that count hits
 * @owner: who opened it, see owner.c
 * @owned: among the events of its owner, see owner.c
 * @label: what security modules keep for it; mostly NULL
 * @family: with inherit set: the root's family; NULL without
 * @root: a child (inherited) event's root, good while attached; NULL for a root
 * @sibling: a child's place in its family
 * @epoch: a child's last walk that saw it
 * @changing: bit 0: one of change.c's calls is at work on it
 * @ref: the fd, and whoever looks at the event meanwhile
 * @group: the leader's part
 */
struct kpmu_event {
	struct kpmu_hw hw;
	u8 state;
	bool attached;
	u8 read_format;
	u8 read_size;
	u8 read_more;
	s8 clockid;
	u16 hooks;
	int cpu;
	bool taken;
	u64 flags;
	struct kpmu_clock clock;
	struct kpmu_ctx *ctx;
	struct kpmu_event *leader;
	struct list_head node;
	u64 id;
	u32 type;
	refcount_t ref;
	u64 config;
	struct fasync_struct *fasync;
	struct kpmu_ring __rcu *ring;
	struct kpmu_output *output;
	struct kpmu_sampling *sampling;
	u32 wakeup_watermark;
	u32 maps;
	u32 user_reads;
	u32 pause;
	struct hlist_node mapped_node;
	struct hlist_node hit_node;
	u64 owner;
	struct list_head owned;
	struct perf_event *label;
	struct kpmu_family *family;
	struct kpmu_event *root;
	struct list_head sibling;
	u64 epoch;
	unsigned long changing;
	struct rcu_head rcu;
	struct kpmu_group group;	/* last: its class is not zeroed */
};

#define kpmu_for_each_member(e, leader) \
	list_for_each_entry(e, &(leader)->group.members, node)

static inline bool kpmu_is_leader(const struct kpmu_event *e)
{
	return e->leader == e;
}

static inline bool kpmu_is_pinned(const struct kpmu_event *e)
{
	return e->flags & KPMU_ATTR_PINNED;
}

/* Does the user want it to count now?  Under the context's lock. */
static inline bool kpmu_is_enabled(const struct kpmu_event *e)
{
	return e->attached && e->state == KPMU_ON && e->leader->state == KPMU_ON;
}

/* Bytes of a read's result when the group has @nr events */
static inline size_t kpmu_read_size(const struct kpmu_event *e, u32 nr)
{
	return e->read_size + (nr - 1) * e->read_more;
}

static inline bool kpmu_has_counter(const struct kpmu_event *e)
{
	return e->hw.allowed;
}

/* Does it count what kpmu_hit() tells of? */
static inline bool kpmu_counts_hits(const struct kpmu_event *e)
{
	return !kpmu_has_counter(e) && e->hw.tap;
}

/* create.c: the event itself */
struct kpmu_event *kpmu_event_alloc(const struct kpmu_target *target,
				    const char **why);
int kpmu_event_take(struct kpmu_event *e, const struct kpmu_target *target,
		    const char **why);
struct kpmu_event *kpmu_event_blank(bool sampling);
void kpmu_event_clone(struct kpmu_event *e, struct kpmu_event *from);
void kpmu_event_unclone(struct kpmu_event *e);
void kpmu_event_get(struct kpmu_event *e);
void kpmu_event_put(struct kpmu_event *e);
struct kpmu_event *kpmu_leader_get(struct kpmu_event *e);
int kpmu_events_init(void);
void kpmu_events_exit(void);

/* attach.c: into a context and its group, and out again */
int kpmu_event_attach(struct kpmu_event *e, struct kpmu_ctx *ctx,
		      struct kpmu_event *leader, const char **why);
void kpmu_event_join(struct kpmu_event *e, struct kpmu_ctx *ctx,
		     struct kpmu_event *leader);
void kpmu_event_leave(struct kpmu_ctx *ctx, struct kpmu_event *e);
void kpmu_event_detach(struct kpmu_event *e);
bool kpmu_event_detach_child(struct kpmu_event *e);

/* scan.c: all events of a context, so many at a time */
#define KPMU_BATCH	128
void kpmu_scan_begin(struct kpmu_ctx *ctx);
struct kpmu_event *kpmu_scan_group(struct kpmu_ctx *ctx);
struct kpmu_event *kpmu_scan_event(struct kpmu_ctx *ctx);

/* inherit.c: fork */
void kpmu_inherit(struct task_struct *task, unsigned long clone_flags);

/* exec.c */
void kpmu_events_exec(void);

/* exit.c: the end of a task, or of what it was */
void kpmu_event_end_owned(struct kpmu_ctx *ctx, struct kpmu_event *e,
			  struct list_head *gone);
bool kpmu_events_end_owned(struct kpmu_ctx *ctx, struct list_head *gone);
void kpmu_events_put_list(struct list_head *gone);

/* control.c */
enum kpmu_op { KPMU_OP_ENABLE, KPMU_OP_DISABLE, KPMU_OP_RESET };
void kpmu_event_control(struct kpmu_event *e, enum kpmu_op op, bool group);
void kpmu_event_disable_owned(struct kpmu_ctx *ctx, struct kpmu_event *e);

/* change.c: filters, programs and places */
int kpmu_event_filter(struct kpmu_event *e, char *filter);
int kpmu_event_set_bpf(struct kpmu_event *e, int fd);
int kpmu_event_query_bpf(struct kpmu_event *e, void __user *query);
int kpmu_event_modify(struct kpmu_event *e, const struct kpmu_attr *attr);

/* owner.c: all events that a thread has opened */
void kpmu_owner_set(struct kpmu_event *e, const struct task_struct *who);
void kpmu_owner_clear(struct kpmu_event *e);
void kpmu_owner_control(enum kpmu_op op);
void kpmu_owners_init(void);

/* read.c */
void kpmu_read_layout(struct kpmu_event *e);
u16 kpmu_read_max(const struct kpmu_event *e);
ssize_t kpmu_event_read(struct kpmu_event *e, char __user *buf, size_t len);

/* output.c: where its records go */
void kpmu_output_lock(struct kpmu_event *e);
void kpmu_output_unlock(struct kpmu_event *e);
struct kpmu_ring *kpmu_output_ring(const struct kpmu_event *e);
int kpmu_output_set(struct kpmu_event *e, struct kpmu_ring *ring);
int kpmu_output_redirect(struct kpmu_event *e, struct kpmu_event *to);
void kpmu_output_strip(struct kpmu_ring *ring);
int kpmu_output_pause(struct kpmu_event *e, bool pause);
__poll_t kpmu_output_poll(struct kpmu_event *e, struct file *file,
			  struct poll_table_struct *wait);
void kpmu_output_end(struct kpmu_event *e);
void kpmu_outputs_init(void);

/* rate.c */
void kpmu_rate_arm(void);

/* page.c: the user page of a mapped event */
void kpmu_page_set(struct kpmu_event *e, struct perf_event_mmap_page *page,
		   int reads);
void kpmu_pages_update(struct kpmu_ctx *ctx, bool active);

/* hit.c, timer.c: events without counters */
void kpmu_hit_link(struct kpmu_ctx *ctx, struct kpmu_event *e);
void kpmu_hit_unlink(struct kpmu_event *e);
void kpmu_hits_follow(struct kpmu_ctx *ctx, bool active);
bool kpmu_hit_excluded(const struct kpmu_event *e, struct pt_regs *regs);
void kpmu_hit(const void *tap, u64 nr, struct kpmu_hit *hit);
void kpmu_followers_update(struct kpmu_ctx *ctx, bool active);

/* read_family.c */
ssize_t kpmu_read_family(struct kpmu_event *e, char __user *buf, size_t len);

/* perm.c */
enum kpmu_permit {
	KPMU_PERMIT_OPEN,	/* an event with this attr at all */
	KPMU_PERMIT_CPU,	/* on every task of a CPU */
	KPMU_PERMIT_TASK,	/* on this task */
	KPMU_PERMIT_RAW,	/* with records of what the kernel does */
};
int kpmu_permit(enum kpmu_permit what, const struct kpmu_attr *attr,
		struct task_struct *task, const char **why);
int kpmu_paranoid(void);
extern int kpmu_sysctl_paranoid;

#endif
