// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF program of an event, run at an overflow: its result decides whether the overflow has
 * effects.  perf_event_open(2), PERF_EVENT_IOC_SET_BPF.
 */
#include <linux/kprobes.h>
#include <linux/rcupdate.h>

#include "../compat/bpf_run.h"
#include "../event/program.h"
#include "../record/sample.h"
#include "../sched/sched.h"
#include "follow.h"

static void get_values(void *event, u64 values[3])
{
	struct kpmu_times times;

	kpmu_values_get(event, &values[0], &times);
	values[1] = times.enabled;
	values[2] = times.running;
}
NOKPROBE_SYMBOL(get_values);

static void put_event_part(struct kpmu_bpf_sample *b, struct kpmu_event *e)
{
	b->type = e->type;
	b->config = e->config;
	b->sample_type = e->sampling->sample_type;
	b->inherit = e->se.flags & KPMU_ATTR_INHERIT;
	b->cookie = READ_ONCE(e->sampling->program->cookie);
	b->id = e->se.id;
	b->stream_id = e->sampling->stream_id;
	b->event = e;
	b->read = get_values;
}
NOKPROBE_SYMBOL(put_event_part);

static void put_precise_part(struct kpmu_bpf_sample *b, const struct kpmu_precise *p)
{
	if (b->sample_type & KPMU_SAMPLE_WEIGHT_STRUCT)
		b->weight = p->weight_struct;
	else
		b->weight = p->weight;
	b->data_src = p->data_src;
	b->txn = p->txn;
}
NOKPROBE_SYMBOL(put_precise_part);

static void put_hit_part(struct kpmu_bpf_sample *b, struct kpmu_event *e, const struct kpmu_hit *hit)
{
	u64 ids = kpmu_record_ids(e, kpmu_task_of(e));

	b->regs = hit->regs;
	b->period = hit->period;
	b->addr = hit->addr;
	b->pid = (u32)ids;
	b->tid = ids >> 32;
	b->time = b->sample_type & KPMU_SAMPLE_TIME ? kpmu_sample_time(e, hit) : 0;
	b->weight = 0;
	b->data_src = KPMU_NO_DATA_SRC;
	b->txn = 0;
	if (hit->precise)
		put_precise_part(b, hit->precise);
	b->branches = b->sample_type & KPMU_SAMPLE_BRANCH_STACK ? kpmu_sample_branches(e, hit) : NULL;
}
NOKPROBE_SYMBOL(put_hit_part);

static u32 run_program(struct kpmu_event *e, const struct bpf_prog *prog, const struct kpmu_hit *hit)
{
	const struct kpmu_frames *chain = NULL;
	struct kpmu_bpf_sample b;
	u32 result;

	put_event_part(&b, e);
	put_hit_part(&b, e, hit);
	if (kpmu_has_chains(e))
		chain = kpmu_chain_take(e, hit);
	b.chain = chain;
	result = kpmu_bpf_run(prog, &b);
	if (chain)
		kpmu_chain_done();
	return result;
}
NOKPROBE_SYMBOL(run_program);

/**
 * kpmu_program_allows() - run an event's program, and get its decision about an overflow
 * @e: the event; it has a program, or had one
 * @hit: details of the overflow
 *
 * As upstream, a program that would interrupt one of perf, of a kprobe or of a tracepoint is not run, and
 * the overflow has no effects then.
 *
 * Context: as kpmu_overflow().
 * Return: whether there is a sample, a signal and so on.
 */
bool kpmu_program_allows(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	const struct bpf_prog *prog;
	bool allows = true;

	/* Preemption is off: RCU protects the program */
	prog = rcu_dereference_sched(e->sampling->program->prog);
	if (!prog)
		return true;
	allows = kpmu_bpf_enter() && run_program(e, prog, hit);
	kpmu_bpf_leave();
	return allows;
}
NOKPROBE_SYMBOL(kpmu_program_allows);
