// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets: many events, one fd.  What a read or an operation costs beside the work on the events
 * themselves is one IPI for each other CPU on which events of the set count now.
 *
 * The values of one target are taken at one moment, those of different targets at almost the same:
 * the CPUs work at the same time.  Inherited events are summed up one after the other.
 */
#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include <uapi/linux/kpmu.h>

#include "../compat/ksym.h"
#include "../event/family.h"
#include "../event/values.h"
#include "../source/counters.h"
#include "../sched/bucket.h"
#include "../sched/timeline.h"
#include "copy.h"
#include "set.h"

static_assert(KPMU_SET_HEAD * sizeof(u64) == sizeof(struct kpmu_set_head));

static u64 *word_of(const struct kpmu_set *s, u32 i)
{
	return s->words + KPMU_SET_HEAD + (size_t)i * s->each;
}

static __always_inline u64 *put_member(const struct kpmu_set *s, u64 *p, u64 count,
				       struct kpmu_times t)
{
	*p++ = count;
	if (s->each > 1) {
		*p++ = t.enabled;
		*p++ = t.running;
	}
	return p;
}

static u64 *put_none(const struct kpmu_set *s, u64 *p)
{
	return put_member(s, p, KPMU_SET_NONE, (struct kpmu_times){ });
}

static void read_member(const struct kpmu_set *s, u32 i)
{
	struct kpmu_event *e = s->events[i];

	if (likely(e && e->se.state != KPMU_ERROR))
		*word_of(s, i) = kpmu_event_count(e);
	else
		put_none(s, word_of(s, i));
}

static __always_inline void read_counts(const struct kpmu_set *s, u32 at, u32 n)
{
	u32 end = at + n;

	do {
		at += kpmu_counters_peek(s->hw + at, end - at, word_of(s, at));
		if (at == end)
			return;
		read_member(s, at++);
	} while (at < end);
}

static int read_times(struct kpmu_ctx *ctx, const struct kpmu_set_unit *u)
{
	const struct kpmu_set *s = u->set;
	u64 *p = word_of(s, u->first), now = kpmu_ctx_now(ctx);
	struct kpmu_event *const *at, *e;

	for (at = s->events + u->first; at < s->events + u->first + u->n; at++) {
		e = *at;
		if (unlikely(!e || e->se.state == KPMU_ERROR)) {
			p = put_none(s, p);
			continue;
		}
		p = put_member(s, p, kpmu_event_count(e), kpmu_times_at(&e->se.clock, now));
	}
	return 0;
}

static __always_inline int read_unit(struct kpmu_ctx *ctx, void *data)
{
	const struct kpmu_set_unit *u = data;

	if (u->set->each > 1)
		return read_times(ctx, u);
	read_counts(u->set, u->first, u->n);
	return 0;
}

/* The common case: all events have one context, which is active on this CPU */
static __always_inline bool read_local(struct kpmu_set *s)
{
	struct kpmu_ctx *ctx;
	bool here;

	if (s->nr_units != 1)
		return false;
	ctx = s->calls->ctx;
	local_irq_disable();
	here = READ_ONCE(ctx->cpu) == smp_processor_id();
	if (here)
		read_unit(ctx, s->units);
	local_irq_enable();
	return here;
}

static void read_families(struct kpmu_set *s)
{
	struct kpmu_total t;
	u32 i;

	for (i = 0; i < kpmu_set_size(s); i++) {
		struct kpmu_event *e = s->events[i];

		if (!e || !e->family)
			continue;
		if (kpmu_family_total(e, &t))
			put_member(s, word_of(s, i), t.count, t.times);
		else
			put_none(s, word_of(s, i));
		cond_resched();
	}
}

/* Ask security modules, by kpmu_lsm_read() or kpmu_lsm_write() */
static int check_labels(const struct kpmu_set *s, int (*ask)(struct perf_event *label))
{
	int err = 0;
	u32 i;

	for (i = 0; i < kpmu_set_size(s) && !err; i++)
		if (s->events[i] && s->events[i]->label)
			err = ask(s->events[i]->label);
	return err;
}

/**
 * kpmu_set_fill() - read the values into @s->words, all but the number of the read
 * @s: the set; the values of events that do not exist do not change
 *
 * Context: task, may sleep; set_lock held.
 */
void kpmu_set_fill(struct kpmu_set *s)
{
	struct kpmu_set_head *head = (struct kpmu_set_head *)s->words;

	head->time = ktime_get_ns();
	if (!read_local(s))
		kpmu_set_call(s, read_unit, false);
	if (s->families)
		read_families(s);
}

#define FEW_WORDS	64

static ssize_t copy_words(const struct kpmu_set *s, char __user *buf)
{
	size_t n = s->nr_words, size = n * sizeof(u64);

	if (n <= FEW_WORDS)
		return kpmu_read_copy(buf, s->words, n);
	return copy_to_user(buf, s->words, size) ? -EFAULT : size;
}

static ssize_t read_values(struct kpmu_set *s, char __user *buf)
{
	kpmu_set_fill(s);
	s->words[0] = ++s->seq;
	return copy_words(s, buf);
}

/**
 * kpmu_set_read() - read(2) of a set
 * @s: the set
 * @buf: the caller's buffer
 * @len: its length in bytes
 *
 * Context: task, may sleep.
 * Return: bytes written; -ENOSPC if the result is longer than the buffer; -EFAULT; -EINTR if a
 * fatal signal is pending; the error of a security module.
 */
ssize_t kpmu_set_read(struct kpmu_set *s, char __user *buf, size_t len)
{
	ssize_t ret;

	if (!s->collect && len < s->nr_words * sizeof(u64))
		return -ENOSPC;
	if (s->labelled) {
		ret = check_labels(s, kpmu_lsm_read);
		if (ret)
			return ret;
	}
	/* Reads seldom meet: trying first saves instructions */
	if (!mutex_trylock(&s->set_lock) && mutex_lock_killable(&s->set_lock))
		return -EINTR;
	ret = s->collect ? kpmu_collect_read(s, buf, len) : read_values(s, buf);
	mutex_unlock(&s->set_lock);
	return ret;
}

static int control_unit(struct kpmu_ctx *ctx, void *data)
{
	const struct kpmu_set_unit *u = data;
	const struct kpmu_set *s = u->set;
	struct kpmu_event *const *at;

	for (at = s->events + u->first; at < s->events + u->first + u->n; at++)
		if (*at && !(*at)->family)
			kpmu_event_control_owned(ctx, *at, s->op);
	if (u->buckets && s->op == KPMU_OP_RESET)
		kpmu_buckets_restart(ctx, u->buckets);
	if (u->timeline)
		kpmu_timeline_note(ctx, u->timeline, KPMU_TIMELINE_CONTROL);
	return 0;
}

static void control_families(struct kpmu_set *s)
{
	u32 i;

	for (i = 0; i < kpmu_set_size(s); i++)
		if (s->events[i] && s->events[i]->family)
			kpmu_event_control(s->events[i], s->op, false);
}

/**
 * kpmu_set_control() - enable, disable or reset all events of a set
 * @s: the set
 * @op: the operation
 *
 * Takes effect on all events of a target at once.
 *
 * Context: task, may sleep.
 * Return: 0; -EINTR if a fatal signal is pending; the error of a security module.
 */
int kpmu_set_control(struct kpmu_set *s, enum kpmu_op op)
{
	int err = s->labelled ? check_labels(s, kpmu_lsm_write) : 0;

	if (err)
		return err;
	if (mutex_lock_killable(&s->set_lock))
		return -EINTR;
	s->op = op;
	kpmu_set_call(s, control_unit, true);
	if (s->families)
		control_families(s);
	if (s->collect && op == KPMU_OP_RESET)
		kpmu_collect_forget(s);
	mutex_unlock(&s->set_lock);
	return 0;
}

/* Add an event to the last unit, if it has the same context, or to a new one */
static void add_to_unit(struct kpmu_set *s, u32 i, struct kpmu_ctx *ctx)
{
	u32 last = s->nr_units - 1;

	if (!s->nr_units || s->calls[last].ctx != ctx) {
		last = s->nr_units++;
		s->units[last] = (struct kpmu_set_unit){ .set = s, .first = i };
		s->calls[last] = (struct kpmu_call){ .ctx = ctx, .data = &s->units[last] };
	}
	s->units[last].n = i + 1 - s->units[last].first;
}

static struct kpmu_hw never = { .idx = -1 };

static struct kpmu_hw *counted(struct kpmu_event *e)
{
	struct kpmu_hw *hw = &e->se.hw;

	return hw->allowed && !hw->source->start ? hw : &never;
}

/**
 * kpmu_set_ready() - prepare a set whose events exist for reads and operations
 * @s: the set
 *
 * Context: task.
 */
void kpmu_set_ready(struct kpmu_set *s)
{
	struct kpmu_set_head *head = (struct kpmu_set_head *)s->words;
	struct kpmu_event *e;
	u32 i;

	head->nr_targets = s->nr_targets;
	head->nr_events = s->nr_events;
	for (i = 0; i < kpmu_set_size(s); i++) {
		e = s->events[i];
		put_none(s, word_of(s, i));
		s->hw[i] = e ? counted(e) : &never;
		if (!e)
			continue;
		s->families |= !!e->family;
		s->labelled |= !!e->label;
		add_to_unit(s, i, e->se.ctx);
	}
}

static bool alloc_arrays(struct kpmu_set *s)
{
	u32 n = kpmu_set_size(s);

	s->events = kvcalloc(n, sizeof(*s->events), GFP_KERNEL_ACCOUNT);
	s->hw = kvcalloc(n, sizeof(*s->hw), GFP_KERNEL_ACCOUNT);
	s->units = kvcalloc(n, sizeof(*s->units), GFP_KERNEL_ACCOUNT);
	s->calls = kvcalloc(n, sizeof(*s->calls), GFP_KERNEL_ACCOUNT);
	s->words = kvcalloc(s->nr_words, sizeof(u64), GFP_KERNEL_ACCOUNT);
	return s->events && s->hw && s->units && s->calls && s->words &&
	       zalloc_cpumask_var(&s->cpus, GFP_KERNEL_ACCOUNT);
}

/* What an event of a set takes, beside the fd that it does not have */
#define EVENT_BYTES	(sizeof(struct kpmu_event) + sizeof(struct kpmu_set_unit) + \
			 sizeof(struct kpmu_call) + 5 * sizeof(u64))

/**
 * kpmu_set_new() - create a set without events
 * @nr_targets: number of targets, not 0
 * @nr_events: number of events on each, not 0; both are small enough that their product is
 * @times: reads return the times of each event
 * @more: memory that snapshots or buckets take, in bytes
 *
 * As the number of fds does not limit that of events here, their memory counts as locked memory.
 *
 * Context: task, may sleep.
 * Return: the set; -ENOMEM; -EPERM if that limit is exceeded.
 */
struct kpmu_set *kpmu_set_new(u32 nr_targets, u32 nr_events, bool times, size_t more)
{
	unsigned long bytes = (unsigned long)nr_targets * nr_events * EVENT_BYTES;
	struct kpmu_set *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	int err;

	if (!s)
		return ERR_PTR(-ENOMEM);
	mutex_init(&s->set_lock);
	s->nr_targets = nr_targets;
	s->nr_events = nr_events;
	s->each = times ? 3 : 1;
	s->nr_words = KPMU_SET_HEAD + (size_t)kpmu_set_size(s) * s->each;
	err = kpmu_ring_charge(&s->charged, current->mm, DIV_ROUND_UP(bytes + more, PAGE_SIZE),
			       kpmu_paranoid() > -1);
	if (!err && alloc_arrays(s))
		return s;
	kpmu_set_free(s);
	return ERR_PTR(err ?: -ENOMEM);
}

/**
 * kpmu_set_free() - free a set
 * @s: the set; its events are closed
 *
 * Context: task.
 */
void kpmu_set_free(struct kpmu_set *s)
{
	if (s->charged.user)
		kpmu_ring_uncharge(&s->charged);
	free_cpumask_var(s->cpus);
	kvfree(s->words);
	kvfree(s->calls);
	kvfree(s->units);
	kvfree(s->hw);
	kvfree(s->events);
	mutex_destroy(&s->set_lock);
	kfree(s);
}
