// SPDX-License-Identifier: GPL-2.0-only
/*
 * The out-of-line part of the writer.  See write.h; also built in user space.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#endif

#include "write.h"

/**
 * kpmu_core_init() - make an empty ring
 * @c: the ring
 * @data: memory for the records
 * @size: bytes of @data, a power of two or 0
 * @head: where to publish the head
 * @tail: where to read the tail
 *
 * The caller sets .overwrite, .backward, and .watermark if it is not half of the ring.
 *
 * Context: any, before the ring is in use.
 */
void kpmu_core_init(struct kpmu_ring_core *c, void *data, u64 size,
		    u64 *head, u64 *tail)
{
	memset(c, 0, sizeof(*c));
	c->data = data;
	c->size = size;
	c->head = head;
	c->tail = tail;
	c->watermark = size / 2;
}

/* Room for records, in bytes, see kpmu_core_has_room() */
static u64 room_in(const struct kpmu_ring_core *c, u64 written)
{
	u64 used = written - READ_ONCE(*c->tail);

	return c->overwrite ? c->size : c->size - 1 - (used & (c->size - 1));
}

/* Number of records up to the first one that passes the mark, see kpmu_core_watch() */
static u64 records_to_mark(const struct kpmu_ring_core *c, u64 written, u64 size)
{
	s64 left = c->watermark - (written - local64_read(&c->marked));

	return left < 0 ? 1 : (u64)left / size + 1;
}

static u64 records_fit(const struct kpmu_ring_core *c, u64 written, u64 size, u64 nr)
{
	u64 room = room_in(c, written) / size, mark = records_to_mark(c, written, size);

	if (room < nr)
		nr = room;
	return mark < nr ? mark : nr;
}

/**
 * kpmu_core_begin_many() - reserve room for several records of the same size
 * @c: the ring
 * @h: filled in
 * @size: bytes of each record, a multiple of 8
 * @nr: number of records, at least 1
 *
 * The ring has the same contents and wakes its readers after the same record as if each record
 * had been reserved by kpmu_core_begin() and committed before the next one.  Where that is not
 * possible, this reserves nothing: lost records are to be reported first, there is no room, the
 * ring is paused or filled backward.
 *
 * Context: as kpmu_ring_begin().
 * Return: the number of records that there is room for; 0 if they are to be reserved one by one.
 * h->wake is then set as by kpmu_core_begin(), and kpmu_core_commit() must not be called.
 */
u32 kpmu_core_begin_many(struct kpmu_ring_core *c, struct kpmu_ring_handle *h, u64 size, u32 nr)
{
	u64 written, n;

	h->wake = false;
	if (READ_ONCE(c->paused) || !c->size || c->backward)
		return 0;
	WRITE_ONCE(c->nest, c->nest + 1);
	RING_POINT();
	h->core = c;
	do {
		written = local64_read(&c->written);
		RING_POINT();
		n = records_fit(c, written, size, nr);
		if (!n || local64_read(&c->lost)) {
			h->wake = kpmu_core_commit(h);
			return 0;
		}
		RING_POINT();
	} while (local64_cmpxchg(&c->written, written, written + n * size) != written);
	RING_POINT();
	kpmu_core_watch(c, written + n * size);
	h->pos = written;
	h->left = n * size;
	h->lost = 0;
	return n;
}

/* See core.h */
void kpmu_ring_put(struct kpmu_ring_handle *h, const void *from, u64 len)
{
	while (len) {
		u64 n;
		void *to = kpmu_ring_span(h, &n);

		if (n > len)
			n = len;
		if (!n)
			return;		/* more than was reserved */
		memcpy(to, from, n);
		RING_POINT();
		kpmu_ring_skip(h, n);
		from = (const u8 *)from + n;
		len -= n;
	}
}

/* See core.h */
void kpmu_ring_sample(struct kpmu_ring_handle *h, u32 wakeup_events)
{
	struct kpmu_ring_core *c = h->core;
	u64 samples, next;

	if (!wakeup_events)
		return;
	do {
		samples = local64_read(&c->samples);
		RING_POINT();
		next = samples + 1 < wakeup_events ? samples + 1 : 0;
	} while (local64_cmpxchg(&c->samples, samples, next) != samples);
	if (!next)
		WRITE_ONCE(c->wake_due, true);
}
