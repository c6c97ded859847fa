/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts the records of a ring to text for comparison.  Timestamps and whatever a route
 * may choose freely are left out, or shown as "?", which matches any word.  Tasks and ids
 * are numbered by their first appearance.
 */
#ifndef KPMU_FUZZ_RECORD_H
#define KPMU_FUZZ_RECORD_H

#include "values.h"

#define USER_END	(1ULL << 47)

/* The words of a record that are not parsed yet */
struct words {
	const uint64_t *at, *end;
};

static inline uint64_t next_word(struct words *w)
{
	return w->at < w->end ? *w->at++ : 0;
}

static inline void skip_words(struct words *w, uint64_t n)
{
	w->at = n < (uint64_t)(w->end - w->at) ? w->at + n : w->end;
}

static inline void put_task(struct show *s, uint32_t pid)
{
	put(s, " t%d", order_of(s->task, &s->tasks, ARRAY_SIZE(s->task), pid));
}

/* pid and tid, which share a word */
static inline void put_tasks(struct show *s, uint64_t both)
{
	put_task(s, both);
	put_task(s, both >> 32);
}

/* An address if it is in user space, else "?" */
static inline void put_user(struct show *s, uint64_t at)
{
	if (at && at < USER_END)
		put(s, " %#llx", (long long)at);
	else
		put(s, " ?");
}

/* The fields of variable length between the period and the user registers */
static inline void put_lists(struct show *s, const struct slot *slot, struct words *w)
{
	uint64_t type = slot->attr.sample_type, nr;

	if (type & PERF_SAMPLE_READ)
		w->at = put_values(s, slot, w->at, w->end, 0);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		nr = next_word(w);
		put(s, slot->attr.exclude_kernel ? " chain%llu" : " chain", (long long)nr);
		skip_words(w, nr);
	}
	if (type & PERF_SAMPLE_RAW) {
		nr = (uint32_t)*w->at;
		put(s, " raw%llu", (long long)nr);
		skip_words(w, (nr + 4 + 7) / 8);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		nr = next_word(w);
		put(s, " branches%llu", (long long)nr);
		skip_words(w, nr * 3);
	}
}

static inline void put_regs(struct show *s, uint64_t mask, struct words *w)
{
	uint64_t abi = next_word(w);

	put(s, " abi%llu", (long long)abi);
	if (abi)
		skip_words(w, __builtin_popcountll(mask));
}

static inline void put_stack(struct show *s, struct words *w)
{
	uint64_t size = next_word(w);

	put(s, " stack%llu", (long long)size);
	if (!size)
		return;
	skip_words(w, size / 8);
	put(s, " of %llu", (long long)next_word(w));
}

static inline void put_rest(struct show *s, const struct slot *slot, struct words *w)
{
	const struct perf_event_attr *a = &slot->attr;
	uint64_t type = a->sample_type;

	if (type & PERF_SAMPLE_REGS_USER)
		put_regs(s, a->sample_regs_user, w);
	if (type & PERF_SAMPLE_STACK_USER)
		put_stack(s, w);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		put(s, " weight%llu", (long long)next_word(w));
	if (type & PERF_SAMPLE_DATA_SRC)
		put(s, " source%#llx", (long long)next_word(w));
	if (type & PERF_SAMPLE_TRANSACTION)
		put(s, " tx%llu", (long long)next_word(w));
	if (type & PERF_SAMPLE_REGS_INTR)
		put_regs(s, a->sample_regs_intr, w);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		put(s, " phys%s", next_word(w) ? "+" : "0");
	if (type & PERF_SAMPLE_CGROUP)
		put(s, " cgroup%llu", (long long)next_word(w));
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		put(s, " data%llu", (long long)next_word(w));
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		put(s, " code%llu", (long long)next_word(w));
}

static inline void put_sample(struct show *s, const struct slot *slot, struct words w)
{
	uint64_t type = slot->attr.sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		put_id(s, next_word(&w));
	if (type & PERF_SAMPLE_IP)
		put_user(s, next_word(&w));
	if (type & PERF_SAMPLE_TID)
		put_tasks(s, next_word(&w));
	if (type & PERF_SAMPLE_TIME)
		skip_words(&w, 1);
	if (type & PERF_SAMPLE_ADDR)
		put(s, " addr%#llx", (long long)next_word(&w));
	if (type & PERF_SAMPLE_ID)
		put_id(s, next_word(&w));
	if (type & PERF_SAMPLE_STREAM_ID)
		put_id(s, next_word(&w));
	if (type & PERF_SAMPLE_CPU)
		put(s, " cpu%llu", (long long)next_word(&w));
	if (type & PERF_SAMPLE_PERIOD)
		put_count(s, next_word(&w), slot->exact && !slot->attr.freq,
			  slot->loose);
	put_lists(s, slot, &w);
	put_rest(s, slot, &w);
}

/* The sample_id trailer of records other than samples, parsed from its end */
static inline void put_trailer(struct show *s, const struct slot *slot, struct words w)
{
	uint64_t type = slot->attr.sample_type;

	if (!slot->attr.sample_id_all)
		return;
	w.end -= !!(type & PERF_SAMPLE_IDENTIFIER);
	if (type & PERF_SAMPLE_CPU)
		put(s, " cpu%llu", (long long)*--w.end);
	if (type & PERF_SAMPLE_STREAM_ID)
		put_id(s, *--w.end);
	if (type & PERF_SAMPLE_ID)
		put_id(s, *--w.end);
	w.end -= !!(type & PERF_SAMPLE_TIME);
	if (type & PERF_SAMPLE_TID)
		put_tasks(s, *--w.end);
}

/* A name at the end of a record, without its directory, which may differ between the routes */
static inline void put_name(struct show *s, const uint64_t *name)
{
	const char *slash = strrchr((const char *)name, '/');

	put(s, " %.24s", slash ? slash + 1 : (const char *)name);
}

static inline void put_side(struct show *s, uint32_t type, const struct slot *slot,
			    struct words w)
{
	struct words all = w;

	switch (type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		put_tasks(s, next_word(&w));
		skip_words(&w, type == PERF_RECORD_COMM ? 0 :
			   type == PERF_RECORD_MMAP ? 3 : 7);
		if (w.at < w.end)
			put_name(s, w.at);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		put_tasks(s, next_word(&w));
		put_tasks(s, next_word(&w));
		break;
	case PERF_RECORD_READ:
		put_tasks(s, next_word(&w));
		put_values(s, slot, w.at, w.end, 0);
		break;
	case PERF_RECORD_LOST:
		put_id(s, next_word(&w));
		put_count(s, next_word(&w), slot->exact, slot->loose);
		break;
	}
	put_trailer(s, slot, all);
}

/* With skid, an event that excludes the kernel may be sampled in the kernel: misc is then "?" */
static inline void put_record(struct show *s, const struct slot *slot,
			      const struct perf_event_header *h, const uint64_t *body)
{
	struct words w = { body, body + (h->size - sizeof(*h)) / 8 };
	int kernel = (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;

	put(s, " %u:%u", h->type, h->size);
	if (kernel && slot->attr.exclude_kernel && h->type == PERF_RECORD_SAMPLE)
		put(s, " ?");
	else
		put(s, " %#x", h->misc);
	if (slot->mixed)
		return;
	if (h->type == PERF_RECORD_SAMPLE)
		put_sample(s, slot, w);
	else
		put_side(s, h->type, slot, w);
}

/*
 * Samples of events that count the kernel, or of several events that are not all exact.  How many
 * there are depends on the length of each route's code.
 */
static inline int is_of_kernel(const struct show *s, const struct slot *slot, int type)
{
	if (type != PERF_RECORD_SAMPLE)
		return 0;
	if (slot->mixed)
		return !s->all_exact;
	return is_hardware(&slot->attr) && !slot->attr.exclude_kernel;
}

/* Samples of clocks: how many there are depends on when their timers expire, and if in user mode */
static inline int is_of_clock(const struct slot *slot, int type)
{
	const struct perf_event_attr *a = &slot->attr;

	return type == PERF_RECORD_SAMPLE && !slot->mixed && a->type == PERF_TYPE_SOFTWARE &&
	       a->config <= PERF_COUNT_SW_TASK_CLOCK;
}

static inline int runs_are_exact(const struct show *s)
{
	return s->all_exact && all_fit(s);
}

/*
 * Samples in the kernel of such events, or by skid of others, if their number is not exact: there may
 * be none on one of the routes
 */
static inline int is_left_out(const struct show *s, const struct slot *slot,
			      const struct perf_event_header *h)
{
	return (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL &&
	       (is_of_kernel(s, slot, h->type) ||
		(h->type == PERF_RECORD_SAMPLE && is_hardware(&slot->attr) && !runs_are_exact(s)));
}

/*
 * Mark a run of @n identical records of @type; its length, and whether it is more than one, only if
 * exact.  Return whether it is not
 */
static inline int put_run(struct show *s, const struct slot *slot, int type, int n)
{
	int any = n > 1 || (n && (is_of_kernel(s, slot, type) ||
				  (type == PERF_RECORD_SAMPLE && is_hardware(&slot->attr))));

	if (n > 1 && runs_are_exact(s))
		put(s, " *%d", n);
	else if (any && !runs_are_exact(s))
		put(s, " *");
	return any && !runs_are_exact(s);
}

/*
 * Records in their order, with consecutive identical ones merged.  Throttling depends on
 * time, so its records are left out.
 */
static inline void put_records(struct show *s, const struct slot *slot,
			       const struct result *r)
{
	char *last = NULL, *begin;
	struct perf_event_header h;
	uint64_t body[RES_DATA / 8];
	int n = 0, type = 0, open;
	uint32_t at = 0;

	for (; at + sizeof(h) <= r->bytes; at += h.size) {
		memcpy(&h, r->data + at, sizeof(h));
		if (h.size < sizeof(h) || h.size % 8 || at + h.size > r->bytes)
			break;
		memcpy(body, r->data + at + sizeof(h), h.size - sizeof(h));
		if (h.type == PERF_RECORD_THROTTLE || h.type == PERF_RECORD_UNTHROTTLE ||
		    is_of_clock(slot, h.type) || is_left_out(s, slot, &h))
			continue;
		begin = s->at;
		put_record(s, slot, &h, body);
		if (last && begin - last == s->at - begin &&
		    !memcmp(last, begin, s->at - begin)) {
			s->at = begin;
			*begin = 0;
			n++;
			continue;
		}
		if (n) {
			s->at = begin;
			put_run(s, slot, type, n);
			begin = s->at;
			put_record(s, slot, &h, body);
		}
		last = begin;
		type = h.type;
		n = 1;
	}
	/* Records that did not fit belong to a run of any length, or are shown */
	open = put_run(s, slot, type, n);
	if (at < r->bytes && r->bytes != RES_DATA)
		put(s, " broken");
	else if (at < r->bytes && !open)
		put(s, " and more");
}

#endif
