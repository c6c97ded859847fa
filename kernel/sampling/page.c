// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user page: allows a program to read its event without a system call.
 * perf_event_open(2), "MMAP layout".
 *
 * The page is valid at any time: the read loop of the manual page always yields what
 * read(2) would return.  So cap_user_time is set only while the times advance as that
 * loop assumes.  Only mapped events cost anything; each context keeps a list of them.  Pages of
 * events that are off are not written again, and a new mapping writes its own page only.
 */
#include <linux/perf_event.h>

#include "../compat/tsc.h"
#include "../record/sample.h"
#include "../sched/sched.h"
#include "follow.h"

/* Bits of the page's capabilities field */
#define CAP_SEPARATE	BIT_ULL(1)	/* bit 0 is deprecated */
#define CAP_RDPMC	BIT_ULL(2)
#define CAP_TIME	BIT_ULL(3)
#define CAP_TIME_ZERO	BIT_ULL(4)

static __always_inline void write_times(struct kpmu_event *e, bool active, bool index,
					const struct kpmu_tsc *tsc)
{
	struct perf_event_mmap_page *p = e->se.hw.page;
	const struct kpmu_clock *c = &e->se.clock;
	const struct kpmu_ctx *ctx = e->se.ctx;
	struct kpmu_times t = kpmu_times_at(c, ctx->time);
	u64 caps = CAP_SEPARATE;

	p->time_enabled = t.enabled;
	p->time_running = t.running;
	if (e->user_reads)
		caps |= CAP_RDPMC;
	if (tsc) {
		p->time_mult = tsc->mult;
		p->time_shift = tsc->shift;
		p->time_offset = tsc->zero - ctx->since;
		p->time_zero = tsc->zero;
		if (e->clockid < 0)
			caps |= CAP_TIME_ZERO;
		/* The loop advances time_running exactly if index is not 0 */
		if (active && c->is_enabled && c->is_running == index)
			caps |= CAP_TIME;
	}
	p->capabilities = caps;
}

/* Suffices unless the event overflows faster than the page is written */
#define MAX_TRIES	4

/*
 * An overflow in between may set the counter to another value; then try again.  If that
 * happens every time, index is set to 0, which makes programs fall back to read(2).
 */
static noinline u32 write_counter(struct kpmu_event *e)
{
	struct perf_event_mmap_page *p = e->se.hw.page;
	u32 jumps, index;
	int tries;
	s64 offset;
	u16 width;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		jumps = READ_ONCE(e->se.hw.jumps);
		barrier();
		index = e->se.hw.source->user_view(&e->se.hw, &width, &offset);
		p->pmc_width = width;
		p->index = index;
		p->offset = offset;
		barrier();
		if (READ_ONCE(e->se.hw.jumps) == jumps)
			return index;
	}
	p->index = 0;
	p->offset = kpmu_event_count(e);
	return 0;
}

static __always_inline u32 write_count(struct kpmu_event *e)
{
	struct perf_event_mmap_page *p = e->se.hw.page;

	if (e->se.hw.idx >= 0 && e->user_reads)
		return write_counter(e);
	p->index = 0;
	p->offset = kpmu_event_count(e);
	return 0;
}

/* Inline, as a switch writes the pages of all mapped events of the task */
static __always_inline void write_page(struct kpmu_event *e, bool active, const struct kpmu_tsc *tsc)
{
	struct perf_event_mmap_page *p = e->se.hw.page;

	WRITE_ONCE(p->lock, p->lock + 1);
	smp_wmb();	/* readers must see the odd number before the changes */
	write_times(e, active, write_count(e), tsc);
	smp_wmb();	/* and the even number after them */
	WRITE_ONCE(p->lock, p->lock + 1);
}

/*
 * Does the page show the event as it is, off?  Only its count can change then, by a reset, and
 * its times have the values that they had when it was disabled.  The program may have
 * overwritten them, as it may all of the page.
 */
static bool is_current(struct kpmu_event *e)
{
	const struct perf_event_mmap_page *p = e->se.hw.page;
	const struct kpmu_clock *c = &e->se.clock;

	return !c->is_enabled && e->se.hw.idx < 0 && !p->index &&
	       p->time_enabled == c->enabled && p->time_running == c->running &&
	       !(p->capabilities & CAP_TIME) && !(p->lock & 1) &&
	       p->offset == kpmu_event_count(e);
}

static void follow_trace(struct kpmu_event *e, bool active)
{
	if (unlikely(e->se.hw.source->trace))
		kpmu_aux_follow(e, active && e->se.clock.is_running);
}

/**
 * kpmu_pages_update() - write the user pages of a context's mapped events
 * @ctx: the context, after a change
 * @active: the context is active on this CPU from now on
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_pages_update(struct kpmu_ctx *ctx, bool active)
{
	const struct kpmu_tsc *tsc = kpmu_tsc_get();
	struct kpmu_event *e;

	hlist_for_each_entry(e, &ctx->mapped, mapped_node) {
		if (!is_current(e))
			write_page(e, active, tsc);
		follow_trace(e, active);
	}
}

struct page_change {
	struct kpmu_event *event;
	struct perf_event_mmap_page *page;
	int reads;
};

static int change_page_owned(struct kpmu_ctx *ctx, void *data)
{
	struct page_change *pc = data;
	struct kpmu_event *e = pc->event;
	bool active = ctx->cpu >= 0;

	e->user_reads += pc->reads;
	if (pc->page && !e->se.hw.page)
		hlist_add_head(&e->mapped_node, &ctx->mapped);
	else if (!pc->page && e->se.hw.page)
		hlist_del(&e->mapped_node);
	ctx->follow = KPMU_FOLLOW_ALWAYS;	/* kpmu_followers_update() clears it if nothing is left */
	e->se.hw.shown = pc->page && e->user_reads && ctx->task;
	ctx->plan.slots.like = 0;
	/* A single store, as the overflow handler reads the pointer */
	WRITE_ONCE(e->se.hw.page, pc->page);
	if (!pc->page)
		return 0;
	/* The other pages are not affected */
	if (active)
		kpmu_ctx_tick(ctx, kpmu_local_clock());
	write_page(e, active, kpmu_tsc_get());
	follow_trace(e, active);
	return 0;
}

/**
 * kpmu_page_set() - set an event's user page after a change of its mappings
 * @e: the event
 * @page: its user page; NULL if it is no longer mapped
 * @reads: change in the number of mappings that may read the counter by RDPMC
 *
 * On return the page is up to date, and the former one is no longer used.
 *
 * Context: task, IRQs on.
 */
void kpmu_page_set(struct kpmu_event *e, struct perf_event_mmap_page *page,
		   int reads)
{
	struct page_change pc = { .event = e, .page = page, .reads = reads };

	kpmu_ctx_visit(e->se.ctx, change_page_owned, &pc);
}
