/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writer, what is in every sample's way.  Also built in user space, where
 * RING_POINT() lets tests interrupt it at every place that matters.
 */
#ifndef KPMU_RING_WRITE_H
#define KPMU_RING_WRITE_H

#include "core.h"

#ifndef RING_POINT
#define RING_POINT()	barrier()
#endif

/*
 * Is there room behind @written?  One byte always stays free, as it does
 * upstream.  The tail is the reader's and may be nonsense: it can make a ring
 * look full or empty, no more.  That it is read before the data is written
 * follows from the branch.
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

/* What @written is worth as a head */
static __always_inline u64
kpmu_core_head_of(const struct kpmu_ring_core *c, u64 written)
{
	return c->backward ? -written : written;
}

/* Has this record passed the mark?  Then the mark moves on, once. */
static __always_inline void kpmu_core_watch(struct kpmu_ring_core *c, u64 written)
{
	u64 marked = local64_read(&c->marked);

	RING_POINT();
	if (written - marked <= c->watermark || (s64)(written - marked) < 0)
		return;
	if (local64_cmpxchg(&c->marked, marked, marked + c->watermark) == marked)
		WRITE_ONCE(c->wake_due, true);
}

static __always_inline bool kpmu_core_drop(struct kpmu_ring_core *c, u64 lost)
{
	if (c->size)
		local64_add(lost + 1, &c->lost);
	return false;
}

/**
 * kpmu_core_commit() - the record is complete
 * @h: from kpmu_core_begin()
 *
 * Only the outermost writer shows the head.  Whoever interrupts it before it
 * has left relies on it, so after leaving it looks whether there was one.
 *
 * Return: the reader is to be woken.
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
		/* Records before the head; pairs with the reader's load of it */
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
 * kpmu_core_begin() - take room for a record
 * @c: the ring
 * @h: filled in
 * @size: bytes of the record, a multiple of 8
 * @lost_size: bytes that it takes to say first that records were lost
 *
 * Return: false when there is no room or the ring is paused.  The record is then
 * counted as lost; nothing else need be done.
 */
static __always_inline bool
kpmu_core_begin(struct kpmu_ring_core *c, struct kpmu_ring_handle *h, u64 size,
		u64 lost_size)
{
	u64 written, lost = 0;

	if (unlikely(READ_ONCE(c->paused)) || !c->size)
		return kpmu_core_drop(c, 0);
	WRITE_ONCE(c->nest, c->nest + 1);
	RING_POINT();
	/* Whoever takes the number reports it */
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
			kpmu_core_commit(h);
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
