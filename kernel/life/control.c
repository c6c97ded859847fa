// SPDX-License-Identifier: GPL-2.0-only
/* Enable, disable and reset one event or its whole group. */
#include "../event/family.h"
#include "../event/rates.h"
#include "../sched/sched.h"
#include "../source/period.h"
#include "life.h"

struct control {
	struct kpmu_event *event;	/* in a family walk: the current child */
	struct kpmu_event *root;
	const struct kpmu_event *leader;	/* of the root's group, as its owner saw it */
	enum kpmu_op op;
	bool group;
};

/* Only the count restarts; time_enabled and time_running continue */
static void reset_count(struct kpmu_event *e)
{
	kpmu_rates_reset(e);
	if (e->se.hw.source->reset)
		e->se.hw.source->reset(&e->se.hw);
	else
		kpmu_source_reset(&e->se.hw, kpmu_event_count(e));
}

static void reset_counts(struct kpmu_event *event, bool group)
{
	struct kpmu_event *leader = kpmu_leader(event), *e;

	if (!group) {
		reset_count(event);
		return;
	}
	reset_count(leader);
	kpmu_for_each_member(e, leader)
		reset_count(e);
}

static void set_states(struct kpmu_event *leader, enum kpmu_state state)
{
	struct kpmu_event *e;

	leader->se.state = state;
	kpmu_for_each_member(e, leader)
		e->se.state = state;
}

/* Inline: for the most common calls, on one event, @op and @group are constants */
static __always_inline int control_owned(struct kpmu_ctx *ctx, struct kpmu_event *e,
					 enum kpmu_op op, bool group)
{
	enum kpmu_state state = op == KPMU_OP_ENABLE ? KPMU_ON : KPMU_OFF;
	struct kpmu_event *leader = kpmu_leader(e);
	struct kpmu_cpu *live, *waits;

	if (op == KPMU_OP_RESET) {
		reset_counts(e, group);
		return 0;
	}
	if (unlikely(leader->se.flags & KPMU_ATTR_STRICT) && !leader->root)
		WRITE_ONCE(leader->sampling->out, false);
	/* Nothing to do once the group has ended or is about to, or without a change of state */
	if (!leader->se.attached || ctx->retired || (!group && e->se.state == state))
		return 0;
	if (e != leader && !group && !kpmu_has_counter(&e->se)) {
		/* The requirements stay: constant time for a group of any size */
		e->se.state = state;
		kpmu_entity_clock(&e->se, ctx->time);
		return 0;
	}
	live = kpmu_plan_live(ctx);
	/* Only a group that is disabled leaves the queue while it waits */
	waits = op == KPMU_OP_DISABLE ? kpmu_plan_waiting(ctx, &leader->se) : NULL;
	if (e != leader && !group)
		kpmu_queue_del(ctx, &leader->se);	/* its requirements change */
	else if (ctx->parked != &leader->se)
		kpmu_queue_park(ctx, &leader->se);
	if (leader->se.group.placed)
		kpmu_plan_remove(live, &leader->se);
	if (group)
		set_states(leader, state);
	else
		e->se.state = state;
	if (leader->se.state == KPMU_ON) {
		kpmu_queue_add(ctx, &leader->se);
		kpmu_plan_insert(live, &leader->se);
	} else if (unlikely(waits)) {
		kpmu_plan_forget(waits, &leader->se);
	}
	kpmu_group_clocks(&leader->se, ctx->time);
	return 0;
}

static int enable_owned(struct kpmu_ctx *ctx, void *e)
{
	return control_owned(ctx, e, KPMU_OP_ENABLE, false);
}

static int disable_owned(struct kpmu_ctx *ctx, void *e)
{
	return control_owned(ctx, e, KPMU_OP_DISABLE, false);
}

static int change_owned(struct kpmu_ctx *ctx, void *data)
{
	struct control *c = data;

	return control_owned(ctx, c->event, c->op, c->group);
}

/**
 * kpmu_event_control_owned() - enable, disable or reset one event as the owner of its context
 * @ctx: its context
 * @e: the event; its children are not affected
 * @op: the operation
 *
 * Context: the context's owner, IRQs off; a kpmu_resched() must follow.
 */
void kpmu_event_control_owned(struct kpmu_ctx *ctx, struct kpmu_event *e, enum kpmu_op op)
{
	control_owned(ctx, e, op, false);
}

static int control_child(struct kpmu_event *child, void *data)
{
	struct control *c = data;

	c->event = child;
	return change_owned(child->se.ctx, c);
}

static int control_root_owned(struct kpmu_ctx *ctx, void *data)
{
	struct control *c = data;

	c->leader = kpmu_leader(c->root);
	return change_owned(ctx, c);
}

static void control_root(struct kpmu_event *root, void *data)
{
	struct control *c = data;

	c->event = c->root;
	kpmu_ctx_call(root->se.ctx, control_root_owned, c);
}

/*
 * Apply the operation to the root and its children.  Two concurrent operations do not mix, so
 * the children are never left enabled where the root is disabled.
 */
static noinline void control_family(struct control *c)
{
	struct kpmu_event *leader;
	bool again;

	c->root = c->event;
	if (!c->group) {
		kpmu_family_walk(c->root, control_root, control_child, c);
		return;
	}
	/* Repeat if the leader was closed meanwhile, which makes the event its own leader */
	do {
		leader = kpmu_leader_get(c->root);
		kpmu_family_walk(leader, control_root, control_child, c);
		again = c->leader != leader;
		kpmu_event_put(leader);
	} while (again);
}

static noinline void control_any(struct kpmu_event *e, enum kpmu_op op, bool group)
{
	struct control c = { .event = e, .op = op, .group = group };

	if (e->family)
		control_family(&c);
	else
		kpmu_ctx_call(e->se.ctx, change_owned, &c);
}

/**
 * kpmu_event_control() - enable, disable or reset an event
 * @e: the event
 * @op: the operation
 * @group: apply it to the whole group, of which @e may be any member
 *
 * Takes effect on the group at once, in one commit.  Inherited events follow, one
 * task after the other.
 *
 * Context: task, may sleep.  perf_event_open(2), "perf_event ioctl calls".
 */
void kpmu_event_control(struct kpmu_event *e, enum kpmu_op op, bool group)
{
	if (unlikely(e->family || group || op == KPMU_OP_RESET))
		control_any(e, op, group);
	else
		kpmu_ctx_call(e->se.ctx, op == KPMU_OP_ENABLE ? enable_owned : disable_owned, e);
}
