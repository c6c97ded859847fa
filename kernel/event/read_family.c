// SPDX-License-Identifier: GPL-2.0-only
/*
 * read(2) on an event with inherit set: the sum over the event and its inherited events,
 * whose tasks may run, fork or exit meanwhile.  The sum contains, exactly once, all that
 * was counted up to some moment during the call.
 *
 * The values of a group are taken together for each task.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../sched/sched.h"
#include "../trace/kpmu_trace.h"
#include "event.h"
#include "family.h"
#include "sampling.h"

struct entry {
	u64 count;
	u64 id;
	u64 lost;
};

/**
 * struct family_read - a read in progress
 * @event: the event to read
 * @leader: its group's leader for FORMAT_GROUP, else the event itself
 * @group: FORMAT_GROUP is set
 * @room: allocated entries of @entry
 * @n: number of events read
 * @gen: the group's generation when the read began
 * @enabled: sum of the leader's time_enabled, in ns
 * @running: sum of the leader's time_running, in ns
 * @entry: sum of the counts of each event
 */
struct family_read {
	struct kpmu_event *event;
	struct kpmu_event *leader;
	bool group;
	u32 room;
	u32 n;
	u32 gen;
	u64 enabled;
	u64 running;
	struct entry *entry;
};

static struct kpmu_total own(struct kpmu_event *e)
{
	const struct kpmu_clock *c = &e->clock;
	u64 now = kpmu_ctx_now(e->ctx), passed = now - c->since;

	return (struct kpmu_total){
		.count = kpmu_event_count(e),
		.enabled = c->enabled + (c->is_enabled ? passed : 0),
		.running = c->running + (c->is_running ? passed : 0),
	};
}

static struct entry entry_of(const struct kpmu_event *e, u64 count)
{
	return (struct entry){ count, e->id, kpmu_event_lost(e) };
}

static void add_times(struct family_read *r, const struct kpmu_total *t)
{
	r->enabled += t->enabled;
	r->running += t->running;
}

static bool changed(const struct family_read *r)
{
	return r->group && (r->event->leader != r->leader ||
			    r->leader->group.gen != r->gen);
}

static int begin_owned(struct kpmu_ctx *ctx, void *data)
{
	struct family_read *r = data;
	struct kpmu_event *e = r->leader;
	struct kpmu_total t;

	if (r->event->state == KPMU_ERROR)
		return 0;
	r->gen = e->group.gen;
	r->n = r->group ? e->group.nr : 1;
	if (changed(r) || r->n > r->room)
		return -EAGAIN;
	t = own(e);
	kpmu_family_begin(e, &t);
	r->enabled = t.enabled;
	r->running = t.running;
	r->entry[0] = entry_of(e, t.count);
	r->n = 1;
	if (r->group)
		kpmu_for_each_member(e, r->leader) {
			t = own(e);
			kpmu_family_begin(e, &t);
			r->entry[r->n++] = entry_of(e, t.count);
		}
	return 1;
}

static int child_owned(struct kpmu_event *child, void *data)
{
	struct family_read *r = data;
	struct kpmu_total t = own(child);
	struct kpmu_event *e;
	int i = 0;

	if (r->group && (!kpmu_is_leader(child) || child->group.nr != r->n ||
			 child->group.gen != r->gen))
		return -ECHILD;
	add_times(r, &t);
	r->entry[i++].count += t.count;
	if (r->group)
		kpmu_for_each_member(e, child)
			r->entry[i++].count += kpmu_event_count(e);
	return 0;
}

static int end_owned(struct kpmu_ctx *ctx, void *data)
{
	struct family_read *r = data;
	struct kpmu_event *e = r->leader;
	struct kpmu_total t = {};
	int i = 0;

	if (changed(r))
		return -ECHILD;
	kpmu_family_end(e, &t);
	add_times(r, &t);
	r->entry[i++].count += t.count;
	if (!r->group)
		return 0;
	kpmu_for_each_member(e, r->leader) {
		t.count = 0;
		kpmu_family_end(e, &t);
		r->entry[i++].count += t.count;
	}
	return 0;
}

/* Return: 1 if there is a result, 0 for end of file, or an errno */
static int sum_up(struct family_read *r)
{
	struct kpmu_family *top = r->event->family->top;
	struct kpmu_ctx *ctx = r->event->ctx;
	int more, err = 0;

	mutex_lock(&top->walk);
	more = kpmu_ctx_call(ctx, begin_owned, r);
	if (more > 0)
		err = kpmu_family_visit(r->leader->family, child_owned, r) ?:
		      kpmu_ctx_call(ctx, end_owned, r);
	kpmu_family_done(top);
	mutex_unlock(&top->walk);
	return err ?: more;
}

static u64 *put_times(u64 *p, const struct family_read *r, u64 format)
{
	if (format & KPMU_FORMAT_TIME_ENABLED)
		*p++ = r->enabled;
	if (format & KPMU_FORMAT_TIME_RUNNING)
		*p++ = r->running;
	return p;
}

static u64 *put_entry(u64 *p, const struct entry *entry, u64 format)
{
	if (format & KPMU_FORMAT_ID)
		*p++ = entry->id;
	if (format & KPMU_FORMAT_LOST)
		*p++ = entry->lost;
	return p;
}

static ssize_t put_result(const struct family_read *r, char __user *buf,
			  size_t len)
{
	u64 format = r->event->read_format;
	size_t size = kpmu_read_size(r->event, r->n);
	u64 *words, *p;
	u32 i;

	if (len < size)
		return -ENOSPC;
	words = p = kmalloc(size, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	if (r->group) {
		*p++ = r->n;
		p = put_times(p, r, format);
		for (i = 0; i < r->n; i++) {
			*p++ = r->entry[i].count;
			p = put_entry(p, &r->entry[i], format);
		}
	} else {
		*p++ = r->entry[0].count;
		p = put_times(p, r, format);
		p = put_entry(p, &r->entry[0], format);
	}
	if (copy_to_user(buf, words, size))
		size = -EFAULT;
	kfree(words);
	return size;
}

static ssize_t try_read(struct family_read *r, char __user *buf, size_t len)
{
	ssize_t ret;

	r->room = r->group ? READ_ONCE(r->leader->group.nr) : 1;
	r->entry = kmalloc_array(r->room, sizeof(*r->entry), GFP_KERNEL);
	if (!r->entry)
		return -ENOMEM;
	ret = sum_up(r);
	if (ret > 0) {
		trace_kpmu_read(r->event->id, r->entry[0].count, r->enabled,
				r->running);
		ret = put_result(r, buf, len);
	}
	kfree(r->entry);
	return ret;
}

/**
 * kpmu_read_family() - read(2) on the root event of a family
 * @e: the event
 * @buf: the caller's buffer
 * @len: its length in bytes
 *
 * Context: task, may sleep.
 * Return: bytes written; 0 for a pinned event in error state; -ENOSPC if the
 * result is longer than the buffer; -ECHILD if the group is not the same in all
 * tasks, so that a sum would be meaningless; -ENOMEM, -EFAULT.
 */
ssize_t kpmu_read_family(struct kpmu_event *e, char __user *buf, size_t len)
{
	struct family_read r = {
		.event = e,
		.group = e->read_format & KPMU_FORMAT_GROUP,
	};
	ssize_t ret;

	do {
		r.leader = r.group ? kpmu_leader_get(e) : e;
		ret = try_read(&r, buf, len);
		if (r.group)
			kpmu_event_put(r.leader);
	} while (ret == -EAGAIN);
	return ret;
}
