// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu: samples that are counted in a table. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libkpmu.h"

struct kpmu_histogram {
	int fd;
	size_t size;
	const struct kpmu_histogram_page *page;
};

static size_t size_of(unsigned int order)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return page + ((sizeof(struct kpmu_histogram_entry) << order) + page - 1) / page * page;
}

struct kpmu_histogram *kpmu_histogram_open(int fd, unsigned int by, unsigned int order)
{
	struct kpmu_open_histogram args = {
		.event = fd, .by = by, .order = order, .flags = KPMU_HISTOGRAM_CLOEXEC,
	};
	struct kpmu_histogram *h = calloc(1, sizeof(*h));
	int device = kpmu_device();
	void *p;

	if (!h || device < 0)
		goto failed;
	h->fd = ioctl(device, KPMU_IOC_HISTOGRAM, &args);
	if (h->fd < 0)
		goto failed;
	h->size = size_of(order);
	p = mmap(NULL, h->size, PROT_READ, MAP_SHARED, h->fd, 0);
	if (p == MAP_FAILED) {
		close(h->fd);
		goto failed;
	}
	h->page = p;
	return h;
failed:
	free(h);
	return NULL;
}

const struct kpmu_histogram_entry *kpmu_histogram_next(const struct kpmu_histogram *h,
						       unsigned int *pos)
{
	const struct kpmu_histogram_entry *e;

	while (*pos < 1U << h->page->order) {
		e = (const void *)((const char *)h->page + h->page->first +
				   (size_t)(*pos)++ * h->page->entry_size);
		if (__atomic_load_n(&e->key, __ATOMIC_RELAXED) != KPMU_HISTOGRAM_FREE)
			return e;
	}
	return NULL;
}

uint64_t kpmu_histogram_samples(const struct kpmu_histogram *h, uint64_t *overflows)
{
	if (overflows)
		*overflows = __atomic_load_n(&h->page->overflows, __ATOMIC_RELAXED);
	return __atomic_load_n(&h->page->samples, __ATOMIC_RELAXED);
}

void kpmu_histogram_close(struct kpmu_histogram *h)
{
	if (!h)
		return;
	munmap((void *)h->page, h->size);
	close(h->fd);
	free(h);
}
