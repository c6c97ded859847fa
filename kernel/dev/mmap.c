// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap(2) of an event's fd.  perf_event_open(2), "MMAP layout".
 *
 * A mapping holds the file, so an event continues after its last fd is closed,
 * until it is no longer mapped either.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/topology.h>

#include "../compat/compat.h"
#include "../compat/ksym.h"
#include "../event/event.h"
#include "../ring/ring.h"
#include "../sampling/follow.h"
#include "../sched/sched.h"
#include "../source/user_read.h"
#include "dev.h"

/*
 * Whether threads of @mm can read the counter by RDPMC: as the counted task, or on
 * the counted CPU.  The sum over inherited events is only available by read(2); events of
 * a CPU are not inherited.
 */
static bool reads_itself(const struct kpmu_event *e, const struct mm_struct *mm)
{
	if (!e->se.hw.rdpmc)
		return false;
	if (e->se.ctx->home >= 0)
		return true;
	return !(e->se.flags & KPMU_ATTR_INHERIT) && READ_ONCE(e->se.ctx->task->mm) == mm;
}

/* A mapping was copied: by mremap(2), as fork(2) skips it (VM_DONTCOPY) */
static void ring_open(struct vm_area_struct *vma)
{
	struct kpmu_event *e = vma->vm_file->private_data;
	struct kpmu_grant *grant = vma->vm_private_data;

	kpmu_output_lock(e);
	e->maps++;
	if (grant) {
		kpmu_rdpmc_share(grant);
		kpmu_page_set(e, kpmu_output_ring(e)->page, 1);
	}
	kpmu_output_unlock(e);
}

static void ring_close(struct vm_area_struct *vma)
{
	kpmu_event_unmapped(vma->vm_file->private_data, vma->vm_private_data);
}

static const struct vm_operations_struct ring_vm_ops = {
	.open = ring_open,
	.close = ring_close,
	.pfn_mkwrite = kpmu_ring_mkwrite,
	.may_split = kpmu_ring_may_split,
};

static struct kpmu_ring *make_ring(const struct kpmu_event *e,
				   const struct vm_area_struct *vma,
				   unsigned long nr_pages)
{
	int node = e->se.cpu < 0 ? NUMA_NO_NODE : cpu_to_node(e->se.cpu);
	struct kpmu_ring_charged charge;
	struct kpmu_ring *ring;
	unsigned int flags = 0;
	int err;

	err = kpmu_ring_charge(&charge, vma->vm_mm, nr_pages + 1,
			       kpmu_paranoid() > -1);
	if (err)
		return ERR_PTR(err);
	if (!(vma->vm_flags & VM_WRITE))
		flags |= KPMU_RING_OVERWRITE;
	if (e->se.flags & KPMU_ATTR_WRITE_BACKWARD)
		flags |= KPMU_RING_BACKWARD;
	ring = kpmu_ring_alloc(nr_pages, node, flags, e->wakeup_watermark);
	if (!ring) {
		kpmu_ring_uncharge(&charge);
		return ERR_PTR(-ENOMEM);
	}
	ring->charge = charge;
	return ring;
}

/* The first mapping creates the ring, later ones share it */
static int map_ring(struct kpmu_event *e, struct vm_area_struct *vma,
		    unsigned long nr_pages)
{
	struct kpmu_ring *ring = kpmu_output_ring(e);
	int err;

	if (nr_pages && !is_power_of_2(nr_pages))
		return -EINVAL;
	if (ring) {
		if (ring->nr_pages != nr_pages)
			return -EINVAL;
		/* The ring belongs to another event */
		if (!e->maps)
			return -EBUSY;
		return kpmu_ring_map(ring, vma);
	}
	ring = make_ring(e, vma, nr_pages);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	/* Mapping comes last: mapped pages must not be freed */
	err = kpmu_output_set(e, ring);
	if (!err) {
		err = kpmu_ring_map(ring, vma);
		if (err)
			kpmu_output_set(e, NULL);
	}
	if (err)
		kpmu_ring_uncharge(&ring->charge);
	kpmu_ring_put_ref(ring);	/* the event holds its own reference */
	return err;
}

static int map_locked(struct kpmu_event *e, struct vm_area_struct *vma,
		      unsigned long pages)
{
	struct kpmu_grant *grant = NULL;
	int err;

	if (vma->vm_pgoff)
		return kpmu_aux_mmap(e, vma);
	err = map_ring(e, vma, pages - 1);
	if (err)
		return err;
	kpmu_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	if (reads_itself(e, vma->vm_mm))
		grant = kpmu_rdpmc_grant(vma->vm_mm);
	vma->vm_private_data = grant;
	vma->vm_ops = &ring_vm_ops;
	e->maps++;
	kpmu_page_set(e, kpmu_output_ring(e)->page, grant ? 1 : 0);
	return 0;
}

/**
 * kpmu_event_mmap() - mmap(2) of an event
 * @file: the event's file
 * @vma: the new mapping
 *
 * Offset 0 maps the ring, any other the AUX area, as described in the ring's user
 * page.
 *
 * Context: task, under the mmap lock.
 * Return: 0; -EINVAL for a private mapping, a length that is not 1 or 1 + 2^n pages
 * or not that of the first mapping, an event with inherit and without a CPU, an AUX
 * area without a ring or not as the user page says; -EOPNOTSUPP for an AUX area
 * that the event cannot fill; -EBUSY if the output goes to another event's ring;
 * -EPERM if the limit of locked memory is exceeded; -ENOMEM; a security module's error.
 */
int kpmu_event_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kpmu_event *e = file->private_data;
	unsigned long pages = vma_pages(vma);
	int err;

	if (e->se.cpu == -1 && e->se.flags & KPMU_ATTR_INHERIT)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (unlikely(e->label)) {
		err = kpmu_lsm_read(e->label);
		if (err)
			return err;
	}
	if (pages > INT_MAX)
		return -ENOMEM;
	kpmu_output_lock(e);
	err = map_locked(e, vma, pages);
	kpmu_output_unlock(e);
	return err;
}
