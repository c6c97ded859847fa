/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two rings that are told of the same: one of an event of the route under test, one
 * of the kernel's own perf.  All that they hold is equal but ids and times.
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

/* All fields of a trailer */
#define WHOSE	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |	\
		 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |		\
		 PERF_SAMPLE_IDENTIFIER)

/* An attr with all of that, of an event that only counts */
struct perf_event_attr pair_attr(void);
/* The caller stays on its CPU from here on, if it is about the caller */
void pair_open(struct pair *p, const struct perf_event_attr *attr, pid_t pid,
	       int cpu, int pages);
/* A mapping keeps its event, so that goes too */
void pair_close(struct pair *p);
/* Switched on and off so that what does it is in neither ring, or in both */
void pair_enable(struct pair *p);
void pair_disable(struct pair *p);
/* Records of @type that both must have; -1 and a report if they differ */
int pair_compare(struct pair *p, uint64_t types);
/* Back to where the records begin */
void pair_rewind(struct pair *p);

#define TYPE(t)	(1ULL << PERF_RECORD_##t)

#endif
