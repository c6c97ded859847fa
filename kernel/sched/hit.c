// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits: what events without counters count.  A source tells of one on the CPU
 * where it happens; whoever of the events active there has the same tap counts
 * it.  So such an event costs nothing when tasks are switched.
 */
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>

#include "sched.h"

/**
 * kpmu_hit_link() - an event comes into a context
 * @ctx: the context
 * @e: the event
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_hit_link(struct kpmu_ctx *ctx, struct kpmu_event *e)
{
	if (kpmu_counts_hits(e))
		hlist_add_head_rcu(&e->hit_node, &ctx->hits);
}

/**
 * kpmu_hit_unlink() - an event counts no more
 * @e: the event
 *
 * Context: the context's owner, IRQs off.  A hit may still be looking at it.
 */
void kpmu_hit_unlink(struct kpmu_event *e)
{
	if (!hlist_unhashed(&e->hit_node))
		hlist_del_init_rcu(&e->hit_node);
}

/* What has no registers happened in the kernel */
static bool excluded(const struct kpmu_event *e, const struct kpmu_hit *hit)
{
	if (hit->regs && user_mode(hit->regs))
		return e->flags & KPMU_ATTR_EXCLUDE_USER && !e->hw.source->both;
	return e->flags & KPMU_ATTR_EXCLUDE_KERNEL;
}

static void hit_ctx(struct kpmu_ctx *ctx, const struct kpmu_hit *hit)
{
	struct kpmu_event *e;

	hlist_for_each_entry_rcu(e, &ctx->hits, hit_node,
				 rcu_read_lock_sched_held()) {
		if (READ_ONCE(e->hw.tap) != hit->tap || !e->clock.is_running ||
		    excluded(e, hit))
			continue;
		local64_add(hit->nr, &e->hw.count);
	}
}

/**
 * kpmu_hit() - something happened on this CPU that events may count
 * @hit: what
 *
 * Context: any, also NMI.
 */
void kpmu_hit(const struct kpmu_hit *hit)
{
	struct kpmu_ctx *ctx, *task;
	struct kpmu_cpu *kc;

	preempt_disable_notrace();
	kc = this_cpu_ptr(&kpmu_cpu);
	kpmu_for_each_cpu_ctx(ctx, kc)
		hit_ctx(ctx, hit);
	task = READ_ONCE(kc->task);
	if (task)
		hit_ctx(task, hit);
	preempt_enable_notrace();
}
