// SPDX-License-Identifier: GPL-2.0-only
/* mmap(2) of an event's AUX area.  perf_event_open(2), "MMAP layout", aux_offset. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/topology.h>

#include "../compat/compat.h"
#include "../event/event.h"
#include "../event/sampling.h"
#include "../ring/aux.h"
#include "../sampling/follow.h"
#include "dev.h"

static void aux_open(struct vm_area_struct *vma)
{
	struct kpmu_event *e = vma->vm_file->private_data;
	struct kpmu_aux *aux = vma->vm_private_data;

	kpmu_output_lock(e);
	e->maps++;
	aux->maps++;
	kpmu_output_unlock(e);
}

static void aux_close(struct vm_area_struct *vma)
{
	struct kpmu_event *e = vma->vm_file->private_data;
	struct kpmu_aux *aux = vma->vm_private_data;
	bool last;

	kpmu_output_lock(e);
	last = !--aux->maps;
	if (last)
		RCU_INIT_POINTER(kpmu_output_ring(e)->aux, NULL);
	kpmu_output_unlock(e);
	if (last) {
		kpmu_ring_uncharge(&aux->charge);
		kpmu_aux_free(aux);
	}
	kpmu_event_unmapped(e, NULL);
}

static const struct vm_operations_struct aux_vm_ops = {
	.open = aux_open,
	.close = aux_close,
	.pfn_mkwrite = kpmu_ring_mkwrite,
	.may_split = kpmu_ring_may_split,
};

static struct kpmu_aux *make_aux(const struct kpmu_event *e,
				 struct vm_area_struct *vma)
{
	int node = e->se.cpu < 0 ? NUMA_NO_NODE : cpu_to_node(e->se.cpu);
	unsigned long pages = vma_pages(vma);
	struct kpmu_ring_charged charge;
	struct kpmu_aux *aux;
	int err;

	err = kpmu_ring_charge(&charge, vma->vm_mm, pages, kpmu_paranoid() > -1);
	if (err)
		return ERR_PTR(err);
	aux = kpmu_aux_alloc(pages, node, !(vma->vm_flags & VM_WRITE),
			     e->sampling->aux_watermark);
	if (!aux) {
		kpmu_ring_uncharge(&charge);
		return ERR_PTR(-ENOMEM);
	}
	aux->charge = charge;
	aux->pgoff = vma->vm_pgoff;
	return aux;
}

/* Whether the mapping matches aux_offset and aux_size of the user page */
static bool aux_is_sound(struct kpmu_ring *ring, struct vm_area_struct *vma)
{
	u64 offset = READ_ONCE(ring->page->aux_offset);
	u64 size = READ_ONCE(ring->page->aux_size);

	return offset >= PAGE_SIZE + ring->core.size &&
	       offset == (u64)vma->vm_pgoff << PAGE_SHIFT &&
	       size == (u64)vma_pages(vma) << PAGE_SHIFT && is_power_of_2(size);
}

/**
 * kpmu_aux_mmap() - mmap(2) of an event's AUX area
 * @e: the event, locked (kpmu_output_lock())
 * @vma: the new mapping, not at offset 0
 *
 * The first mapping creates the area, later ones share it.  If the event is mapped,
 * its ring is its own.
 *
 * Context: task, under the mmap lock.
 * Return: as for kpmu_event_mmap().
 */
int kpmu_aux_mmap(struct kpmu_event *e, struct vm_area_struct *vma)
{
	struct kpmu_ring *ring = kpmu_output_ring(e);
	struct kpmu_aux *aux;
	int err;

	if (!ring || !e->maps || !aux_is_sound(ring, vma))
		return -EINVAL;
	if (!e->se.hw.source->trace)
		return -EOPNOTSUPP;
	/* Changes only under the event's lock */
	aux = rcu_dereference_protected(ring->aux, true);
	if (aux && (aux->pgoff != vma->vm_pgoff ||
		    aux->size != (u64)vma_pages(vma) << PAGE_SHIFT))
		return -EINVAL;
	if (!aux)
		aux = make_aux(e, vma);
	if (IS_ERR(aux))
		return PTR_ERR(aux);
	err = kpmu_aux_map(aux, vma);
	if (err && !aux->maps) {
		kpmu_ring_uncharge(&aux->charge);
		kpmu_aux_free(aux);
	}
	if (err)
		return err;
	kpmu_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = aux;
	vma->vm_ops = &aux_vm_ops;
	e->maps++;
	aux->maps++;
	rcu_assign_pointer(ring->aux, aux);
	/* If the event is counting, its trace begins now */
	kpmu_page_set(e, ring->page, 0);
	return 0;
}
