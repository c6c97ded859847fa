// SPDX-License-Identifier: GPL-2.0-only
/*
 * exec: events with enable_on_exec are enabled, once; those with remove_on_exec end.
 * perf_event_open(2).
 */
#include <linux/sched.h>

#include "../sched/sched.h"
#include "life.h"

static void enable_event(struct kpmu_event *e)
{
	if (!e->on_exec)
		return;
	e->on_exec = false;
	e->se.state = KPMU_ON;
}

static void enable_group(struct kpmu_ctx *ctx, struct kpmu_event *leader)
{
	struct kpmu_cpu *live = kpmu_plan_live(ctx);
	bool any = leader->on_exec;
	struct kpmu_event *e;

	kpmu_for_each_member(e, leader)
		any |= e->on_exec;
	if (!any)
		return;
	kpmu_queue_del(ctx, &leader->se);
	kpmu_plan_remove(live, &leader->se);
	enable_event(leader);
	kpmu_for_each_member(e, leader)
		enable_event(e);
	if (leader->se.state == KPMU_ON) {
		kpmu_queue_add(ctx, &leader->se);
		kpmu_plan_insert(live, &leader->se);
	}
	kpmu_group_clocks(&leader->se, ctx->time);
}

/* The other events of the group stay */
static void remove_event(struct kpmu_ctx *ctx, struct kpmu_event *e,
			 struct list_head *gone)
{
	if (e->se.flags & KPMU_ATTR_REMOVE_ON_EXEC)
		kpmu_event_end_owned(ctx, e, gone);
}

static void remove_group(struct kpmu_ctx *ctx, struct kpmu_event *leader,
			 struct list_head *gone)
{
	struct kpmu_event *e, *tmp;

	list_for_each_entry_safe(e, tmp, &leader->se.group.members, se.node)
		remove_event(ctx, e, gone);
	remove_event(ctx, leader, gone);
}

struct exec {
	struct list_head gone;
	bool begun;
	bool removing;		/* second pass: remove_on_exec */
	u32 left;		/* groups left in this pass, at most */
};

static void begin_exec(struct kpmu_ctx *ctx, struct exec *x)
{
	kpmu_scan_begin(ctx);
	x->begun = true;
	x->left = ctx->nr_events;
}

/* Return: true if there is more to do */
static int exec_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_entity *leader;
	struct exec *x = data;
	u32 n = 0;

	if (!x->begun)
		begin_exec(ctx, x);
	while (n < KPMU_BATCH) {
		leader = x->left ? kpmu_scan_group(ctx) : NULL;
		if (!leader) {
			if (x->removing)
				return false;
			x->removing = true;
			begin_exec(ctx, x);
			continue;
		}
		x->left--;
		n += leader->group.nr;
		if (x->removing)
			remove_group(ctx, kpmu_event_of(leader), &x->gone);
		else
			enable_group(ctx, kpmu_event_of(leader));
	}
	return true;
}

/**
 * kpmu_events_exec() - update the events of current, which executes a new program
 *
 * Context: task, IRQs on, may be atomic.
 */
void kpmu_events_exec(void)
{
	struct kpmu_ctx *ctx = kpmu_ctx_find_get(current);
	struct exec x = { .gone = LIST_HEAD_INIT(x.gone) };
	bool more;

	if (!ctx)
		return;
	do {
		more = kpmu_ctx_call(ctx, exec_owned, &x);
		kpmu_events_put_list(&x.gone);
	} while (more);
	kpmu_ctx_put(ctx);
}
