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
 * on the CPU.  Taps of probes and breakpoints belong to one kpmu event and follow its task.
 *
 * Counting the hits of a tracepoint does not require their records, which are most of the
 * cost in the kernel's perf.  So events that only count use a tap without events of the
 * kernel's perf: a tracepoint probe (point.c) reports its hits.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "../compat/compat.h"
#include "../compat/ksym.h"
#include "gate.h"
#include "point.h"
#include "sources.h"
#include "tap.h"

/**
 * struct kpmu_tap - an origin of hits
 * @node: entry in the list taps or points, if shared or a replacement
 * @users: number of kpmu events that use it
 * @shared: may be used by every kpmu event of its type and config
 * @attr: attr of the kernel's events
 * @counts: @point reports the hits, there are no events in @on
 * @point: the probe, if @counts
 * @instead: if @counts: the tap that replaces the probe once BPF is attached
 * @as: if this is such a replacement: the tap that it reports hits for
 * @nr: entries in @on
 * @gated: hits are delivered only while a kpmu event needs them
 * @dead: entry in the list of taps to be freed after a grace period
 * @on: the kernel's events: one for each CPU, or a single one
 */
struct kpmu_tap {
	struct list_head node;
	int users;
	bool shared;
	struct perf_event_attr attr;
	bool counts;
	struct kpmu_point point;
	struct kpmu_tap *instead;
	const struct kpmu_tap *as;
	int nr;
	bool gated;
	struct llist_node dead;
	struct kpmu_gate on[];
};

static LIST_HEAD(taps);
static LIST_HEAD(points);
static DEFINE_MUTEX(taps_lock);

static void on_hit(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs)
{
	struct kpmu_hit hit = { .regs = regs, .addr = kpmu_addr_of_sample(data) };
	struct kpmu_tap *tap = event->overflow_handler_context;

	if (tap->gated)
		kpmu_gate_hit(&tap->on[smp_processor_id()]);
	kpmu_raw_of_sample(data, &hit.raw, &hit.raw_size);
	kpmu_source_hit(tap->as ?: tap, data->period, &hit);
}

static struct kpmu_tap *new_tap(const struct perf_event_attr *attr, int nr)
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

static int listen_on(struct kpmu_tap *tap, int cpu)
{
	struct perf_event *e;

	e = perf_event_create_kernel_counter(&tap->attr, cpu, NULL, on_hit, tap);
	if (IS_ERR(e))
		return PTR_ERR(e);
	WRITE_ONCE(tap->on[cpu].event, e);
	if (tap->gated)
		smp_call_function_single(cpu, kpmu_gate_settle, &tap->on[cpu], 1);
	return 0;
}

static LLIST_HEAD(dead);

static void bury_dead(struct work_struct *work)
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
static DECLARE_WORK(bury, bury_dead);

static void free_tap(struct kpmu_tap *tap)
{
	int i;

	if (tap->counts)
		kpmu_point_leave(&tap->point);
	for (i = 0; i < tap->nr; i++)
		if (tap->on[i].event)
			perf_event_release_kernel(tap->on[i].event);
	llist_add(&tap->dead, &dead);
	queue_work(KPMU_SYSTEM_WQ, &bury);
}

struct fill {
	struct work_struct work;
	struct kpmu_tap *tap;
	int err;
};

/*
 * Runs in a kernel thread, so that the kernel's perf does not check the user's permission:
 * kpmu has checked it already, by its own rules.
 */
static void fill_all(struct work_struct *work)
{
	struct fill *f = container_of(work, struct fill, work);
	int cpu, err;

	for_each_online_cpu(cpu) {
		err = listen_on(f->tap, cpu);
		/* -ENODEV: the CPU has gone offline meanwhile */
		if (err && err != -ENODEV) {
			f->err = err;
			break;
		}
	}
}

/* A tap with events on all CPUs; with @as, its hits are reported for that tap */
static struct kpmu_tap *make_on_cpus(const struct perf_event_attr *attr,
				     const struct kpmu_tap *as)
{
	struct fill f = { };

	f.tap = new_tap(attr, nr_cpu_ids);
	if (!f.tap)
		return ERR_PTR(-ENOMEM);
	f.tap->as = as;
	f.tap->gated = !as;
	INIT_WORK_ONSTACK(&f.work, fill_all);
	queue_work(KPMU_UNBOUND_WQ, &f.work);
	flush_work(&f.work);
	destroy_work_on_stack(&f.work);
	if (f.err) {
		free_tap(f.tap);
		return ERR_PTR(f.err);
	}
	list_add(&f.tap->node, &taps);
	return f.tap;
}

static struct kpmu_tap *find_shared(struct list_head *list, u32 type, u64 config)
{
	struct kpmu_tap *tap;

	list_for_each_entry(tap, list, node)
		if (tap->shared && tap->attr.type == type &&
		    tap->attr.config == config)
			return tap;
	return NULL;
}

/**
 * kpmu_tap_share() - get a shared tap on all CPUs
 * @type: attr.type of the kernel's event
 * @config: attr.config of the kernel's event
 *
 * Context: task, may sleep.
 * Return: the tap, to be released by kpmu_tap_put(); -ENOMEM, or the error of the kernel's
 * perf.
 */
struct kpmu_tap *kpmu_tap_share(u32 type, u64 config)
{
	struct perf_event_attr attr = { .type = type, .config = config };
	struct kpmu_tap *tap;

	mutex_lock(&taps_lock);
	tap = find_shared(&taps, type, config);
	if (tap) {
		tap->users++;
	} else {
		tap = make_on_cpus(&attr, NULL);
		if (!IS_ERR(tap))
			tap->shared = true;
	}
	mutex_unlock(&taps_lock);
	return tap;
}

/**
 * kpmu_tap_full() - get a shared tap for a tracepoint's hits with their records
 * @like: a tap for the same tracepoint, with or without records
 *
 * Context: task, may sleep.
 * Return: as kpmu_tap_share(); may be @like, with one reference more.
 */
struct kpmu_tap *kpmu_tap_full(const struct kpmu_tap *like)
{
	return kpmu_tap_share(like->attr.type, like->attr.config);
}

/**
 * kpmu_tap_filter() - parse a filter for the records of a tap
 * @tap: the tap, for a tracepoint
 * @filter: the filter in ftrace's grammar
 *
 * Context: task, may sleep.
 * Return: see kpmu_native_filter_new(); -ENODEV if the tap has no event left.
 */
struct event_filter *kpmu_tap_filter(struct kpmu_tap *tap, char *filter)
{
	struct event_filter *made = ERR_PTR(-ENODEV);
	struct perf_event *event;

	/* The events of a tap are replaced when a CPU comes online */
	mutex_lock(&taps_lock);
	event = kpmu_tap_event(tap);
	if (event)
		made = kpmu_native_filter_new(event, filter);
	mutex_unlock(&taps_lock);
	return made;
}

/**
 * kpmu_tap_own() - get a tap for one kpmu event only
 * @attr: attr for the kernel's perf
 * @task: the task to be observed, NULL for all tasks of a CPU
 * @cpu: the CPU, -1 for any
 *
 * The kernel's perf checks the caller's permission and the attr.
 *
 * Context: task, may sleep.
 * Return: as kpmu_tap_share().
 */
struct kpmu_tap *kpmu_tap_own(const struct perf_event_attr *attr,
			      struct task_struct *task, int cpu)
{
	struct kpmu_tap *tap = new_tap(attr, 1);
	struct perf_event *e;

	if (!tap)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&tap->node);
	e = perf_event_create_kernel_counter(&tap->attr, cpu, task, on_hit, tap);
	if (IS_ERR(e)) {
		kfree(tap);
		return ERR_CAST(e);
	}
	tap->on[0].event = e;
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
					     NULL, on_hit, s->tap);
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
	struct silence s = { .tap = new_tap(&like->attr, 1) };

	if (!s.tap)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&s.tap->node);
	s.tap->attr.disabled = 1;
	INIT_WORK_ONSTACK(&s.work, make_silent);
	queue_work(KPMU_UNBOUND_WQ, &s.work);
	flush_work(&s.work);
	destroy_work_on_stack(&s.work);
	if (s.err) {
		free_tap(s.tap);
		return ERR_PTR(s.err);
	}
	return s.tap;
}

/* A tap whose hits are reported by a kpmu probe; NULL if that is not possible */
static struct kpmu_tap *make_point(u64 config)
{
	struct kpmu_tap like = {
		.attr = { .type = PERF_TYPE_TRACEPOINT, .config = config },
	};
	struct kpmu_tap *tap = kpmu_tap_silent(&like);

	if (IS_ERR(tap))
		return NULL;
	if (kpmu_point_listen(&tap->point, tap->on[0].event, tap)) {
		free_tap(tap);
		return NULL;
	}
	/* As long as the event exists, the kernel's perf handles each hit too */
	perf_event_release_kernel(tap->on[0].event);
	tap->on[0].event = NULL;
	tap->counts = true;
	tap->shared = true;
	list_add(&tap->node, &points);
	return tap;
}

/**
 * kpmu_tap_count() - get a shared tap for a tracepoint's hits without their records
 * @config: id of the tracepoint
 *
 * Context: task, may sleep.
 * Return: as kpmu_tap_share(); a tap with records if a probe cannot be used.
 */
struct kpmu_tap *kpmu_tap_count(u64 config)
{
	struct kpmu_tap *tap;

	mutex_lock(&taps_lock);
	tap = find_shared(&points, PERF_TYPE_TRACEPOINT, config);
	if (tap)
		tap->users++;
	else
		tap = make_point(config);
	mutex_unlock(&taps_lock);
	return tap ?: kpmu_tap_share(PERF_TYPE_TRACEPOINT, config);
}

/**
 * kpmu_tap_heed() - let BPF programs suppress hits of a tap from now on
 * @tap: a tap for a tracepoint
 *
 * Their verdict is only visible to the kernel's perf, so its events replace the probe of
 * a tap without records.
 *
 * Context: task, may sleep.
 * Return: 0; -ENOMEM, or the error of the kernel's perf.
 */
int kpmu_tap_heed(struct kpmu_tap *tap)
{
	struct kpmu_tap *full;
	int err = 0;

	mutex_lock(&taps_lock);
	if (tap->counts && !tap->instead) {
		full = make_on_cpus(&tap->attr, tap);
		if (IS_ERR(full)) {
			err = PTR_ERR(full);
		} else {
			tap->instead = full;
			WRITE_ONCE(tap->point.muted, true);
		}
	}
	mutex_unlock(&taps_lock);
	return err;
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
 * kpmu_tap_put() - drop a reference to a tap
 * @tap: the tap
 *
 * Context: task, may sleep.
 */
void kpmu_tap_put(struct kpmu_tap *tap)
{
	bool last;

	mutex_lock(&taps_lock);
	last = !--tap->users;
	if (last)
		list_del(&tap->node);
	mutex_unlock(&taps_lock);
	if (!last)
		return;
	if (tap->instead)
		kpmu_tap_put(tap->instead);
	free_tap(tap);
}

/**
 * kpmu_tap_is_gated() - are a tap's hits delivered only while they are needed?
 * @tap: the tap
 *
 * Context: any.
 * Return: the value of hw->gated for events that use the tap, see kpmu_hits_want().
 */
bool kpmu_tap_is_gated(const struct kpmu_tap *tap)
{
	return tap->gated;
}

/* See source.h */
void kpmu_hits_want(struct kpmu_hw *hw)
{
	struct kpmu_tap *tap = kpmu_tap_of(hw);

	hw->listens = true;
	if (tap->gated)
		kpmu_gate_want(&tap->on[smp_processor_id()]);
}

/* See source.h */
void kpmu_hits_leave(struct kpmu_hw *hw)
{
	struct kpmu_tap *tap = kpmu_tap_of(hw);

	hw->listens = false;
	if (tap->gated)
		kpmu_gate_leave(&tap->on[smp_processor_id()]);
}

static cpumask_t came;	/* CPUs that have come online, without events of the taps yet */

/*
 * The kernel's perf detaches its events from a CPU that goes offline.  New ones cannot be
 * created in the hotplug callback: that would wait for locks which CPU hotplug holds.
 */
static void follow_cpus(struct work_struct *work)
{
	struct perf_event *old;
	struct kpmu_tap *tap;
	int cpu;

	mutex_lock(&taps_lock);
	for_each_possible_cpu(cpu) {
		if (!cpumask_test_and_clear_cpu(cpu, &came))
			continue;
		list_for_each_entry(tap, &taps, node) {
			old = tap->on[cpu].event;
			WRITE_ONCE(tap->on[cpu].event, NULL);
			if (old)
				perf_event_release_kernel(old);
			listen_on(tap, cpu);
		}
	}
	mutex_unlock(&taps_lock);
}
static DECLARE_WORK(follow, follow_cpus);

/**
 * kpmu_taps_cpu_up() - extend the taps to a CPU that has come online
 * @cpu: the CPU
 *
 * Context: any; the work is deferred.
 */
void kpmu_taps_cpu_up(int cpu)
{
	cpumask_set_cpu(cpu, &came);
	queue_work(KPMU_SYSTEM_WQ, &follow);
}

/**
 * kpmu_taps_exit() - wait for deferred work
 *
 * Context: task, may sleep; no event is left, the hotplug callback is removed.
 */
void kpmu_taps_exit(void)
{
	cancel_work_sync(&follow);
	flush_work(&bury);
}

/**
 * kpmu_taps_idle() - are all shared taps released?
 *
 * Context: task, may sleep.
 * Return: true if they are.
 */
bool kpmu_taps_idle(void)
{
	bool idle;

	mutex_lock(&taps_lock);
	idle = list_empty(&taps) && list_empty(&points);
	mutex_unlock(&taps_lock);
	return idle;
}
