// SPDX-License-Identifier: GPL-2.0-only
/*
 * What depends on the state of a context: user pages, timers, gated hits, the timer that
 * adjusts periods, and sources with .start and .stop.  A context has lists of the events
 * concerned.
 */
#include <linux/rculist.h>

#include "../sched/sched.h"
#include "../source/user_read.h"
#include "follow.h"
#include "rate.h"

static void update_follow(struct kpmu_ctx *ctx)
{
	if (ctx->mapped.first || ctx->timed.first || ctx->nr_gated || kpmu_ctx_borrows_mm(ctx))
		ctx->follow = KPMU_FOLLOW_ALWAYS;
	else
		ctx->follow = ctx->nr_freq ? KPMU_FOLLOW_ACTIVE : 0;
}

/* Start or stop the event's source, and its timer if it samples by one */
static void run_source(struct kpmu_event *e, bool run)
{
	const struct kpmu_source *source = e->se.hw.source;

	if (kpmu_runs_source(e) && run && !e->se.hw.runs) {
		source->start(&e->se.hw);
		/* Not before: an NMI that reads the event would add to it since its last stop */
		barrier();
		e->se.hw.runs = true;
	}
	if (kpmu_has_timer(e))
		kpmu_timer_run(e, run && !e->sampling->stopped);
	if (kpmu_runs_source(e) && !run && e->se.hw.runs) {
		source->stop(&e->se.hw);
		e->se.hw.runs = false;
	}
}

/**
 * kpmu_hit_link() - list an event in its context if it counts hits, samples by a timer, or
 *	has a source with .start
 * @ctx: the context
 * @e: the event
 *
 * Context: the context's owner, IRQs off; call kpmu_ctx_follow() afterwards.
 */
void kpmu_hit_link(struct kpmu_ctx *ctx, struct kpmu_event *e)
{
	if (kpmu_counts_hits(&e->se)) {
		hlist_add_head_rcu(&e->hit_node, &ctx->hits);
		if (e->se.hw.gated) {
			ctx->nr_gated++;
			ctx->follow = KPMU_FOLLOW_ALWAYS;
		}
	} else if (kpmu_is_followed(e)) {
		if (kpmu_has_timer(e))
			kpmu_timer_init(e);
		hlist_add_head(&e->hit_node, &ctx->timed);
		ctx->follow = KPMU_FOLLOW_ALWAYS;
	}
}

/**
 * kpmu_hit_unlink() - undo kpmu_hit_link()
 * @e: the event
 *
 * Context: the context's owner, IRQs off.  A hit in an NMI may walk the list meanwhile.
 */
void kpmu_hit_unlink(struct kpmu_event *e)
{
	if (hlist_unhashed(&e->hit_node))
		return;
	hlist_del_init_rcu(&e->hit_node);
	if (kpmu_is_followed(e)) {
		run_source(e, false);
		update_follow(e->se.ctx);
	}
	if (!e->se.hw.gated)
		return;
	e->se.ctx->nr_gated--;
	if (e->se.hw.listens)
		kpmu_hits_leave(&e->se.hw);
}

/* Enable the reporting of gated hits for the running events only */
static void gate_hits(struct kpmu_ctx *ctx, bool active)
{
	struct kpmu_event *e;

	hlist_for_each_entry(e, &ctx->hits, hit_node) {
		bool run = active && e->se.clock.is_running;

		if (!e->se.hw.gated || run == e->se.hw.listens)
			continue;
		if (run)
			kpmu_hits_want(&e->se.hw);
		else
			kpmu_hits_leave(&e->se.hw);
	}
}

/**
 * kpmu_followers_update() - update what depends on a context's state after a change
 * @ctx: the context
 * @active: the context is active on this CPU from now on
 *
 * That is user pages, timers, values visible to RDPMC, and gated events.
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_followers_update(struct kpmu_ctx *ctx, bool active)
{
	struct kpmu_event *e;

	if (ctx->mapped.first)
		kpmu_pages_update(ctx, active);
	/* The next task may own the borrowed mm; then no switch of mm hides the counters from it */
	if (!active && kpmu_ctx_borrows_mm(ctx))
		kpmu_counters_hide();
	if (active && ctx->nr_freq)
		kpmu_ticker_arm();
	if (ctx->nr_gated)
		gate_hits(ctx, active);
	hlist_for_each_entry(e, &ctx->timed, hit_node)
		run_source(e, active && e->se.clock.is_running);
	update_follow(ctx);
}
