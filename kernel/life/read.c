// SPDX-License-Identifier: GPL-2.0-only
/*
 * read(2) on an event.  perf_event_open(2), "Reading results".
 *
 * The values of one read are consistent: they are taken as the context's owner, with a
 * single reading of its clock.
 */
#include <linux/errno.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../sched/sched.h"
#include "../trace/kpmu_trace.h"
#include "../event/values.h"
#include "copy.h"
#include "life.h"

/* Longest result of a group read that is kept on the stack, in u64 words */
#define STACK_WORDS	40

struct reading {
	struct kpmu_event *event;
	u64 *buf;
	size_t room;		/* size of @buf in bytes */
	size_t need;		/* size of the result in bytes */
};

static u64 *read_group_values(u64 *p, struct kpmu_event *leader, u64 format, u64 now)
{
	struct kpmu_event *e;

	p = kpmu_put_head(p, format, leader->se.group.nr,
			  kpmu_times_at(&leader->se.clock, now));
	p = kpmu_put_value(p, format, kpmu_value_of(leader, format, kpmu_event_count(leader)));
	kpmu_for_each_member(e, leader)
		p = kpmu_put_value(p, format, kpmu_value_of(e, format, kpmu_event_count(e)));
	return p;
}

static void trace_reading(struct kpmu_event *e, u64 now)
{
	struct kpmu_times t;

	if (!trace_kpmu_read_enabled())
		return;
	t = kpmu_times_at(&e->se.clock, now);
	trace_kpmu_read(e->se.id, kpmu_event_count(e), t.enabled, t.running);
}

/* Return: number of words written, 0 for end of file, -EAGAIN if the buffer is too small */
static int read_owned(struct kpmu_ctx *ctx, void *data)
{
	struct reading *r = data;
	struct kpmu_event *e = r->event;
	u64 now = 0, *p = r->buf;

	if (e->read_format & KPMU_FORMAT_TIMES || trace_kpmu_read_enabled())
		now = kpmu_ctx_now(ctx);
	if (e->se.state == KPMU_ERROR)
		return 0;
	trace_reading(e, now);
	if (e->read_format & KPMU_FORMAT_GROUP) {
		r->need = kpmu_read_size(e, e->se.leader->group.nr);
		if (r->need > r->room)
			return -EAGAIN;
		return read_group_values(p, kpmu_leader(e), e->read_format, now) - r->buf;
	}
	p = kpmu_put_single(p, e->read_format,
			    kpmu_value_of(e, e->read_format, kpmu_event_count(e)),
			    kpmu_times_at(&e->se.clock, now));
	return p - r->buf;
}

/* The common case: the context is active on this CPU, which owns it with IRQs off */
static bool read_here(struct reading *r, int *words)
{
	struct kpmu_ctx *ctx = r->event->se.ctx;
	bool here;

	local_irq_disable();
	here = READ_ONCE(ctx->cpu) == smp_processor_id();
	if (here)
		*words = read_owned(ctx, r);
	local_irq_enable();
	return here;
}

static int read_words(struct reading *r)
{
	int words;

	if (!read_here(r, &words))
		words = kpmu_ctx_visit(r->event->se.ctx, read_owned, r);
	return words;
}

/* Longest result of one event in words: count, two times, id, lost */
#define ONE_WORDS	5

/* Not inline: its buffer would cost the most common read a stack protector */
static noinline ssize_t read_one(struct kpmu_event *e, char __user *buf, size_t len)
{
	u64 words[ONE_WORDS];
	struct reading r = { .event = e, .buf = words };
	int n;

	if (len < e->read_size)
		return READ_ONCE(e->se.state) == KPMU_ERROR ? 0 : -ENOSPC;
	n = read_words(&r);
	return n ? kpmu_read_copy(buf, words, n) : 0;
}

/* Read a large group; it may grow while memory is allocated, so retry */
static noinline ssize_t read_large(struct reading *r, char __user *buf,
				   size_t len)
{
	ssize_t n;

	do {
		if (len < r->need)
			return -ENOSPC;
		r->room = r->need;
		r->buf = kmalloc(r->room, GFP_KERNEL);
		if (!r->buf)
			return -ENOMEM;
		n = read_words(r);
		if (n > 0)
			n = kpmu_read_copy(buf, r->buf, n);
		kfree(r->buf);
	} while (n == -EAGAIN);
	return n;
}

static ssize_t read_group(struct kpmu_event *e, char __user *buf, size_t len)
{
	u64 few[STACK_WORDS] kpmu_uninitialized;
	struct reading r = { .event = e, .buf = few, .room = sizeof(few) };
	ssize_t n = read_words(&r);

	if (n == -EAGAIN)
		return read_large(&r, buf, len);
	if (n <= 0)
		return n;
	return len < r.need ? -ENOSPC : kpmu_read_copy(buf, few, n);
}

/* The most common read: only the count, of an event whose context is active on this CPU */
static bool read_count(struct kpmu_event *e, u64 *count)
{
	bool here;

	local_irq_disable();
	here = READ_ONCE(e->se.ctx->cpu) == smp_processor_id() &&
	       e->se.state != KPMU_ERROR;
	if (here)
		*count = kpmu_event_count(e);
	local_irq_enable();
	return here;
}

/**
 * kpmu_event_read() - read(2)
 * @e: the event
 * @buf: the caller's buffer
 * @len: its length in bytes
 *
 * Context: task, IRQs on, may sleep.
 * Return: bytes written; 0 for a pinned event in error state; -ENOSPC if the
 * result is longer than the buffer; -ENOMEM, -EFAULT; as kpmu_read_family() with inherit.
 */
ssize_t kpmu_event_read(struct kpmu_event *e, char __user *buf, size_t len)
{
	u64 count;

	if (e->family)
		return kpmu_read_family(e, buf, len);
	if (!e->read_format && len >= sizeof(count) &&
	    !trace_kpmu_read_enabled() && read_count(e, &count))
		return put_user(count, (u64 __user *)buf) ?: sizeof(count);
	if (e->read_format & KPMU_FORMAT_GROUP)
		return read_group(e, buf, len);
	return read_one(e, buf, len);
}
