/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the records of a mapped event. */
#ifndef KPMU_TEST_RING_H
#define KPMU_TEST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

/**
 * struct ring - a mapped event
 * @page: the user page
 * @size: bytes of records
 * @record: the record that ring_next() found, in one piece
 */
struct ring {
	struct perf_event_mmap_page *page;
	size_t size;
	union {
		struct perf_event_header header;
		uint64_t words[8192];
	} record;
};

/* Map an event with so many pages of records; exits as failed if it cannot */
struct ring *ring_map(int fd, int pages);
void ring_unmap(struct ring *r);

/*
 * The next record, NULL if there is none.  It is copied to r->record, and its place
 * given back to the writer.
 */
struct perf_event_header *ring_next(struct ring *r);

/* How many records of a type are waiting; all are taken */
int ring_count(struct ring *r, uint32_t type);

/* No limits on how often events may overflow, by either route */
void no_throttle(void);

#endif
