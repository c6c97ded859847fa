// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event.h"
#include "ring.h"

struct ring *ring_map(int fd, int pages)
{
	struct ring *r = calloc(1, sizeof(*r));
	long page = sysconf(_SC_PAGESIZE);

	r->size = pages * page;
	r->page = mmap(NULL, r->size + page, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);
	if (r->page == MAP_FAILED) {
		perror("# mmap of an event");
		exit(1);
	}
	return r;
}

void ring_unmap(struct ring *r)
{
	munmap(r->page, r->size + sysconf(_SC_PAGESIZE));
	free(r);
}

static void copy_out(struct ring *r, uint64_t at, void *to, size_t n)
{
	char *data = (char *)r->page + r->page->data_offset;
	size_t from = at % r->size, first = r->size - from;

	if (first > n)
		first = n;
	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, n - first);
}

struct perf_event_header *ring_next(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;
	struct perf_event_header *h = &r->record.header;

	if (head == tail)
		return NULL;
	copy_out(r, tail, h, sizeof(*h));
	if (h->size < sizeof(*h) || h->size > head - tail || h->size % 8) {
		printf("# torn record: type %u size %u, %llu bytes in the ring\n",
		       h->type, h->size, (unsigned long long)(head - tail));
		exit(1);
	}
	copy_out(r, tail, r->record.words, h->size);
	__atomic_store_n(&r->page->data_tail, tail + h->size, __ATOMIC_RELEASE);
	return h;
}

int ring_count(struct ring *r, uint32_t type)
{
	struct perf_event_header *h;
	int n = 0;

	while ((h = ring_next(r)))
		n += h->type == type;
	return n;
}

void no_throttle(void)
{
	if (route_is_native()) {
		write_long("/proc/sys/kernel/perf_event_max_sample_rate",
			   1000000000);
		write_long("/proc/sys/kernel/perf_cpu_time_max_percent", 0);
	} else {
		write_long("/proc/sys/kernel/kpmu/perf_event_max_sample_rate",
			   1000000000);
	}
}
