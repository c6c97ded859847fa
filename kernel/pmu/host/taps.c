// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared taps, see tap.c: those on all CPUs, and those whose hits a kpmu probe reports.
 * The latter outlive their last user for a while, and so does the tap of migrations: perf stat
 * counts these, and the events behind it cost more than all others that it opens.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../../compat/compat.h"
#include "../../compat/ksym.h"
#include "../../compat/detach.h"
#include "host.h"
#include "tap.h"

static LIST_HEAD(taps);
static LIST_HEAD(points);
static DEFINE_MUTEX(taps_lock);

/* Number of taps in the list points that have no users, and its limit */
static int nr_unused;
#define MAX_UNUSED	64

static bool sweep_points(void);
static DEFINE_KPMU_DETACH(detach, sweep_points);

static bool sweep_kept(void);
static DEFINE_KPMU_DETACH(detach_kept, sweep_kept);
/* The users of the one tap on all CPUs that stays */
static struct kpmu_use kept_use = { .by = &detach_kept };

static bool is_kept(const struct kpmu_tap *tap)
{
	return tap->shared && !tap->gated && !tap->counts;
}

static int fill_tap(struct kpmu_tap *tap, int cpu)
{
	struct perf_event *e;

	e = perf_event_create_kernel_counter(&tap->attr, cpu, NULL, kpmu_tap_hit, tap);
	if (IS_ERR(e))
		return PTR_ERR(e);
	WRITE_ONCE(tap->on[cpu].event, e);
	if (tap->gated)
		smp_call_function_single(cpu, kpmu_gate_update, &tap->on[cpu], 1);
	return 0;
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
static void fill_taps(struct work_struct *work)
{
	struct fill *f = container_of(work, struct fill, work);
	int cpu, err;

	for_each_online_cpu(cpu) {
		err = fill_tap(f->tap, cpu);
		/* -ENODEV: the CPU has gone offline meanwhile */
		if (err && err != -ENODEV) {
			f->err = err;
			break;
		}
	}
}

/* Migrations are so rare that all their hits cost less than a gate does at each switch */
static bool wants_gate(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE || attr->config != PERF_COUNT_SW_CPU_MIGRATIONS;
}

/* A tap with events on all CPUs; with @as, its hits are reported for that tap */
static struct kpmu_tap *make_on_cpus(const struct perf_event_attr *attr,
				     const struct kpmu_tap *as)
{
	struct fill f = { };

	f.tap = kpmu_tap_new(attr, nr_cpu_ids);
	if (!f.tap)
		return ERR_PTR(-ENOMEM);
	f.tap->as = as;
	f.tap->gated = !as && wants_gate(attr);
	INIT_WORK_ONSTACK(&f.work, fill_taps);
	queue_work(KPMU_UNBOUND_WQ, &f.work);
	flush_work(&f.work);
	destroy_work_on_stack(&f.work);
	if (f.err) {
		kpmu_tap_free(f.tap);
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
	if (!IS_ERR(tap) && is_kept(tap))
		atomic_inc(&kept_use.users);
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

/* A tap whose hits are reported by a kpmu probe; NULL if that is not possible */
static struct kpmu_tap *make_point(u64 config)
{
	struct kpmu_tap like = {
		.attr = { .type = PERF_TYPE_TRACEPOINT, .config = config },
	};
	struct kpmu_tap *tap = kpmu_tap_silent(&like);

	if (IS_ERR(tap))
		return NULL;
	if (kpmu_point_listen(&tap->point, tap->on[0].event, &tap->key, &detach)) {
		kpmu_tap_free(tap);
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
	if (!tap) {
		tap = make_point(config);
	} else if (!tap->users++) {
		nr_unused--;
		kpmu_point_unmute(&tap->point);
	}
	mutex_unlock(&taps_lock);
	return tap ?: kpmu_tap_share(PERF_TYPE_TRACEPOINT, config);
}

/**
 * kpmu_tap_enable_bpf() - let BPF programs suppress hits of a tap from now on
 * @tap: a tap for a tracepoint
 *
 * Their verdict is only visible to the kernel's perf, so its events replace the probe of
 * a tap without records.
 *
 * Context: task, may sleep.
 * Return: 0; -ENOMEM, or the error of the kernel's perf.
 */
int kpmu_tap_enable_bpf(struct kpmu_tap *tap)
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

/* Release a tap without users */
static void free_unused(struct kpmu_tap *tap)
{
	nr_unused--;
	list_del(&tap->node);
	kpmu_tap_free(tap);
}

static bool sweep_points(void)
{
	struct kpmu_tap *tap, *next;
	bool left;

	mutex_lock(&taps_lock);
	list_for_each_entry_safe(tap, next, &points, node)
		if (!tap->users && kpmu_point_expired(&tap->point))
			free_unused(tap);
	left = nr_unused;
	mutex_unlock(&taps_lock);
	return left;
}

/* Release the taps on all CPUs that have no users */
static void free_kept(void)
{
	struct kpmu_tap *tap, *next;

	list_for_each_entry_safe(tap, next, &taps, node) {
		if (tap->users)
			continue;
		list_del(&tap->node);
		kpmu_tap_free(tap);
	}
}

static bool sweep_kept(void)
{
	return kpmu_use_sweep(&kept_use, &taps_lock, free_kept);
}

/*
 * A tap without users.  It is not kept if its tracepoint is in a module, as that could not be
 * unloaded, nor if it is replaced because of BPF.  Return: whether it is kept.
 */
static bool keep_unused(struct kpmu_tap *tap)
{
	lockdep_assert_held(&taps_lock);
	if (is_kept(tap))
		return true;
	if (!tap->counts)
		return false;
	kpmu_point_mute(&tap->point);
	if (tap->instead || tap->point.where.module || nr_unused >= MAX_UNUSED)
		return false;
	nr_unused++;
	return true;
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
	if (is_kept(tap))
		kpmu_use_end(&kept_use);
	last = !--tap->users && !keep_unused(tap);
	if (last)
		list_del(&tap->node);
	mutex_unlock(&taps_lock);
	if (!last)
		return;
	if (tap->instead)
		kpmu_tap_put(tap->instead);
	kpmu_tap_free(tap);
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
			fill_tap(tap, cpu);
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
 * kpmu_taps_exit() - release the taps without users, and wait for deferred work
 *
 * Context: task, may sleep; no event is left, the hotplug callback is removed.
 */
void kpmu_taps_exit(void)
{
	struct kpmu_tap *tap, *next;

	cancel_work_sync(&follow);
	mutex_lock(&taps_lock);
	list_for_each_entry_safe(tap, next, &points, node)
		free_unused(tap);
	free_kept();
	mutex_unlock(&taps_lock);
	/* After this no probe is called any more */
	kpmu_tap_bury();
	kpmu_detach_exit(&detach);
	kpmu_detach_exit(&detach_kept);
}

/**
 * kpmu_taps_idle() - are all shared taps released?
 *
 * Context: task, may sleep.
 * Return: true if they are.
 */
bool kpmu_taps_idle(void)
{
	struct kpmu_tap *tap;
	bool idle;

	mutex_lock(&taps_lock);
	idle = true;
	list_for_each_entry(tap, &taps, node)
		idle &= !tap->users;
	list_for_each_entry(tap, &points, node)
		idle &= !tap->users;
	mutex_unlock(&taps_lock);
	return idle;
}

/**
 * kpmu_taps_show() - print the numbers of probes and taps to the caps file
 * @m: output
 *
 * Context: task, may sleep.
 */
void kpmu_taps_show(struct seq_file *m)
{
	int nr_points = 0, nr_taps = 0, unused = 0;
	struct kpmu_tap *tap;

	mutex_lock(&taps_lock);
	list_for_each_entry(tap, &points, node)
		nr_points++;
	list_for_each_entry(tap, &taps, node) {
		nr_taps++;
		unused += !tap->users;
	}
	seq_printf(m, "%-26s %-8s %d attached, %d of them unused\n", "tracepoint probes",
		   "ok", nr_points, nr_unused);
	seq_printf(m, "%-26s %-8s %d attached, %d of them unused\n", "taps on all CPUs",
		   "ok", nr_taps, unused);
	mutex_unlock(&taps_lock);
}
