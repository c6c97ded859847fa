// SPDX-License-Identifier: GPL-2.0-only
/*
 * Throttling: an event that overflows too often does not count until the next tick, and neither
 * does its group.  perf_event_open(2), PERF_RECORD_THROTTLE;
 * /proc/sys/kernel/kpmu/perf_event_max_sample_rate.
 */
#include <linux/jiffies.h>
#include <linux/kprobes.h>

#include "../record/record.h"
#include "../sched/sched.h"
#include "../source/drivers.h"
#include "../trace/stats.h"
#include "rate.h"

/* Maximum overflows of one event in a tick */
u32 kpmu_rate_per_tick;

/* Only a leader writes its group's throttle records, unless it has no ring to write to */
static bool writes_throttle(const struct kpmu_event *e)
{
	const struct kpmu_event *leader = kpmu_leader(e);

	return e == leader || !leader->sampling ||
	       !rcu_access_pointer((leader->root ?: leader)->ring);
}

/**
 * kpmu_rate_resume() - resume an event that may have been throttled with its group
 * @e: the event
 *
 * Context: see kpmu_rate_account().
 */
void kpmu_rate_resume(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	WRITE_ONCE(e->se.clock.is_still, false);
	if (!s || !s->throttled)
		return;
	s->throttled = false;
	s->hits = 0;
	if (writes_throttle(e))
		kpmu_record_throttle(e, false);
}
NOKPROBE_SYMBOL(kpmu_rate_resume);

static void throttle_event(struct kpmu_event *e)
{
	kpmu_counter_halt(&e->se.hw);
	if (kpmu_counts_hits(&e->se))
		WRITE_ONCE(e->se.clock.is_still, true);
	if (!e->sampling)
		return;
	e->sampling->throttled = true;
	if (writes_throttle(e))
		kpmu_record_throttle(e, true);
}

/**
 * kpmu_rate_pause() - throttle an event's group for several ticks, if it has no counters
 * @e: the event
 * @window: the last of them, in jiffies
 *
 * Context: see kpmu_rate_account().
 */
void kpmu_rate_pause(struct kpmu_event *e, unsigned long window)
{
	e->sampling->window = window;
	WRITE_ONCE(kpmu_leader(e)->pause, (u32)window);
}
NOKPROBE_SYMBOL(kpmu_rate_pause);

/* The whole group is throttled, as its counts must cover the same time */
static noinline void throttle_group(struct kpmu_event *fast)
{
	struct kpmu_event *leader = kpmu_leader(fast), *e;

	kpmu_stat_inc(throttled);
	kpmu_rate_pause(fast, fast->sampling->window);
	throttle_event(leader);
	kpmu_for_each_member(e, leader)
		throttle_event(e);
	kpmu_ticker_arm();
}
NOKPROBE_SYMBOL(throttle_group);

/**
 * kpmu_rate_window() - start a new tick's window, or resume a throttled event
 * @e: the event, which has overflowed
 * @now: the current tick, in jiffies
 *
 * Context: see kpmu_rate_account().
 */
void kpmu_rate_window(struct kpmu_event *e, unsigned long now)
{
	struct kpmu_sampling *s = e->sampling;

	/* It overflows although throttled: it got a counter again, or its timer expired */
	if (unlikely(s->throttled))
		kpmu_rate_resume(e);
	if (s->window != now) {
		s->window = now;
		s->hits = 0;
	}
}
NOKPROBE_SYMBOL(kpmu_rate_window);

/**
 * kpmu_rate_exceeded() - throttle an event that overflows too often, and its group
 * @e: the event
 *
 * Context: see kpmu_rate_account().
 */
void kpmu_rate_exceeded(struct kpmu_event *e)
{
	if (!e->sampling->throttled)
		throttle_group(e);
}
NOKPROBE_SYMBOL(kpmu_rate_exceeded);

static bool is_throttled_in(struct kpmu_hw *hw, const struct kpmu_event *leader)
{
	const struct kpmu_event *e = kpmu_event_of_hw(hw);

	return kpmu_leader(e) == leader && !(e->sampling && e->sampling->stopped);
}

/**
 * kpmu_rate_is_halted() - is a counter of a group halted, other than by REFRESH running out?
 * @leader: the group's leader
 *
 * If one is, the group is throttled: all its counters are halted, except those of events that were enabled
 * or joined since.
 *
 * Context: IRQs off or NMI.
 * Return: true if it is halted on this CPU.
 */
bool kpmu_rate_is_halted(const struct kpmu_event *leader)
{
	struct kpmu_hw *hw;
	int i = -1;

	while ((hw = kpmu_counters_halted(i + 1, &i)))
		if (is_throttled_in(hw, leader))
			return true;
	i = -1;
	while ((hw = kpmu_drivers_halted(i + 1, &i)))
		if (is_throttled_in(hw, leader))
			return true;
	return false;
}
NOKPROBE_SYMBOL(kpmu_rate_is_halted);

/* Longest pause of a group without counters, in ticks */
#define LONGEST_PAUSE	(600 * HZ)

/**
 * kpmu_rate_waits() - check whether an event that was hit is still throttled
 * @e: the event, its group throttled before
 *
 * A group with counters resumes together with them: at the timer's next tick, or when it gets
 * counters again.  A group without counters is in no plan.  The timer only visits groups in
 * plans, so the first hit after the pause resumes the group here.
 *
 * Context: IRQs off on the CPU where the event counts, or NMI.
 * Return: true if it is still throttled and does not count; else it is resumed.
 */
bool kpmu_rate_waits(struct kpmu_event *e)
{
	struct kpmu_event *leader = kpmu_leader(e), *member;

	if (!leader->se.group.free) {
		if (kpmu_rate_is_halted(leader)) {
			kpmu_ticker_arm();
			return true;
		}
		kpmu_rate_resume(e);
		return false;
	}
	/* With a larger difference the pause is over, or the 32 bits have wrapped since */
	if (READ_ONCE(leader->pause) - (u32)READ_ONCE(jiffies) <= LONGEST_PAUSE)
		return true;
	kpmu_rate_resume(leader);
	kpmu_for_each_member(member, leader)
		kpmu_rate_resume(member);
	return false;
}
NOKPROBE_SYMBOL(kpmu_rate_waits);
