// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap(2) of an event's fd.  perf_event_open(2), "MMAP layout".
 *
 * A mapping holds the file, and so the event goes on after its last fd is
 * closed, until nothing is mapped either.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/topology.h>

#include "../compat/compat.h"
#include "../event/event.h"
#include "../ring/ring.h"
#include "../sched/sched.h"
#include "dev.h"

/* They guard e->ring and e->maps; taken under the mmap lock */
#define LOCK_BITS	5
static struct mutex locks[1 << LOCK_BITS];

static struct mutex *lock_of(const struct kpmu_event *e)
{
	return &locks[hash_ptr(e, LOCK_BITS)];
}

static struct kpmu_ring *ring_of(const struct kpmu_event *e)
{
	return rcu_dereference_protected(e->ring, lockdep_is_held(lock_of(e)));
}

/*
 * Who maps an event can read its counter if it is the one that is counted, or if
 * he is on the CPU that is counted.  The sum over inherited events is for read(2).
 */
static bool reads_itself(const struct kpmu_event *e, const struct mm_struct *mm)
{
	if (!e->hw.rdpmc || e->flags & KPMU_ATTR_INHERIT)
		return false;
	return e->ctx->home >= 0 || READ_ONCE(e->ctx->task->mm) == mm;
}

/* A mapping was copied: moved by mremap(2), for fork(2) leaves it out */
static void ring_open(struct vm_area_struct *vma)
{
	struct kpmu_event *e = vma->vm_file->private_data;
	struct kpmu_grant *grant = vma->vm_private_data;

	mutex_lock(lock_of(e));
	e->maps++;
	if (grant) {
		kpmu_rdpmc_share(grant);
		kpmu_page_set(e, ring_of(e)->page, 1);
	}
	mutex_unlock(lock_of(e));
}

static void ring_close(struct vm_area_struct *vma)
{
	struct kpmu_event *e = vma->vm_file->private_data;
	struct kpmu_grant *grant = vma->vm_private_data;
	struct kpmu_ring *ring;
	bool last;

	mutex_lock(lock_of(e));
	ring = ring_of(e);
	last = !--e->maps;
	kpmu_page_set(e, last ? NULL : ring->page, grant ? -1 : 0);
	if (last)
		rcu_assign_pointer(e->ring, NULL);
	mutex_unlock(lock_of(e));
	if (grant)
		kpmu_rdpmc_drop(grant);
	if (last) {
		kpmu_ring_uncharge(&ring->charge);
		kpmu_ring_put_ref(ring);
	}
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
	int node = e->cpu < 0 ? NUMA_NO_NODE : cpu_to_node(e->cpu);
	struct kpmu_ring_charge charge;
	struct kpmu_ring *ring;
	unsigned int flags = 0;
	int err;

	err = kpmu_ring_charge(&charge, vma->vm_mm, nr_pages + 1,
			       kpmu_paranoid() > -1);
	if (err)
		return ERR_PTR(err);
	if (!(vma->vm_flags & VM_WRITE))
		flags |= KPMU_RING_OVERWRITE;
	if (e->flags & KPMU_ATTR_WRITE_BACKWARD)
		flags |= KPMU_RING_BACKWARD;
	ring = kpmu_ring_alloc(nr_pages, node, flags, 0);
	if (!ring) {
		kpmu_ring_uncharge(&charge);
		return ERR_PTR(-ENOMEM);
	}
	ring->charge = charge;
	return ring;
}

/* The first mapping makes the ring, others share it */
static int map_ring(struct kpmu_event *e, struct vm_area_struct *vma,
		    unsigned long nr_pages)
{
	struct kpmu_ring *ring = ring_of(e);
	int err;

	if (nr_pages && !is_power_of_2(nr_pages))
		return -EINVAL;
	if (ring) {
		if (ring->nr_pages != nr_pages)
			return -EINVAL;
		/* It is another event's ring */
		if (!e->maps)
			return -EBUSY;
		return kpmu_ring_map(ring, vma);
	}
	ring = make_ring(e, vma, nr_pages);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	err = kpmu_ring_map(ring, vma);
	if (err) {
		kpmu_ring_uncharge(&ring->charge);
		kpmu_ring_put_ref(ring);
		return err;
	}
	rcu_assign_pointer(e->ring, ring);
	return 0;
}

static int map_locked(struct kpmu_event *e, struct vm_area_struct *vma,
		      unsigned long pages)
{
	struct kpmu_grant *grant = NULL;
	int err;

	if (vma->vm_pgoff)
		return -EINVAL;
	err = map_ring(e, vma, pages - 1);
	if (err)
		return err;
	kpmu_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	if (reads_itself(e, vma->vm_mm))
		grant = kpmu_rdpmc_grant(vma->vm_mm);
	vma->vm_private_data = grant;
	vma->vm_ops = &ring_vm_ops;
	e->maps++;
	kpmu_page_set(e, ring_of(e)->page, grant ? 1 : 0);
	return 0;
}

/**
 * kpmu_event_mmap() - mmap(2) of an event
 * @file: the event's
 * @vma: where to
 *
 * Context: task, under the mmap lock.
 * Return: 0; -EINVAL for a private mapping, a length that is not 1 + 2^n pages or
 * not that of the first mapping, an inherited event without a CPU; -EBUSY if
 * its output goes to another event; -EPERM if it is more locked memory than allowed;
 * -ENOMEM.
 */
int kpmu_event_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kpmu_event *e = file->private_data;
	unsigned long pages = vma_pages(vma);
	int err;

	if (e->cpu == -1 && e->flags & KPMU_ATTR_INHERIT)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (pages > INT_MAX)
		return -ENOMEM;
	mutex_lock(lock_of(e));
	err = map_locked(e, vma, pages);
	mutex_unlock(lock_of(e));
	return err;
}

void __init kpmu_mmap_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(locks); i++)
		mutex_init(&locks[i]);
}
