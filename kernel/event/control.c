// SPDX-License-Identifier: GPL-2.0-only
/* Enable, disable, reset: one event or its whole group. */
#include "../sched/sched.h"
#include "event.h"

struct control {
	struct kpmu_event *event;
	enum kpmu_op op;
	bool group;
};

/* te and tr go on; only the count starts again */
static void reset(struct kpmu_event *e)
{
	e->hw.source->read(&e->hw);
	local64_set(&e->hw.count, 0);
}

static void set_state(struct kpmu_event *e, enum kpmu_op op)
{
	if (op == KPMU_OP_RESET)
		reset(e);
	else
		e->state = op == KPMU_OP_ENABLE ? KPMU_ON : KPMU_OFF;
}

/* Once an event's task is gone there is nothing to switch */
static int control_owned(struct kpmu_ctx *ctx, void *data)
{
	struct control *c = data;
	struct kpmu_event *leader = c->event->leader, *e;

	if (c->op == KPMU_OP_RESET) {
		if (!c->group) {
			reset(c->event);
			return 0;
		}
		reset(leader);
		kpmu_for_each_member(e, leader)
			reset(e);
		return 0;
	}
	if (!leader->attached)
		return 0;
	kpmu_queue_del(ctx, leader);
	if (!c->group) {
		set_state(c->event, c->op);
	} else {
		set_state(leader, c->op);
		kpmu_for_each_member(e, leader)
			set_state(e, c->op);
	}
	if (leader->state == KPMU_ON)
		kpmu_queue_add(ctx, leader);
	kpmu_group_clocks(leader, ctx->time);
	return 0;
}

/**
 * kpmu_event_control() - do what an ioctl asks
 * @e: the event
 * @op: what
 * @group: to all events of its group, whoever of them was asked
 *
 * Takes effect on all of them at once: one commit.
 *
 * Context: task, IRQs on.  perf_event_open(2), "perf_event ioctl calls".
 */
void kpmu_event_control(struct kpmu_event *e, enum kpmu_op op, bool group)
{
	struct control c = { .event = e, .op = op, .group = group };

	kpmu_ctx_call(e->ctx, control_owned, &c);
}
