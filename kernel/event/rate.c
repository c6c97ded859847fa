// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates: an event that overflows too often is throttled until the next tick; the period
 * of an event with a frequency is adjusted to give that frequency.
 * perf_event_open(2), sample_freq; /proc/sys/kernel/perf_event_max_sample_rate.
 *
 * The time spent on overflows is limited too, to a share of a CPU's time
 * (perf_cpu_time_max_percent): a period shorter than an NMI would leave no time for
 * anything else.  Upstream then lowers the maximum sample rate for all events, for good.
 * kpmu throttles the event that overflows after the share is used up, until the next tick.
 *
 * Most of this is done in the overflows.  A timer per CPU does the rest: it resumes
 * throttled events, and adjusts events that do not overflow because their period has
 * become too long.  It runs only while an event is throttled or has a frequency.
 */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/tsc.h>

#include "../compat/compat.h"
#include "../sched/sched.h"
#include "../trace/stats.h"
#include "rate.h"
#include "sampling.h"
#include "timer.h"

int kpmu_sysctl_max_rate = 100000;
int kpmu_sysctl_cpu_time = 25;

/* Maximum overflows of one event in a tick */
u32 kpmu_rate_per_tick;

/* Maximum time that overflows may take of a tick, in TSC cycles */
static u64 share = U64_MAX;

/**
 * struct rate_cpu - rate limiting on one CPU
 * @timer: expires every tick while @armed
 * @armed: @timer runs, or is about to be started
 * @arm: starts @timer, also on behalf of an NMI
 * @window: the tick that @spent refers to, in jiffies
 * @spent: TSC cycles spent on overflows in that tick
 * @paused: timers that expired in that tick after the share was used up
 * @took: TSC cycles of each of the last three timed NMI overflows
 * @timer_took: TSC cycles of each of the last three timer overflows
 * @filter_took: TSC cycles of each of the last three filters
 * @sample_took: TSC cycles of each of the last three samples after the first ones of a hit
 * @handler: estimated duration of one NMI overflow and its interrupt, in ns
 * @began: TSC at the start of the last timed NMI overflow
 * @bursts: TSC cycles spent on overflows after the first of a hit
 * @burst_window: the tick that @bursts refers to, in jiffies
 * @burst_after: no such overflows before this tick (jiffies)
 * @regs: registers at the last timed NMI overflow
 * @cpu: the CPU
 */
struct rate_cpu {
	struct hrtimer timer;
	bool armed;
	struct irq_work arm;
	unsigned long window;
	u64 spent;
	u32 paused;
	u64 took[3];
	u64 timer_took[3];
	u64 filter_took[3];
	u64 sample_took[3];
	u64 handler;
	u64 began;
	u64 bursts;
	unsigned long burst_window;
	unsigned long burst_after;
	struct pt_regs regs;
	int cpu;
};

static DEFINE_PER_CPU(struct rate_cpu, rate_cpu);

/* Only a leader writes its group's throttle records, unless it has no ring to write to */
static bool tells(const struct kpmu_event *e)
{
	const struct kpmu_event *leader = kpmu_leader(e);

	return e == leader || !leader->sampling ||
	       !rcu_access_pointer((leader->root ?: leader)->ring);
}

/* Resume an event that may have been throttled with its group */
static void unthrottle(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	WRITE_ONCE(e->se.clock.is_still, false);
	if (!s || !s->throttled)
		return;
	s->throttled = false;
	s->hits = 0;
	if (tells(e))
		kpmu_recorder()->throttle(e, false);
}

static void throttle(struct kpmu_event *e)
{
	kpmu_counters_halt(&e->se.hw);
	if (kpmu_counts_hits(&e->se))
		WRITE_ONCE(e->se.clock.is_still, true);
	if (!e->sampling)
		return;
	e->sampling->throttled = true;
	if (tells(e))
		kpmu_recorder()->throttle(e, true);
}

/* Throttle the event's group through tick @window (jiffies), if it has no counters */
static void rest(struct kpmu_event *e, unsigned long window)
{
	e->sampling->window = window;
	WRITE_ONCE(kpmu_leader(e)->pause, (u32)window);
}

/* One member that is too fast throttles the whole group, as its counts belong together */
static noinline void throttle_group(struct kpmu_event *fast)
{
	struct kpmu_event *leader = kpmu_leader(fast), *e;

	kpmu_stat_inc(throttled);
	rest(fast, fast->sampling->window);
	throttle(leader);
	kpmu_for_each_member(e, leader)
		throttle(e);
	kpmu_rate_arm();
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
		unthrottle(e);
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

/*
 * The TSC keeps counting while a hypervisor has preempted this CPU.  As the work of a handler
 * is about the same each time, limit a duration to the median of the three before it.
 */
static u64 fair(u64 before[3], u64 took)
{
	u64 a = before[0], b = before[1], c = before[2];

	before[0] = b;
	before[1] = c;
	before[2] = took;
	return min(took, max(min(a, b), min(max(a, b), c)));
}

/*
 * The same where the work differs each time, and a user may choose its order: a cheap one before
 * must not hide what an expensive one took, so up to a quarter of @limit is charged.
 */
static u64 charge(u64 before[3], u64 took, u64 limit)
{
	return min(took, max(fair(before, took), limit / 4));
}

/* Return: true if overflows have exceeded their share of this tick; @e is throttled then */
static bool spend(struct rate_cpu *r, struct kpmu_event *e, u64 cycles)
{
	unsigned long now = READ_ONCE(jiffies);

	if (r->window != now) {
		r->window = now;
		r->spent = 0;
		r->paused = 0;
	}
	r->spent += cycles;
	if (likely(r->spent <= READ_ONCE(share)))
		return false;
	if (!e->sampling->throttled)
		throttle_group(e);
	return true;
}
NOKPROBE_SYMBOL(spend);

/* Maximum period that is set for a frequency, in events */
#define LONGEST_PERIOD	(S64_MAX / 16)

/* The exit path of an NMI counts at most this many times what its entry path counts */
#define WAY_OUT	16
/* Events counted on the exit path at most if they are rare on the entry path */
#define SELDOM	1024

/*
 * Detect a livelock: the registers are still those of the previous NMI, as the period is
 * shorter than the exit path of an NMI.  The interrupted code would never run again, whatever
 * the rate limits are.  Only events that count the kernel overflow on the exit path, and only
 * with a short period.  With a long one the same registers mean a loop, which does progress.
 */
static bool is_stuck(const struct rate_cpu *r, const struct kpmu_event *e,
		     const struct pt_regs *regs)
{
	u64 way_in = local64_read(&e->se.hw.count) - e->se.hw.next;

	return !(e->se.flags & KPMU_ATTR_EXCLUDE_KERNEL) &&
	       !memcmp(regs, &r->regs, sizeof(*regs)) &&
	       e->se.hw.period <= WAY_OUT * way_in + SELDOM;
}

static noinline bool get_unstuck(struct kpmu_event *e)
{
	if (e->sampling->freq)
		e->se.hw.period = min_t(u64, e->se.hw.period * 8, LONGEST_PERIOD);
	kpmu_rate_exceeded(e);
	return true;
}
NOKPROBE_SYMBOL(get_unstuck);

/* An interrupt takes about twice the time that is measured within it */
#define AROUND	2

/* Number of overflows in this tick that a timed one stands for */
static u64 stands_for(struct rate_cpu *r, u64 began)
{
	u64 since = began - r->began, tick = tsc_khz * (MSEC_PER_SEC / HZ);

	r->began = began;
	if (since <= tick)
		return KPMU_TIMED;
	return max_t(u64, div64_u64(KPMU_TIMED * tick, since), 1);
}

/**
 * kpmu_rate_took() - account the time of an overflow, or check for livelock after it
 * @e: the event
 * @hit: the overflow, with .began set
 *
 * Context: NMI, on the CPU where the event counts.
 * Return: true if the event is throttled: overflows have exceeded their share of this tick,
 * or there is no forward progress.
 */
bool kpmu_rate_took(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);
	u64 took;

	if (hit->next) {
		if (likely(!is_stuck(r, e, hit->regs)))
			return false;
		return get_unstuck(e);
	}
	r->regs = *hit->regs;
	took = AROUND * fair(r->took, get_cycles() - hit->began);
	r->handler = div_u64(took * USEC_PER_SEC, max(tsc_khz, 1U));
	return spend(r, e, stands_for(r, hit->began) * took);
}
NOKPROBE_SYMBOL(kpmu_rate_took);

/**
 * kpmu_tick_cycles() - the length of a tick in cycles of the TSC, at least 1
 *
 * Context: any.
 */
u64 kpmu_tick_cycles(void)
{
	return max_t(u64, div_u64((u64)tsc_khz * MSEC_PER_SEC, HZ), 1);
}

/* Maximum duration of one hit in ticks, whatever perf_event_max_sample_rate allows */
#define LONGEST_BURST	64

/**
 * kpmu_rate_burst() - begin the further overflows of a hit that causes several
 * @e: the event
 *
 * The limit per tick is for each event, and there may be many: all of them together may
 * not take more time than the overflows from interrupts.
 *
 * Context: IRQs off on the CPU where the event counts, or NMI.
 * Return: the time they may take, in TSC cycles; 0 if the event is throttled instead.
 */
u64 kpmu_rate_burst(struct kpmu_event *e)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);

	if (likely(time_after_eq(READ_ONCE(jiffies), r->burst_after)))
		return LONGEST_BURST * kpmu_tick_cycles();
	kpmu_rate_exceeded(e);
	rest(e, r->burst_after - 1);
	kpmu_counters_settle();
	return 0;
}
NOKPROBE_SYMBOL(kpmu_rate_burst);

/**
 * kpmu_rate_burst_took() - account the time of the further overflows of a hit
 * @e: the event
 * @cycles: their duration, in TSC cycles
 *
 * If they took several times their share of a tick, none are allowed for as many ticks.
 *
 * Context: as kpmu_rate_burst().
 */
void kpmu_rate_burst_took(struct kpmu_event *e, u64 cycles)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);
	unsigned long now = READ_ONCE(jiffies);
	u64 limit = clamp_t(u64, READ_ONCE(share), 1, kpmu_tick_cycles());

	if (r->burst_window != now) {
		r->burst_window = now;
		r->bursts = 0;
	}
	r->bursts += cycles;
	if (r->bursts > limit)
		r->burst_after = now + 1 + div64_u64(r->bursts, limit);
	if (!e->sampling->throttled)
		return;
	rest(e, time_before(now, r->burst_after) ? r->burst_after - 1 : now);
	kpmu_counters_settle();
}
NOKPROBE_SYMBOL(kpmu_rate_burst_took);

/* Is a counter of the group halted, other than by REFRESH running out? */
static bool counters_stand(const struct kpmu_event *leader)
{
	struct kpmu_event *e;
	struct kpmu_hw *hw;
	int i = -1;

	while ((hw = kpmu_counters_halted(i + 1, &i))) {
		e = kpmu_event_of_hw(hw);
		if (kpmu_leader(e) == leader &&
		    (!e->sampling || e->sampling->throttled))
			return true;
	}
	return false;
}
NOKPROBE_SYMBOL(counters_stand);

/* Longest pause of a group without counters, in ticks */
#define LONGEST_PAUSE	(600 * HZ)

/**
 * kpmu_rate_waits() - check whether an event that was hit is still throttled
 * @e: the event, its group throttled before
 *
 * A group with counters resumes when they do: at the timer's next tick, or when it gets
 * counters again.  One without is in no plan, where the timer looks, so the first hit after
 * the pause resumes it here.
 *
 * Context: IRQs off on the CPU where the event counts, or NMI.
 * Return: true if it is still throttled and does not count; else it is resumed.
 */
bool kpmu_rate_waits(struct kpmu_event *e)
{
	struct kpmu_event *leader = kpmu_leader(e), *member;

	if (!leader->se.group.free) {
		if (counters_stand(leader)) {
			kpmu_rate_arm();
			return true;
		}
		unthrottle(e);
		return false;
	}
	/* With a larger difference the pause is over, or the 32 bits have wrapped since */
	if (READ_ONCE(leader->pause) - (u32)READ_ONCE(jiffies) <= LONGEST_PAUSE)
		return true;
	unthrottle(leader);
	kpmu_for_each_member(member, leader)
		unthrottle(member);
	return false;
}
NOKPROBE_SYMBOL(kpmu_rate_waits);

/**
 * kpmu_rate_of_filter() - the time to account for a filter
 * @cycles: TSC cycles measured, which include time that the host took from the CPU
 *
 * Context: IRQs off, or NMI.
 * Return: TSC cycles.
 */
u64 kpmu_rate_of_filter(u64 cycles)
{
	return charge(this_cpu_ptr(&rate_cpu)->filter_took, cycles, kpmu_tick_cycles() / 4);
}
NOKPROBE_SYMBOL(kpmu_rate_of_filter);

/**
 * kpmu_rate_sample_took() - account the time of a sample after the first ones of a hit
 * @e: the event
 * @cycles: TSC cycles measured, which include time that the host took from the CPU
 *
 * Context: as kpmu_rate_burst().
 */
void kpmu_rate_sample_took(struct kpmu_event *e, u64 cycles)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);

	kpmu_rate_burst_took(e, charge(r->sample_took, cycles,
				       min(READ_ONCE(share), kpmu_tick_cycles())));
}
NOKPROBE_SYMBOL(kpmu_rate_sample_took);

/* Throttled timers of a tick that expire again in the next one */
#define AGAIN	64

/**
 * kpmu_rate_spent() - has the share of this tick been used up before a timer expires?
 * @e: the timer's event; it is throttled then
 *
 * Each timer alone costs little, but there may be thousands: the more of them are throttled,
 * the longer each pauses.
 *
 * Context: hard IRQ, on the CPU where the event is.
 * Return: 0, or the ticks after which the timer is to expire again.
 */
u32 kpmu_rate_spent(struct kpmu_event *e)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);
	u32 pause;

	if (r->window != READ_ONCE(jiffies) || r->spent <= READ_ONCE(share))
		return 0;
	pause = 1 + r->paused++ / AGAIN;
	kpmu_rate_exceeded(e);
	rest(e, r->window + pause - 1);
	return pause;
}

/**
 * kpmu_rate_took_timer() - account the time of an overflow by a timer
 * @e: the event
 * @began: get_cycles() when it began
 *
 * Unlike NMI overflows, all of these are timed.
 *
 * Context: hard IRQ, on the CPU where the event counts.
 * Return: true if the event is throttled, see kpmu_rate_took().
 */
bool kpmu_rate_took_timer(struct kpmu_event *e, u64 began)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);

	return spend(r, e, AROUND * charge(r->timer_took, get_cycles() - began,
					   min(READ_ONCE(share), kpmu_tick_cycles())));
}

/**
 * kpmu_rate_limits() - compute the limits anew after a change of the sysctls
 *
 * Context: task.
 */
void kpmu_rate_limits(void)
{
	int percent = READ_ONCE(kpmu_sysctl_cpu_time);
	u64 of_tick = div_u64((u64)tsc_khz * MSEC_PER_SEC, HZ) * percent;

	WRITE_ONCE(kpmu_rate_per_tick,
		   DIV_ROUND_UP((u32)READ_ONCE(kpmu_sysctl_max_rate), HZ));
	if (percent == 0 || percent == 100)
		WRITE_ONCE(share, U64_MAX);
	else
		WRITE_ONCE(share, div_u64(of_tick, 100));
}

/* The period that gives frequency @freq (Hz) if @events occur in @ns */
static u64 ideal(u32 freq, u64 events, u64 ns)
{
	int shift = fls64(events) > 33 ? fls64(events) - 33 : 0;

	/* The product is less than 2^33 * 2^30: no overflow.  @ns is at most a few ticks */
	return div64_u64((events >> shift) * NSEC_PER_SEC, ns * freq) << shift;
}

/*
 * Go half of the way to the ideal period, to limit the effect of a single odd interval.
 * The ideal is first clamped to between half and 8 times the old period.
 */
static void retune(struct kpmu_event *e, u64 events, u64 ns)
{
	u64 old = e->se.hw.period, new = ideal(e->sampling->freq, events, ns);

	new = clamp(new, old / 2, old * 8);
	e->se.hw.period = clamp_t(u64, old + ((s64)(new - old) / 2), 1,
			       LONGEST_PERIOD);
	/* Halving would stick at period 1 */
	if (e->se.hw.period == old && new > old)
		e->se.hw.period++;
}

/* A period shorter than this may be over within one interrupt, in events */
#define TINY	1024

/*
 * Most of the time since the previous overflow was spent on handling it.  A shorter period
 * would not give more overflows, but leave less time for everything else.
 */
static bool is_crowded(const struct kpmu_event *e, u64 period, u64 ns)
{
	return e->se.hw.source->nmi && period < TINY &&
	       ns < 2 * this_cpu_ptr(&rate_cpu)->handler;
}

/**
 * kpmu_rate_adjust() - adjust an event's period to its frequency after an overflow
 * @e: the event, with a frequency
 * @events: number of events since the previous overflow
 *
 * Uses the time of the event's context, so the sleep of a task does not count.
 *
 * Context: NMI, or IRQs off on the CPU where the event counts.
 */
void kpmu_rate_adjust(struct kpmu_event *e, u64 events)
{
	struct kpmu_sampling *s = e->sampling;
	u64 now = kpmu_ctx_now(e->se.ctx), ns = now - s->seen, old = e->se.hw.period;

	s->seen = now;
	/* A long interval says nothing about the rate; the timer adjusts such events */
	if (ns && ns < 2 * TICK_NSEC)
		retune(e, events, ns);
	if (unlikely(is_crowded(e, old, ns)))
		e->se.hw.period = clamp_t(u64, 2 * old, e->se.hw.period, LONGEST_PERIOD);
}
NOKPROBE_SYMBOL(kpmu_rate_adjust);

/* Adjust the period of an event that has counted for a tick without an overflow */
static void look_at(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;
	u64 now = kpmu_ctx_now(e->se.ctx), ns = now - s->looked;
	u64 count = kpmu_event_count(e), events = count - s->counted;

	s->looked = now;
	s->counted = count;
	if (now - s->seen < TICK_NSEC || !events || !ns || ns > 8 * TICK_NSEC)
		return;
	retune(e, events, ns);
	if ((s64)(e->se.hw.next - count) > 2 * (s64)e->se.hw.period)
		e->se.hw.source->set_period(&e->se.hw, e->se.hw.period);
}

/* Return: true if the event needs the timer for its frequency */
static bool tick_event(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	if (!s || !s->stopped)
		kpmu_counters_resume(&e->se.hw);
	if (!s)
		return false;
	unthrottle(e);
	if (!s->freq)
		return false;
	if (e->se.hw.idx >= 0)
		look_at(e);
	return true;
}

static bool tick_group(struct kpmu_event *leader)
{
	struct kpmu_event *e;
	bool more = tick_event(leader);

	kpmu_for_each_member(e, leader)
		more |= tick_event(e);
	return more;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct rate_cpu *r = container_of(timer, struct rate_cpu, timer);
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	bool more = false;
	int i;

	WRITE_ONCE(r->armed, false);
	/* The timer's CPU is offline; the timer may have moved to another CPU */
	if (r->cpu != smp_processor_id() || !kc->applied)
		return HRTIMER_NORESTART;
	for (i = 0; i < kc->applied->nr; i++)
		more |= tick_group(kpmu_event_of(kc->applied->groups[i]));
	if (!more && !READ_ONCE(r->armed))
		return HRTIMER_NORESTART;
	WRITE_ONCE(r->armed, true);
	hrtimer_forward_now(timer, ns_to_ktime(TICK_NSEC));
	return HRTIMER_RESTART;
}

static void start(struct rate_cpu *r)
{
	if (!hrtimer_is_queued(&r->timer))
		hrtimer_start(&r->timer, ns_to_ktime(TICK_NSEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

static void arm(struct irq_work *work)
{
	start(container_of(work, struct rate_cpu, arm));
}

/**
 * kpmu_rate_arm() - start this CPU's timer
 *
 * Context: any, NMI too; preemption off.
 */
void kpmu_rate_arm(void)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);

	if (READ_ONCE(r->armed))
		return;
	WRITE_ONCE(r->armed, true);
	irq_work_queue(&r->arm);
}
NOKPROBE_SYMBOL(kpmu_rate_arm);

struct new_period {
	struct kpmu_event *event;
	u64 period;
};

static int period_owned(struct kpmu_ctx *ctx, void *data)
{
	struct new_period *n = data;
	struct kpmu_event *e = n->event;

	if (e->sampling->freq) {
		e->sampling->freq = n->period;
		return 0;
	}
	e->se.hw.source->set_period(&e->se.hw, n->period);
	if (kpmu_has_timer(e))
		kpmu_timer_reset(e);
	if (!e->sampling->stopped)
		kpmu_counters_resume(&e->se.hw);
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
	if (e->se.flags & KPMU_ATTR_FREQ) {
		if (period > READ_ONCE(kpmu_sysctl_max_rate))
			return -EINVAL;
	} else if (period >> 63) {
		return -EINVAL;
	}
	if (source->check_period && !source->check_period(&e->se.hw, e->se.flags, period))
		return -EINVAL;
	return kpmu_ctx_call(e->se.ctx, period_owned, &n);
}

/**
 * kpmu_rates_init() - initialize the timers and limits
 *
 * Context: module init.
 */
void __init kpmu_rates_init(void)
{
	struct rate_cpu *r;
	int cpu;

	for_each_possible_cpu(cpu) {
		r = per_cpu_ptr(&rate_cpu, cpu);
		r->cpu = cpu;
		kpmu_hrtimer_setup(&r->timer, tick, CLOCK_MONOTONIC,
				   HRTIMER_MODE_REL_PINNED_HARD);
		init_irq_work(&r->arm, arm);
	}
	kpmu_rate_limits();
}

/**
 * kpmu_rates_exit() - stop the timers
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_rates_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		irq_work_sync(&per_cpu(rate_cpu, cpu).arm);
		hrtimer_cancel(&per_cpu(rate_cpu, cpu).timer);
	}
}
