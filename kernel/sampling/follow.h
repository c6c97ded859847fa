/* SPDX-License-Identifier: GPL-2.0-only */
/* Overflows, hits, and what follows the state of a context. */
#ifndef KPMU_FOLLOW_H
#define KPMU_FOLLOW_H

#include <linux/ptrace.h>

#include "../event/sampling.h"

struct kpmu_ctx;
struct perf_event_mmap_page;

/* Does the event sample by a timer? */
static inline bool kpmu_has_timer(const struct kpmu_event *e)
{
	const struct kpmu_source *source = e->se.hw.source;

	return (source->clock || source->ahead) && e->se.hw.period;
}

/* Is the event in its context's list of events that are told when they run? */
static inline bool kpmu_is_told(const struct kpmu_event *e)
{
	return e->se.hw.source->start || kpmu_has_timer(e);
}

/* Does the event exclude hits in this mode?  @regs: NULL for a hit in the kernel */
static __always_inline bool kpmu_hit_excluded(const struct kpmu_event *e, struct pt_regs *regs)
{
	if (regs && user_mode(regs))
		return e->se.flags & KPMU_ATTR_EXCLUDE_USER && !e->se.hw.source->both;
	return e->se.flags & KPMU_ATTR_EXCLUDE_KERNEL;
}

/* overflow.c */
bool kpmu_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit);

/* hit.c */
void kpmu_hit(const void *tap, u64 nr, struct kpmu_hit *hit);

/* timer.c */
void kpmu_timer_init(struct kpmu_event *e);
void kpmu_timer_run(struct kpmu_event *e, bool run);
void kpmu_timer_reset(struct kpmu_event *e);

/* page.c */
void kpmu_page_set(struct kpmu_event *e, struct perf_event_mmap_page *page,
		   int reads);
void kpmu_pages_update(struct kpmu_ctx *ctx, bool active);

/* follow.c */
void kpmu_hit_link(struct kpmu_ctx *ctx, struct kpmu_event *e);
void kpmu_hit_unlink(struct kpmu_event *e);
void kpmu_followers_update(struct kpmu_ctx *ctx, bool active);

/* period.c */
int kpmu_event_period(struct kpmu_event *e, u64 period);

#endif
