// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an overflow causes but cannot do itself in an NMI: wake readers, send SIGIO, disable
 * the event when REFRESH has run out.  perf_event_open(2), "Overflow handling".
 */
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/poll.h>

#include "../compat/compat.h"
#include "../ring/ring.h"
#include "../sched/sched.h"
#include "../source/drivers.h"
#include "life.h"

static int stop_event_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_event *e = data;
	struct kpmu_sampling *s = e->sampling;

	s->stopped = false;
	/* Another REFRESH was requested before the event was disabled */
	if (atomic_read(&s->limit)) {
		if (!s->throttled) {	/* else it resumes with its group */
			kpmu_counter_resume(&e->se.hw);
			kpmu_counters_restart();
		}
		return 0;
	}
	kpmu_event_control_owned(ctx, e, KPMU_OP_DISABLE);
	return 0;
}

/* The context is active on another CPU by now; disable the event there */
static void stop_event_there(struct work_struct *work)
{
	struct kpmu_sampling *s = container_of(work, struct kpmu_sampling, stop);

	kpmu_ctx_call(s->event->se.ctx, stop_event_owned, s->event);
}

static void stop_event(struct kpmu_event *e)
{
	if (!kpmu_ctx_try(e->se.ctx, stop_event_owned, e))
		queue_work(KPMU_SYSTEM_WQ, &e->sampling->stop);
}

static void wake_readers(struct kpmu_event *e)
{
	struct kpmu_ring *ring;

	rcu_read_lock();
	ring = rcu_dereference(e->ring);
	if (ring)
		kpmu_ring_notify(ring);
	rcu_read_unlock();
}

static void notify_readers(struct irq_work *work)
{
	struct kpmu_sampling *s = container_of(work, struct kpmu_sampling, notify);
	struct kpmu_event *e = s->event;
	int what = atomic_xchg(&s->what, 0);
	int signals = atomic_xchg(&s->signals, 0);

	if (what & KPMU_TELL_STOP)
		stop_event(e);
	if (what & KPMU_TELL_WAKE)
		wake_readers(e);
	while (signals--)
		kill_fasync(&e->fasync, SIGIO, POLL_IN);
	if (what & KPMU_TELL_ERR)
		kill_fasync(&e->fasync, SIGIO, POLL_ERR);
	if (what & KPMU_TELL_HUP)
		kill_fasync(&e->fasync, SIGIO, POLL_HUP);
}

/**
 * kpmu_notify_init() - initialize the deferred part of overflow handling
 * @e: a root event with .sampling, not yet counting
 *
 * Context: task.
 */
void kpmu_notify_init(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	init_irq_work(&s->notify, notify_readers);
	INIT_WORK(&s->stop, stop_event_there);
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
	return 0;
}
