// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu: ring buffers. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libkpmu.h"

struct kpmu_ring {
	struct perf_event_mmap_page *page;
	size_t bytes;			/* of the mapping */
	uint64_t pos;			/* of the next record */
	uint64_t whole[65536 / 8];	/* a record that wraps at the end of the ring */
};

struct kpmu_ring *kpmu_ring_map(int fd, unsigned int pages)
{
	struct kpmu_ring *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	r->bytes = (pages + 1ul) * sysconf(_SC_PAGESIZE);
	r->page = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->page == MAP_FAILED) {
		free(r);
		return NULL;
	}
	r->pos = r->page->data_tail;
	return r;
}

const struct perf_event_header *kpmu_ring_next(struct kpmu_ring *r)
{
	const char *data = (const char *)r->page + r->page->data_offset;
	uint64_t size = r->page->data_size, at = r->pos % size, first;
	const struct perf_event_header *h = (const void *)(data + at);

	if (r->pos == __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE))
		return NULL;
	r->pos += h->size;
	first = size - at;
	if (h->size <= first)
		return h;
	memcpy(r->whole, h, first);
	memcpy((char *)r->whole + first, data, h->size - first);
	return (const void *)r->whole;
}

void kpmu_ring_consume(struct kpmu_ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->pos, __ATOMIC_RELEASE);
}

const struct perf_event_mmap_page *kpmu_ring_page(const struct kpmu_ring *r)
{
	return r->page;
}

void kpmu_ring_unmap(struct kpmu_ring *r)
{
	if (!r)
		return;
	munmap(r->page, r->bytes);
	free(r);
}
