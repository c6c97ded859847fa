// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values in the format of read(2), as part of a record: PERF_SAMPLE_READ and
 * PERF_RECORD_READ.  perf_event_open(2), "Reading results".
 *
 * Unlike those of read(2), the counts and times of a root do not include its children's.
 */
#include "../event/values.h"
#include "sample.h"

static int group_size(const struct kpmu_event *leader)
{
	const struct kpmu_event *e;
	int n = 1;

	kpmu_for_each_member(e, leader)
		n++;
	return n;
}

/**
 * kpmu_values_size() - size of what kpmu_values_put() writes
 * @e: the event
 *
 * Context: as kpmu_values_put().
 * Return: bytes.
 */
u32 kpmu_values_size(const struct kpmu_event *e)
{
	if (e->read_format & KPMU_FORMAT_GROUP)
		return kpmu_read_size(e, group_size(kpmu_leader(e)));
	return e->read_size;
}

/* The context's clock is read only for times */
static struct kpmu_times times_of(const struct kpmu_event *e, u64 format)
{
	if (!(format & KPMU_FORMAT_TIMES))
		return (struct kpmu_times){};
	return kpmu_times_at(&e->se.clock, kpmu_ctx_now(e->se.ctx));
}

/* @of, the record's event, is folded already and not read again; a clock must be read */
static u64 count_of(struct kpmu_event *e, const struct kpmu_event *of)
{
	if (e == of && !e->se.hw.source->clock)
		return local64_read(&e->se.hw.count);
	return kpmu_event_count(e);
}

static void put_entry_words(struct kpmu_record *r, const u64 *words, const u64 *end)
{
	kpmu_ring_put(&r->h, words, (end - words) * sizeof(u64));
}

static void put_entry(struct kpmu_record *r, struct kpmu_event *e,
		      const struct kpmu_event *of)
{
	u64 words[KPMU_VALUE_WORDS];
	struct kpmu_reading v = kpmu_value_of(e, of->read_format, count_of(e, of));

	put_entry_words(r, words, kpmu_put_value(words, of->read_format, v));
}

static void put_group_values(struct kpmu_record *r, struct kpmu_event *of)
{
	struct kpmu_event *leader = kpmu_leader(of), *member;
	u64 words[KPMU_VALUE_WORDS];
	u64 *end = kpmu_put_head(words, of->read_format, group_size(leader),
				 times_of(leader, of->read_format));

	put_entry_words(r, words, end);
	put_entry(r, leader, of);
	kpmu_for_each_member(member, leader)
		put_entry(r, member, of);
}

/**
 * kpmu_values_put() - write the values of an event, or of its group
 * @r: the record
 * @e: the event; its counter is folded
 *
 * The member list of a group in an active context changes on the context's CPU only,
 * with IRQs off, so an NMI there sees a consistent list.
 *
 * Context: NMI or IRQs off, on the CPU where the event's context is active; else the
 * context's owner.
 */
void kpmu_values_put(struct kpmu_record *r, struct kpmu_event *e)
{
	u64 words[KPMU_VALUE_WORDS];

	if (e->read_format & KPMU_FORMAT_GROUP)
		put_group_values(r, e);
	else
		put_entry_words(r, words, kpmu_put_single(words, e->read_format,
							  kpmu_value_of(e, e->read_format, count_of(e, e)),
							  times_of(e, e->read_format)));
}

/**
 * kpmu_values_get() - read the values of an event at its overflow
 * @e: the event; its counter is folded
 * @count: set to its count
 * @times: set to its times, in ns
 *
 * Context: as kpmu_values_put().
 */
void kpmu_values_get(struct kpmu_event *e, u64 *count, struct kpmu_times *times)
{
	*count = count_of(e, e);
	*times = kpmu_times_at(&e->se.clock, kpmu_ctx_now(e->se.ctx));
}
