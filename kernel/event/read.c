// SPDX-License-Identifier: GPL-2.0-only
/*
 * read(2) on an event.  perf_event_open(2), "Reading results".
 *
 * What belongs together is taken together: as the owner of the context, with
 * one reading of its clock.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../sched/sched.h"
#include "../trace/kpmu_trace.h"
#include "event.h"

/* Words that most reads fit in; larger ones allocate */
#define STACK_WORDS	40

struct reading {
	struct kpmu_event *event;
	u64 *buf;
	size_t words;		/* room in @buf */
};

/**
 * kpmu_read_size() - length of a read's result
 * @e: the event read
 * @nr: events in its group, if its format is for groups
 *
 * Context: any.
 * Return: bytes.
 */
size_t kpmu_read_size(const struct kpmu_event *e, int nr)
{
	int entry = 1, head = 0;

	if (e->read_format & KPMU_FORMAT_TIME_ENABLED)
		head++;
	if (e->read_format & KPMU_FORMAT_TIME_RUNNING)
		head++;
	if (e->read_format & KPMU_FORMAT_ID)
		entry++;
	if (e->read_format & KPMU_FORMAT_LOST)
		entry++;
	if (e->read_format & KPMU_FORMAT_GROUP)
		head++;
	else
		nr = 1;
	return (head + entry * nr) * sizeof(u64);
}

static u64 *put_times(u64 *p, const struct kpmu_event *e, u64 format, u64 now)
{
	const struct kpmu_clock *c = &e->clock;
	u64 passed = now - c->since;

	if (format & KPMU_FORMAT_TIME_ENABLED)
		*p++ = c->enabled + (c->is_enabled ? passed : 0);
	if (format & KPMU_FORMAT_TIME_RUNNING)
		*p++ = c->running + (c->is_running ? passed : 0);
	return p;
}

static u64 *put_id(u64 *p, const struct kpmu_event *e, u64 format)
{
	if (format & KPMU_FORMAT_ID)
		*p++ = e->id;
	if (format & KPMU_FORMAT_LOST)
		*p++ = 0;
	return p;
}

static u64 *put_value(u64 *p, struct kpmu_event *e)
{
	*p++ = e->hw.source->read(&e->hw);
	return p;
}

static u64 *put_group(u64 *p, struct kpmu_event *leader, u64 format, u64 now)
{
	struct kpmu_event *e;

	*p++ = leader->group.nr;
	p = put_times(p, leader, format, now);
	p = put_value(p, leader);
	p = put_id(p, leader, format);
	kpmu_for_each_member(e, leader) {
		p = put_value(p, e);
		p = put_id(p, e, format);
	}
	return p;
}

static void trace_reading(struct kpmu_event *e, u64 now)
{
	u64 times[2];

	if (!trace_kpmu_read_enabled())
		return;
	put_times(times, e, KPMU_FORMAT_TIME_ENABLED | KPMU_FORMAT_TIME_RUNNING,
		  now);
	trace_kpmu_read(e->id, e->hw.source->read(&e->hw), times[0], times[1]);
}

/* Words written, 0 for end of file, -ENOSPC if the group has grown */
static int read_owned(struct kpmu_ctx *ctx, void *data)
{
	struct reading *r = data;
	struct kpmu_event *e = r->event;
	u64 now = kpmu_ctx_now(ctx), *p = r->buf;

	if (e->state == KPMU_ERROR)
		return 0;
	trace_reading(e, now);
	if (kpmu_read_size(e, e->leader->group.nr) > r->words * sizeof(u64))
		return -ENOSPC;
	if (e->read_format & KPMU_FORMAT_GROUP)
		return put_group(p, e->leader, e->read_format, now) - r->buf;
	p = put_value(p, e);
	p = put_times(p, e, e->read_format, now);
	p = put_id(p, e, e->read_format);
	return p - r->buf;
}

/* The common case: the event is on this CPU, where nobody else may touch it */
static bool read_here(struct reading *r, int *words)
{
	struct kpmu_ctx *ctx = r->event->ctx;
	unsigned long flags;
	bool here;

	local_irq_save(flags);
	here = READ_ONCE(ctx->cpu) == smp_processor_id();
	if (here)
		*words = read_owned(ctx, r);
	local_irq_restore(flags);
	return here;
}

static int read_words(struct reading *r)
{
	int words;

	if (!read_here(r, &words))
		words = kpmu_ctx_call(r->event->ctx, read_owned, r);
	return words;
}

/**
 * kpmu_event_read() - read(2)
 * @e: the event
 * @buf: the caller's buffer
 * @len: its length in bytes
 *
 * Context: task, may sleep.
 * Return: bytes written; 0 for a pinned event in error state; -ENOSPC if the
 * result is longer than the buffer; -ENOMEM, -EFAULT.
 */
ssize_t kpmu_event_read(struct kpmu_event *e, char __user *buf, size_t len)
{
	u64 stack[STACK_WORDS];
	struct reading r = { .event = e, .buf = stack, .words = STACK_WORDS };
	size_t size;
	int words;

	rcu_read_lock();	/* a leader may be closed meanwhile */
	size = kpmu_read_size(e, READ_ONCE(READ_ONCE(e->leader)->group.nr));
	rcu_read_unlock();
	if (len < size)
		return -ENOSPC;
	if (size > sizeof(stack)) {
		r.words = size / sizeof(u64);
		r.buf = kmalloc_array(r.words, sizeof(u64), GFP_KERNEL);
		if (!r.buf)
			return -ENOMEM;
	}
	words = read_words(&r);
	size = words * sizeof(u64);
	if (words > 0 && (len < size || copy_to_user(buf, r.buf, size)))
		words = len < size ? -ENOSPC : -EFAULT;
	if (r.buf != stack)
		kfree(r.buf);
	return words < 0 ? words : words * sizeof(u64);
}
