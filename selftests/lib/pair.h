/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two ring buffers that receive the same records: one of an event of the route under test, one
 * of a native event.  The records must be equal except for ids and times.
 */
#ifndef KPMU_TEST_PAIR_H
#define KPMU_TEST_PAIR_H

#include <sys/types.h>

#include "ring.h"

struct pair {
	struct ring ours, native;
	int fd, native_fd;
	uint64_t id, native_id;
};

/* All fields of struct sample_id, the trailer of side-band records */
#define WHOSE	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |	\
		 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |		\
		 PERF_SAMPLE_IDENTIFIER)

/* Attr of a counting event whose side-band records carry the full trailer */
struct perf_event_attr pair_attr(void);
/*
 * Open and map both events.  @pid 0 also pins the caller to its current CPU; another task is
 * pinned to CPU 0 if @cpu is -1.
 */
void pair_open(struct pair *p, const struct perf_event_attr *attr, pid_t pid,
	       int cpu, int pages);
/* Unmaps the ring buffers, too: a mapping holds a reference to its event */
void pair_close(struct pair *p);
/* Enable or disable both events; records of the calls are in both ring buffers or in neither */
void pair_enable(struct pair *p);
void pair_disable(struct pair *p);
/* Compare the records of @types, a mask of TYPE(): their number, or -1 if they differ */
int pair_compare(struct pair *p, uint64_t types);
/* Start reading again at data_tail, i.e. at the first record that was not consumed */
void pair_rewind(struct pair *p);

#define TYPE(t)	(1ULL << PERF_RECORD_##t)

#endif
