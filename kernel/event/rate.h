/* SPDX-License-Identifier: GPL-2.0-only */
/* How often events may overflow, and how often they are asked to. */
#ifndef KPMU_RATE_H
#define KPMU_RATE_H

#include "event.h"

extern int kpmu_sysctl_max_rate;
extern int kpmu_sysctl_cpu_time;

bool kpmu_rate_account(struct kpmu_event *e);
bool kpmu_rate_took(struct kpmu_event *e, const struct kpmu_hit *hit);
bool kpmu_rate_took_timer(struct kpmu_event *e, u64 began);
void kpmu_rate_limit_time(void);
void kpmu_rate_adjust(struct kpmu_event *e, u64 events);
void kpmu_rate_placed(struct kpmu_event *leader);
int kpmu_event_period(struct kpmu_event *e, u64 period);
void kpmu_rates_init(void);
void kpmu_rates_exit(void);

#endif
