// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user page: what a program needs to read its own event without a system
 * call.  perf_event_open(2), "MMAP layout".
 *
 * It is right at every moment: whatever the loop of the manual makes of it is
 * what read(2) would say then.  So cap_user_time is set only while the times run as
 * that loop takes them to run.  Only mapped events cost anything; each context
 * has a list of them.
 */
#include <linux/perf_event.h>

#include "../compat/tsc.h"
#include "../sched/sched.h"
#include "event.h"
#include "sampling.h"

/* Bits of the page's capabilities */
#define CAP_SEPARATE	BIT_ULL(1)	/* bit 0 means nothing any more */
#define CAP_RDPMC	BIT_ULL(2)
#define CAP_TIME	BIT_ULL(3)
#define CAP_TIME_ZERO	BIT_ULL(4)

static void write_times(struct kpmu_event *e, bool active, bool index,
			const struct kpmu_tsc *tsc)
{
	struct perf_event_mmap_page *p = e->hw.page;
	const struct kpmu_clock *c = &e->clock;
	const struct kpmu_ctx *ctx = e->ctx;
	u64 caps = CAP_SEPARATE, passed = ctx->time - c->since;

	p->time_enabled = c->enabled + (c->is_enabled ? passed : 0);
	p->time_running = c->running + (c->is_running ? passed : 0);
	if (e->user_reads)
		caps |= CAP_RDPMC;
	if (tsc) {
		p->time_mult = tsc->mult;
		p->time_shift = tsc->shift;
		p->time_offset = tsc->zero - ctx->since;
		p->time_zero = tsc->zero;
		if (e->clockid < 0)
			caps |= CAP_TIME_ZERO;
		/* The loop lets time_running go on if there is an index */
		if (active && c->is_enabled && c->is_running == index)
			caps |= CAP_TIME;
	}
	p->capabilities = caps;
}

/* Often enough, unless it overflows faster than this can be written */
#define MAX_TRIES	4

/*
 * An overflow may come in between and change the counter's value.  If they come
 * all the time, programs have to do with read(2).
 */
static u32 write_count(struct kpmu_event *e)
{
	struct perf_event_mmap_page *p = e->hw.page;
	const struct kpmu_source *source = e->hw.source;
	u32 jumps, index;
	int tries;
	s64 offset;
	u16 width;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		jumps = READ_ONCE(e->hw.jumps);
		barrier();
		if (e->hw.idx >= 0 && e->user_reads) {
			index = source->user_view(&e->hw, &width, &offset);
			p->pmc_width = width;
		} else {
			index = 0;
			offset = kpmu_event_count(e);
		}
		p->index = index;
		p->offset = offset;
		barrier();
		if (READ_ONCE(e->hw.jumps) == jumps)
			return index;
	}
	p->index = 0;
	p->offset = kpmu_event_count(e);
	return 0;
}

/**
 * kpmu_pages_update() - write the user pages of a context's mapped events
 * @ctx: the context, after a change
 * @active: it counts on this CPU from now on
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_pages_update(struct kpmu_ctx *ctx, bool active)
{
	struct kpmu_event *e;
	struct kpmu_tsc tsc;
	bool known = kpmu_tsc_get(&tsc);

	hlist_for_each_entry(e, &ctx->mapped, mapped_node) {
		struct perf_event_mmap_page *p = e->hw.page;

		WRITE_ONCE(p->lock, p->lock + 1);
		smp_wmb();	/* the reader sees the odd number first */
		write_times(e, active, write_count(e), known ? &tsc : NULL);
		smp_wmb();	/* and the even one last */
		WRITE_ONCE(p->lock, p->lock + 1);
		if (unlikely(e->hw.source->trace))
			kpmu_recorder()->follow(e, active && e->clock.is_running);
	}
}

struct page_change {
	struct kpmu_event *event;
	struct perf_event_mmap_page *page;
	int reads;
};

static int change_owned(struct kpmu_ctx *ctx, void *data)
{
	struct page_change *pc = data;
	struct kpmu_event *e = pc->event;

	e->user_reads += pc->reads;
	if (pc->page && !e->hw.page)
		hlist_add_head(&e->mapped_node, &ctx->mapped);
	else if (!pc->page && e->hw.page)
		hlist_del(&e->mapped_node);
	ctx->follow = true;	/* or finds out that nothing is left */
	e->hw.shown = pc->page && e->user_reads && ctx->task;
	/* In one store: an overflow looks at it */
	WRITE_ONCE(e->hw.page, pc->page);
	return 0;
}

/**
 * kpmu_page_set() - an event is mapped, once more or no more
 * @e: the event
 * @page: its user page; NULL if it is not mapped any more
 * @reads: how many mappings more can read its counter by themselves
 *
 * The page is right when this returns; and nobody looks at the old one then.
 *
 * Context: task, IRQs on.
 */
void kpmu_page_set(struct kpmu_event *e, struct perf_event_mmap_page *page,
		   int reads)
{
	struct page_change pc = { .event = e, .page = page, .reads = reads };

	kpmu_ctx_call(e->ctx, change_owned, &pc);
}
