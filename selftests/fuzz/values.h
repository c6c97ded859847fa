/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts counts, times and ids to text for comparison, and tracks the events of a program
 * as far as this conversion depends on them.
 */
#ifndef KPMU_FUZZ_VALUES_H
#define KPMU_FUZZ_VALUES_H

#include <stdarg.h>

#include "exec.h"

#define SHOW_MAX	4096
#define ALWAYS_FIT	4	/* this number of hardware events always fits on the counters */
#define SHORT		4096	/* a period that the way out of an interrupt may exceed */
#define HANDLER	200	/* instructions of a signal, at most */
#define THROTTLED	100	/* overflows in a tick that limit_rates() allows, for HZ=250 */

struct text {
	char key[PROG_OPS + 1][SHOW_MAX];	/* operation, with details for rules */
	char val[PROG_OPS + 1][SHOW_MAX];	/* its result */
};

struct slot {
	struct perf_event_attr attr;
	int open;
	int event;		/* a number that all fds of the event have */
	int exact;		/* both routes give the same count */
	int loose;		/* the count may be zero on one route only */
	int of_cgroup;
	int of_worker;		/* the number of the worker, from 1 */
	int reset, reset_late;	/* the latter: after a task was created */
	int group;		/* the leader's slot */
	int was_read;		/* it, or another event of its group */
	int was_off;		/* was disabled at some time: by its attr, ioctl or prctl */
	int stuck;		/* a member of the group that this one leads may_be_stuck() */
	int ends;		/* REFRESH ends one of its group at a moment that differs, as with throttling */
	int leaderless;		/* 1: the leader was closed, 2: and it had was_off */
	int moved;		/* see saw_move() */
	int two_pmus;		/* see of_two_pmus() */
	int mixed;		/* other events may write to its ring */
	int shares;		/* another event of its group samples, or did */
};

struct show {
	union any_attr attr;
	struct slot slot[SLOTS];
	uint64_t id[64];
	int events;		/* number of events opened */
	int ids, hardware;	/* number of ids seen, of hardware events opened */
	uint64_t task[32];
	int tasks;
	int redirected;		/* an event may write to the ring of another */
	struct slot ring[SLOTS];	/* the event whose ring the slot maps */
	int all_exact, any_loose;	/* of all events opened so far */
	int forks;		/* operations so far that create tasks */
	int exclusive;		/* an event with attr.exclusive was opened */
	uint64_t period;	/* the least period of all events that sample, 0 if none does */
	int any_shares;
	int stray_signals;	/* their number may differ, and so the instructions of handlers */
	int stat;		/* an event with inherit_stat was opened */
	int signals_differ;	/* or it is not known which signals arrive */
	uint64_t traps;		/* overflows so far of events with sigtrap, at most */
	int starts_differ;	/* an event that samples became leaderless == 2; or saw_breakpoint() */
	int new_period;		/* saw_new_period() */
	int child_execs;	/* children that executed a program */
	int removes, execs;	/* events with remove_on_exec, and workers that execute */
	int exec_enables;	/* events with enable_on_exec */
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

/*
 * Do both routes give the same count?  They do for breakpoints, for user instructions,
 * branches, loads and stores, and for all tracepoints in trace_name[] but the last one.
 */
static inline int is_exact(const struct perf_event_attr *a, const int64_t *open)
{
	int cgroup = open[4] & PERF_FLAG_PID_CGROUP;

	/* A CPU and the root cgroup have tasks other than the program's */
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

/* Does the count depend on when tasks wait, or on the initial content of the caches? */
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

/* Upstream starts an event whose leader was off and is closed later than kpmu, so signals come later */
static inline void saw_leaderless(struct show *s, const struct slot *slot)
{
	s->starts_differ |= slot->leaderless == 2 && slot->attr.sample_period;
}

/* When a leader is closed, its siblings become groups of their own */
static inline void saw_close(struct show *s, int leader)
{
	for (int i = 0; i < SLOTS; i++)
		if (i != leader && s->slot[i].group == leader) {
			/* The leader may have been a leaderless member itself */
			if (s->slot[i].leaderless <= s->slot[leader].was_off)
				s->slot[i].leaderless = 1 + s->slot[leader].was_off;
			s->slot[i].exact &= !s->slot[leader].was_off;
			saw_leaderless(s, &s->slot[i]);
			s->slot[i].group = i;
		}
}

/* Worker @nr executes a program: that ends its events with remove_on_exec as if they were closed */
static inline void saw_exec(struct show *s, int nr)
{
	for (int i = 0; i < SLOTS; i++)
		if (s->slot[i].open && s->slot[i].of_worker == nr && s->slot[i].attr.remove_on_exec)
			saw_close(s, i);
	s->execs++;
}

/* Slot @to gets a second fd of the event of slot @from; what it had is closed */
static inline void saw_copy(struct show *s, int from, int to)
{
	if (to == from)
		return;
	if (s->slot[to].open)
		saw_close(s, to);
	s->slot[to] = s->slot[from];
}

/*
 * A hardware event joins a software group.  Upstream moves the group to the hardware context.  The other
 * members are there before their leader, and do not run meanwhile.  If the leader has been disabled, the
 * state of all is reset to attr.disabled.
 */
enum { MOVED = 1, MOVED_WHILE_OFF };

static inline void saw_move(struct show *s, int leader, int was_off)
{
	for (int i = 0; i < SLOTS; i++) {
		struct slot *slot = &s->slot[i];

		if (slot->group != leader)
			continue;
		if (was_off) {
			slot->moved = MOVED_WHILE_OFF;
			s->signals_differ |= slot->attr.sigtrap;
		} else if (i != leader && !slot->moved) {
			slot->moved = MOVED;
		}
	}
}

/*
 * An event with such a period may be throttled within a program.  kpmu, and upstream from 6.16 on, throttle
 * its whole group then, so the counts of the others depend on when that was.
 */
#define THROTTLES	100

static inline int throttles(const struct slot *slot)
{
	return slot->open && (slot->attr.freq || (slot->attr.sample_period &&
						  slot->attr.sample_period <= THROTTLES));
}

static inline void saw_throttling(struct show *s, int group)
{
	int events = 0, fast = 0, samples = 0;

	for (int i = 0; i < SLOTS; i++) {
		if (!s->slot[i].open || s->slot[i].group != group)
			continue;
		events++;
		fast |= throttles(&s->slot[i]);
		samples |= s->slot[i].attr.sample_period > 0;
	}
	if (events < 2 || !samples)
		return;
	for (int i = 0; i < SLOTS; i++) {
		if (!s->slot[i].open || s->slot[i].group != group)
			continue;
		s->slot[i].shares = 1;
		s->slot[i].loose |= fast;
	}
	s->any_shares = 1;
	s->any_loose |= fast;
}

/* Events that need no counter, by the PMU that upstream gives them */
static inline int software_pmu(const struct perf_event_attr *a)
{
	int is_clock = a->type == PERF_TYPE_SOFTWARE && a->config <= PERF_COUNT_SW_TASK_CLOCK;

	return is_clock ? -1 - (int)a->config : (int)a->type;
}

/* Upstream schedules only the PMU of the event that is opened, even if its leader has another */
static inline int of_two_pmus(const struct slot *event, const struct slot *leader)
{
	return !is_hardware(&event->attr) && !is_hardware(&leader->attr) &&
	       software_pmu(&event->attr) != software_pmu(&leader->attr);
}

/*
 * Invariants are checked in the overflow interrupt, too, so its way out may have more events than
 * a short period: kpmu then throttles the group until the next tick, also with the first overflow.
 */
static inline int may_be_stuck(const struct perf_event_attr *a)
{
	return is_hardware(a) && !a->exclude_kernel &&
	       (a->freq || (a->sample_period && a->sample_period < SHORT));
}

static inline void saw_stuck(struct show *s, int group)
{
	for (int i = 0; i < SLOTS; i++)
		s->slot[i].loose |= s->slot[i].open && s->slot[i].group == group;
	s->slot[group].stuck = 1;
	s->any_loose = 1;
	s->all_exact = 0;
}

/* For how long the others are enabled is not known, either */
static inline void saw_limit(struct show *s, int group)
{
	for (int i = 0; i < SLOTS; i++)
		s->slot[i].ends |= s->slot[i].open && s->slot[i].group == group;
}

static inline void saw_period(struct show *s, uint64_t period)
{
	if (period && (!s->period || period < s->period))
		s->period = period;
}

/*
 * Upstream forgets what is left of the period of an event without a counter when its period is changed, so
 * that the next hit is an overflow.  Its signals, and what their handlers do, then differ.
 */
static inline void saw_new_period(struct show *s, const struct slot *slot)
{
	if (is_hardware(&slot->attr))
		return;
	s->new_period = 1;
	s->signals_differ = 1;
	s->stray_signals = 1;
}

/*
 * All breakpoints of a program are at the same address, and QEMU reports an access to the first of
 * the debug registers only.  Their order differs between the routes.
 */
static inline void saw_breakpoint(struct show *s, const struct slot *new)
{
	int nr = 0;

	if (new->attr.type != PERF_TYPE_BREAKPOINT)
		return;
	for (int i = 0; i < SLOTS; i++)
		nr += s->slot[i].open && s->slot[i].attr.type == PERF_TYPE_BREAKPOINT;
	if (nr < 2)
		return;
	for (int i = 0; i < SLOTS; i++)
		s->slot[i].loose |= s->slot[i].attr.type == PERF_TYPE_BREAKPOINT;
	s->any_loose = 1;
	s->all_exact = 0;
	s->stray_signals = 1;
	s->starts_differ = 1;
}

static inline void saw_open(struct show *s, const struct op *op)
{
	struct slot *slot = &s->slot[op->arg[0]], was = *slot;
	int of = op->arg[3] >= 0 && op->arg[3] < SLOTS && s->slot[op->arg[3]].open &&
		 !(op->arg[4] & PERF_FLAG_FD_NO_GROUP);
	int group = of ? s->slot[op->arg[3]].group : op->arg[0];
	struct slot leader = s->slot[group];
	int moves = of && is_hardware(&s->attr.a) && !is_hardware(&leader.attr);

	if (moves)
		saw_move(s, group, leader.was_off);
	/* The open has closed the event that used the slot before; it may be the leader */
	saw_close(s, op->arg[0]);
	*slot = (struct slot) { .attr = s->attr.a, .open = 1, .event = ++s->events, .group = group };
	if (group == op->arg[0] && of)
		slot->leaderless = 1 + was.was_off;
	if (of && leader.leaderless)
		slot->leaderless = leader.leaderless;
	saw_leaderless(s, slot);
	slot->ends = of && leader.ends;
	slot->two_pmus = of && of_two_pmus(slot, &leader);
	/* A read of the leader may include it */
	s->slot[group].two_pmus |= slot->two_pmus;
	slot->was_off = slot->attr.disabled;
	/* If the closed leader was disabled, the event starts to count in this operation */
	slot->loose = is_loose(&slot->attr);
	slot->exact = is_exact(&slot->attr, op->arg) && !slot->loose && slot->leaderless != 2;
	slot->of_cgroup = op->arg[4] & PERF_FLAG_PID_CGROUP;
	slot->of_worker = slot->of_cgroup || op->arg[1] < 0 ? 0 : op->arg[1];
	s->hardware += is_hardware(&slot->attr);
	/* Only one counter can count ref-cycles, so two such events do not fit together */
	if (slot->attr.type == PERF_TYPE_HARDWARE &&
	    slot->attr.config == PERF_COUNT_HW_REF_CPU_CYCLES)
		s->hardware += ALWAYS_FIT - 1;
	s->all_exact &= slot->exact;
	s->any_loose |= slot->loose;
	s->exclusive |= slot->attr.exclusive;
	s->stray_signals |= slot->attr.sigtrap && (!slot->exact || slot->attr.freq);
	saw_period(s, slot->attr.freq ? 1 : slot->attr.sample_period);
	if (may_be_stuck(&slot->attr) || s->slot[group].stuck)
		saw_stuck(s, group);
	s->removes |= slot->attr.remove_on_exec;
	s->exec_enables |= slot->attr.enable_on_exec;
	s->stat |= slot->attr.inherit_stat;
	if ((moves && leader.was_off) || (of && s->slot[group].moved == MOVED_WHILE_OFF))
		slot->moved = MOVED_WHILE_OFF;
	s->signals_differ |= s->slot[group].moved == MOVED_WHILE_OFF && slot->attr.sigtrap;
	s->redirected |= op->arg[4] & PERF_FLAG_FD_OUTPUT;
	saw_throttling(s, group);
	saw_breakpoint(s, slot);
}

/* Numbers that differ between the routes are replaced by the order of their appearance */
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
 * Do all hardware events fit on the counters, so that none is rotated?  If one is exclusive,
 * it must be the only one: native perf may schedule an exclusive group together with pinned
 * groups and with events on CPUs, kpmu does not (see native-differs).
 */
static inline int all_fit(const struct show *s)
{
	return s->hardware <= (s->exclusive ? 1 : ALWAYS_FIT);
}

/* When an event is throttled depends on ticks, and so does what it counts then */
static inline int may_throttle(const struct show *s, uint64_t count)
{
	return s->period && count / s->period >= THROTTLED;
}

/*
 * The same of an event that another event of its group throttles; that one may count cycles.  The count
 * tells only if it is exact: else it may be above the limit on one route, and below on the other.
 */
static inline int may_be_throttled(const struct show *s, uint64_t count, int exact)
{
	return s->period && (!exact || 4 * count / s->period >= THROTTLED);
}

static inline void put_count(struct show *s, uint64_t v, int exact, int loose)
{
	if (!all_fit(s) || loose)
		put(s, " ~");
	else if (exact && !s->stray_signals && !may_throttle(s, v))
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

static inline void put_times(struct show *s, const uint64_t **w, uint64_t format, int fits, int ends)
{
	uint64_t te = 0, tr = 0;

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
		te = *(*w)++;
		put(s, " te%s", ends ? "" : te ? "+" : "0");
	}
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		tr = *(*w)++;
	if ((format & 3) == 3 && fits && !ends)
		put(s, " tr%s", tr > te ? ">" : tr == te ? "=" : tr ? "<" : "0");
	else if ((format & 3) == 3)
		put(s, tr > te ? " tr>" : "");
}

/* The length of a group's read */
static inline long group_bytes(uint64_t format, uint64_t nr)
{
	long times = __builtin_popcountll(format & FORMAT_TIMES);
	long each = 1 + __builtin_popcountll(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));

	return 8 * (1 + times + nr * each);
}

/*
 * Values in the layout of the event's read_format, from a read(2) or a record.  @len: length
 * of the read in bytes, 0 if unknown.  Returns the first word after the values.
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
		put_times(s, &w, format, fits, slot->ends);
		while (nr-- && w < end) {
			v = *w++;
			put_count(s, v, s->all_exact,
				  s->any_loose || (s->any_shares &&
						   may_be_throttled(s, v, s->all_exact)));
			put_event(s, &w, format, s->all_exact, s->any_loose);
		}
		return w;
	}
	v = *w++;
	put_count(s, v, slot->exact,
		  slot->loose || (slot->shares && may_be_throttled(s, v, slot->exact)));
	put_times(s, &w, format, fits, slot->ends);
	put_event(s, &w, format, slot->exact, slot->loose);
	return w;
}

#endif
