// SPDX-License-Identifier: GPL-2.0-only
/* The size of what is read of an event.  perf_event_open(2), "Reading results". */
#include "event.h"
#include "values.h"

/* Longest result of a group read, in bytes; a group may not grow beyond it */
#define MAX_READ_SIZE	(16 * 1024)

/**
 * kpmu_read_max() - the largest group size at which the event can be read
 * @e: the event
 *
 * Context: any.
 * Return: number of events, the leader included.
 */
u16 kpmu_read_max(const struct kpmu_event *e)
{
	if (!e->read_more)
		return KPMU_GROUP_MAX;
	return min_t(u32, KPMU_GROUP_MAX,
		     1 + (MAX_READ_SIZE - e->read_size) / e->read_more);
}

/**
 * kpmu_read_layout() - compute the size of a read's result from the read_format
 * @e: the event.  Sets .read_size to the bytes for one event, .read_more to those for
 *	each further event of its group (0 without FORMAT_GROUP)
 *
 * Context: any.
 */
void kpmu_read_layout(struct kpmu_event *e)
{
	u8 format = e->read_format;
	int times, entry;

	e->read_more = 0;
	if (!format) {
		e->read_size = sizeof(u64);
		return;
	}
	times = hweight8(format & KPMU_FORMAT_TIMES);
	entry = 1 + hweight8(format & (KPMU_FORMAT_ID | KPMU_FORMAT_LOST));
	e->read_size = (times + entry) * sizeof(u64);
	if (format & KPMU_FORMAT_GROUP) {
		e->read_size += sizeof(u64);
		e->read_more = entry * sizeof(u64);
	}
}
