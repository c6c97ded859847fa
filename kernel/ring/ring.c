// SPDX-License-Identifier: GPL-2.0-only
/* Allocation, references, readers and wakeups of rings. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring.h"

static void tell_readers(struct irq_work *work)
{
	struct kpmu_ring *ring = container_of(work, struct kpmu_ring, wake);
	struct kpmu_ring_reader *r;

	atomic_set(&ring->waking, 0);
	rcu_read_lock();
	list_for_each_entry_rcu(r, &ring->readers, node)
		wake_up_all(r->wait);
	rcu_read_unlock();
	kpmu_ring_put_ref(ring);
}

static void fill_page(struct kpmu_ring *ring)
{
	struct perf_event_mmap_page *p = ring->page;

	p->size = offsetof(struct perf_event_mmap_page, __reserved);
	p->data_offset = PAGE_SIZE;
	p->data_size = ring->core.size;
}

/*
 * Pages that are contiguous cost least, but are not worth any effort to make room for them.  Above
 * the largest order the allocator fails.
 */
static void *alloc_data(unsigned long nr_pages, int node)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO;
	struct page *page;

	if (nr_pages > 1)
		gfp = (gfp & ~__GFP_RECLAIM) | __GFP_NORETRY | __GFP_NOWARN;
	page = alloc_pages_node(node, gfp, ilog2(nr_pages));
	if (page)
		return page_address(page);
	return nr_pages > 1 ? vzalloc_node(nr_pages << PAGE_SHIFT, node) : NULL;
}

static void free_data(void *data, unsigned long nr_pages)
{
	if (is_vmalloc_addr(data))
		vfree(data);
	else if (data)
		free_pages((unsigned long)data, ilog2(nr_pages));
}

static void ring_free(struct kpmu_ring *ring)
{
	free_data(ring->core.data, ring->nr_pages);
	free_page((unsigned long)ring->page);
	kfree(ring);
}

/* See ring.h */
struct kpmu_ring *kpmu_ring_alloc(unsigned long nr_pages, int node,
				  unsigned int flags, u64 watermark)
{
	struct kpmu_ring *ring = kzalloc_node(sizeof(*ring), GFP_KERNEL, node);
	struct page *page;
	void *data = NULL;

	if (!ring)
		return NULL;
	page = alloc_pages_node(node, GFP_KERNEL | __GFP_ZERO, 0);
	if (nr_pages)
		data = alloc_data(nr_pages, node);
	if (!page || (nr_pages && !data)) {
		if (page)
			__free_page(page);
		free_data(data, nr_pages);
		kfree(ring);
		return NULL;
	}
	ring->page = page_address(page);
	ring->nr_pages = nr_pages;
	kpmu_core_init(&ring->core, data, (u64)nr_pages << PAGE_SHIFT,
		       &ring->page->data_head, &ring->page->data_tail);
	ring->core.overwrite = flags & KPMU_RING_OVERWRITE;
	ring->core.backward = flags & KPMU_RING_BACKWARD;
	ring->core.paused = !nr_pages;
	if (watermark)
		ring->core.watermark = min(watermark, ring->core.size);
	fill_page(ring);
	refcount_set(&ring->ref, 1);
	init_irq_work(&ring->wake, tell_readers);
	spin_lock_init(&ring->readers_lock);
	INIT_LIST_HEAD(&ring->readers);
	return ring;
}

/**
 * kpmu_ring_get() - take another reference
 * @ring: the ring, held
 *
 * Context: any.
 */
void kpmu_ring_get(struct kpmu_ring *ring)
{
	refcount_inc(&ring->ref);
}

static void free_ring_rcu(struct rcu_head *rcu)
{
	ring_free(container_of(rcu, struct kpmu_ring, rcu));
}

/**
 * kpmu_ring_put_ref() - drop a reference
 * @ring: the ring
 *
 * Context: any but NMI.
 */
void kpmu_ring_put_ref(struct kpmu_ring *ring)
{
	if (refcount_dec_and_test(&ring->ref))
		call_rcu(&ring->rcu, free_ring_rcu);
}

/* See ring.h */
void kpmu_ring_notify(struct kpmu_ring *ring)
{
	if (atomic_xchg(&ring->waking, 1))
		return;
	/* Held until the work has run; without references there are no readers */
	if (refcount_inc_not_zero(&ring->ref))
		irq_work_queue(&ring->wake);
}

/* See ring.h */
void kpmu_ring_wake(struct kpmu_ring *ring)
{
	atomic_set(&ring->polled, (__force int)(EPOLLIN | EPOLLRDNORM));
	kpmu_ring_notify(ring);
}

/* See ring.h */
void kpmu_ring_pause(struct kpmu_ring *ring, bool pause)
{
	WRITE_ONCE(ring->core.paused, pause || !ring->nr_pages);
}

/* See ring.h */
__poll_t kpmu_ring_poll(struct kpmu_ring *ring)
{
	return (__force __poll_t)atomic_xchg(&ring->polled, 0);
}

/* See ring.h */
bool kpmu_ring_join(struct kpmu_ring *ring, struct kpmu_ring_reader *reader)
{
	bool open;

	spin_lock(&ring->readers_lock);
	open = !ring->closed;
	if (open)
		list_add_rcu(&reader->node, &ring->readers);
	spin_unlock(&ring->readers_lock);
	return open;
}

/* See ring.h */
void kpmu_ring_close(struct kpmu_ring *ring)
{
	spin_lock(&ring->readers_lock);
	ring->closed = true;
	spin_unlock(&ring->readers_lock);
}

/* See ring.h */
void kpmu_ring_leave(struct kpmu_ring *ring, struct kpmu_ring_reader *reader)
{
	spin_lock(&ring->readers_lock);
	list_del_rcu(&reader->node);
	spin_unlock(&ring->readers_lock);
}

/**
 * kpmu_rings_exit() - wait until rings and AUX areas without references are freed
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_rings_exit(void)
{
	rcu_barrier();
}
