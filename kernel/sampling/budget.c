// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time spent on overflows is limited to a share of a CPU's time
 * (/proc/sys/kernel/kpmu/perf_cpu_time_max_percent): a period shorter than an NMI would leave no
 * time for anything else.  Upstream then lowers the maximum sample rate for all events
 * permanently.  kpmu throttles the event that overflows after the share is used up, until the next
 * tick.
 */
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "../compat/guest.h"
#include "../sched/sched.h"
#include "../source/period.h"
#include "fair.h"
#include "ideal.h"
#include "rate.h"

int kpmu_sysctl_max_rate = 100000;
int kpmu_sysctl_cpu_time = 25;

/* Maximum time that overflows may take of a tick, in TSC cycles */
u64 kpmu_rate_share = U64_MAX;

/**
 * struct budget - time spent on overflows of one CPU
 * @window: the tick that @spent refers to, in jiffies
 * @spent: TSC cycles spent on overflows in that tick
 * @paused: timers that expired in that tick after the share was used up
 * @took: TSC cycles of each of the last three timed NMI overflows
 * @timer_took: TSC cycles of each of the last three timer overflows
 * @handler: estimated duration of one NMI overflow and its interrupt, in ns
 * @began: TSC at the start of the last timed NMI overflow
 * @regs: registers at the last timed NMI overflow
 */
struct budget {
	unsigned long window;
	u64 spent;
	u32 paused;
	u64 took[3];
	u64 timer_took[3];
	u64 handler;
	u64 began;
	struct pt_regs regs;
};

static DEFINE_PER_CPU(struct budget, budget);

/* Return: true if overflows have exceeded their share of this tick; @e is throttled then */
static bool spend_budget(struct budget *r, struct kpmu_event *e, u64 cycles)
{
	unsigned long now = READ_ONCE(jiffies);

	if (r->window != now) {
		r->window = now;
		r->spent = 0;
		r->paused = 0;
	}
	r->spent += cycles;
	if (likely(r->spent <= READ_ONCE(kpmu_rate_share)))
		return false;
	kpmu_rate_exceeded(e);
	return true;
}
NOKPROBE_SYMBOL(spend_budget);

/* The exit path of an NMI counts at most this many times what its entry path counts */
#define WAY_OUT	16
/* Maximum events counted on the exit path if they are rare on the entry path */
#define SELDOM	1024

/*
 * Detect a livelock: the registers are still those of the previous NMI, as the period is
 * shorter than the exit path of an NMI.  The interrupted code would never run again, whatever
 * the rate limits are.  Only events that count the kernel overflow on the exit path, and only
 * with a short period.  With a long one the same registers mean a loop, which does progress.  So does
 * a guest: the registers are those of KVM after its run.
 */
static bool is_stuck(const struct budget *r, const struct kpmu_event *e,
		     const struct pt_regs *regs)
{
	u64 way_in = local64_read(&e->se.hw.count) - e->se.hw.next;
	struct kpmu_guest guest;

	return !(e->se.flags & KPMU_ATTR_EXCLUDE_KERNEL) &&
	       !memcmp(regs, &r->regs, sizeof(*regs)) &&
	       e->se.hw.period <= WAY_OUT * way_in + SELDOM && !kpmu_guest_find(&guest);
}

static noinline bool lengthen_period(struct kpmu_event *e)
{
	if (e->sampling->freq)
		kpmu_period_change(&e->se.hw,
				   min_t(u64, e->se.hw.period * 8, KPMU_LONGEST_PERIOD));
	kpmu_rate_exceeded(e);
	return true;
}
NOKPROBE_SYMBOL(lengthen_period);

/* An interrupt takes about twice the time that is measured within it */
#define AROUND	2

/* Number of overflows in this tick that a timed one stands for */
static u64 weigh_timed(struct budget *r, u64 began)
{
	u64 since = began - r->began, tick = kpmu_cycles_khz() * (MSEC_PER_SEC / HZ);

	r->began = began;
	if (since <= tick)
		return KPMU_TIMED;
	return max_t(u64, div64_u64(KPMU_TIMED * tick, since), 1);
}

/**
 * kpmu_rate_handler_ns() - the time that one NMI overflow and its interrupt take on this CPU
 *
 * Context: IRQs off, or NMI.
 * Return: the time in ns, an average.
 */
u64 kpmu_rate_handler_ns(void)
{
	return this_cpu_ptr(&budget)->handler;
}
NOKPROBE_SYMBOL(kpmu_rate_handler_ns);

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
	struct budget *r = this_cpu_ptr(&budget);
	u64 took;

	if (hit->next) {
		if (likely(!is_stuck(r, e, hit->regs)))
			return false;
		return lengthen_period(e);
	}
	r->regs = *hit->regs;
	took = AROUND * kpmu_fair(r->took, get_cycles() - hit->began);
	r->handler = div_u64(took * USEC_PER_SEC, max(kpmu_cycles_khz(), 1U));
	return spend_budget(r, e, weigh_timed(r, hit->began) * took);
}
NOKPROBE_SYMBOL(kpmu_rate_took);

/* Number of throttled timers per tick that expire again in the next tick */
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
	struct budget *r = this_cpu_ptr(&budget);
	u32 pause;

	if (r->window != READ_ONCE(jiffies) || r->spent <= READ_ONCE(kpmu_rate_share))
		return 0;
	pause = 1 + r->paused++ / AGAIN;
	kpmu_rate_exceeded(e);
	kpmu_rate_pause(e, r->window + pause - 1);
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
	struct budget *r = this_cpu_ptr(&budget);
	u64 most = min(READ_ONCE(kpmu_rate_share), kpmu_tick_cycles());

	return spend_budget(r, e, AROUND * kpmu_charge(r->timer_took, get_cycles() - began, most));
}

/**
 * kpmu_rate_limits() - compute the limits anew after a change of the sysctls
 *
 * Context: task.
 */
void kpmu_rate_limits(void)
{
	int percent = READ_ONCE(kpmu_sysctl_cpu_time);
	u64 of_tick = div_u64((u64)kpmu_cycles_khz() * MSEC_PER_SEC, HZ) * percent;

	WRITE_ONCE(kpmu_rate_per_tick,
		   DIV_ROUND_UP((u32)READ_ONCE(kpmu_sysctl_max_rate), HZ));
	if (percent == 0 || percent == 100)
		WRITE_ONCE(kpmu_rate_share, U64_MAX);
	else
		WRITE_ONCE(kpmu_rate_share, div_u64(of_tick, 100));
}
