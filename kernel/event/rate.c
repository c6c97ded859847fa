// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates: an event that overflows too often is throttled until the next tick; one
 * that asks for a frequency gets its period adjusted to it.
 * perf_event_open(2), sample_freq; /proc/sys/kernel/perf_event_max_sample_rate.
 *
 * Overflows may not take more than a share of a CPU's time either
 * (perf_cpu_time_max_percent), or a period shorter than an NMI would leave no
 * time for anything else.  Where upstream lowers the rate that all may have, for good, we
 * throttle who overflows when the share is used up, until the next tick.
 *
 * Overflows do most of it by themselves.  A timer per CPU does what they cannot:
 * let throttled events go on, and adjust those that do not overflow because
 * their period has become too long.  It runs only while there is such an event.
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

/* Overflows of an event in a tick at most */
u32 kpmu_rate_per_tick;

/* What overflows may take of a tick, in cycles */
static u64 share = U64_MAX;

/**
 * struct rate_cpu - a CPU's timer
 * @timer: every tick, while @armed
 * @armed: it runs, or is about to
 * @arm: starts it, for whoever is in an NMI
 * @window: a tick, in jiffies
 * @spent: what overflows took in it, in cycles
 * @paused: timers that found it spent
 * @took: what the last ones took that were timed
 * @timer_took: the same of those by timers
 * @filter_took: the same of filters
 * @handler: what one takes and its interrupt around it, in ns
 * @began: when the last one began that was timed
 * @bursts: what overflows took that hits led to beyond their first, in cycles
 * @burst_window: in which tick, in jiffies
 * @burst_after: no more of them before this tick
 * @regs: of whom it interrupted
 * @cpu: whose it is
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
	u64 handler;
	u64 began;
	u64 bursts;
	unsigned long burst_window;
	unsigned long burst_after;
	struct pt_regs regs;
	int cpu;
};

static DEFINE_PER_CPU(struct rate_cpu, rate_cpu);

/* A group's records are its leader's, unless that has no ring to write them to */
static bool tells(const struct kpmu_event *e)
{
	const struct kpmu_event *leader = READ_ONCE(e->leader);

	return e == leader || !leader->sampling ||
	       !rcu_access_pointer((leader->root ?: leader)->ring);
}

/* The event or its group has been standing still, and goes on */
static void unthrottle(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	WRITE_ONCE(e->clock.is_still, false);
	if (!s || !s->throttled)
		return;
	s->throttled = false;
	s->hits = 0;
	if (tells(e))
		kpmu_recorder()->throttle(e, false);
}

static void throttle(struct kpmu_event *e)
{
	kpmu_counters_halt(&e->hw);
	if (kpmu_counts_hits(e))
		WRITE_ONCE(e->clock.is_still, true);
	if (!e->sampling)
		return;
	e->sampling->throttled = true;
	if (tells(e))
		kpmu_recorder()->throttle(e, true);
}

/* Its group is throttled up to a tick, in jiffies */
static void rest(struct kpmu_event *e, unsigned long window)
{
	e->sampling->window = window;
	WRITE_ONCE(e->leader->pause, (u32)window);
}

/* One member too fast stops its whole group, whose counts belong together */
static noinline void throttle_group(struct kpmu_event *fast)
{
	struct kpmu_event *leader = fast->leader, *e;

	kpmu_stat_inc(throttled);
	rest(fast, fast->sampling->window);
	throttle(leader);
	kpmu_for_each_member(e, leader)
		throttle(e);
	kpmu_rate_arm();
}
NOKPROBE_SYMBOL(throttle_group);

/**
 * kpmu_rate_window() - the first overflow in a tick, or one after a pause
 * @e: the event
 * @now: the tick
 *
 * Context: see kpmu_rate_account().
 */
void kpmu_rate_window(struct kpmu_event *e, unsigned long now)
{
	struct kpmu_sampling *s = e->sampling;

	/* It has lost and regained its counter since */
	if (unlikely(s->throttled))
		unthrottle(e);
	if (s->window != now) {
		s->window = now;
		s->hits = 0;
	}
}
NOKPROBE_SYMBOL(kpmu_rate_window);

/**
 * kpmu_rate_exceeded() - it has overflowed too often in this tick
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
 * The clock goes on while a hypervisor has stopped this CPU.  What a handler executes is
 * about the same each time, so one is taken to be as long as two of the three before
 * were, at most.
 */
static u64 fair(u64 before[3], u64 took)
{
	u64 a = before[0], b = before[1], c = before[2];

	before[0] = b;
	before[1] = c;
	before[2] = took;
	return min(took, max(min(a, b), min(max(a, b), c)));
}

/* Return: that is more than overflows may take of this tick; its group stands still */
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

/* At most so many events from one overflow to the next */
#define LONGEST_PERIOD	(S64_MAX / 16)

/* The way out of an NMI counts so many times what the way in does, at most */
#define WAY_OUT	16
/* And of what it seldom does, so often */
#define SELDOM	1024

/*
 * Nothing has changed in what the NMI before interrupted: the period is shorter than the way
 * out of an NMI, and nothing else would ever get done here again.  That is no matter of
 * limits.  Only the kernel's events count on that way, and a long period cannot pass there:
 * a loop may come by with the same registers at each overflow, and yet go on.
 */
static bool is_stuck(const struct rate_cpu *r, const struct kpmu_event *e,
		     const struct pt_regs *regs)
{
	u64 way_in = local64_read(&e->hw.count) - e->hw.next;

	return !(e->flags & KPMU_ATTR_EXCLUDE_KERNEL) &&
	       !memcmp(regs, &r->regs, sizeof(*regs)) &&
	       e->hw.period <= WAY_OUT * way_in + SELDOM;
}

static noinline bool get_unstuck(struct kpmu_event *e)
{
	if (e->sampling->freq)
		e->hw.period = min_t(u64, e->hw.period * 8, LONGEST_PERIOD);
	kpmu_rate_exceeded(e);
	return true;
}
NOKPROBE_SYMBOL(get_unstuck);

/* An interrupt takes about as long again as what we see of it */
#define AROUND	2

/* How many of this tick's overflows a timed one stands for */
static u64 stands_for(struct rate_cpu *r, u64 began)
{
	u64 since = began - r->began, tick = tsc_khz * (MSEC_PER_SEC / HZ);

	r->began = began;
	if (since <= tick)
		return KPMU_TIMED;
	return max_t(u64, div64_u64(KPMU_TIMED * tick, since), 1);
}

/**
 * kpmu_rate_took() - an overflow has been dealt with, and was timed
 * @e: the event
 * @hit: the overflow
 *
 * Context: NMI, on the CPU where the event is.
 * Return: true if overflows have had their share of this tick: it is throttled.
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

/* In ticks: what one hit may take, whatever perf_event_max_sample_rate allows */
#define LONGEST_BURST	64

/**
 * kpmu_rate_burst() - a hit makes an event overflow more than once
 * @e: the event
 *
 * The limit of a tick is for each event, and events there may be many: together they
 * may take no more time than overflows by interrupts.
 *
 * Context: IRQs off on the CPU where the event is, or NMI.
 * Return: how long that may take, in cycles; 0: it is throttled at once.
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
 * kpmu_rate_burst_took() - a hit has made an event overflow more than once
 * @e: the event
 * @cycles: how long that took
 *
 * What takes longer than its share of a tick is followed by as many ticks without.
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

/* Some counter of the group stands still, and not because a REFRESH has run out */
static bool counters_stand(const struct kpmu_event *leader)
{
	struct kpmu_event *e;
	struct kpmu_hw *hw;
	int i = -1;

	while ((hw = kpmu_counters_halted(i + 1, &i))) {
		e = container_of(hw, struct kpmu_event, hw);
		if (READ_ONCE(e->leader) == leader &&
		    (!e->sampling || e->sampling->throttled))
			return true;
	}
	return false;
}
NOKPROBE_SYMBOL(counters_stand);

/* In ticks */
#define LONGEST_PAUSE	(600 * HZ)

/**
 * kpmu_rate_waits() - an event is hit whose group was throttled
 * @e: the event
 *
 * A group with counters goes on when they do: at the timer's next tick, or when it gets
 * them anew.  One without is in no plan, where the timer looks for the others.
 *
 * Context: IRQs off on the CPU where the event is, or NMI.
 * Return: true if it is so still, and does not count; else it goes on.
 */
bool kpmu_rate_waits(struct kpmu_event *e)
{
	struct kpmu_event *leader = READ_ONCE(e->leader), *member;

	if (!leader->group.free) {
		if (counters_stand(leader)) {
			kpmu_rate_arm();
			return true;
		}
		unthrottle(e);
		return false;
	}
	/* A pause of long ago is over, also where the 32 bits have come round */
	if (READ_ONCE(leader->pause) - (u32)READ_ONCE(jiffies) <= LONGEST_PAUSE)
		return true;
	unthrottle(leader);
	kpmu_for_each_member(member, leader)
		unthrottle(member);
	return false;
}
NOKPROBE_SYMBOL(kpmu_rate_waits);

/**
 * kpmu_rate_of_filter() - what a filter is taken to have taken
 * @cycles: what it took by the clock, which may have gone on without it
 *
 * Context: IRQs off, or NMI.
 * Return: cycles.
 */
u64 kpmu_rate_of_filter(u64 cycles)
{
	return fair(this_cpu_ptr(&rate_cpu)->filter_took, cycles);
}
NOKPROBE_SYMBOL(kpmu_rate_of_filter);

/* So many timers of a tick are looked at again in the next one */
#define AGAIN	64

/**
 * kpmu_rate_spent() - a timer expires: have overflows had their share of this tick before it?
 * @e: the timer's event; it is throttled then
 *
 * Each timer alone costs little, but there may be thousands: the more of them are throttled,
 * the later each looks again.
 *
 * Context: hard IRQ, on the CPU where the event is.
 * Return: 0, or the ticks after which it is to look again.
 */
u32 kpmu_rate_spent(struct kpmu_event *e)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);

	if (r->window != READ_ONCE(jiffies) || r->spent <= READ_ONCE(share))
		return 0;
	kpmu_rate_exceeded(e);
	return 1 + r->paused++ / AGAIN;
}

/**
 * kpmu_rate_took_timer() - the same for an overflow by a timer, each of them
 * @e: the event
 * @began: get_cycles() when it began
 *
 * Context: hard IRQ, on the CPU where the event is.
 */
bool kpmu_rate_took_timer(struct kpmu_event *e, u64 began)
{
	struct rate_cpu *r = this_cpu_ptr(&rate_cpu);

	return spend(r, e, AROUND * fair(r->timer_took, get_cycles() - began));
}

/**
 * kpmu_rate_limits() - the sysctls say something else
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

/* The period that would give the frequency, if @events took @ns */
static u64 ideal(u32 freq, u64 events, u64 ns)
{
	int shift = fls64(events) > 33 ? fls64(events) - 33 : 0;

	/* Less than 2^33 * 2^30: no overflow.  @ns is some ticks at most */
	return div64_u64((events >> shift) * NSEC_PER_SEC, ns * freq) << shift;
}

/*
 * Half of the way to the ideal at each step, so that one odd interval does not
 * matter much; and not more than 8 times up, 2 times down.
 */
static void retune(struct kpmu_event *e, u64 events, u64 ns)
{
	u64 old = e->hw.period, new = ideal(e->sampling->freq, events, ns);

	new = clamp(new, old / 2, old * 8);
	e->hw.period = clamp_t(u64, old + ((s64)(new - old) / 2), 1,
			       LONGEST_PERIOD);
	/* From 1 it has to get away somehow */
	if (e->hw.period == old && new > old)
		e->hw.period++;
}

/* Events from one overflow to the next that are fewer than an interrupt executes */
#define TINY	1024

/*
 * Most of the time since the overflow before went into dealing with it.  A shorter period
 * would give no more overflows, just less of anything else.
 */
static bool is_crowded(const struct kpmu_event *e, u64 period, u64 ns)
{
	return e->hw.source->nmi && period < TINY &&
	       ns < 2 * this_cpu_ptr(&rate_cpu)->handler;
}

/**
 * kpmu_rate_adjust() - an event with a frequency has overflowed
 * @e: the event
 * @events: how many since the overflow before
 *
 * Time is that of the event's context: a task that sleeps is not slow.
 *
 * Context: NMI, or IRQs off on the CPU where the event is.
 */
void kpmu_rate_adjust(struct kpmu_event *e, u64 events)
{
	struct kpmu_sampling *s = e->sampling;
	u64 now = kpmu_ctx_now(e->ctx), ns = now - s->seen, old = e->hw.period;

	s->seen = now;
	/* After a pause it says nothing about the rate: the timer sees to those */
	if (ns && ns < 2 * TICK_NSEC)
		retune(e, events, ns);
	if (unlikely(is_crowded(e, old, ns)))
		e->hw.period = clamp_t(u64, 2 * old, e->hw.period, LONGEST_PERIOD);
}
NOKPROBE_SYMBOL(kpmu_rate_adjust);

/* It has not overflowed for a tick, but counted: is its period too long? */
static void look_at(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;
	u64 now = kpmu_ctx_now(e->ctx), ns = now - s->looked;
	u64 count = kpmu_event_count(e), events = count - s->counted;

	s->looked = now;
	s->counted = count;
	if (now - s->seen < TICK_NSEC || !events || !ns || ns > 8 * TICK_NSEC)
		return;
	retune(e, events, ns);
	if ((s64)(e->hw.next - count) > 2 * (s64)e->hw.period)
		e->hw.source->set_period(&e->hw, e->hw.period);
}

/* Return: it needs the timer */
static bool tick_event(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	if (!s || !s->stopped)
		kpmu_counters_resume(&e->hw);
	if (!s)
		return false;
	unthrottle(e);
	if (!s->freq)
		return false;
	if (e->hw.idx >= 0)
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
	/* Its CPU has gone offline, and left it to another */
	if (r->cpu != smp_processor_id() || !kc->applied)
		return HRTIMER_NORESTART;
	for (i = 0; i < kc->applied->nr; i++)
		more |= tick_group(kc->applied->groups[i]);
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
 * kpmu_rate_arm() - an event here needs the timer
 *
 * Context: any, NMI too; on the CPU.
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
	e->hw.source->set_period(&e->hw, n->period);
	if (kpmu_has_timer(e))
		kpmu_timer_reset(e);
	if (!e->sampling->stopped)
		kpmu_counters_resume(&e->hw);
	return 0;
}

/**
 * kpmu_event_period() - another period, or another frequency, from now on
 * @e: the event
 * @period: events, or Hz for an event that has a frequency
 *
 * Context: task.  perf_event_open(2), PERF_EVENT_IOC_PERIOD.
 * Return: 0; -EINVAL for an event that does not sample, for 0, for more than
 * may be, for what its source cannot do.
 */
int kpmu_event_period(struct kpmu_event *e, u64 period)
{
	struct new_period n = { .event = e, .period = period };
	const struct kpmu_source *source = e->hw.source;

	if (!e->hw.period || !period)
		return -EINVAL;
	if (e->flags & KPMU_ATTR_FREQ) {
		if (period > READ_ONCE(kpmu_sysctl_max_rate))
			return -EINVAL;
	} else if (period >> 63) {
		return -EINVAL;
	}
	if (source->check_period && !source->check_period(&e->hw, e->flags, period))
		return -EINVAL;
	return kpmu_ctx_call(e->ctx, period_owned, &n);
}

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

/* No event is left */
void kpmu_rates_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		irq_work_sync(&per_cpu(rate_cpu, cpu).arm);
		hrtimer_cancel(&per_cpu(rate_cpu, cpu).timer);
	}
}
