// SPDX-License-Identifier: GPL-2.0-only
/*
 * read(2) on an event with inherit set: the sum over the event and its inherited events,
 * whose tasks may run, fork or exit meanwhile.  The sum contains, exactly once, all that
 * was counted up to some moment during the call.
 *
 * The values of a group are taken together for each task.
 *
 * There are three ways, by the children that exist:
 *
 * - None: all at one moment, as the owner of the root's context, without a further lock.
 * - Few, and none of them runs on another CPU: likewise, with the family's lock held.  No child
 *   can be added or end meanwhile.
 * - Otherwise one task after the other, in a walk (event/walk.c).
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "../compat/compat.h"
#include "../sched/sched.h"
#include "../trace/kpmu_trace.h"
#include "../event/family.h"
#include "../event/look.h"
#include "../event/sampling.h"
#include "../event/values.h"
#include "copy.h"
#include "life.h"

/* Events of a group that are read without allocating memory */
#define FEW	16

/* Events of all children that are read in one section with IRQs off */
#define AT_ONCE	128

/**
 * struct family_read - a read in progress
 * @event: the event to read
 * @leader: its group's leader for FORMAT_GROUP, else the event itself
 * @group: FORMAT_GROUP is set
 * @timed: the times are needed
 * @room: allocated entries of @entry
 * @n: number of events read; after -EAGAIN the number to make room for
 * @gen: the group's generation when the read began
 * @times: sums of the leader's times, in ns
 * @entry: value of each event, with the sum of the counts
 * @few: @entry for small groups
 */
struct family_read {
	struct kpmu_event *event;
	struct kpmu_event *leader;
	bool group;
	bool timed;
	u32 room;
	u32 n;
	u32 gen;
	struct kpmu_times times;
	struct kpmu_reading *entry;
	struct kpmu_reading few[FEW];
};

static __always_inline struct kpmu_times times_now(const struct kpmu_event *e)
{
	return kpmu_times_at(&e->se.clock, kpmu_ctx_now(e->se.ctx));
}

static void add_times(struct family_read *r, const struct kpmu_times *t)
{
	r->times.enabled += t->enabled;
	r->times.running += t->running;
}

static bool has_changed(const struct family_read *r)
{
	return r->group && (kpmu_leader(r->event) != r->leader ||
			    r->leader->se.group.gen != r->gen);
}

static void read_event_owned(struct family_read *r, struct kpmu_event *e)
{
	r->entry[r->n++] = kpmu_value_of(e, r->event->read_format, kpmu_event_count(e));
}

/*
 * Read the root events only.  Return: 1; 0 for end of file; -EAGAIN if there is not enough
 * room, or if @leader no longer leads the group.
 */
static int read_roots_owned(struct family_read *r)
{
	struct kpmu_event *leader = r->leader, *e;

	if (kpmu_is_out(r->event))
		return 0;
	r->gen = leader->se.group.gen;
	r->n = r->group ? leader->se.group.nr : 1;
	if (has_changed(r) || r->n > r->room)
		return -EAGAIN;
	if (r->timed)
		r->times = times_now(leader);
	r->n = 0;
	read_event_owned(r, leader);
	if (r->group)
		kpmu_for_each_member(e, leader)
			read_event_owned(r, e);
	return 1;
}

/* A call less for an event that is on no counter, as those of tasks that do not run */
static __always_inline u64 count_of_child(struct kpmu_event *e)
{
	return kpmu_has_counter(&e->se) && e->se.hw.idx < 0 ?
		       local64_read(&e->se.hw.count) : kpmu_event_count(e);
}

/* Add the values of a child and, for a group, of its members */
static __always_inline int read_child_inline(struct kpmu_event *child, void *data)
{
	struct family_read *r = data;
	struct kpmu_times t;
	struct kpmu_event *e;
	int i = 0;

	if (r->group && (!kpmu_is_leader(&child->se) || child->se.group.nr != r->n ||
			 child->se.group.gen != r->gen))
		return -ECHILD;
	if (r->timed) {
		t = times_now(child);
		add_times(r, &t);
	}
	r->entry[i++].count += count_of_child(child);
	if (r->group)
		kpmu_for_each_member(e, child)
			r->entry[i++].count += count_of_child(e);
	return 0;
}

static int read_child_owned(struct kpmu_event *child, void *data)
{
	return read_child_inline(child, data);
}

/* Add the values of children that have ended */
static void add_folded(struct family_read *r)
{
	const struct kpmu_family *f = r->leader->family;
	struct kpmu_event *e;
	int i = 0;

	add_times(r, &f->folded.times);
	r->entry[i++].count += f->folded.count;
	if (r->group)
		kpmu_for_each_member(e, r->leader)
			r->entry[i++].count += e->family->folded.count;
}

static noinline int read_children_owned(struct family_read *r)
{
	struct kpmu_family *f = r->leader->family;
	int err = -EBUSY;

	raw_spin_lock(&f->top->family_lock);
	if (f->nr <= AT_ONCE / r->n) {
		add_folded(r);
		err = kpmu_family_look(f, read_child_inline, r);
	}
	raw_spin_unlock(&f->top->family_lock);
	return err ?: 1;
}

/*
 * Of the events of a child's group, the leader is the first to be linked and the last to be
 * folded.  So the children of the group are those of its leader.
 *
 * Return: as read_roots_owned(); -EBUSY if a walk is needed; -ECHILD
 */
static int read_family_owned(struct kpmu_ctx *ctx, void *data)
{
	struct family_read *r = data;
	int ret;

	r->leader = r->group ? kpmu_leader(r->event) : r->event;
	ret = read_roots_owned(r);
	if (ret <= 0)
		return ret;
	if (!kpmu_family_is_alone(r->leader->family))
		return read_children_owned(r);
	add_folded(r);
	return 1;
}

/* Add values of children that have ended, those which @get selects */
static void add_ended(struct family_read *r,
		      void (*get)(struct kpmu_event *root, struct kpmu_total *t))
{
	struct kpmu_total t = {};
	struct kpmu_event *e;
	int i = 0;

	get(r->leader, &t);
	add_times(r, &t.times);
	r->entry[i++].count += t.count;
	if (!r->group)
		return;
	kpmu_for_each_member(e, r->leader) {
		t.count = 0;
		get(e, &t);
		r->entry[i++].count += t.count;
	}
}

static int begin_walk_owned(struct kpmu_ctx *ctx, void *data)
{
	int ret = read_roots_owned(data);

	if (ret > 0)
		add_ended(data, kpmu_family_begin);
	return ret;
}

static int end_walk_owned(struct kpmu_ctx *ctx, void *data)
{
	if (has_changed(data))
		return -ECHILD;
	add_ended(data, kpmu_family_end);
	return 0;
}

/* Return: as read_roots_owned(), or -ECHILD */
static int walk_family(struct family_read *r)
{
	struct kpmu_family *top = r->event->family->top;
	struct kpmu_ctx *ctx = r->event->se.ctx;
	int more, err = 0;

	mutex_lock(&top->walk_lock);
	more = kpmu_ctx_visit(ctx, begin_walk_owned, r);
	if (more > 0)
		err = kpmu_family_read(r->leader->family, r->group, read_child_owned, r) ?:
		      kpmu_ctx_visit(ctx, end_walk_owned, r);
	kpmu_family_done(top);
	mutex_unlock(&top->walk_lock);
	return err ?: more;
}

static noinline int walk_members(struct family_read *r)
{
	int ret;

	if (!r->group)
		return walk_family(r);
	r->leader = kpmu_leader_get(r->event);
	ret = walk_family(r);
	kpmu_event_put(r->leader);
	return ret;
}

static u64 *fill_words(const struct family_read *r, u64 *p)
{
	u64 format = r->event->read_format;
	u32 i;

	if (!r->group)
		return kpmu_put_single(p, format, r->entry[0], r->times);
	p = kpmu_put_head(p, format, r->n, r->times);
	for (i = 0; i < r->n; i++)
		p = kpmu_put_value(p, format, r->entry[i]);
	return p;
}

static noinline ssize_t put_large(const struct family_read *r, char __user *buf, size_t size)
{
	u64 *words = kmalloc(size, GFP_KERNEL);

	if (!words)
		return -ENOMEM;
	fill_words(r, words);
	if (copy_to_user(buf, words, size))
		size = -EFAULT;
	kfree(words);
	return size;
}

static ssize_t put_result(const struct family_read *r, char __user *buf, size_t len)
{
	size_t size = kpmu_read_size(r->event, r->n);
	u64 words[3 + 3 * FEW] kpmu_uninitialized;

	if (len < size)
		return -ENOSPC;
	if (r->n > FEW)
		return put_large(r, buf, size);
	return kpmu_read_copy(buf, words, fill_words(r, words) - words);
}

/* Return: as read_roots_owned(), or -ECHILD */
static int try_read(struct family_read *r)
{
	int ret = kpmu_ctx_visit(r->event->se.ctx, read_family_owned, r);

	return ret == -EBUSY ? walk_members(r) : ret;
}

/* Make room for a group of @r->n events.  Return: 0 or -ENOMEM */
static int make_room(struct family_read *r)
{
	if (r->n <= r->room)
		return 0;
	if (r->entry != r->few)
		kfree(r->entry);
	r->room = r->n;
	r->entry = kmalloc_array(r->room, sizeof(*r->entry), GFP_KERNEL);
	return r->entry ? 0 : -ENOMEM;
}

static __always_inline void begin_read(struct family_read *r, struct kpmu_event *e, bool group,
				       bool timed)
{
	r->event = e;
	r->group = group;
	r->timed = timed;
	r->times = (struct kpmu_times){};
	r->entry = r->few;
	r->room = FEW;
}

/* Return: as read_roots_owned(), -ECHILD or -ENOMEM */
static int read_until_done(struct family_read *r)
{
	int ret;

	do {
		ret = try_read(r);
		if (ret == -EAGAIN)
			ret = make_room(r) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * kpmu_family_total() - sum of the count and of the times of a family
 * @e: its root
 * @t: set to the sums, the times in ns
 *
 * Context: task, may sleep.
 * Return: true; false for a pinned event in error state.
 */
bool kpmu_family_total(struct kpmu_event *e, struct kpmu_total *t)
{
	struct family_read r;

	begin_read(&r, e, false, true);
	if (read_until_done(&r) <= 0)
		return false;
	t->count = r.entry[0].count;
	t->times = r.times;
	return true;
}

static noinline ssize_t read_sum(struct kpmu_event *e, char __user *buf, size_t len)
{
	struct family_read r;
	ssize_t ret;

	begin_read(&r, e, e->read_format & KPMU_FORMAT_GROUP,
		   e->read_format & KPMU_FORMAT_TIMES || trace_kpmu_read_enabled());
	ret = read_until_done(&r);
	if (ret > 0) {
		trace_kpmu_read(e->se.id, r.entry[0].count, r.times.enabled,
				r.times.running);
		ret = put_result(&r, buf, len);
	} else if (ret == -ECHILD && len < kpmu_read_size(e, r.n)) {
		ret = -ENOSPC;	/* as upstream, which looks at the length first */
	}
	if (r.entry != r.few)
		kfree(r.entry);
	return ret;
}

/* The common case: one event without children, whose context is active on this CPU */
static bool read_alone(struct kpmu_event *e, struct kpmu_total *t)
{
	struct kpmu_family *f = e->family;
	unsigned long flags;
	bool alone;

	local_irq_save(flags);
	alone = READ_ONCE(e->se.ctx->cpu) == smp_processor_id() &&
		!kpmu_is_out(e) && kpmu_family_is_alone(f);
	if (alone) {
		t->count = kpmu_event_count(e) + f->folded.count;
		if (e->read_format & KPMU_FORMAT_TIMES) {
			t->times = times_now(e);
			t->times.enabled += f->folded.times.enabled;
			t->times.running += f->folded.times.running;
		}
	}
	local_irq_restore(flags);
	return alone;
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
	u64 format = e->read_format, words[KPMU_VALUE_WORDS], *end;
	struct kpmu_total t;

	if (format & KPMU_FORMAT_GROUP || len < e->read_size || trace_kpmu_read_enabled() ||
	    !read_alone(e, &t))
		return read_sum(e, buf, len);
	end = kpmu_put_single(words, format, kpmu_value_of(e, format, t.count), t.times);
	return kpmu_read_copy(buf, words, end - words);
}
