/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writer of a ring buffer.  Pure arithmetic on memory: the same file is
 * built in user space for unit tests and fuzzing.
 *
 * One CPU writes at a time, but a writer may be interrupted at any point by
 * another of a higher context (task, softirq, IRQ, NMI), which finishes before the
 * first goes on.  So room is taken by compare-and-exchange, and the new head is
 * shown to the reader once, by the outermost writer, when no record is
 * half written.
 */
#ifndef KPMU_RING_CORE_H
#define KPMU_RING_CORE_H

#ifdef __KERNEL__
#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/local64.h>
#else
#include "shim.h"
#endif

/**
 * struct kpmu_ring_core - what the writer works on
 * @written: bytes of all records that were given room.  The head is this
 *	number, or its negative for a ring that is filled backward
 * @lost: records that found no room and were not yet reported
 * @marked: what @written has to exceed by @watermark for the next wake-up
 * @samples: samples since the last wake-up that was asked for by samples
 * @nest: writers that have begun and not committed
 * @wake_due: a mark was passed and nobody was told yet
 * @paused: records are dropped and counted as lost
 * @overwrite: old records give way to new ones, whatever the reader has read
 * @backward: records are put one before the other
 * @size: bytes of @data, a power of two; 0 without any
 * @watermark: in bytes
 * @data: the records
 * @head: where the reader looks for the head
 * @tail: where the reader says how far it has read; may hold anything
 */
struct kpmu_ring_core {
	local64_t written;
	local64_t lost;
	local64_t marked;
	local64_t samples;
	u32 nest;
	bool wake_due;
	bool paused;
	bool overwrite;
	bool backward;
	u64 size;
	u64 watermark;
	u8 *data;
	u64 *head;
	u64 *tail;
};

/**
 * struct kpmu_ring_handle - a record on its way into a ring
 * @core: the ring
 * @pos: where the next byte goes, modulo the ring's size
 * @left: bytes still to be put
 * @lost: how many records were lost before this one, to be told first: the
 *	caller put a PERF_RECORD_LOST of the size it gave to
 *	kpmu_ring_begin() before its own record
 */
struct kpmu_ring_handle {
	struct kpmu_ring_core *core;
	u64 pos;
	u64 left;
	u64 lost;
};

void kpmu_core_init(struct kpmu_ring_core *c, void *data, u64 size,
		    u64 *head, u64 *tail);

/**
 * kpmu_ring_put() - the next bytes of the record
 * @h: from kpmu_ring_begin()
 * @from: the bytes
 * @len: how many; no more than are left
 *
 * Context: as kpmu_ring_begin(), up to kpmu_ring_commit().
 */
void kpmu_ring_put(struct kpmu_ring_handle *h, const void *from, u64 len);

/**
 * kpmu_ring_span() - where the next bytes go, for whoever writes them himself
 * @h: from kpmu_ring_begin()
 * @len: set to how many bytes may be written there; less than are left when the
 *	record goes round the end of the ring
 *
 * For copies from user memory.  Follow by kpmu_ring_skip().
 */
static inline void *kpmu_ring_span(struct kpmu_ring_handle *h, u64 *len)
{
	u64 at = h->pos & (h->core->size - 1);
	u64 to_end = h->core->size - at;

	*len = h->left < to_end ? h->left : to_end;
	return h->core->data + at;
}

/**
 * kpmu_ring_skip() - go past bytes that were written at kpmu_ring_span()
 * @h: from kpmu_ring_begin()
 * @len: how many
 */
static inline void kpmu_ring_skip(struct kpmu_ring_handle *h, u64 len)
{
	h->pos += len;
	h->left -= len;
}

/**
 * kpmu_ring_sample() - the record is a sample, and samples are counted
 * @h: from kpmu_ring_begin()
 * @wakeup_events: attr.wakeup_events: wake the reader every so many samples;
 *	0 for never, as with attr.watermark
 */
void kpmu_ring_sample(struct kpmu_ring_handle *h, u32 wakeup_events);

#endif
