// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu: timelines, what CPUs do and which counter has which event. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* A CPU may take so long to write a record, ns */
#define HOLD	10000000

/**
 * struct ring - the records of a CPU
 * @shared: head and tail, in the mapping
 * @slots: the records, in the mapping
 * @tail: number of records whose room is free again
 * @lost: number of lost records that struct kpmu_moment has reported
 * @after_full: for each slot: when the record before this one was written, there was no more room
 */
struct ring {
	struct kpmu_timeline_ring *shared;
	const char *slots;
	uint64_t tail;
	uint64_t lost;
	bool *after_full;
};

struct kpmu_timeline {
	int fd, nr_events, nr_rings, taken;	/* taken: ring of the record returned last, or -1 */
	unsigned int nr_slots, slot_size;
	size_t size;				/* of the mapping */
	struct kpmu_timeline_page *page;
	struct kpmu_moment moment;
	struct ring ring[];
};

/* The first page has the size of all */
static int map(struct kpmu_timeline *t)
{
	size_t head = sizeof(*t->page);

	t->page = mmap(NULL, head, PROT_READ, MAP_SHARED, t->fd, 0);
	if (t->page == MAP_FAILED)
		return -1;
	t->size = t->page->size;
	munmap(t->page, head);
	t->page = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	return t->page == MAP_FAILED ? -1 : 0;
}

static int prepare_rings(struct kpmu_timeline *t)
{
	struct kpmu_timeline_ring *shared = (void *)(t->page + 1);
	int i;

	t->slot_size = t->page->slot_size;
	for (i = 0; i < t->nr_rings; i++) {
		struct ring *r = &t->ring[i];

		r->shared = &shared[i];
		r->slots = (const char *)t->page + t->page->first +
			   (size_t)i * t->nr_slots * t->slot_size;
		r->after_full = calloc(t->nr_slots, sizeof(bool));
		if (!r->after_full)
			return -1;
	}
	return 0;
}

struct kpmu_timeline *kpmu_timeline_open(const struct kpmu_event *events, int nr_events,
					 const int *cpus, int nr_cpus, unsigned int flags,
					 unsigned int nr_records, unsigned int period_us,
					 int *failed)
{
	struct kpmu_open_set args = {
		.targets = (uintptr_t)cpus, .nr_events = nr_events, .nr_targets = nr_cpus,
		.flags = flags | KPMU_SET_TIMELINE | KPMU_SET_CLOEXEC,
		.nr_slots = nr_records, .period_us = period_us,
	};
	struct kpmu_timeline *t;
	int err, fd = kpmu_open_args(&args, events, failed);

	if (fd < 0)
		return NULL;
	t = calloc(1, sizeof(*t) + nr_cpus * sizeof(t->ring[0]));
	if (!t) {
		close(fd);
		return NULL;
	}
	t->fd = fd;
	t->nr_events = nr_events;
	t->nr_rings = nr_cpus;
	t->nr_slots = nr_records;
	t->taken = -1;
	if (!map(t) && !prepare_rings(t))
		return t;
	err = errno;
	kpmu_timeline_close(t);
	errno = err;
	return NULL;
}

int kpmu_timeline_fd(const struct kpmu_timeline *t)
{
	return t->fd;
}

int kpmu_timeline_enable(struct kpmu_timeline *t)
{
	return ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0);
}

int kpmu_timeline_disable(struct kpmu_timeline *t)
{
	return ioctl(t->fd, PERF_EVENT_IOC_DISABLE, 0);
}

int kpmu_timeline_wait(struct kpmu_timeline *t, int timeout_ms)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static const struct kpmu_timeline_record *record(const struct kpmu_timeline *t,
						 const struct ring *r)
{
	return (const void *)(r->slots + r->tail % t->nr_slots * t->slot_size);
}

/* Free the room of the record returned last.  Records are lost only while there is none */
static void release(struct kpmu_timeline *t)
{
	struct ring *r = &t->ring[t->taken];
	uint64_t head = __atomic_load_n(&r->shared->head, __ATOMIC_ACQUIRE);

	if (head - r->tail >= t->nr_slots)
		r->after_full[head % t->nr_slots] = true;
	r->tail++;
	__atomic_store_n(&r->shared->tail, r->tail, __ATOMIC_RELEASE);
	t->taken = -1;
}

/* The ring with the earliest record, -1 if all are empty */
static int earliest(const struct kpmu_timeline *t, bool *all)
{
	uint64_t head, time, first = 0;
	int i, found = -1;

	*all = true;
	for (i = 0; i < t->nr_rings; i++) {
		head = __atomic_load_n(&t->ring[i].shared->head, __ATOMIC_ACQUIRE);
		if (head == t->ring[i].tail) {
			*all = false;
			continue;
		}
		time = record(t, &t->ring[i])->time;
		if (found < 0 || time < first) {
			found = i;
			first = time;
		}
	}
	return found;
}

static uint64_t lost_before(struct kpmu_timeline *t, struct ring *r)
{
	bool *after_full = &r->after_full[r->tail % t->nr_slots];
	uint64_t lost, before = r->lost;

	if (!*after_full)
		return 0;
	*after_full = false;
	lost = __atomic_load_n(&r->shared->lost, __ATOMIC_RELAXED);
	r->lost = lost;
	return lost - before;
}

const struct kpmu_moment *kpmu_timeline_next(struct kpmu_timeline *t)
{
	const struct kpmu_timeline_record *rec;
	bool all;
	int i;

	if (t->taken >= 0)
		release(t);
	i = earliest(t, &all);
	if (i < 0)
		return NULL;
	rec = record(t, &t->ring[i]);
	if (!all && rec->time + HOLD > now())
		return NULL;
	t->taken = i;
	t->moment = (struct kpmu_moment) {
		.cpu = i, .record = rec, .count = (const uint64_t *)(rec + 1),
		.where = (const uint8_t *)((const uint64_t *)(rec + 1) + t->nr_events),
		.lost = lost_before(t, &t->ring[i]),
	};
	return &t->moment;
}

uint64_t kpmu_timeline_lost(const struct kpmu_timeline *t, int cpu)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < t->nr_rings; i++)
		if (cpu < 0 || i == cpu)
			sum += __atomic_load_n(&t->ring[i].shared->lost, __ATOMIC_RELAXED);
	return sum;
}

void kpmu_timeline_close(struct kpmu_timeline *t)
{
	int i;

	if (!t)
		return;
	if (t->page && t->page != MAP_FAILED)
		munmap(t->page, t->size);
	for (i = 0; i < t->nr_rings; i++)
		free(t->ring[i].after_full);
	close(t->fd);
	free(t);
}
