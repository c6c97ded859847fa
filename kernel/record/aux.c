// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a source traces, on its way into the AUX area, and the records that tell of
 * it: PERF_RECORD_AUX, PERF_RECORD_ITRACE_START.  perf_event_open(2), "MMAP layout".
 */
#include <linux/irqflags.h>

#include "../ring/aux.h"
#include "sample.h"

/* The area that an event's trace goes to; under RCU */
static struct kpmu_aux *area_of(const struct kpmu_event *e,
				struct kpmu_ring **ring)
{
	*ring = rcu_dereference_sched(kpmu_root_of(e)->ring);
	return *ring ? rcu_dereference_sched((*ring)->aux) : NULL;
}

/* Tell the reader how far the trace has come */
static void announce(struct kpmu_event *e, struct kpmu_aux *aux,
		     struct kpmu_ring *ring)
{
	struct kpmu_aux_chunk chunk;
	struct kpmu_record r;
	bool due = kpmu_aux_due(aux);

	if (!kpmu_aux_show(aux, ring->page, &chunk))
		return;
	if (kpmu_record_begin_of(&r, e, PERF_RECORD_AUX, 0, sizeof(chunk),
				 kpmu_task_of(e))) {
		kpmu_record_put(&r, &chunk, sizeof(chunk));
		kpmu_record_end(&r);
	}
	if (due)
		kpmu_ring_wake(ring);
}

/* Whose trace begins */
static void start(struct kpmu_event *e)
{
	struct kpmu_record r;
	u64 ids;

	if (!kpmu_record_begin_of(&r, e, PERF_RECORD_ITRACE_START, 0, sizeof(ids),
				  kpmu_task_of(e)))
		return;
	ids = kpmu_record_ids(e, kpmu_task_of(e));
	kpmu_record_put(&r, &ids, sizeof(ids));
	kpmu_record_end(&r);
}

/**
 * kpmu_aux_trace() - an event that traces was hit
 * @e: the event
 * @hit: what is known of it
 *
 * Context: any, NMI too, preemption off; on the CPU where the event counts.
 */
void kpmu_aux_trace(struct kpmu_event *e, struct kpmu_hit *hit)
{
	u8 bytes[KPMU_TRACE_MAX];
	struct kpmu_aux *aux;
	struct kpmu_ring *ring;
	unsigned long flags;

	if (READ_ONCE(e->sampling->aux_paused))
		return;
	/* The end of the event's turn must not come in between */
	local_irq_save(flags);
	aux = area_of(e, &ring);
	if (aux) {
		kpmu_aux_put(aux, ring->page, bytes,
			     e->hw.source->trace(&e->hw, hit, bytes));
		if (kpmu_aux_due(aux) && !aux->busy)
			announce(e, aux, ring);
	}
	local_irq_restore(flags);
}

/**
 * kpmu_aux_follow() - an event that traces counts from now on, or does not
 * @e: the event, mapped
 * @running: it does
 *
 * What it has traced is shown when it stops.
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_aux_follow(struct kpmu_event *e, bool running)
{
	struct kpmu_ring *ring;
	struct kpmu_aux *aux;

	/* Bound to another CPU it was shown there; another event may write to its ring there now */
	if (e->cpu >= 0 && e->cpu != smp_processor_id())
		return;
	aux = area_of(e, &ring);
	if (!aux)
		return;
	if (!running)
		announce(e, aux, ring);
	else if (!e->sampling->aux_started)
		start(e);
	e->sampling->aux_started |= running;
}

/* The area that an event's samples have a part of: its leader's */
static struct kpmu_aux *area_of_group(const struct kpmu_event *e)
{
	const struct kpmu_event *leader = READ_ONCE(e->leader);
	struct kpmu_ring *ring;

	return leader->hw.source->trace ? area_of(leader, &ring) : NULL;
}

/**
 * kpmu_aux_size() - bytes of the field PERF_SAMPLE_AUX
 * @f: the sample; what its other fields leave is known
 *
 * Context: as kpmu_sample_write().
 */
u32 kpmu_aux_size(struct kpmu_filling *f)
{
	struct kpmu_aux *aux = area_of_group(f->e);
	u64 size = 0;

	f->aux = aux;
	if (aux && f->room > sizeof(u64)) {
		f->aux_end = READ_ONCE(aux->written);
		size = min3(f->aux_end, aux->size, f->room - sizeof(u64));
		size = min_t(u64, size, f->e->sampling->aux_sample_size);
	}
	f->aux_size = round_down(size, sizeof(u64));
	return sizeof(u64) + f->aux_size;
}

/**
 * kpmu_aux_field() - write it
 * @f: the sample, measured
 */
void kpmu_aux_field(struct kpmu_filling *f)
{
	kpmu_fill_word(f, f->aux_size);
	if (f->aux_size)
		kpmu_aux_copy(f->aux, &f->r.h, f->aux_end, f->aux_size);
}
