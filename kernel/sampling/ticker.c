// SPDX-License-Identifier: GPL-2.0-only
/* A timer per CPU that expires every tick while an event there needs it. */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>

#include "../compat/compat.h"
#include "rate.h"

/**
 * struct ticker - the timer of a CPU
 * @timer: expires every tick while @armed
 * @armed: @timer runs, or is about to be started
 * @arm: starts @timer, also on behalf of an NMI
 * @cpu: the CPU
 */
struct ticker {
	struct hrtimer timer;
	bool armed;
	struct irq_work arm;
	int cpu;
};

static DEFINE_PER_CPU(struct ticker, ticker);

/* Called every tick; returns whether the timer is still needed */
static bool (*on_tick)(void);

static enum hrtimer_restart ticker_expired(struct hrtimer *timer)
{
	struct ticker *t = container_of(timer, struct ticker, timer);

	WRITE_ONCE(t->armed, false);
	/* The timer's CPU is offline; the timer may have moved to another CPU */
	if (t->cpu != smp_processor_id())
		return HRTIMER_NORESTART;
	if (!on_tick() && !READ_ONCE(t->armed))
		return HRTIMER_NORESTART;
	WRITE_ONCE(t->armed, true);
	hrtimer_forward_now(timer, ns_to_ktime(TICK_NSEC));
	return HRTIMER_RESTART;
}

static void arm_ticker(struct irq_work *work)
{
	struct ticker *t = container_of(work, struct ticker, arm);

	if (!hrtimer_is_queued(&t->timer))
		hrtimer_start(&t->timer, ns_to_ktime(TICK_NSEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * kpmu_ticker_arm() - start this CPU's timer
 *
 * Context: any, NMI too; preemption off.
 */
void kpmu_ticker_arm(void)
{
	struct ticker *t = this_cpu_ptr(&ticker);

	if (READ_ONCE(t->armed))
		return;
	WRITE_ONCE(t->armed, true);
	irq_work_queue(&t->arm);
}
NOKPROBE_SYMBOL(kpmu_ticker_arm);

/**
 * kpmu_tickers_init() - initialize the timers
 * @fn: called every tick, in hard IRQ context; returns whether the timer is still needed
 *
 * Context: module init.
 */
void __init kpmu_tickers_init(bool (*fn)(void))
{
	struct ticker *t;
	int cpu;

	on_tick = fn;
	for_each_possible_cpu(cpu) {
		t = per_cpu_ptr(&ticker, cpu);
		t->cpu = cpu;
		kpmu_hrtimer_setup(&t->timer, ticker_expired, CLOCK_MONOTONIC,
				   HRTIMER_MODE_REL_PINNED_HARD);
		init_irq_work(&t->arm, arm_ticker);
	}
}

/**
 * kpmu_tickers_exit() - stop the timers
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_tickers_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		irq_work_sync(&per_cpu(ticker, cpu).arm);
		hrtimer_cancel(&per_cpu(ticker, cpu).timer);
	}
}
