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
#include "../event/family.h"
#include "../event/values.h"
#include "life.h"

/**
 * struct family_read - a read in progress
 * @event: the event to read
 * @leader: its group's leader for FORMAT_GROUP, else the event itself
 * @group: FORMAT_GROUP is set
 * @room: allocated entries of @entry
 * @n: number of events read
 * @gen: the group's generation when the read began
 * @times: sums of the leader's times, in ns
 * @entry: value of each event, with the sum of the counts
 */
struct family_read {
	struct kpmu_event *event;
	struct kpmu_event *leader;
	bool group;
	u32 room;
	u32 n;
	u32 gen;
	struct kpmu_times times;
	struct kpmu_reading *entry;
};

static struct kpmu_total own_total(struct kpmu_event *e)
{
	return (struct kpmu_total){
		.count = kpmu_event_count(e),
		.times = kpmu_times_at(&e->se.clock, kpmu_ctx_now(e->se.ctx)),
	};
}

static void add_times(struct family_read *r, const struct kpmu_total *t)
{
	r->times.enabled += t->times.enabled;
	r->times.running += t->times.running;
}

static bool has_changed(const struct family_read *r)
{
	return r->group && (kpmu_leader(r->event) != r->leader ||
			    r->leader->se.group.gen != r->gen);
}

static int begin_read_owned(struct kpmu_ctx *ctx, void *data)
{
	struct family_read *r = data;
	struct kpmu_event *e = r->leader;
	struct kpmu_total t;

	if (r->event->se.state == KPMU_ERROR)
		return 0;
	r->gen = e->se.group.gen;
	r->n = r->group ? e->se.group.nr : 1;
	if (has_changed(r) || r->n > r->room)
		return -EAGAIN;
	t = own_total(e);
	kpmu_family_begin(e, &t);
	r->times = t.times;
	r->entry[0] = kpmu_value_of(e, r->event->read_format, t.count);
	r->n = 1;
	if (r->group)
		kpmu_for_each_member(e, r->leader) {
			t = own_total(e);
			kpmu_family_begin(e, &t);
			r->entry[r->n++] = kpmu_value_of(e, r->event->read_format, t.count);
		}
	return 1;
}

static int read_child_owned(struct kpmu_event *child, void *data)
{
	struct family_read *r = data;
	struct kpmu_total t = own_total(child);
	struct kpmu_event *e;
	int i = 0;

	if (r->group && (!kpmu_is_leader(&child->se) || child->se.group.nr != r->n ||
			 child->se.group.gen != r->gen))
		return -ECHILD;
	add_times(r, &t);
	r->entry[i++].count += t.count;
	if (r->group)
		kpmu_for_each_member(e, child)
			r->entry[i++].count += kpmu_event_count(e);
	return 0;
}

static int end_read_owned(struct kpmu_ctx *ctx, void *data)
{
	struct family_read *r = data;
	struct kpmu_event *e = r->leader;
	struct kpmu_total t = {};
	int i = 0;

	if (has_changed(r))
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
	struct kpmu_ctx *ctx = r->event->se.ctx;
	int more, err = 0;

	mutex_lock(&top->walk_lock);
	more = kpmu_ctx_call(ctx, begin_read_owned, r);
	if (more > 0)
		err = kpmu_family_visit(r->leader->family, read_child_owned, r) ?:
		      kpmu_ctx_call(ctx, end_read_owned, r);
	kpmu_family_done(top);
	mutex_unlock(&top->walk_lock);
	return err ?: more;
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
		p = kpmu_put_head(p, format, r->n, r->times);
		for (i = 0; i < r->n; i++)
			p = kpmu_put_value(p, format, r->entry[i]);
	} else {
		kpmu_put_single(p, format, r->entry[0], r->times);
	}
	if (copy_to_user(buf, words, size))
		size = -EFAULT;
	kfree(words);
	return size;
}

static ssize_t try_read(struct family_read *r, char __user *buf, size_t len)
{
	ssize_t ret;

	r->room = r->group ? READ_ONCE(r->leader->se.group.nr) : 1;
	r->entry = kmalloc_array(r->room, sizeof(*r->entry), GFP_KERNEL);
	if (!r->entry)
		return -ENOMEM;
	ret = sum_up(r);
	if (ret > 0) {
		trace_kpmu_read(r->event->se.id, r->entry[0].count,
				r->times.enabled, r->times.running);
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
