// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taps: events of the kernel's own perf that tell us when something happens.
 *
 * What happens in the kernel where nobody but its perf is told (faults, probes,
 * tracepoints with their records) we learn from an event of that perf, always on,
 * that samples each occurrence into a function of ours.  It is never one for
 * hardware counters.
 *
 * Where tasks share what is told, there is one such event on each CPU for all of
 * our events, behind a gate: it is told of hits only while an event of ours runs
 * there that counts them.  Probes and breakpoints are an event's own, and follow its task.
 *
 * To count the hits of a tracepoint takes no record of them, which is most of what the
 * kernel's perf does there: a probe of our own tells of those.
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
 * struct kpmu_tap - a source of hits
 * @node: in the list of those on all CPUs
 * @users: events
 * @shared: for every event of its type and config
 * @attr: of the kernel's events
 * @counts: a probe of ours tells of the hits, by @point
 * @point: which
 * @instead: then, once BPF programs have a say in what counts: who tells
 * @as: the other way round, the tap whose hits it tells
 * @nr: places in @on
 * @gated: its gates shut while nothing wants its hits
 * @dead: it goes when its last hits are over
 * @on: the kernel's events: one for each CPU, or just one
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
	/* So that a hit says how many it is */
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

	/* Hits of the kernel's events are told under RCU, like those of probes */
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
 * As the kernel, not as the user: he was asked for his permission, by rules that are
 * ours, for what he will see of this.
 */
static void fill_all(struct work_struct *work)
{
	struct fill *f = container_of(work, struct fill, work);
	int cpu, err;

	for_each_online_cpu(cpu) {
		err = listen_on(f->tap, cpu);
		/* One that goes offline meanwhile is not missed */
		if (err && err != -ENODEV) {
			f->err = err;
			break;
		}
	}
}

/* With @as: a tap that tells the hits of that one */
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
 * kpmu_tap_share() - be told of something on all CPUs
 * @type: type of event for the kernel's perf
 * @config: its config
 *
 * Context: task, may sleep.
 * Return: the tap, to be given back by kpmu_tap_put(); or what the kernel's perf
 * says when asked for such an event.
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
 * kpmu_tap_full() - be told of a tracepoint's hits with their records
 * @like: a tap of the same tracepoint, which may only count
 *
 * Context: task, may sleep.
 * Return: as for kpmu_tap_share(); it may be @like itself, once more.
 */
struct kpmu_tap *kpmu_tap_full(const struct kpmu_tap *like)
{
	return kpmu_tap_share(like->attr.type, like->attr.config);
}

/**
 * kpmu_tap_filter() - a filter for the records of a tap
 * @tap: of a tracepoint
 * @filter: in ftrace's grammar
 *
 * Context: task, may sleep.
 * Return: see kpmu_native_filter_new(); -ENODEV if the tap has no event left.
 */
struct event_filter *kpmu_tap_filter(struct kpmu_tap *tap, char *filter)
{
	struct event_filter *made = ERR_PTR(-ENODEV);
	struct perf_event *event;

	/* The events of a tap may change while CPUs come and go */
	mutex_lock(&taps_lock);
	event = kpmu_tap_event(tap);
	if (event)
		made = kpmu_native_filter_new(event, filter);
	mutex_unlock(&taps_lock);
	return made;
}

/**
 * kpmu_tap_own() - be told of something for one event only
 * @attr: what, for the kernel's perf
 * @task: of what this task does, NULL for all of a CPU
 * @cpu: where, -1 for any CPU
 *
 * The kernel's perf checks the permission of the caller, and what the attr says.
 *
 * Context: task, may sleep.
 * Return: as for kpmu_tap_share().
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
 * kpmu_tap_silent() - an event of the kernel's for the same, which never tells
 * @like: another tap
 *
 * It is for what can be attached to an event whatever it counts.
 *
 * Context: task, may sleep.
 * Return: as for kpmu_tap_own().
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

/* A tap whose hits a probe of ours tells; NULL if they cannot be had so */
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
	/* While it exists each hit is told to the kernel's perf, too */
	perf_event_release_kernel(tap->on[0].event);
	tap->on[0].event = NULL;
	tap->counts = true;
	tap->shared = true;
	list_add(&tap->node, &points);
	return tap;
}

/**
 * kpmu_tap_count() - be told how often a tracepoint is hit, and nothing else
 * @config: its id
 *
 * Context: task, may sleep.
 * Return: as for kpmu_tap_share().
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
 * kpmu_tap_heed() - from now on, BPF programs may keep hits back
 * @tap: a tap of a tracepoint
 *
 * Only the kernel's perf knows what they say.
 *
 * Context: task, may sleep.
 * Return: 0, or what the kernel's perf says.
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
 * kpmu_tap_event() - one of the kernel's events
 * @tap: the tap; from kpmu_tap_own() or kpmu_tap_silent(): those of others may be replaced
 *	when a CPU comes
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
 * kpmu_tap_put() - one event needs a tap no more
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
 * kpmu_tap_is_gated() - are hits told only to events that asked for them?
 * @tap: the tap
 *
 * Return: what hw->gated is to be for events of this tap, see kpmu_hits_want().
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

static cpumask_t came;	/* CPUs that the taps do not know of yet */

/*
 * The kernel drops its events of a CPU that goes.  It cannot be asked for new ones
 * where a CPU comes, for it waits there for locks that the coming holds.
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
 * kpmu_taps_cpu_up() - a CPU has come
 * @cpu: the CPU
 *
 * Context: any.
 */
void kpmu_taps_cpu_up(int cpu)
{
	cpumask_set_cpu(cpu, &came);
	queue_work(KPMU_SYSTEM_WQ, &follow);
}

/* No event is left, no CPU comes any more */
void kpmu_taps_exit(void)
{
	cancel_work_sync(&follow);
	flush_work(&bury);
}

/* See source.h */
bool kpmu_taps_idle(void)
{
	bool idle;

	mutex_lock(&taps_lock);
	idle = list_empty(&taps) && list_empty(&points);
	mutex_unlock(&taps_lock);
	return idle;
}
