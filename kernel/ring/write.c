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
