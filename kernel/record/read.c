// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values in the format of read(2), as part of a record: PERF_SAMPLE_READ and
 * PERF_RECORD_READ.  perf_event_open(2), "Reading results".
 *
 * Unlike those of read(2), the counts and times of a root do not include its children's.
 */
#include "../sched/sched.h"
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
		return kpmu_read_size(e, group_size(e->leader));
	return e->read_size;
}

static u64 *put_times(u64 *p, const struct kpmu_event *e, u64 format)
{
	const struct kpmu_clock *c = &e->clock;
	u64 passed = kpmu_ctx_now(e->ctx) - c->since;

	if (format & KPMU_FORMAT_TIME_ENABLED)
		*p++ = c->enabled + (c->is_enabled ? passed : 0);
	if (format & KPMU_FORMAT_TIME_RUNNING)
		*p++ = c->running + (c->is_running ? passed : 0);
	return p;
}

static u64 *put_id(u64 *p, const struct kpmu_event *e, u64 format)
{
	if (format & KPMU_FORMAT_ID)
		*p++ = e->id;
	if (format & KPMU_FORMAT_LOST)
		*p++ = kpmu_event_lost(e);
	return p;
}

/* @of, the record's event, is folded already and not read again; a clock must be read */
static u64 count_of(struct kpmu_event *e, const struct kpmu_event *of)
{
	if (e == of && !e->hw.source->clock)
		return local64_read(&e->hw.count);
	return kpmu_event_count(e);
}

static void put_words(struct kpmu_record *r, const u64 *words, const u64 *end)
{
	kpmu_ring_put(&r->h, words, (end - words) * sizeof(u64));
}

static void put_entry(struct kpmu_record *r, struct kpmu_event *e,
		      const struct kpmu_event *of)
{
	u64 words[3], *p = words;

	*p++ = count_of(e, of);
	put_words(r, words, put_id(p, e, of->read_format));
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
	struct kpmu_event *leader = e->leader, *member;
	u64 format = e->read_format;
	u64 words[5], *p = words;

	if (!(format & KPMU_FORMAT_GROUP)) {
		*p++ = count_of(e, e);
		p = put_times(p, e, format);
		put_words(r, words, put_id(p, e, format));
		return;
	}
	*p++ = group_size(leader);
	put_words(r, words, put_times(p, leader, format));
	put_entry(r, leader, e);
	kpmu_for_each_member(member, leader)
		put_entry(r, member, e);
}
