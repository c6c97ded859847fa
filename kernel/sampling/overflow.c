// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handling of an overflow: a sample, a signal, the end of a REFRESH.
 * perf_event_open(2), "Overflow handling".
 *
 * An NMI can neither wake a task nor disable an event.  So the overflow handler only
 * halts the counter, and an irq_work (life/notify.c) does the rest as soon as interrupts
 * are possible.
 */
#include <linux/irq_work.h>
#include <linux/kprobes.h>

#include "../compat/compat.h"
#include "../record/sample.h"
#include "../sched/sched.h"
#include "follow.h"
#include "rate.h"

/* Take one of the overflows allowed by REFRESH; return true if it was the last one */
static bool take_refresh(struct kpmu_sampling *s)
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

/* The hardware lost samples.  As upstream, they count towards the rate once an interrupt */
static noinline bool lose_samples(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	kpmu_record_lost_samples(e, hit->precise->lost);
	return hit->regs && kpmu_rate_account(e);
}
NOKPROBE_SYMBOL(lose_samples);

/* Not the last overflow of several that are reported together */
static noinline bool take_early(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	if (unlikely(hit->precise->lost))
		return lose_samples(e, hit);
	if (hit->precise->batch)
		kpmu_sample_write_batch(e, hit, hit->precise->batch);
	else
		kpmu_sample_write(e, hit);
	return false;
}
NOKPROBE_SYMBOL(take_early);

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
	if (unlikely(hit->precise)) {
		if (hit->precise->ignored)
			return kpmu_rate_account(e);
		if (hit->precise->early)
			return take_early(e, hit);
	}
	halt = unlikely(kpmu_counts_hits(&e->se)) ? kpmu_rate_account_hit(e, hit->more) :
					       kpmu_rate_account(e);
	if (s->freq)
		kpmu_rate_adjust(e, hit->period);
	if (unlikely(s->aux_action | s->aux_output)) {
		if (s->aux_output) {
			kpmu_aux_output(e, hit);
			return halt;
		}
		act_on_trace(e);
	}
	if (unlikely(s->program) && !kpmu_program_allows(e, hit))
		goto out;
	if (unlikely(take_refresh(s))) {
		s->stopped = true;
		atomic_or(KPMU_TELL_STOP | KPMU_TELL_WAKE | KPMU_TELL_HUP, &s->what);
		if (s->trap)
			kpmu_trap_raise(e, hit);
		kpmu_sample_write(e, hit);
		irq_work_queue(&s->notify);
		return true;
	}
	if (unlikely(s->trap))
		kpmu_trap_raise(e, hit);
	kpmu_sample_write(e, hit);
	if (root->fasync)
		kpmu_notify(root);
out:
	if (hit->began)
		halt |= kpmu_rate_took(e, hit);
	return halt;
}
NOKPROBE_SYMBOL(kpmu_overflow);
