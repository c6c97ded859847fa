// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running a BPF program at an overflow.
 *
 * The context of such a program has registers, a struct perf_sample_data and a struct perf_event.
 * Helpers look at the latter two: at the event's sample_type before they use the call chain of the
 * sample, at its cookie, and they read its values through its PMU.  So each CPU has a stand-in of
 * both, filled in for each run.  The kernel's perf does not know the stand-in event: it is in no
 * context, and has no references.  One of them for each CPU is enough, as bpf_prog_active lets no
 * second program run meanwhile.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/filter.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>

#include "bpf_run.h"
#include "ksym.h"

#ifdef CONFIG_BPF_SYSCALL

/**
 * struct stand_in - what a program for overflows is given instead of the kernel's objects
 * @event: the event
 * @data: the sample
 * @sample: where the values of @event are read from
 */
struct stand_in {
	struct perf_event event;
	struct perf_sample_data data;
	const struct kpmu_bpf_sample *sample;
};

static struct stand_in __percpu *stand_ins;
static DEFINE_MUTEX(setup_lock);

/* Called by perf_event_read_local(), which then takes the values from the event */
static void read_stand_in(struct perf_event *event)
{
	struct stand_in *in = container_of(event, struct stand_in, event);
	u64 values[3];

	in->sample->read(in->sample->event, values);
	local64_set(&event->count, values[0]);
	event->total_time_enabled = values[1];
	event->total_time_running = values[2];
}
NOKPROBE_SYMBOL(read_stand_in);

static struct pmu reader = { .read = read_stand_in };

/* On the CPU, and without a context: its times do not advance by themselves */
static void init_stand_in(struct stand_in *in, int cpu)
{
	in->event.pmu = &reader;
	in->event.group_leader = &in->event;
	in->event.state = PERF_EVENT_STATE_ACTIVE;
	in->event.cpu = cpu;
	in->event.oncpu = cpu;
	in->event.attr.size = sizeof(in->event.attr);
}

/* The number of programs that run on this CPU */
static int __percpu *active_programs(void)
{
	return (int __percpu *)kpmu_ksym_data(KSYM_bpf_prog_active);
}

/**
 * kpmu_bpf_can_run() - can programs for overflows be run in this kernel?
 *
 * Context: any.
 * Return: true if they can.
 */
bool kpmu_bpf_can_run(void)
{
	return kpmu_ksym_has(KSYM_bpf_prog_active) && kpmu_ksym_has(KSYM_bpf_prog_get);
}

/**
 * kpmu_bpf_setup() - prepare to run programs for overflows
 *
 * Context: task, may sleep.
 * Return: 0; -ENOMEM; -EOPNOTSUPP if the kernel's count of running programs was not found.
 */
int kpmu_bpf_setup(void)
{
	struct stand_in __percpu *all;
	int cpu, err = 0;

	if (!kpmu_bpf_can_run())
		return -EOPNOTSUPP;
	mutex_lock(&setup_lock);
	if (!stand_ins) {
		all = alloc_percpu(struct stand_in);
		if (all) {
			for_each_possible_cpu(cpu)
				init_stand_in(per_cpu_ptr(all, cpu), cpu);
			stand_ins = all;
		} else {
			err = -ENOMEM;
		}
	}
	mutex_unlock(&setup_lock);
	return err;
}

/**
 * kpmu_bpf_exit() - free what kpmu_bpf_setup() has allocated
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_bpf_exit(void)
{
	free_percpu(stand_ins);
}

/**
 * kpmu_bpf_enter() - keep other programs of perf, kprobes and tracepoints from running on this CPU
 *
 * Call kpmu_bpf_leave() in either case.
 *
 * Context: any, including NMI; preemption off.
 * Return: false if one is running already.
 */
bool kpmu_bpf_enter(void)
{
	return this_cpu_inc_return(*active_programs()) == 1;
}
NOKPROBE_SYMBOL(kpmu_bpf_enter);

/**
 * kpmu_bpf_leave() - undo kpmu_bpf_enter()
 *
 * Context: as kpmu_bpf_enter().
 */
void kpmu_bpf_leave(void)
{
	this_cpu_dec(*active_programs());
}
NOKPROBE_SYMBOL(kpmu_bpf_leave);

/* Fields that each sample has.  Helpers use those behind pointers only if @sample_flags says so. */
#define PLAIN_FIELDS	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
			 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |		  \
			 PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC |	  \
			 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_IDENTIFIER)

static void fill_sample(struct perf_sample_data *d, const struct kpmu_bpf_sample *s)
{
	perf_sample_data_init(d, s->addr, s->period);
	d->sample_flags = PERF_SAMPLE_PERIOD | (s->addr ? PERF_SAMPLE_ADDR : 0) |
			  (s->sample_type & PLAIN_FIELDS);
	d->type = s->sample_type;
	d->addr = s->addr;
	d->ip = instruction_pointer(s->regs);
	d->time = s->time;
	d->tid_entry.pid = s->pid;
	d->tid_entry.tid = s->tid;
	d->id = s->id;
	d->stream_id = s->stream_id;
	d->cpu_entry.cpu = raw_smp_processor_id();
	d->cpu_entry.reserved = 0;
	d->weight.full = s->weight;
	d->data_src.val = s->data_src;
	d->txn = s->txn;
	d->raw = NULL;
	d->callchain = (void *)s->chain;
	if (s->chain)
		d->sample_flags |= PERF_SAMPLE_CALLCHAIN;
	d->br_stack = (void *)s->branches;
	if (s->branches)
		d->sample_flags |= PERF_SAMPLE_BRANCH_STACK;
}
NOKPROBE_SYMBOL(fill_sample);

static void fill_event(struct perf_event *event, const struct kpmu_bpf_sample *s)
{
	event->attr.type = s->type;
	event->attr.config = s->config;
	event->attr.sample_type = s->sample_type;
	event->attr.inherit = s->inherit;
	event->id = s->id;
	event->bpf_cookie = s->cookie;
}
NOKPROBE_SYMBOL(fill_event);

/**
 * kpmu_bpf_run() - run a program for overflows
 * @prog: the program, held by the caller or by RCU
 * @s: the sample
 *
 * Context: any, including NMI; preemption off, after kpmu_bpf_enter() has returned true.
 * perf_event_open(2), PERF_EVENT_IOC_SET_BPF.
 * Return: the program's result; 0 if there is to be no sample.
 */
u32 kpmu_bpf_run(const struct bpf_prog *prog, const struct kpmu_bpf_sample *s)
{
	struct stand_in *in = this_cpu_ptr(stand_ins);
	struct bpf_perf_event_data_kern ctx = {
		.regs = perf_arch_bpf_user_pt_regs(s->regs),
		.data = &in->data,
		.event = &in->event,
	};
	u32 result;

	in->sample = s;
	fill_event(&in->event, s);
	fill_sample(&in->data, s);
	rcu_read_lock();
	result = bpf_prog_run(prog, &ctx);
	rcu_read_unlock();
	return result;
}
NOKPROBE_SYMBOL(kpmu_bpf_run);

#else

bool kpmu_bpf_can_run(void) { return false; }
int kpmu_bpf_setup(void) { return -EOPNOTSUPP; }
void kpmu_bpf_exit(void) { }
bool kpmu_bpf_enter(void) { return false; }
void kpmu_bpf_leave(void) { }
u32 kpmu_bpf_run(const struct bpf_prog *prog, const struct kpmu_bpf_sample *s) { return 1; }

#endif
