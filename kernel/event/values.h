/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values in the layout of read_format, as u64 words: for read(2) on one event, on a
 * family, and for samples.  perf_event_open(2), "Reading results".
 */
#ifndef KPMU_VALUES_H
#define KPMU_VALUES_H

#include "event.h"
#include "sampling.h"

#define KPMU_FORMAT_TIMES	(KPMU_FORMAT_TIME_ENABLED | KPMU_FORMAT_TIME_RUNNING)

/* Maximum words of one event's result, or of what precedes the values of a group */
#define KPMU_VALUE_WORDS	5

/**
 * struct kpmu_reading - what is read of one event
 * @count: its count
 * @id: its id
 * @lost: number of records that found no room in the ring
 */
struct kpmu_reading {
	u64 count;
	u64 id;
	u64 lost;
};

/**
 * kpmu_value_of() - the values of an event that a read_format requests
 * @e: the event
 * @format: KPMU_FORMAT_*
 * @count: the event's count, which the caller reads as its context requires
 *
 * Context: any.
 * Return: the values; @lost is 0 if it is not requested.
 */
static __always_inline struct kpmu_reading
kpmu_value_of(const struct kpmu_event *e, u64 format, u64 count)
{
	return (struct kpmu_reading){
		.count = count,
		.id = e->se.id,
		.lost = format & KPMU_FORMAT_LOST ? kpmu_event_lost(e) : 0,
	};
}

/**
 * kpmu_put_times() - write the times that a read_format requests
 * @p: where to write, room for two words
 * @format: KPMU_FORMAT_*
 * @t: the times, in ns
 *
 * Context: any.
 * Return: the place after the last word written.
 */
static __always_inline u64 *kpmu_put_times(u64 *p, u64 format, struct kpmu_times t)
{
	if (format & KPMU_FORMAT_TIME_ENABLED)
		*p++ = t.enabled;
	if (format & KPMU_FORMAT_TIME_RUNNING)
		*p++ = t.running;
	return p;
}

/**
 * kpmu_put_ids() - write the words after an event's count: its id, its lost records
 * @p: where to write, room for two words
 * @format: KPMU_FORMAT_*
 * @v: the event's values
 *
 * Context: any.
 * Return: the place after the last word written.
 */
static __always_inline u64 *kpmu_put_ids(u64 *p, u64 format, struct kpmu_reading v)
{
	if (format & KPMU_FORMAT_ID)
		*p++ = v.id;
	if (format & KPMU_FORMAT_LOST)
		*p++ = v.lost;
	return p;
}

/**
 * kpmu_put_single() - write a result without FORMAT_GROUP
 * @p: where to write, room for KPMU_VALUE_WORDS
 * @format: KPMU_FORMAT_*
 * @v: the event's values
 * @t: its times, in ns
 *
 * Context: any.
 * Return: the place after the last word written.
 */
static __always_inline u64 *kpmu_put_single(u64 *p, u64 format, struct kpmu_reading v,
					    struct kpmu_times t)
{
	*p++ = v.count;
	p = kpmu_put_times(p, format, t);
	return kpmu_put_ids(p, format, v);
}

/**
 * kpmu_put_head() - write what precedes the values of a group, with FORMAT_GROUP
 * @p: where to write, room for three words
 * @format: KPMU_FORMAT_*
 * @nr: number of events in the group
 * @t: the leader's times, in ns
 *
 * Context: any.
 * Return: the place after the last word written.
 */
static __always_inline u64 *kpmu_put_head(u64 *p, u64 format, u64 nr, struct kpmu_times t)
{
	*p++ = nr;
	return kpmu_put_times(p, format, t);
}

/**
 * kpmu_put_value() - write the values of one event of a group, with FORMAT_GROUP
 * @p: where to write, room for three words
 * @format: KPMU_FORMAT_*
 * @v: the event's values
 *
 * Context: any.
 * Return: the place after the last word written.
 */
static __always_inline u64 *kpmu_put_value(u64 *p, u64 format, struct kpmu_reading v)
{
	*p++ = v.count;
	return kpmu_put_ids(p, format, v);
}

#endif
