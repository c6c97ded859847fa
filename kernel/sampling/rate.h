/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits for the rate of overflows, and adjustment of periods to a frequency. */
#ifndef KPMU_RATE_H
#define KPMU_RATE_H

#include <linux/jiffies.h>

#include "../event/sampling.h"

extern int kpmu_sysctl_max_rate;
extern int kpmu_sysctl_cpu_time;
extern u32 kpmu_rate_per_tick;
extern u64 kpmu_rate_share;

void kpmu_rate_window(struct kpmu_event *e, unsigned long now);
void kpmu_rate_exceeded(struct kpmu_event *e);

/**
 * kpmu_rate_account() - count an overflow against the limit per tick
 * @e: the event
 *
 * Context: NMI, or IRQs off on the CPU where the event counts.
 * Return: true if the limit is reached; the event is throttled then.
 */
static __always_inline bool kpmu_rate_account(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;
	unsigned long now = READ_ONCE(jiffies);

	if (s->window != now || unlikely(s->throttled))
		kpmu_rate_window(e, now);
	if (likely(++s->hits < READ_ONCE(kpmu_rate_per_tick)))
		return false;
	kpmu_rate_exceeded(e);
	return true;
}

/**
 * kpmu_rate_account_hit() - the same for an event that counts hits (see hit.c)
 * @e: the event
 * @more: not the first overflow caused by the same hit
 *
 * The first overflow of a hit is counted, but never throttles the event: only further
 * overflows of the same hit do.
 *
 * Context: IRQs off on the CPU where the event counts, or NMI.
 * Return: true if the limit is reached; the event is throttled then.
 */
static __always_inline bool kpmu_rate_account_hit(struct kpmu_event *e, bool more)
{
	struct kpmu_sampling *s = e->sampling;

	if (likely(!more)) {
		unsigned long now = READ_ONCE(jiffies);

		if (s->window != now) {
			s->window = now;
			s->hits = 0;
		}
		s->hits++;
		return false;
	}
	/* The window stays: a tick that begins within a hit does not renew the limit */
	if (likely(++s->hits < READ_ONCE(kpmu_rate_per_tick)))
		return false;
	kpmu_rate_exceeded(e);
	return true;
}

/* throttle.c */
void kpmu_rate_resume(struct kpmu_event *e);
void kpmu_rate_pause(struct kpmu_event *e, unsigned long window);
bool kpmu_rate_is_halted(const struct kpmu_event *leader);
bool kpmu_rate_waits(struct kpmu_event *e);

/* budget.c */
bool kpmu_rate_took(struct kpmu_event *e, const struct kpmu_hit *hit);
u64 kpmu_rate_handler_ns(void);
u32 kpmu_rate_spent(struct kpmu_event *e);
bool kpmu_rate_took_timer(struct kpmu_event *e, u64 began);
void kpmu_rate_limits(void);

/* burst.c */
u64 kpmu_rate_burst(struct kpmu_event *e);
void kpmu_rate_burst_took(struct kpmu_event *e, u64 cycles);
u64 kpmu_rate_of_filter(u64 cycles);
void kpmu_rate_sample_took(struct kpmu_event *e, u64 cycles);

/* resume.c */
void kpmu_rate_resume_group(struct kpmu_event *leader);

/* freq.c */
void kpmu_rate_adjust(struct kpmu_event *e, u64 events);
void kpmu_rate_look(struct kpmu_event *e);

/* ticker.c, resume.c */
void kpmu_ticker_arm(void);
void kpmu_tickers_init(bool (*fn)(void));
void kpmu_tickers_exit(void);
void kpmu_rates_init(void);
void kpmu_rates_exit(void);

#endif
