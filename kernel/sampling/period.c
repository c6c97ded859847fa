// SPDX-License-Identifier: GPL-2.0-only
/* PERF_EVENT_IOC_PERIOD: a new period or frequency. */
#include <linux/errno.h>

#include "../sched/sched.h"
#include "../source/drivers.h"
#include "follow.h"
#include "rate.h"

struct new_period {
	struct kpmu_event *event;
	u64 period;
};

static void start_period(struct kpmu_event *e, u64 period)
{
	e->se.hw.source->set_period(&e->se.hw, period);
	if (kpmu_has_timer(e))
		kpmu_timer_reset(e);
}

static int period_owned(struct kpmu_ctx *ctx, void *data)
{
	struct new_period *n = data;
	struct kpmu_event *e = n->event;
	bool halted = unlikely(e->sampling->throttled) && kpmu_rate_is_halted(kpmu_leader(e));

	if (e->sampling->freq)
		e->sampling->freq = n->period;
	else
		start_period(e, n->period);
	/* The whole group, as its counts must cover the same time */
	if (halted)
		kpmu_rate_resume_group(kpmu_leader(e));
	return 0;
}

/**
 * kpmu_event_period() - change an event's period or frequency
 * @e: the event
 * @period: events; ns for a clock event; Hz for an event with a frequency
 *
 * Context: task, may sleep.  perf_event_open(2), PERF_EVENT_IOC_PERIOD.
 * Return: 0; -EINVAL for an event that does not sample, for 0, for a value above the
 * maximum, or one that the source does not support.
 */
int kpmu_event_period(struct kpmu_event *e, u64 period)
{
	struct new_period n = { .event = e, .period = period };
	const struct kpmu_source *source = e->se.hw.source;

	if (!e->se.hw.period || !period)
		return -EINVAL;
	if (e->sampling->freq) {
		if (period > READ_ONCE(kpmu_sysctl_max_rate))
			return -EINVAL;
	} else if (period >> 63) {
		return -EINVAL;
	}
	if (source->check_period && !source->check_period(&e->se.hw, e->se.flags, period))
		return -EINVAL;
	return kpmu_ctx_call(e->se.ctx, period_owned, &n);
}
