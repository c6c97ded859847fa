/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The AUX area: a second buffer beside a ring, for what comes too fast for records.
 * A source puts its bytes there; a PERF_RECORD_AUX in the ring then says where.
 * perf_event_open(2), "MMAP layout", aux_head and following.
 *
 * Lifetime: that of its mappings, and RCU for whoever writes.
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
 * @written: bytes that were put there
 * @announced: those of them that the reader was told of
 * @watermark: it is told when there are so many more, or nothing comes any more
 * @flags: PERF_AUX_FLAG_* of what it is told next
 * @overwrite: old bytes give way to new ones
 * @full: it was told that bytes found no room, and none has since
 * @busy: somebody writes
 * @pgoff: where it is mapped, in pages of the file
 * @maps: mappings; under the event's lock
 * @charge: for the pages
 * @rcu: a writer may still be in it when the last mapping goes
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
	struct kpmu_ring_charge charge;
	struct rcu_head rcu;
};

/**
 * struct kpmu_aux_chunk - what a PERF_RECORD_AUX tells
 * @offset: of the first byte, counted from the beginning of all
 * @size: bytes
 * @flags: PERF_AUX_FLAG_*
 */
struct kpmu_aux_chunk {
	u64 offset;
	u64 size;
	u64 flags;
};

/**
 * kpmu_aux_alloc() - a new AUX area
 * @nr_pages: a power of two
 * @node: the NUMA node, -1 for any
 * @overwrite: nobody says what he has read
 * @watermark: bytes, 0 for half of it
 *
 * Context: task, may sleep.
 * Return: the area, or NULL.
 */
struct kpmu_aux *kpmu_aux_alloc(unsigned long nr_pages, int node, bool overwrite,
				u64 watermark);

/**
 * kpmu_aux_free() - it is in no ring any more
 * @aux: the area; writers may still be in it
 *
 * Context: task.
 */
void kpmu_aux_free(struct kpmu_aux *aux);

/**
 * kpmu_aux_map() - put its pages into a mapping
 * @aux: the area
 * @vma: of exactly its size
 *
 * Context: .mmap of a file, under the mmap lock.
 */
int kpmu_aux_map(struct kpmu_aux *aux, struct vm_area_struct *vma);

/**
 * kpmu_aux_put() - the next bytes of what is traced
 * @aux: the area, under RCU
 * @page: the user page of its ring
 * @from: the bytes
 * @len: how many
 *
 * All of them or none.  What finds no room, or somebody else at it whom it
 * interrupted, is left out, and the next chunk says so.
 *
 * Context: any, NMI too; the CPU that the event's records come from.
 */
void kpmu_aux_put(struct kpmu_aux *aux, struct perf_event_mmap_page *page,
		  const void *from, u32 len);

/**
 * kpmu_aux_due() - must the reader be told at once?
 * @aux: the area
 */
static inline bool kpmu_aux_due(const struct kpmu_aux *aux)
{
	if (aux->flags & ~PERF_AUX_FLAG_OVERWRITE)
		return true;
	return !aux->overwrite && aux->written - aux->announced >= aux->watermark;
}

/**
 * kpmu_aux_show() - show the reader what is there
 * @aux: the area, under RCU
 * @page: the user page of its ring
 * @chunk: set to what is new
 *
 * Context: IRQs off, or NMI; the CPU that the event's records come from.
 * Return: whether there is anything to tell.
 */
bool kpmu_aux_show(struct kpmu_aux *aux, struct perf_event_mmap_page *page,
		   struct kpmu_aux_chunk *chunk);

/**
 * kpmu_aux_copy() - the latest bytes, for a record
 * @aux: the area, under RCU
 * @h: the record
 * @end: up to where, as @written was
 * @len: how many, no more than there are
 *
 * Context: as kpmu_ring_put().
 */
void kpmu_aux_copy(const struct kpmu_aux *aux, struct kpmu_ring_handle *h, u64 end,
		   u64 len);

#endif
