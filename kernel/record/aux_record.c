// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace data of a source is put into the AUX area and reported by PERF_RECORD_AUX and
 * PERF_RECORD_ITRACE_START.  So is the data of events with aux_output in the same group, which
 * PERF_RECORD_AUX_OUTPUT_HW_ID tells apart.  perf_event_open(2), "MMAP layout" and aux_output.
 */
#include <linux/irqflags.h>

#include "../ring/aux.h"
#include "sample.h"

/* The AUX area for an event's trace and its ring, or NULL; both under RCU */
static struct kpmu_aux *area_of(const struct kpmu_event *e,
				struct kpmu_ring **ring)
{
	*ring = rcu_dereference_sched(kpmu_root_of(e)->ring);
	return *ring ? rcu_dereference_sched((*ring)->aux) : NULL;
}

/* Advance aux_head and write PERF_RECORD_AUX if there is new trace data */
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

/* Write PERF_RECORD_ITRACE_START, which names the traced task */
static void write_itrace_start(struct kpmu_event *e)
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

/* Append to the AUX area of an event; @trace is the data of @hit for @hw */
static void append_trace(struct kpmu_event *e, struct kpmu_hw *hw, const struct kpmu_hit *hit,
		   u32 (*trace)(struct kpmu_hw *hw, const struct kpmu_hit *hit, void *to))
{
	u8 bytes[KPMU_TRACE_MAX];
	struct kpmu_aux *aux;
	struct kpmu_ring *ring;
	unsigned long flags;

	if (READ_ONCE(e->sampling->aux_paused))
		return;
	/* Exclude an IPI that schedules the event out and announces its trace */
	local_irq_save(flags);
	aux = area_of(e, &ring);
	if (aux) {
		kpmu_aux_put(aux, ring->page, bytes, trace(hw, hit, bytes));
		if (kpmu_aux_due(aux) && !aux->busy)
			announce(e, aux, ring);
	}
	local_irq_restore(flags);
}

/**
 * kpmu_aux_trace() - put the trace data of a hit into the AUX area
 * @e: the event; its source has .trace
 * @hit: details of the hit
 *
 * Context: any, including NMI, preemption off; on the CPU where the event is active.
 */
void kpmu_aux_trace(struct kpmu_event *e, struct kpmu_hit *hit)
{
	append_trace(e, &e->se.hw, hit, e->se.hw.source->trace);
}

/*
 * Write PERF_RECORD_AUX_OUTPUT_HW_ID before the first data of an event from a counter or a CPU.  Upstream
 * writes it when the event gets the counter.
 */
static void say_counter(struct kpmu_event *e)
{
	const struct kpmu_hw *hw = &e->se.hw;
	u64 id = hw->idx < 0 ? 0 : hw->idx - hw->first;
	u64 now = id | (raw_smp_processor_id() + 1ULL) << 32;
	struct kpmu_record r;

	if (e->sampling->aux_said == now ||
	    !kpmu_record_begin_of(&r, e, PERF_RECORD_AUX_OUTPUT_HW_ID, 0, sizeof(id), kpmu_task_of(e)))
		return;
	e->sampling->aux_said = now;
	kpmu_record_put(&r, &id, sizeof(id));
	kpmu_record_end(&r);
}

/**
 * kpmu_aux_output() - put the data of an overflow into the AUX area of the group leader
 * @e: the event, with aux_output; its source has .output
 * @hit: details of the overflow
 *
 * If the leader was closed, the data goes nowhere.
 *
 * Context: any, including NMI, preemption off; on the CPU where the group is active.
 */
void kpmu_aux_output(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	struct kpmu_event *leader = kpmu_leader(e);

	if (!leader->se.hw.source->trace)
		return;
	say_counter(e);
	append_trace(leader, &e->se.hw, hit, e->se.hw.source->output);
}

/**
 * kpmu_aux_follow() - update the AUX area after a tracing event started or stopped
 * @e: the event, mapped
 * @running: the event counts from now on
 *
 * Pending trace data is announced when the event stops.  PERF_RECORD_ITRACE_START is
 * written at the first start only.
 *
 * Context: the context's owner, IRQs off.
 */
void kpmu_aux_follow(struct kpmu_event *e, bool running)
{
	struct kpmu_ring *ring;
	struct kpmu_aux *aux;

	/*
	 * The trace of an event bound to another CPU was announced there.  Another event may write
	 * to its ring there now.
	 */
	if (e->se.cpu >= 0 && e->se.cpu != smp_processor_id())
		return;
	aux = area_of(e, &ring);
	if (!aux)
		return;
	if (!running)
		announce(e, aux, ring);
	else if (!e->sampling->aux_started)
		write_itrace_start(e);
	e->sampling->aux_started |= running;
}

/* The AUX area that PERF_SAMPLE_AUX copies from: the group leader's */
static struct kpmu_aux *area_of_group(const struct kpmu_event *e)
{
	const struct kpmu_event *leader = kpmu_leader(e);
	struct kpmu_ring *ring;

	return leader->se.hw.source->trace ? area_of(leader, &ring) : NULL;
}

/**
 * kpmu_aux_size() - size of the field PERF_SAMPLE_AUX
 * @f: the sample; f->room is what the fields sized before it leave
 *
 * Context: as kpmu_sample_write().
 * Return: bytes, including the word that holds the size of the data.
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
 * kpmu_aux_field() - write the field PERF_SAMPLE_AUX
 * @f: the sample, after kpmu_aux_size()
 *
 * Context: as kpmu_sample_write().
 */
void kpmu_aux_field(struct kpmu_filling *f)
{
	kpmu_fill_word(f, f->aux_size);
	if (f->aux_size)
		kpmu_aux_copy(f->aux, &f->r.h, f->aux_end, f->aux_size);
}
