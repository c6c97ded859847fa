// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an overflow leads to: a sample, a signal, the end of a REFRESH.
 * perf_event_open(2), "Overflow handling".
 *
 * Overflows come in NMIs, where nobody can be woken and no event be switched off:
 * the counter is halted at once, and an irq_work does the rest as soon as
 * interrupts are possible.
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

/* What the irq_work has to do, bits of .what */
#define TELL_HUP	BIT(0)	/* the last signal */
#define TELL_STOP	BIT(1)	/* switch the event off */
#define TELL_WAKE	BIT(2)	/* wake whoever polls */

static const struct kpmu_recorder *recorder;

static bool no_sample(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	return false;
}

/* His .sample, without a detour by a pointer */
DEFINE_STATIC_CALL(kpmu_sample, no_sample);

/**
 * kpmu_recorder_set() - who writes the records
 * @r: he
 *
 * Context: before the first event.
 */
void __init kpmu_recorder_set(const struct kpmu_recorder *r)
{
	recorder = r;
	static_call_update(kpmu_sample, r->sample);
}

const struct kpmu_recorder *kpmu_recorder(void)
{
	return recorder;
}

/**
 * kpmu_notify() - an event's file has news
 * @e: a root, there as long as the caller looks (RCU, or NMI)
 *
 * Whoever polls is woken, and SIGIO sent to those who asked for it.
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
	/* Refreshed meanwhile */
	if (atomic_read(&s->limit)) {
		kpmu_counters_resume(&e->hw);
		return 0;
	}
	kpmu_event_disable_owned(ctx, e);
	return 0;
}

/* The event has gone to another CPU meanwhile, and has to be stopped there */
static void stop_there(struct work_struct *work)
{
	struct kpmu_sampling *s = container_of(work, struct kpmu_sampling, stop);

	kpmu_ctx_call(s->event->ctx, stop_owned, s->event);
}

static void stop(struct kpmu_event *e)
{
	if (!kpmu_ctx_try(e->ctx, stop_owned, e))
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
 * kpmu_overflow_setup() - before an event may overflow
 * @e: a root with .sampling
 */
void kpmu_overflow_setup(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	init_irq_work(&s->notify, notify);
	INIT_WORK(&s->stop, stop_there);
}

/* One of the overflows that were asked for by REFRESH; was it the last? */
static bool last_one(struct kpmu_sampling *s)
{
	return atomic_read(&s->limit) && atomic_dec_and_test(&s->limit);
}

/* What the trace of its group does from here on */
static noinline void act_on_trace(struct kpmu_event *e)
{
	struct kpmu_event *leader = READ_ONCE(e->leader);

	if (leader->hw.source->trace)
		WRITE_ONCE(leader->sampling->aux_paused,
			   e->sampling->aux_action & KPMU_AUX_PAUSE);
}
NOKPROBE_SYMBOL(act_on_trace);

/**
 * kpmu_overflow() - an event has overflowed
 * @hw: its hardware part
 * @hit: what its source knows
 *
 * Context: see source.h.
 * Return: true if the counter is to stand still.
 */
bool kpmu_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit)
{
	struct kpmu_event *e = container_of(hw, struct kpmu_event, hw);
	struct kpmu_event *root = READ_ONCE(e->root) ?: e;
	struct kpmu_sampling *s = e->sampling;
	bool halt;

	if (unlikely(s->stopped))
		return true;
	if (unlikely(s->aux_action))
		act_on_trace(e);
	halt = unlikely(kpmu_counts_hits(e)) ? kpmu_rate_account_hit(e, hit->more) :
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

	if (e->hw.period)
		kpmu_counters_resume(&e->hw);
	return 0;
}

/**
 * kpmu_event_refresh() - so many overflows more, and on
 * @e: the event
 * @n: how many
 *
 * Context: task.  perf_event_open(2), PERF_EVENT_IOC_REFRESH.
 * Return: 0; -EINVAL for an event that does not sample, or is inherited.
 */
int kpmu_event_refresh(struct kpmu_event *e, int n)
{
	if (!e->hw.period || e->flags & KPMU_ATTR_INHERIT)
		return -EINVAL;
	atomic_add(n, &e->sampling->limit);
	kpmu_event_control(e, KPMU_OP_ENABLE, false);
	kpmu_ctx_call(e->ctx, refresh_owned, e);
	return 0;
}
