/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is scheduled: entities and groups of entities.  An event embeds its entity; code
 * in sched/ does not access the event around it.
 */
#ifndef KPMU_ENTITY_H
#define KPMU_ENTITY_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "../abi/attr.h"
#include "../source/source.h"

struct kpmu_ctx;
struct kpmu_entity;

/*
 * The state requested by the user.  Whether an event counts also depends on its
 * leader (members are off while the leader is off) and on the plan.
 */
enum kpmu_state {
	KPMU_OFF,	/* disabled */
	KPMU_ON,	/* enabled */
	KPMU_ERROR,	/* pinned, but did not fit: off until enabled again */
};

/**
 * struct kpmu_clock - an event's two times, in ns of its context's clock
 * @enabled: time enabled, up to @since
 * @running: time counting, up to @since
 * @since: time of the last update of both
 * @is_enabled: the event has been enabled since @since
 * @is_running: the event has been counting since @since
 * @is_still: for events that count hits: the group was throttled and may still be
 */
struct kpmu_clock {
	u64 enabled;
	u64 running;
	u64 since;
	bool is_enabled;
	bool is_running;
	bool is_still;
};

/* Both times at one moment, in ns */
struct kpmu_times {
	u64 enabled;
	u64 running;
};

/**
 * kpmu_times_at() - an event's times at a moment of its context's clock
 * @c: the event's clock
 * @now: the context's clock, in ns; not before @c->since
 *
 * Context: owner of the context, or NMI on the CPU where it is active.
 * Return: both times, in ns.
 */
static inline struct kpmu_times kpmu_times_at(const struct kpmu_clock *c, u64 now)
{
	u64 passed = now - c->since;

	return (struct kpmu_times){
		.enabled = c->enabled + (c->is_enabled ? passed : 0),
		.running = c->running + (c->is_running ? passed : 0),
	};
}

/* Maximum number of events in a group: bounds walks over a group with IRQs off */
#define KPMU_GROUP_MAX	4096

/**
 * struct kpmu_class - flexible groups of one context with the same counter requirements
 * @key: the requirements as one number: if one group of a class does not fit, none
 *	does (except for KPMU_KEY_REST)
 * @node: entry in ctx->classes
 * @groups: the groups, the least served first
 * @next: next candidate (a leader) while a plan is built
 * @nr: number of groups
 * @cpu: CPU that the groups are bound to, -1 for any, -1 - n for those of kind n (counters.h)
 *
 * Embedded in one of its groups, and copied to another when that one leaves.
 */
struct kpmu_class {
	u64 key;
	struct list_head node;
	struct rb_root_cached groups;
	struct kpmu_entity *next;
	u32 nr;
	int cpu;
};

/**
 * struct kpmu_group - state of a group, used in its leader
 * @members: the other events, in order of creation
 * @nr: events in the group, including the leader
 * @max: limit of @nr: the least of all events' limits
 * @gen: changes when a member joins or leaves; an inherited group starts with its
 *	parent's
 * @shared: the group has or had members, which may access the leader under RCU
 * @placed: the group is in the plan that its context applied last; or it is @free and
 *	not bound to another CPU
 * @queued: the group is in a class (flexible), in ctx->pinned, or @free
 * @free: the group needs no counter and is in no plan
 * @mark: scratch of place_groups(): the group is in the plan
 * @kind: while queued: the kind of CPUs on which it can count, 0 for all
 * @served: running time received, ns; raised to ctx->min_served when queued
 * @order: sort key in the class: @served in steps of whole turns, see kpmu_turn()
 * @charged: context time up to which @served is accounted
 * @rb: node in class->groups
 * @pinned_node: entry in ctx->pinned; of a free group bound to a CPU, in ctx->bound
 * @class: storage of the class, if it is embedded in this group
 * @strict_node: instead of @class, which pinned groups do not use: of a strict group, entry in
 *	ctx->strict while attached
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
	u8 kind;
	u64 served;
	u64 order;
	u64 charged;
	union {
		struct rb_node rb;
		struct list_head pinned_node;
	};
	union {
		struct kpmu_class class;
		struct list_head strict_node;
	};
};

/**
 * struct kpmu_entity - the part of an event that is scheduled
 * @hw: the part that the event source works on
 * @state: requested by the user; written by the owner of the context
 * @attached: the event takes part in scheduling; cleared at close, task exit and exec
 * @max: limit of the group's size that the event sets, at most KPMU_GROUP_MAX, so that
 *	its read result does not get too long
 * @cpu: CPU the event is bound to, -1 for any
 * @flags: the attr's flag word
 * @clock: time_enabled and time_running
 * @ctx: the context, referenced; constant once attached
 * @leader: group leader; a leader points to itself
 * @node: of a leader in ctx->leaders, of a member in the leader's group.members
 * @id: the event's id, for traces and messages
 * @group: group state
 */
struct kpmu_entity {
	struct kpmu_hw hw;
	u8 state;
	bool attached;
	u16 max;
	int cpu;
	u64 flags;
	struct kpmu_clock clock;
	struct kpmu_ctx *ctx;
	struct kpmu_entity *leader;
	struct list_head node;
	u64 id;
	struct kpmu_group group;	/* last: group.class is not zeroed */
};

#define kpmu_for_each_in_group(e, leader) \
	list_for_each_entry(e, &(leader)->group.members, node)

/**
 * kpmu_entity_init() - initialize a group of one entity
 * @e: the entity, which leads the group
 * @max: maximum number of events in the group, see struct kpmu_entity
 *
 * Context: any, before the entity joins a context.
 */
static inline void kpmu_entity_init(struct kpmu_entity *e, u16 max)
{
	e->leader = e;
	e->max = max;
	e->group.max = max;
	e->group.nr = 1;
	INIT_LIST_HEAD(&e->group.members);
}

/**
 * kpmu_is_leader() - does an entity lead its group?
 * @e: the entity
 *
 * Context: owner of its context; without ownership the result may be stale.
 * Return: true if it does.
 */
static inline bool kpmu_is_leader(const struct kpmu_entity *e)
{
	return e->leader == e;
}

/**
 * kpmu_is_pinned() - is a group pinned?
 * @e: its leader
 *
 * Context: any.
 * Return: true if it is, false for a flexible group.
 */
static inline bool kpmu_is_pinned(const struct kpmu_entity *e)
{
	return e->flags & KPMU_ATTR_PINNED;
}

/**
 * kpmu_is_enabled() - are an event and its leader enabled?
 * @e: the event
 *
 * Context: owner of its context.
 * Return: true if both are, and the event is attached.
 */
static inline bool kpmu_is_enabled(const struct kpmu_entity *e)
{
	return e->attached && e->state == KPMU_ON && e->leader->state == KPMU_ON;
}

/**
 * kpmu_has_counter() - does an event need a counter?
 * @e: the event
 *
 * Context: any.
 * Return: true if it does, whether it is on a counter or not.
 */
static inline bool kpmu_has_counter(const struct kpmu_entity *e)
{
	return e->hw.allowed;
}

/**
 * kpmu_usable_among() - the counters of a set that an event may use
 * @e: the event
 * @counters: the set
 *
 * Context: any.
 * Return: a bit each; of a wide event, the lower ones of pairs that are in the set as a whole.
 */
static inline u32 kpmu_usable_among(const struct kpmu_entity *e, u32 counters)
{
	return e->hw.allowed & (e->hw.wide ? counters & (counters >> 1) : counters);
}

/**
 * kpmu_counts_hits() - does an event count hits reported by kpmu_hit_report()?
 * @e: the event
 *
 * Context: any, including NMI.
 * Return: true if it does.
 */
static inline bool kpmu_counts_hits(const struct kpmu_entity *e)
{
	return !kpmu_has_counter(e) && e->hw.key;
}

#endif
