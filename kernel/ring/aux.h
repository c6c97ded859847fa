/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The AUX area: a second buffer of an event, for data too frequent for records.  A
 * source puts its bytes there; PERF_RECORD_AUX in the ring reports their position.
 * perf_event_open(2), "MMAP layout", aux_head and following.
 *
 * Lifetime: until the last mapping ends, plus an RCU grace period for writers.
 */
#ifndef KPMU_AUX_H
#define KPMU_AUX_H

#include <linux/perf_event.h>
#include <linux/rcupdate.h>

#include "ring.h"

/**
 * struct kpmu_aux - an AUX area
 * @data: the bytes
 * @size: of @data, a power of two
 * @written: bytes put there so far
 * @announced: the value of @written reported to the reader last
 * @watermark: number of new bytes that are announced at once, unless @overwrite; others
 *	are announced when the event stops
 * @flags: PERF_AUX_FLAG_* of the next PERF_RECORD_AUX
 * @overwrite: new bytes may overwrite unread ones
 * @full: truncation is flagged, and no bytes were written since
 * @busy: a write is in progress
 * @pgoff: offset of the mapping in the file, in pages
 * @maps: number of mappings; under the event's lock
 * @charge: accounting of the pages
 * @rcu: for freeing: a writer may still use the area after the last unmap
 */
struct kpmu_aux {
	u8 *data;
	u64 size;
	u64 written;
	u64 announced;
	u64 watermark;
	u64 flags;
	bool overwrite;
	bool full;
	bool busy;
	unsigned long pgoff;
	u32 maps;
	struct kpmu_ring_charged charge;
	struct rcu_head rcu;
};

/**
 * struct kpmu_aux_chunk - body of PERF_RECORD_AUX
 * @offset: position of the first byte, counted like aux_head
 * @size: in bytes
 * @flags: PERF_AUX_FLAG_*
 */
struct kpmu_aux_chunk {
	u64 offset;
	u64 size;
	u64 flags;
};

/**
 * kpmu_aux_alloc() - allocate an AUX area
 * @nr_pages: a power of two
 * @node: the NUMA node, -1 for any
 * @overwrite: the reader does not maintain aux_tail
 * @watermark: bytes, 0 for half of the area
 *
 * Context: task, may sleep.
 * Return: the area, or NULL.
 */
struct kpmu_aux *kpmu_aux_alloc(unsigned long nr_pages, int node, bool overwrite,
				u64 watermark);

/**
 * kpmu_aux_free() - free an AUX area after an RCU grace period
 * @aux: the area, in no ring any more; writers may still use it
 *
 * Context: task.
 */
void kpmu_aux_free(struct kpmu_aux *aux);

/**
 * kpmu_aux_map() - map the pages of an AUX area
 * @aux: the area
 * @vma: of exactly its size
 *
 * Context: .mmap of a file, under the mmap lock.
 * Return: 0 or a negative error code.
 */
int kpmu_aux_map(struct kpmu_aux *aux, struct vm_area_struct *vma);

/**
 * kpmu_aux_put() - append trace data
 * @aux: the area, under RCU
 * @page: the user page of its ring
 * @from: the bytes
 * @len: number of bytes
 *
 * If there is no room, or if the call has interrupted another one, all of the bytes are
 * dropped, and the flags of the next chunk report it.
 *
 * Context: any, including NMI; the CPU that the event's records come from.
 */
void kpmu_aux_put(struct kpmu_aux *aux, struct perf_event_mmap_page *page,
		  const void *from, u32 len);

/**
 * kpmu_aux_due() - is new trace data or a flag to be announced at once?
 * @aux: the area
 *
 * Context: as kpmu_aux_put().
 * Return: whether it is.
 */
static inline bool kpmu_aux_due(const struct kpmu_aux *aux)
{
	if (aux->flags & ~PERF_AUX_FLAG_OVERWRITE)
		return true;
	return !aux->overwrite && aux->written - aux->announced >= aux->watermark;
}

/**
 * kpmu_aux_show() - advance aux_head to what was written
 * @aux: the area, under RCU
 * @page: the user page of its ring
 * @chunk: set to what is new since the last call
 *
 * Context: IRQs off, or NMI; the CPU that the event's records come from.
 * Return: whether there is anything new.
 */
bool kpmu_aux_show(struct kpmu_aux *aux, struct perf_event_mmap_page *page,
		   struct kpmu_aux_chunk *chunk);

/**
 * kpmu_aux_copy() - copy the latest trace data into a record
 * @aux: the area, under RCU
 * @h: the record
 * @end: end of the data, an earlier value of aux->written
 * @len: number of bytes, no more than the area holds
 *
 * Context: as kpmu_ring_put().
 */
void kpmu_aux_copy(const struct kpmu_aux *aux, struct kpmu_ring_handle *h, u64 end,
		   u64 len);

#endif
