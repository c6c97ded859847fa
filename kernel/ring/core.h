/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writer of a ring buffer.  It only works on memory, so the same file is built in
 * user space for unit tests and fuzzing.
 *
 * One CPU writes at a time, but a writer may be interrupted at any point by another
 * writer in a higher context level (task, softirq, IRQ, NMI), which finishes before the
 * first one continues.  So room is reserved by compare-and-exchange, and only the
 * outermost writer publishes the new head, when all records before it are complete.
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
 * struct kpmu_ring_core - the state of the writer
 * @written: total size of the records that were given room, in bytes.  The head is this
 *	number, or its negative for a ring that is filled backward
 * @lost: records that were dropped and not yet reported
 * @marked: the next wakeup is due when @written exceeds this by more than @watermark
 * @samples: samples since the last wakeup by wakeup_events
 * @nest: writers between begin and commit
 * @wake_due: a wakeup is due that no commit has returned yet
 * @paused: records are dropped and counted as lost
 * @overwrite: new records overwrite old ones, regardless of the tail
 * @backward: each record is put before the previous one
 * @size: bytes of @data, a power of two; 0 for a ring without data
 * @watermark: in bytes
 * @data: the records
 * @head: data_head of the user page
 * @tail: data_tail of the user page; user space may store any value there
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
 * struct kpmu_ring_handle - a record being written into a ring
 * @core: the ring
 * @pos: position of the next byte; the offset in the ring is this modulo its size
 * @left: bytes still to be put
 * @lost: number of records lost before this one.  If it is not 0, the caller must first
 *	put a PERF_RECORD_LOST of the size that it gave to kpmu_ring_begin()
 * @wake: after a failed kpmu_core_begin(): the readers are to be woken
 */
struct kpmu_ring_handle {
	struct kpmu_ring_core *core;
	u64 pos;
	u64 left;
	u64 lost;
	bool wake;
};

void kpmu_core_init(struct kpmu_ring_core *c, void *data, u64 size,
		    u64 *head, u64 *tail);

u32 kpmu_core_begin_many(struct kpmu_ring_core *c, struct kpmu_ring_handle *h, u64 size, u32 nr);

/**
 * kpmu_ring_put() - append bytes to a record
 * @h: from kpmu_ring_begin()
 * @from: the bytes
 * @len: number of bytes, at most h->left
 *
 * Context: as kpmu_ring_begin(), up to kpmu_ring_commit().
 */
void kpmu_ring_put(struct kpmu_ring_handle *h, const void *from, u64 len);

/**
 * kpmu_ring_span() - where the next bytes go, for callers that store them directly
 * @h: from kpmu_ring_begin()
 * @len: set to the number of contiguous bytes; less than h->left if the record wraps
 *	at the end of the ring
 *
 * kpmu_ring_skip() must follow.
 *
 * Context: as kpmu_ring_put().
 * Return: the address.
 */
static inline void *kpmu_ring_span(struct kpmu_ring_handle *h, u64 *len)
{
	u64 at = h->pos & (h->core->size - 1);
	u64 to_end = h->core->size - at;

	*len = h->left < to_end ? h->left : to_end;
	return h->core->data + at;
}

/**
 * kpmu_ring_skip() - advance over bytes that were stored at kpmu_ring_span()
 * @h: from kpmu_ring_begin()
 * @len: number of bytes
 *
 * Context: as kpmu_ring_put().
 */
static inline void kpmu_ring_skip(struct kpmu_ring_handle *h, u64 len)
{
	h->pos += len;
	h->left -= len;
}

/**
 * kpmu_ring_sample() - count the record as a sample, for wakeup_events
 * @h: from kpmu_ring_begin()
 * @wakeup_events: wake the readers after this number of samples; 0 for never, also
 *	with attr.watermark
 *
 * Context: as kpmu_ring_put().
 */
void kpmu_ring_sample(struct kpmu_ring_handle *h, u32 wakeup_events);

#endif
