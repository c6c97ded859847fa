/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of clock events that sample. */
#ifndef KPMU_TIMER_H
#define KPMU_TIMER_H

#include "event.h"

struct kpmu_ctx;

/* Does the event sample by a timer? */
static inline bool kpmu_has_timer(const struct kpmu_event *e)
{
	return e->se.hw.source->clock && e->se.hw.period;
}

void kpmu_timer_link(struct kpmu_ctx *ctx, struct kpmu_event *e);
void kpmu_timer_unlink(struct kpmu_event *e);
void kpmu_timer_reset(struct kpmu_event *e);

#endif
