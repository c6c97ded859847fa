// SPDX-License-Identifier: GPL-2.0-only
/* The AUX area.  See aux.h. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../compat/compat.h"
#include "aux.h"

/* See aux.h */
struct kpmu_aux *kpmu_aux_alloc(unsigned long nr_pages, int node, bool overwrite,
				u64 watermark)
{
	struct kpmu_aux *aux = kzalloc_node(sizeof(*aux), GFP_KERNEL, node);

	if (!aux)
		return NULL;
	aux->size = (u64)nr_pages << PAGE_SHIFT;
	aux->data = vzalloc_node(aux->size, node);
	if (!aux->data) {
		kfree(aux);
		return NULL;
	}
	aux->overwrite = overwrite;
	aux->watermark = watermark ? min(watermark, aux->size) : aux->size / 2;
	return aux;
}

static void free_aux_rcu(struct rcu_head *rcu)
{
	struct kpmu_aux *aux = container_of(rcu, struct kpmu_aux, rcu);

	vfree(aux->data);
	kfree(aux);
}

/* See aux.h */
void kpmu_aux_free(struct kpmu_aux *aux)
{
	call_rcu(&aux->rcu, free_aux_rcu);
}

/* See aux.h */
int kpmu_aux_map(struct kpmu_aux *aux, struct vm_area_struct *vma)
{
	/* Protection of a private mapping: read-only, so that the first write faults */
	pgprot_t prot = vm_get_page_prot(vma->vm_flags & ~VM_SHARED);
	u64 at;
	int err = 0;

	for (at = 0; at < aux->size && !err; at += PAGE_SIZE)
		err = remap_pfn_range(vma, vma->vm_start + at,
				      vmalloc_to_pfn(aux->data + at), PAGE_SIZE,
				      prot);
	if (err)
		kpmu_zap_vma(vma);
	return err;
}

/* aux_tail is written by user space; if it is out of range there is no room */
static bool has_room(const struct kpmu_aux *aux,
		     const struct perf_event_mmap_page *page, u32 len)
{
	u64 used;

	if (aux->overwrite)
		return true;
	used = aux->written - READ_ONCE(page->aux_tail);
	return used <= aux->size && len <= aux->size - used;
}

static void put_bytes(struct kpmu_aux *aux, const u8 *from, u32 len)
{
	u64 at = aux->written & (aux->size - 1);
	u64 to_end = min_t(u64, len, aux->size - at);

	memcpy(aux->data + at, from, to_end);
	memcpy(aux->data, from + to_end, len - to_end);
}

/* See aux.h */
void kpmu_aux_put(struct kpmu_aux *aux, struct perf_event_mmap_page *page,
		  const void *from, u32 len)
{
	if (aux->busy) {
		aux->flags |= PERF_AUX_FLAG_COLLISION;
		return;
	}
	aux->busy = true;
	barrier();
	if (has_room(aux, page, len)) {
		put_bytes(aux, from, len);
		/* An NMI that sees the new @written may copy the bytes */
		barrier();
		WRITE_ONCE(aux->written, aux->written + len);
		aux->full = false;
	} else if (!aux->full) {
		aux->flags |= PERF_AUX_FLAG_TRUNCATED;
		aux->full = true;
	}
	barrier();
	aux->busy = false;
}

/* See aux.h */
bool kpmu_aux_show(struct kpmu_aux *aux, struct perf_event_mmap_page *page,
		   struct kpmu_aux_chunk *chunk)
{
	u64 written = aux->written;

	chunk->size = min(written - aux->announced, aux->size);
	chunk->offset = written - chunk->size;
	chunk->flags = aux->flags;
	if (!chunk->size && !chunk->flags)
		return false;
	if (aux->overwrite)
		chunk->flags |= PERF_AUX_FLAG_OVERWRITE;
	aux->flags = 0;
	aux->announced = written;
	/* Publish the bytes before the head; pairs with the reader's load of it */
	smp_store_release(&page->aux_head, written);
	return true;
}

/* See aux.h */
void kpmu_aux_copy(const struct kpmu_aux *aux, struct kpmu_ring_handle *h, u64 end,
		   u64 len)
{
	u64 at = (end - len) & (aux->size - 1);
	u64 to_end = min(len, aux->size - at);

	kpmu_ring_put(h, aux->data + at, to_end);
	kpmu_ring_put(h, aux->data, len - to_end);
}
