// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handling of an overflow: a sample, a signal, the end of a REFRESH.
 * perf_event_open(2), "Overflow handling".
 *
 * An NMI can neither wake a task nor disable an event.  So the overflow handler only
 * halts the counter, and an irq_work does the rest as soon as interrupts are possible.
 */
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/poll.h>
#include <linux/static_call.h>

#include "../compat/compat.h"
#include "../ring/ring.h"
#include "../sched/sched.h"
#include "rate.h"
#include "sampling.h"

/* Work for kpmu_sampling.notify, bits of kpmu_sampling.what */
#define TELL_HUP	BIT(0)	/* send SIGIO with POLL_HUP: REFRESH has run out */
#define TELL_STOP	BIT(1)	/* disable the event */
#define TELL_WAKE	BIT(2)	/* wake the waiters in poll(2) */

static const struct kpmu_recorder *recorder;

static bool no_sample(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	return false;
}

/* recorder->sample as a static call, avoids a retpoline */
DEFINE_STATIC_CALL(kpmu_sample, no_sample);

/**
 * kpmu_recorder_set() - register the functions that write records
 * @r: the functions
 *
 * Context: module init, before the first event.
 */
void __init kpmu_recorder_set(const struct kpmu_recorder *r)
{
	recorder = r;
	static_call_update(kpmu_sample, r->sample);
}

/**
 * kpmu_recorder() - get the functions that write records
 *
 * Context: any, NMI too.
 * Return: the argument of kpmu_recorder_set().
 */
const struct kpmu_recorder *kpmu_recorder(void)
{
	return recorder;
}

/**
 * kpmu_notify() - wake an event's waiters and send its SIGIO
 * @e: a root event, kept alive by RCU or by being in an NMI
 *
 * Done by irq_work.  The signal is sent only if the event's file has O_ASYNC set.
 *
 * Context: any, NMI too.
 */
void kpmu_notify(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	atomic_or(TELL_WAKE, &s->what);
	if (e->fasync)
		atomic_inc(&s->signals);
	irq_work_queue(&s->notify);
}
NOKPROBE_SYMBOL(kpmu_notify);

static int stop_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_event *e = data;
	struct kpmu_sampling *s = e->sampling;

	s->stopped = false;
	/* Another REFRESH came before the event was disabled */
	if (atomic_read(&s->limit)) {
		kpmu_counters_resume(&e->se.hw);
		return 0;
	}
	kpmu_event_disable_owned(ctx, e);
	return 0;
}

/* The context is active on another CPU by now; disable the event there */
static void stop_there(struct work_struct *work)
{
	struct kpmu_sampling *s = container_of(work, struct kpmu_sampling, stop);

	kpmu_ctx_call(s->event->se.ctx, stop_owned, s->event);
}

static void stop(struct kpmu_event *e)
{
	if (!kpmu_ctx_try(e->se.ctx, stop_owned, e))
		queue_work(KPMU_SYSTEM_WQ, &e->sampling->stop);
}

static void wake(struct kpmu_event *e)
{
	struct kpmu_ring *ring;

	rcu_read_lock();
	ring = rcu_dereference(e->ring);
	if (ring)
		kpmu_ring_notify(ring);
	rcu_read_unlock();
}

static void notify(struct irq_work *work)
{
	struct kpmu_sampling *s = container_of(work, struct kpmu_sampling, notify);
	struct kpmu_event *e = s->event;
	int what = atomic_xchg(&s->what, 0);
	int signals = atomic_xchg(&s->signals, 0);

	if (what & TELL_STOP)
		stop(e);
	if (what & TELL_WAKE)
		wake(e);
	while (signals--)
		kill_fasync(&e->fasync, SIGIO, POLL_IN);
	if (what & TELL_HUP)
		kill_fasync(&e->fasync, SIGIO, POLL_HUP);
}

/**
 * kpmu_overflow_setup() - initialize the deferred part of overflow handling
 * @e: a root event with .sampling, not yet counting
 *
 * Context: task.
 */
void kpmu_overflow_setup(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	init_irq_work(&s->notify, notify);
	INIT_WORK(&s->stop, stop_there);
}

/* Take one of the overflows allowed by REFRESH; return true if it was the last one */
static bool last_one(struct kpmu_sampling *s)
{
	return atomic_read(&s->limit) && atomic_dec_and_test(&s->limit);
}

/* Pause or resume the AUX trace of the event's group, as aux_action says */
static noinline void act_on_trace(struct kpmu_event *e)
{
	struct kpmu_event *leader = kpmu_leader(e);

	if (leader->se.hw.source->trace)
		WRITE_ONCE(leader->sampling->aux_paused,
			   e->sampling->aux_action & KPMU_AUX_PAUSE);
}
NOKPROBE_SYMBOL(act_on_trace);

/**
 * kpmu_overflow() - handle an overflow, see kpmu_overflow_fn
 * @hw: the event's hardware part
 * @hit: details from the source
 *
 * Context: see kpmu_overflow_fn.
 * Return: true if the counter has to be halted.
 */
bool kpmu_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	struct kpmu_event *e = kpmu_event_of_hw(hw);
	struct kpmu_event *root = READ_ONCE(e->root) ?: e;
	struct kpmu_sampling *s = e->sampling;
	bool halt;

	if (unlikely(s->stopped))
		return true;
	if (unlikely(s->aux_action))
		act_on_trace(e);
	halt = unlikely(kpmu_counts_hits(&e->se)) ? kpmu_rate_account_hit(e, hit->more) :
					       kpmu_rate_account(e);
	if (s->freq)
		kpmu_rate_adjust(e, hit->period);
	if (unlikely(last_one(s))) {
		s->stopped = true;
		atomic_or(TELL_STOP | TELL_WAKE | TELL_HUP, &s->what);
		if (s->trap)
			kpmu_trap(e, hit);
		static_call(kpmu_sample)(e, hit);
		irq_work_queue(&s->notify);
		return true;
	}
	if (unlikely(s->trap))
		kpmu_trap(e, hit);
	static_call(kpmu_sample)(e, hit);
	if (root->fasync)
		kpmu_notify(root);
	if (hit->began)
		halt |= kpmu_rate_took(e, hit);
	return halt;
}
NOKPROBE_SYMBOL(kpmu_overflow);

static int refresh_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_event *e = data;

	if (e->se.hw.period)
		kpmu_counters_resume(&e->se.hw);
	return 0;
}

/**
 * kpmu_event_refresh() - enable an event for a number of further overflows
 * @e: the event
 * @n: overflows to add to those left
 *
 * Context: task, may sleep.  perf_event_open(2), PERF_EVENT_IOC_REFRESH.
 * Return: 0; -EINVAL for an event that does not sample, or has inherit set.
 */
int kpmu_event_refresh(struct kpmu_event *e, int n)
{
	if (!e->se.hw.period || e->se.flags & KPMU_ATTR_INHERIT)
		return -EINVAL;
	atomic_add(n, &e->sampling->limit);
	kpmu_event_control(e, KPMU_OP_ENABLE, false);
	kpmu_ctx_call(e->se.ctx, refresh_owned, e);
	return 0;
}
