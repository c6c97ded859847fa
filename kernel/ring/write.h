/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inlined fast path of the writer.  Also built in user space, where RING_POINT() lets
 * tests interrupt it at every place that matters.
 */
#ifndef KPMU_RING_WRITE_H
#define KPMU_RING_WRITE_H

#include "core.h"

#ifndef RING_POINT
#define RING_POINT()	barrier()
#endif

/**
 * kpmu_core_has_room() - is there room for a record?
 * @c: the ring, with data
 * @written: bytes written before the record, see struct kpmu_ring_core
 * @size: bytes of the record
 *
 * At least one byte stays free, as upstream, unless old records are overwritten.  User
 * space may store any tail: it can only make the ring look full or empty.  A control
 * dependency orders the data after the load of the tail.
 *
 * Context: as kpmu_ring_begin().
 * Return: true if there is.
 */
static __always_inline bool
kpmu_core_has_room(const struct kpmu_ring_core *c, u64 written, u64 size)
{
	u64 tail, used;

	if (c->overwrite)
		return size <= c->size;
	tail = READ_ONCE(*c->tail);
	used = c->backward ? tail + written : written - tail;
	return (used & (c->size - 1)) + size < c->size;
}

/**
 * kpmu_core_head_of() - the head that corresponds to a number of bytes written
 * @c: the ring
 * @written: the number, see struct kpmu_ring_core
 *
 * Context: any.
 * Return: the head: its negative if the ring is filled backward.
 */
static __always_inline u64
kpmu_core_head_of(const struct kpmu_ring_core *c, u64 written)
{
	return c->backward ? -written : written;
}

/**
 * kpmu_core_watch() - request a wakeup if a record has passed the mark
 * @c: the ring
 * @written: bytes written including the record, see struct kpmu_ring_core
 *
 * The mark advances by the watermark, once for all writers that find it passed.
 *
 * Context: as kpmu_ring_begin().
 */
static __always_inline void kpmu_core_watch(struct kpmu_ring_core *c, u64 written)
{
	u64 marked = local64_read(&c->marked);

	RING_POINT();
	if (written - marked <= c->watermark || (s64)(written - marked) < 0)
		return;
	if (local64_cmpxchg(&c->marked, marked, marked + c->watermark) == marked)
		WRITE_ONCE(c->wake_due, true);
}

/**
 * kpmu_core_drop() - count a record as lost
 * @c: the ring; without data it counts nothing
 * @lost: number of earlier lost records that the caller took from @c->lost, and puts back
 *
 * Context: as kpmu_ring_begin().
 * Return: false, for the caller to return.
 */
static __always_inline bool kpmu_core_drop(struct kpmu_ring_core *c, u64 lost)
{
	if (c->size)
		local64_add(lost + 1, &c->lost);
	return false;
}

/**
 * kpmu_core_commit() - publish a complete record
 * @h: from kpmu_core_begin()
 *
 * Only the outermost writer publishes the head.  A writer that interrupts it while @nest
 * is not 0 does not publish.  So the outermost writer checks for new records after it has
 * cleared @nest.
 *
 * Context: as kpmu_ring_begin().
 * Return: whether the readers are to be woken.
 */
static __always_inline bool kpmu_core_commit(struct kpmu_ring_handle *h)
{
	struct kpmu_ring_core *c = h->core;
	bool wake = false;
	u64 written;

	RING_POINT();
	if (c->nest > 1) {
		WRITE_ONCE(c->nest, c->nest - 1);
		return false;
	}
	for (;;) {
		written = local64_read(&c->written);
		RING_POINT();
		/* Publish the records before the head; pairs with the reader's load */
		smp_store_release(c->head, kpmu_core_head_of(c, written));
		RING_POINT();
		if (READ_ONCE(c->wake_due)) {
			WRITE_ONCE(c->wake_due, false);
			wake = true;
		}
		RING_POINT();
		WRITE_ONCE(c->nest, 0);
		RING_POINT();
		if (local64_read(&c->written) == written)
			return wake;
		WRITE_ONCE(c->nest, 1);
		RING_POINT();
	}
}

/**
 * kpmu_core_begin() - reserve room for a record
 * @c: the ring
 * @h: filled in
 * @size: bytes of the record, a multiple of 8
 * @lost_size: bytes of a PERF_RECORD_LOST, reserved in addition if h->lost is not 0
 *
 * Context: as kpmu_ring_begin().
 * Return: false if there is no room or the ring is paused.  The record is then counted
 * as lost, and kpmu_core_commit() must not be called.  h->wake is set if the readers are
 * to be woken: a writer that interrupted this one may have deferred its wakeup to it.
 */
static __always_inline bool
kpmu_core_begin(struct kpmu_ring_core *c, struct kpmu_ring_handle *h, u64 size,
		u64 lost_size)
{
	u64 written, lost = 0;

	if (unlikely(READ_ONCE(c->paused)) || !c->size) {
		h->wake = false;
		return kpmu_core_drop(c, 0);
	}
	WRITE_ONCE(c->nest, c->nest + 1);
	RING_POINT();
	/* The writer that takes the number reports it */
	if (unlikely(local64_read(&c->lost))) {
		lost = local64_xchg(&c->lost, 0);
		if (lost)
			size += lost_size;
	}
	do {
		written = local64_read(&c->written);
		RING_POINT();
		if (unlikely(!kpmu_core_has_room(c, written, size))) {
			h->core = c;
			kpmu_core_drop(c, lost);
			h->wake = kpmu_core_commit(h);
			return false;
		}
		RING_POINT();
	} while (local64_cmpxchg(&c->written, written, written + size) != written);
	RING_POINT();
	kpmu_core_watch(c, written + size);
	h->core = c;
	h->pos = c->backward ? kpmu_core_head_of(c, written + size) : written;
	h->left = size;
	h->lost = lost;
	return true;
}

#endif
