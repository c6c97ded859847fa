/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values in the layout of read_format, as u64 words: for read(2) on one event, on a family, and
 * for samples.  perf_event_open(2), "Reading results".
 *
 * All functions return the place after the last word written.
 */
#ifndef KPMU_VALUES_H
#define KPMU_VALUES_H

#include "event.h"
#include "sampling.h"

#define KPMU_FORMAT_TIMES	(KPMU_FORMAT_TIME_ENABLED | KPMU_FORMAT_TIME_RUNNING)

/* Most words of a result, or of the part before the first value of a group */
#define KPMU_VALUE_WORDS	5

/**
 * struct kpmu_value - what is read of one event
 * @count: its count
 * @id: its id
 * @lost: number of records that found no room in the ring
 */
struct kpmu_value {
	u64 count;
	u64 id;
	u64 lost;
};

/* What @format asks for; @count: the event's count, which costs more if it must be read */
static __always_inline struct kpmu_value
kpmu_value_of(const struct kpmu_event *e, u64 format, u64 count)
{
	return (struct kpmu_value){
		.count = count,
		.id = e->se.id,
		.lost = format & KPMU_FORMAT_LOST ? kpmu_event_lost(e) : 0,
	};
}

static __always_inline u64 *kpmu_put_times(u64 *p, u64 format, struct kpmu_times t)
{
	if (format & KPMU_FORMAT_TIME_ENABLED)
		*p++ = t.enabled;
	if (format & KPMU_FORMAT_TIME_RUNNING)
		*p++ = t.running;
	return p;
}

static __always_inline u64 *kpmu_put_ids(u64 *p, u64 format, struct kpmu_value v)
{
	if (format & KPMU_FORMAT_ID)
		*p++ = v.id;
	if (format & KPMU_FORMAT_LOST)
		*p++ = v.lost;
	return p;
}

/* A result without FORMAT_GROUP */
static __always_inline u64 *kpmu_put_single(u64 *p, u64 format, struct kpmu_value v,
					    struct kpmu_times t)
{
	*p++ = v.count;
	p = kpmu_put_times(p, format, t);
	return kpmu_put_ids(p, format, v);
}

/* With FORMAT_GROUP: what comes before the values of the @nr events */
static __always_inline u64 *kpmu_put_head(u64 *p, u64 format, u64 nr, struct kpmu_times t)
{
	*p++ = nr;
	return kpmu_put_times(p, format, t);
}

/* With FORMAT_GROUP: the value of one event */
static __always_inline u64 *kpmu_put_value(u64 *p, u64 format, struct kpmu_value v)
{
	*p++ = v.count;
	return kpmu_put_ids(p, format, v);
}

#endif
