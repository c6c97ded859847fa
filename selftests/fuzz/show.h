/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What came out of a program as text to compare: a line each operation.  Ids get names
 * by their first appearance; of times only the relations stay; counts that are not exact
 * by their kind are none or some.
 */
#ifndef KPMU_FUZZ_SHOW_H
#define KPMU_FUZZ_SHOW_H

#include <stdarg.h>

#include "exec.h"

#define SHOW_MAX	1024
#define ALWAYS_FIT	4	/* so many hardware events need not take turns */

struct text {
	char key[PROG_OPS + 1][SHOW_MAX];	/* the operation, with the attr if it opens */
	char val[PROG_OPS + 1][SHOW_MAX];	/* what it gave */
};

struct slot {
	struct perf_event_attr attr;
	int exact;		/* its kind counts the same on both routes */
	int group;		/* the leader's slot */
};

struct show {
	union any_attr attr;
	struct slot slot[SLOTS];
	uint64_t id[64];
	int ids, hardware;	/* how many were seen, opened */
	int all_exact;		/* all opened events are */
	char *at, *end;
};

static inline void __attribute__((format(printf, 2, 3)))
put(struct show *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->at, s->end - s->at, format, args);
	va_end(args);
	s->at += n < s->end - s->at ? n : s->end - s->at - 1;
}

static inline void put_attr(struct show *s, const union any_attr *x)
{
	uint64_t v;

	put(s, " type=%u config=%#llx", x->a.type, (long long)x->a.config);
	for (int i = 0; i < (int)ARRAY_SIZE(field); i++) {
		v = 0;
		memcpy(&v, x->byte + field[i].at, field[i].bytes);
		if (v && !(field[i].at == AT_SIZE && v == PERF_ATTR_SIZE_VER7))
			put(s, " %s=%#llx", field[i].name, (long long)v);
	}
	for (int i = 0; i < (int)ARRAY_SIZE(flag_name); i++)
		if (x->u64[AT_FLAGS / 8] >> i & 1)
			put(s, " %s", flag_name[i]);
}

static inline int is_hardware(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE ||
	       a->type == PERF_TYPE_RAW;
}

/* User instructions, branches, loads and stores, of tasks */
static inline int is_exact(const struct perf_event_attr *a, int64_t target)
{
	if (target == -1)
		return 0;
	if (a->exclude_kernel && a->type == PERF_TYPE_HARDWARE)
		return a->config == PERF_COUNT_HW_INSTRUCTIONS ||
		       a->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	if (a->exclude_kernel && a->type == PERF_TYPE_RAW)
		return 1;
	return a->type == PERF_TYPE_BREAKPOINT ||
	       (a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY);
}

static inline void saw_open(struct show *s, const struct op *op)
{
	struct slot *slot = &s->slot[op->arg[0]];

	slot->attr = s->attr.a;
	slot->group = op->arg[3] < 0 ? op->arg[0] : s->slot[op->arg[3]].group;
	slot->exact = is_exact(&slot->attr, op->arg[1]);
	s->hardware += is_hardware(&slot->attr);
	/* There is one counter for it */
	if (slot->attr.type == PERF_TYPE_HARDWARE &&
	    slot->attr.config == PERF_COUNT_HW_REF_CPU_CYCLES)
		s->hardware += ALWAYS_FIT - 1;
	s->all_exact &= slot->exact;
}

static inline void put_id(struct show *s, uint64_t id)
{
	int i;

	for (i = 0; i < s->ids && s->id[i] != id; i++)
		;
	if (i == s->ids && s->ids < (int)ARRAY_SIZE(s->id))
		s->id[s->ids++] = id;
	put(s, " id%d", i);
}

static inline void put_count(struct show *s, uint64_t v, int exact)
{
	if (s->hardware > ALWAYS_FIT)
		put(s, " ~");
	else if (exact)
		put(s, " %llu", (long long)v);
	else
		put(s, " %s", v ? "+" : "0");
}

static inline void put_event(struct show *s, const uint64_t **w, uint64_t format, int exact)
{
	if (format & PERF_FORMAT_ID)
		put_id(s, *(*w)++);
	if (format & PERF_FORMAT_LOST)
		put_count(s, *(*w)++, exact);
}

static inline void put_times(struct show *s, const uint64_t **w, uint64_t format, int fits)
{
	uint64_t te = 0, tr = 0;

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
		te = *(*w)++;
		put(s, " te%s", te ? "+" : "0");
	}
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		tr = *(*w)++;
	if ((format & 3) == 3 && fits)
		put(s, " tr%s", tr > te ? ">" : tr == te ? "=" : tr ? "<" : "0");
	else if ((format & 3) == 3)
		put(s, tr > te ? " tr>" : "");
}

/* What a read of a group is long */
static inline long group_bytes(uint64_t format, uint64_t nr)
{
	long times = __builtin_popcountll(format & FORMAT_TIMES);
	long each = 1 + __builtin_popcountll(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));

	return 8 * (1 + times + nr * each);
}

static inline void put_read(struct show *s, const struct slot *slot, const struct result *r)
{
	uint64_t format = slot->attr.read_format, nr = 1, v;
	const uint64_t *w = r->word, *end = w + r->words;
	int fits = s->hardware <= ALWAYS_FIT;

	if (format & PERF_FORMAT_GROUP) {
		nr = *w++;
		put(s, " nr%llu", (long long)nr);
		if (r->ret > group_bytes(format, nr))
			put(s, " more");
		put_times(s, &w, format, fits);
		while (nr-- && w < end) {
			put_count(s, *w++, s->all_exact);
			put_event(s, &w, format, s->all_exact);
		}
		return;
	}
	v = *w++;
	put_count(s, v, slot->exact);
	put_times(s, &w, format, fits);
	put_event(s, &w, format, slot->exact);
}

static inline void put_run(struct show *s, const struct perf_event_header *h, int n)
{
	int fits = s->all_exact && s->hardware <= ALWAYS_FIT;

	put(s, " %u:%#x:%u", h->type, h->misc, h->size);
	if (n > 1 && fits)
		put(s, "*%d", n);
	else if (n > 1)
		put(s, "*");
}

/* Types, misc and sizes of records, alike ones together; throttling is of time */
static inline void put_records(struct show *s, const struct result *r)
{
	struct perf_event_header h, last = { 0 };
	uint32_t at = 0;
	int n = 0;

	while (at + sizeof(h) <= r->bytes) {
		memcpy(&h, r->data + at, sizeof(h));
		if (h.size < 8) {
			put(s, " broken");
			break;
		}
		at += h.size;
		if (h.type == PERF_RECORD_THROTTLE || h.type == PERF_RECORD_UNTHROTTLE)
			continue;
		if (n && memcmp(&h, &last, sizeof(h))) {
			put_run(s, &last, n);
			n = 0;
		}
		last = h;
		n++;
	}
	if (n)
		put_run(s, &last, n);
}

static inline void put_result(struct show *s, const struct op *op, const struct result *r)
{
	if (!r->done) {
		put(s, "not reached");
		return;
	}
	put(s, "%d", r->ret);
	if (r->ret < 0)
		put(s, " %s", strerrorname_np(r->err));
	switch (op->code) {
	case OP_OPEN:
		if (!r->ret)
			saw_open(s, op);
		break;
	case OP_READ:
		if (r->ret > 0)
			put_read(s, &s->slot[op->arg[0]], r);
		break;
	case OP_RECORDS:
		put_records(s, r);
		break;
	case OP_POLL:
		put(s, " %#llx", (long long)r->word[0]);
		break;
	case OP_IOCTL:
		if (op->arg[1] == C_ID && !r->ret)
			put_id(s, r->word[0]);
		break;
	case OP_DUP:
	case OP_PASS:
		if (!r->ret)
			s->slot[op->arg[1]] = s->slot[op->arg[0]];
		break;
	default:
		break;
	}
	if (r->traps)
		put(s, s->all_exact ? " SIGTRAP*%u %llu" : " SIGTRAP",
		    r->traps, (long long)r->trap_data);
	if (r->ios)
		put(s, " SIGIO");
}

/**
 * show() - the text of what came out
 * @t: where to
 * @p: the program
 * @out: what came out of it
 */
static inline void show(struct text *t, const struct prog *p, const struct outcome *out)
{
	struct show s = { .all_exact = 1 };
	int i;

	for (i = 0; i < p->nr; i++) {
		const struct op *op = &p->op[i];

		attr_op(&s.attr, op);
		s.at = t->key[i];
		s.end = s.at + SHOW_MAX;
		s.at += op_print(s.at, op);
		if (op->code == OP_OPEN || (op->code == OP_IOCTL && op->arg[1] == C_MODIFY))
			put_attr(&s, &s.attr);
		s.at = t->val[i];
		s.end = s.at + SHOW_MAX;
		put_result(&s, op, &out->res[i]);
	}
	strcpy(t->key[i], "end");
	snprintf(t->val[i], SHOW_MAX, "status %#x", out->status);
}

#endif
