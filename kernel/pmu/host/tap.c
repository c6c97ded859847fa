// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taps: events of the kernel's own perf that report hits to kpmu.
 *
 * Some things in the kernel are reported to its perf only (minor and major faults, probes,
 * tracepoints with their records).  For those, kpmu opens an event of the kernel's perf,
 * always enabled, whose overflow handler is called for each occurrence.  It is never a
 * hardware event.
 *
 * A tap that many kpmu events can share has one event of the kernel's perf on each CPU,
 * behind a gate (gate.c): hits are delivered only while a kpmu event that counts them runs
 * on the CPU.  Taps of probes and breakpoints belong to one kpmu event and follow its task.  A
 * breakpoint that children do not inherit needs no event of the kernel's perf: kpmu itself schedules
 * it (compat/watch.c).
 *
 * Counting the hits of a tracepoint does not require their records, which are most of the
 * cost in the kernel's perf.  So events that only count use a tap without events of the
 * kernel's perf: a tracepoint probe (point.c) reports its hits.
 */
#include <linux/err.h>
#include <linux/llist.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "../../compat/compat.h"
#include "../../compat/ksym.h"
#include "../../compat/watch.h"
#include "host.h"
#include "tap.h"

/**
 * kpmu_tap_hit() - overflow handler of the events of a tap
 * @event: the event of the kernel's perf
 * @data: its sample
 * @regs: registers at the hit
 *
 * Context: any, including NMI; IRQs off or preemption off, on the CPU of the hit.
 */
void kpmu_tap_hit(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs)
{
	struct kpmu_hit hit = { .regs = regs, .addr = kpmu_addr_of_sample(data) };
	struct kpmu_tap *tap = event->overflow_handler_context;

	if (tap->gated)
		kpmu_gate_hit(&tap->on[smp_processor_id()]);
	kpmu_raw_of_sample(data, &hit.raw, &hit.raw_size);
	static_call(kpmu_source_hit)(&(tap->as ?: tap)->key, data->period, &hit);
}

/**
 * kpmu_tap_new() - allocate a tap
 * @attr: attr of the kernel's events
 * @nr: number of these events
 *
 * Context: task, may sleep.
 * Return: the tap, with one user and no events, or NULL.
 */
struct kpmu_tap *kpmu_tap_new(const struct perf_event_attr *attr, int nr)
{
	struct kpmu_tap *tap = kzalloc(struct_size(tap, on, nr), GFP_KERNEL);
	int i;

	if (!tap)
		return NULL;
	tap->users = 1;
	tap->attr = *attr;
	tap->attr.size = sizeof(tap->attr);
	tap->attr.disabled = 0;
	tap->attr.sample_period = 1;
	/* The period is the number of hits reported at once */
	tap->attr.sample_type = PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	tap->nr = nr;
	for (i = 0; i < nr; i++)
		kpmu_gate_init(&tap->on[i]);
	return tap;
}

static LLIST_HEAD(dead);

static void release_dead(struct work_struct *work)
{
	struct llist_node *all = llist_del_all(&dead);
	struct kpmu_tap *tap, *next;
	int i;

	/* Hits of the kernel's events are delivered under RCU, like those of probes */
	tracepoint_synchronize_unregister();
	synchronize_rcu();
	llist_for_each_entry_safe(tap, next, all, dead) {
		if (tap->counts)
			kpmu_point_free(&tap->point);
		for (i = 0; i < tap->nr; i++)
			kpmu_gate_end(&tap->on[i]);
		kfree(tap);
	}
}
static DECLARE_WORK(bury, release_dead);

/**
 * kpmu_tap_free() - release the events of a tap, and free it, after a grace period if it needs one
 * @tap: the tap, in no list
 *
 * Hits of the kernel's events are delivered with preemption off, so RCU is enough for a tap that has only
 * these: no work item that waits for probes and gates.
 *
 * Context: task, may sleep.
 */
void kpmu_tap_free(struct kpmu_tap *tap)
{
	int i;

	if (tap->counts)
		kpmu_point_leave(&tap->point);
	if (tap->watch) {
		kpmu_watch_free(tap->watch);
		kfree(tap);
		return;
	}
	for (i = 0; i < tap->nr; i++)
		if (tap->on[i].event)
			perf_event_release_kernel(tap->on[i].event);
	if (!tap->counts && !tap->gated) {
		kfree_rcu(tap, rcu);
		return;
	}
	llist_add(&tap->dead, &dead);
	queue_work(KPMU_SYSTEM_WQ, &bury);
}

/**
 * kpmu_tap_bury() - wait until all taps released have no hits any more
 *
 * Context: task, may sleep.
 */
void kpmu_tap_bury(void)
{
	flush_work(&bury);
	synchronize_rcu();	/* those that kfree_rcu() frees */
}

/* A breakpoint that children do not inherit is scheduled by kpmu */
static bool is_watched(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_BREAKPOINT && !attr->inherit && kpmu_watch_possible();
}

static int observe(struct kpmu_tap *tap, struct task_struct *task, int cpu)
{
	struct perf_event *e;
	struct kpmu_watch *w;

	if (is_watched(&tap->attr)) {
		w = kpmu_watch_new(&tap->attr, task, cpu, kpmu_tap_hit, tap);
		if (IS_ERR(w))
			return PTR_ERR(w);
		tap->watch = w;
		return 0;
	}
	e = perf_event_create_kernel_counter(&tap->attr, cpu, task, kpmu_tap_hit, tap);
	if (IS_ERR(e))
		return PTR_ERR(e);
	tap->on[0].event = e;
	return 0;
}

/**
 * kpmu_tap_own() - get a tap for one kpmu event only
 * @attr: attr for the kernel's perf
 * @task: the task to be observed, NULL for all tasks of a CPU
 * @cpu: the CPU, -1 for any
 *
 * The kernel checks the caller's permission and the attr.
 *
 * Context: task, may sleep.
 * Return: as kpmu_tap_share(), or kpmu_watch_new() for a breakpoint.
 */
struct kpmu_tap *kpmu_tap_own(const struct perf_event_attr *attr,
			      struct task_struct *task, int cpu)
{
	struct kpmu_tap *tap = kpmu_tap_new(attr, 1);
	int err;

	if (!tap)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&tap->node);
	err = observe(tap, task, cpu);
	if (err) {
		kfree(tap);
		return ERR_PTR(err);
	}
	return tap;
}

struct silence {
	struct work_struct work;
	struct kpmu_tap *tap;
	int err;
};

static void make_silent(struct work_struct *work)
{
	struct silence *s = container_of(work, struct silence, work);
	struct perf_event *e;

	e = perf_event_create_kernel_counter(&s->tap->attr, raw_smp_processor_id(),
					     NULL, kpmu_tap_hit, s->tap);
	s->tap->on[0].event = IS_ERR(e) ? NULL : e;
	s->err = PTR_ERR_OR_ZERO(e);
}

/**
 * kpmu_tap_silent() - get a tap with a single event that is disabled
 * @like: a tap with the same attr
 *
 * For operations on the kernel's event that do not need its hits, e.g. to attach BPF.
 *
 * Context: task, may sleep.
 * Return: as kpmu_tap_share().
 */
struct kpmu_tap *kpmu_tap_silent(const struct kpmu_tap *like)
{
	struct silence s = { .tap = kpmu_tap_new(&like->attr, 1) };

	if (!s.tap)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&s.tap->node);
	s.tap->attr.disabled = 1;
	INIT_WORK_ONSTACK(&s.work, make_silent);
	queue_work(KPMU_UNBOUND_WQ, &s.work);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	if (s.err) {
		kpmu_tap_free(s.tap);
		return ERR_PTR(s.err);
	}
	return s.tap;
}

/**
 * kpmu_tap_event() - one of a tap's events of the kernel's perf
 * @tap: the tap
 *
 * Context: any, for taps from kpmu_tap_own() or kpmu_tap_silent(); else under taps_lock, as
 * the events are replaced when a CPU comes online.
 * Return: the event, NULL if there is none.
 */
struct perf_event *kpmu_tap_event(struct kpmu_tap *tap)
{
	int i;

	for (i = 0; i < tap->nr; i++)
		if (tap->on[i].event)
			return tap->on[i].event;
	return NULL;
}

/**
 * kpmu_tap_is_gated() - are a tap's hits reported only while they are needed?
 * @tap: the tap
 *
 * Context: any.
 * Return: the value of hw->gated for events that use the tap, see kpmu_hits_want().
 */
bool kpmu_tap_is_gated(const struct kpmu_tap *tap)
{
	return tap->gated || tap->watch;
}

/* See source.h */
void kpmu_hits_want(struct kpmu_hw *hw)
{
	struct kpmu_tap *tap = kpmu_tap_of(hw);

	hw->listens = true;
	if (tap->watch)
		kpmu_watch_arm(tap->watch);
	else if (tap->gated)
		kpmu_gate_want(&tap->on[smp_processor_id()]);
}

/* See source.h */
void kpmu_hits_leave(struct kpmu_hw *hw)
{
	struct kpmu_tap *tap = kpmu_tap_of(hw);

	hw->listens = false;
	if (tap->watch)
		kpmu_watch_disarm(tap->watch);
	else if (tap->gated)
		kpmu_gate_leave(&tap->on[smp_processor_id()]);
}
