// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of several overflows of an event, which differ in few words: the others are prepared
 * once, and room in the ring is reserved once.
 */
#include "sample.h"

/* Largest size of a sample, in words */
#define WORDS	10

/**
 * struct template - a sample in which the words at these places are still to be set
 * @words: the sample; one more word takes what is not part of it
 * @ip: where in @words the address of the instruction is
 * @time: where the time is
 * @addr: where the data address is
 * @misc: misc of the header, without the mode
 */
struct template {
	u64 words[WORDS + 1];
	u8 ip;
	u8 time;
	u8 addr;
	u16 misc;
};

/* The words after the time, in the order of a sample */
static void put_rest(u64 *p, struct template *k, const struct kpmu_event *e, u64 period)
{
	u64 type = e->sampling->sample_type;

	if (type & KPMU_SAMPLE_ADDR)
		k->addr = p++ - k->words;
	if (type & KPMU_SAMPLE_ID)
		*p++ = e->se.id;
	if (type & KPMU_SAMPLE_STREAM_ID)
		*p++ = e->sampling->stream_id;
	if (type & KPMU_SAMPLE_CPU)
		*p++ = raw_smp_processor_id();
	if (type & KPMU_SAMPLE_PERIOD)
		*p++ = period;
}

static void make_template(struct template *k, const struct kpmu_event *e, const struct kpmu_hit *s)
{
	u64 type = e->sampling->sample_type, *p = k->words + 1;

	k->ip = WORDS;
	k->time = WORDS;
	k->addr = WORDS;
	k->misc = s->exact ? PERF_RECORD_MISC_EXACT_IP : 0;
	if (type & KPMU_SAMPLE_IDENTIFIER)
		*p++ = e->se.id;
	if (type & KPMU_SAMPLE_IP)
		k->ip = p++ - k->words;
	if (type & KPMU_SAMPLE_TID)
		*p++ = kpmu_record_ids(e, kpmu_task_of(e));
	if (type & KPMU_SAMPLE_TIME)
		k->time = p++ - k->words;
	put_rest(p, k, e, s->period);
}

static __always_inline void fill_in(struct template *k, const struct kpmu_brief *b, u32 size)
{
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.misc = k->misc | ((s64)b->ip < 0 ? PERF_RECORD_MISC_KERNEL :
						    PERF_RECORD_MISC_USER),
		.size = size,
	};

	memcpy(k->words, &header, sizeof(header));
	k->words[k->ip] = b->ip;
	k->words[k->time] = b->time;
	k->words[k->addr] = b->addr;
}

static __always_inline void put_copy(struct kpmu_record *r, const u64 *words, u32 size)
{
	u64 len, *p = kpmu_ring_span(&r->h, &len);
	u32 i;

	/* It wraps at the end of the ring */
	if (unlikely(len < size)) {
		kpmu_ring_put(&r->h, words, size);
		return;
	}
	for (i = 0; i < size / sizeof(u64); i++)
		p[i] = words[i];
	kpmu_ring_skip(&r->h, size);
}

static bool is_timed(const struct kpmu_event *e, const struct kpmu_brief *b)
{
	return !(e->sampling->sample_type & KPMU_SAMPLE_TIME) || (b->time && e->clockid < 0);
}

/**
 * kpmu_sample_write_batch() - write a PERF_RECORD_SAMPLE for each of several overflows
 * @e: the event; its samples consist of KPMU_SAMPLE_FIXED, and it has no @wakeup_events
 * @s: what the overflows have in common: @s->exact and @s->period
 * @batch: the overflows; with exclude_kernel all of user mode
 *
 * Afterwards the ring is as if kpmu_sample_write() had been called for each of the first
 * @batch->done ones.  The others are left to it: those that may be lost, or need more.
 *
 * Context: as kpmu_sample_write().
 */
void kpmu_sample_write_batch(struct kpmu_event *e, const struct kpmu_hit *s,
			     struct kpmu_batch *batch)
{
	const struct kpmu_brief *b = batch->records, *end = b + batch->nr;
	u32 size = e->sampling->fixed, n;
	struct kpmu_record r;
	struct template k;

	batch->done = 0;
	if (!is_timed(e, b))
		return;
	make_template(&k, e, s);
	while (b < end) {
		n = kpmu_record_room_many(&r, e, size, end - b);
		if (!n)
			return;
		batch->done += n;
		for (; n; n--, b++) {
			fill_in(&k, b, size);
			put_copy(&r, k.words, size);
		}
		kpmu_record_done(&r);
	}
}
