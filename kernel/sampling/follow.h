/* SPDX-License-Identifier: GPL-2.0-only */
/* Overflows, hits, and what follows the state of a context. */
#ifndef KPMU_FOLLOW_H
#define KPMU_FOLLOW_H

#include <linux/ptrace.h>

#include "../event/sampling.h"

struct kpmu_ctx;
struct perf_event_mmap_page;

/**
 * kpmu_has_timer() - does an event sample by a timer?
 * @e: the event
 *
 * Context: any.
 * Return: true for a sampling event that is a clock event or is polled.
 */
static inline bool kpmu_has_timer(const struct kpmu_event *e)
{
	const struct kpmu_source *source = e->se.hw.source;

	return (source->clock || source->ahead) && e->se.hw.period;
}

/**
 * kpmu_runs_source() - is the event's source started and stopped with the event?
 * @e: the event
 *
 * Context: any.
 * Return: true if its source has .start, and it needs no counter: those are started and stopped by
 * kpmu_drivers_commit().
 */
static inline bool kpmu_runs_source(const struct kpmu_event *e)
{
	return e->se.hw.source->start && !e->se.hw.allowed;
}

/**
 * kpmu_is_followed() - is the event's source or timer started and stopped with the event?
 * @e: the event
 *
 * Such events are in ctx->timed while they are attached.
 *
 * Context: any.
 * Return: true for kpmu_runs_source(), or if it samples by a timer.
 */
static inline bool kpmu_is_followed(const struct kpmu_event *e)
{
	return kpmu_runs_source(e) || kpmu_has_timer(e);
}

/**
 * kpmu_hit_excluded() - does an event exclude hits in this mode?
 * @e: the event
 * @regs: registers at the hit; NULL for a hit in the kernel
 *
 * Context: any, including NMI.
 * Return: true if exclude_kernel applies, or exclude_user, which a source with .both
 * ignores.
 */
static __always_inline bool kpmu_hit_excluded(const struct kpmu_event *e, struct pt_regs *regs)
{
	if (regs && user_mode(regs))
		return e->se.flags & KPMU_ATTR_EXCLUDE_USER && !e->se.hw.source->both;
	return e->se.flags & KPMU_ATTR_EXCLUDE_KERNEL;
}

/* overflow.c */
bool kpmu_program_allows(struct kpmu_event *e, const struct kpmu_hit *hit);
bool kpmu_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit);

/* hit.c */
void kpmu_hit_report(const struct kpmu_hit_key *key, u64 nr, struct kpmu_hit *hit);

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
