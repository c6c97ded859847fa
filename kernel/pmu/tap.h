/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taps: events of the kernel's own perf that report hits to kpmu.  A tap is shared by all
 * kpmu events that count the same hits, or belongs to a single event.
 */
#ifndef KPMU_TAP_H
#define KPMU_TAP_H

#include <linux/types.h>

#include "source.h"

struct event_filter;
struct perf_event;
struct perf_event_attr;

struct kpmu_tap *kpmu_tap_share(u32 type, u64 config);
struct kpmu_tap *kpmu_tap_count(u64 config);
int kpmu_tap_heed(struct kpmu_tap *tap);
struct kpmu_tap *kpmu_tap_own(const struct perf_event_attr *attr,
			      struct task_struct *task, int cpu);
struct kpmu_tap *kpmu_tap_full(const struct kpmu_tap *like);
struct event_filter *kpmu_tap_filter(struct kpmu_tap *tap, char *filter);
struct perf_event *kpmu_tap_event(struct kpmu_tap *tap);
struct kpmu_tap *kpmu_tap_silent(const struct kpmu_tap *like);
bool kpmu_tap_is_gated(const struct kpmu_tap *tap);
void kpmu_tap_put(struct kpmu_tap *tap);
void kpmu_taps_cpu_up(int cpu);
void kpmu_taps_exit(void);

/* The tap whose hits an event counts */
static inline struct kpmu_tap *kpmu_tap_of(const struct kpmu_hw *hw)
{
	return (struct kpmu_tap *)hw->tap;
}

#endif
