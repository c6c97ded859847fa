/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of a program's events while its results are made text, and the text of
 * counts, times and ids.
 */
#ifndef KPMU_FUZZ_VALUES_H
#define KPMU_FUZZ_VALUES_H

#include <stdarg.h>

#include "exec.h"

#define SHOW_MAX	4096
#define ALWAYS_FIT	4	/* so many hardware events need not take turns */

struct text {
	char key[PROG_OPS + 1][SHOW_MAX];	/* the operation, with the attr if it opens */
	char val[PROG_OPS + 1][SHOW_MAX];	/* what it gave */
};

struct slot {
	struct perf_event_attr attr;
	int exact;		/* its kind counts the same on both routes */
	int loose;		/* not even whether there is a count */
	int of_cgroup, of_worker;
	int reset_late;		/* after tasks were copied */
	int group;		/* the leader's slot */
	int was_off;		/* by itself, at any time */
	int leaderless;		/* the leader was closed, 2: and had been off */
	int moved;		/* its group got counters while the leader was off */
	int mixed;		/* others may write into its ring */
};

struct show {
	union any_attr attr;
	struct slot slot[SLOTS];
	uint64_t id[64];
	int ids, hardware;	/* how many were seen, opened */
	uint64_t task[32];
	int tasks;
	int redirected;		/* there are rings that others write to */
	struct slot ring[SLOTS];	/* whose is mapped there */
	int all_exact, any_loose;	/* of the opened events */
	int forks;		/* tasks that were copied until now */
	int exclusive;		/* there is one that wants no others */
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
static inline int is_exact(const struct perf_event_attr *a, const int64_t *open)
{
	int cgroup = open[4] & PERF_FLAG_PID_CGROUP;

	/* In the root there are others, too */
	if (cgroup ? !open[1] : open[1] == -1)
		return 0;
	if (a->exclude_kernel && a->type == PERF_TYPE_HARDWARE)
		return a->config == PERF_COUNT_HW_INSTRUCTIONS ||
		       a->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	if (a->exclude_kernel && a->type == PERF_TYPE_RAW)
		return 1;
	if (a->type == PERF_TYPE_TRACEPOINT)
		return a->config != trace_id[TRACEPOINTS - 1];
	return a->type == PERF_TYPE_BREAKPOINT ||
	       (a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY);
}

/* Told by what waits, and by what the caches hold of what was before */
static inline int is_loose(const struct perf_event_attr *a)
{
	switch (a->type) {
	case PERF_TYPE_HARDWARE:
		return a->config == PERF_COUNT_HW_CACHE_REFERENCES ||
		       a->config == PERF_COUNT_HW_CACHE_MISSES;
	case PERF_TYPE_HW_CACHE:
		return (a->config & 0xff) == PERF_COUNT_HW_CACHE_LL ||
		       a->config >> 16 == PERF_COUNT_HW_CACHE_RESULT_MISS;
	case PERF_TYPE_RAW:
		return (a->config & 0xff) == 0xb7 || (a->config & 0xff) == 0xbb; /* offcore */
	case PERF_TYPE_SOFTWARE:
		return a->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		       a->config == PERF_COUNT_SW_CPU_MIGRATIONS;
	case PERF_TYPE_TRACEPOINT:
		return a->config == trace_id[TRACEPOINTS - 1];
	}
	return 0;
}

/* Members go on without it */
static inline void saw_close(struct show *s, int leader)
{
	for (int i = 0; i < SLOTS; i++)
		if (i != leader && s->slot[i].group == leader) {
			s->slot[i].leaderless = 1 + s->slot[leader].was_off;
			s->slot[i].exact &= !s->slot[leader].was_off;
			s->slot[i].group = i;
		}
}

static inline void saw_move(struct show *s, int leader)
{
	for (int i = 0; i < SLOTS; i++)
		s->slot[i].moved |= s->slot[i].group == leader;
}

static inline void saw_open(struct show *s, const struct op *op)
{
	struct slot *slot = &s->slot[op->arg[0]], was = *slot;
	int group = op->arg[3] < 0 ? op->arg[0] : s->slot[op->arg[3]].group;

	/* What was there before is closed now; it may have been the leader */
	saw_close(s, op->arg[0]);
	*slot = (struct slot) { .attr = s->attr.a, .group = group };
	if (group == op->arg[0] && op->arg[3] >= 0)
		slot->leaderless = 1 + was.was_off;
	slot->was_off = slot->attr.disabled;
	/* It starts when the leader is closed, in the middle of the call that opens it */
	slot->loose = is_loose(&slot->attr);
	slot->exact = is_exact(&slot->attr, op->arg) && !slot->loose && slot->leaderless != 2;
	slot->of_cgroup = op->arg[4] & PERF_FLAG_PID_CGROUP;
	slot->of_worker = !slot->of_cgroup && op->arg[1] > 0;
	s->hardware += is_hardware(&slot->attr);
	/* There is one counter for it */
	if (slot->attr.type == PERF_TYPE_HARDWARE &&
	    slot->attr.config == PERF_COUNT_HW_REF_CPU_CYCLES)
		s->hardware += ALWAYS_FIT - 1;
	s->all_exact &= slot->exact;
	s->any_loose |= slot->loose;
	s->exclusive |= slot->attr.exclusive;
	if (is_hardware(&slot->attr) && !is_hardware(&s->slot[group].attr) &&
	    s->slot[group].was_off)
		saw_move(s, group);
	s->redirected |= op->arg[4] & PERF_FLAG_FD_OUTPUT;
}

/* Numbers that differ from route to route are told by their order */
static inline int order_of(uint64_t *seen, int *nr, int room, uint64_t number)
{
	int i;

	for (i = 0; i < *nr && seen[i] != number; i++)
		;
	if (i == *nr && i < room)
		seen[(*nr)++] = number;
	return i;
}

static inline void put_id(struct show *s, uint64_t id)
{
	put(s, " id%d", order_of(s->id, &s->ids, ARRAY_SIZE(s->id), id));
}

/*
 * All hardware events fit on the counters, so none need take turns.  Upstream lets one that
 * is exclusive run beside pinned ones and those of CPUs, which kpmu does not: see
 * native-differs.
 */
static inline int all_fit(const struct show *s)
{
	return s->hardware <= (s->exclusive ? 1 : ALWAYS_FIT);
}

static inline void put_count(struct show *s, uint64_t v, int exact, int loose)
{
	if (!all_fit(s) || loose)
		put(s, " ~");
	else if (exact)
		put(s, " %llu", (long long)v);
	else
		put(s, " %s", v ? "+" : "0");
}

static inline void put_event(struct show *s, const uint64_t **w, uint64_t format, int exact,
			     int loose)
{
	if (format & PERF_FORMAT_ID)
		put_id(s, *(*w)++);
	if (format & PERF_FORMAT_LOST)
		put_count(s, *(*w)++, exact, loose);
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

/*
 * What a read gave: as put_values() is told by the event's read_format.  @len: how long
 * it was in all, 0 if that is not known.  Returns what is behind it.
 */
static inline const uint64_t *put_values(struct show *s, const struct slot *slot,
					 const uint64_t *w, const uint64_t *end, long len)
{
	uint64_t format = slot->attr.read_format, nr, v;
	int fits = all_fit(s);

	if (w >= end)
		return end;
	if (format & PERF_FORMAT_GROUP) {
		nr = *w++;
		put(s, " nr%llu", (long long)nr);
		if (len > group_bytes(format, nr))
			put(s, " more");
		put_times(s, &w, format, fits);
		while (nr-- && w < end) {
			put_count(s, *w++, s->all_exact, s->any_loose);
			put_event(s, &w, format, s->all_exact, s->any_loose);
		}
		return w;
	}
	v = *w++;
	put_count(s, v, slot->exact, slot->loose);
	put_times(s, &w, format, fits);
	put_event(s, &w, format, slot->exact, slot->loose);
	return w;
}

#endif
