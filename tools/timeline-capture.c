// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-timeline: slices of tasks and counters, and counts over time, from records. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "timeline.h"

#define OPEN		UINT64_MAX	/* end of a slice that has not ended yet */
#define MAX_TIMES	8192		/* of counts, of each CPU */
#define STEP		200000		/* least distance of them, ns, as long as there is room */
#define BUCKETS		65536		/* of the table of tasks */

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		die("out of memory");
	return p;
}

/**
 * clock_ns() - the time by the clock of the records
 */
uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* ---- tasks: one for each thread id and name ---------------------------------------- */

static struct task *tasks;
static int nr_tasks, first_task[BUCKETS];	/* numbers from 1, 0: none */

static unsigned int hash(int tid, const char *comm)
{
	unsigned int h = tid;

	for (; *comm; comm++)
		h = h * 31 + (unsigned char)*comm;
	return h % BUCKETS;
}

static int find_task(const struct kpmu_timeline_record *r)
{
	int *first = &first_task[hash(r->tid, r->comm)], i;

	for (i = *first; i; i = tasks[i - 1].next)
		if (tasks[i - 1].tid == r->tid && !strcmp(tasks[i - 1].comm, r->comm))
			return i - 1;
	if (!(nr_tasks & (nr_tasks - 1)))
		tasks = grown(tasks, (nr_tasks ? 2 * nr_tasks : 1) * sizeof(*tasks));
	tasks[nr_tasks] = (struct task) { .tid = r->tid, .pid = r->pid, .next = *first };
	memcpy(tasks[nr_tasks].comm, r->comm, sizeof(r->comm));
	*first = ++nr_tasks;
	return nr_tasks - 1;
}

/**
 * task_of() - a task
 * @i: its number
 */
const struct task *task_of(int i)
{
	return &tasks[i];
}

/* ---- lanes ------------------------------------------------------------------------- */

/**
 * lane_set() - from a time on, another task or event has the place
 * @lane: the place
 * @at: the time
 * @what: the task or event, or NOTHING
 */
void lane_set(struct lane *lane, uint64_t at, int what)
{
	struct slice *last = lane->nr ? &lane->slice[lane->nr - 1] : NULL;

	if (last && last->end == OPEN) {
		if (last->what == what)
			return;
		last->end = at > last->begin ? at : last->begin;
		if (last->end == last->begin)
			lane->nr--;
	}
	if (what == NOTHING)
		return;
	last = lane->nr ? &lane->slice[lane->nr - 1] : NULL;
	if (last && last->what == what && last->end >= at) {
		last->end = OPEN;
		return;
	}
	if (last && last->end > at)
		at = last->end;
	if (lane->nr == lane->room) {
		lane->room = lane->room ? 2 * lane->room : 64;
		lane->slice = grown(lane->slice, lane->room * sizeof(*lane->slice));
	}
	lane->slice[lane->nr++] = (struct slice) { at, OPEN, what };
}

static void clear_track(struct cpu_track *t, uint64_t at)
{
	int i;

	lane_set(&t->tasks, at, NOTHING);
	for (i = 0; i < MAX_COUNTERS; i++)
		lane_set(&t->on[i], at, NOTHING);
}

static int owner_now(const struct lane *lane)
{
	const struct slice *last = lane->nr ? &lane->slice[lane->nr - 1] : NULL;

	return last && last->end == OPEN ? last->what : NOTHING;
}

/**
 * track_owners() - from a time on, the events have these counters
 * @c: the run
 * @t: the CPU
 * @at: the time
 * @where: of each event, as in struct kpmu_moment
 */
void track_owners(struct capture *c, struct cpu_track *t, uint64_t at, const uint8_t *where)
{
	int i, owner[MAX_COUNTERS];

	for (i = 0; i < MAX_COUNTERS; i++)
		owner[i] = NOTHING;
	for (i = 0; i < nr_events; i++)
		if (where[i] < MAX_COUNTERS)
			owner[where[i]] = i;
	for (i = 0; i < MAX_COUNTERS; i++) {
		if (owner_now(&t->on[i]) == owner[i])
			continue;
		c->changes++;
		lane_set(&t->on[i], at, owner[i]);
	}
}

/* ---- counts ------------------------------------------------------------------------ */

/* Drop every second time, so that a long run needs no more memory than a short one */
static void thin_out(struct cpu_track *t)
{
	int i;

	for (i = 0; i < t->nr / 2; i++) {
		t->times[i] = t->times[2 * i];
		memcpy(t->counts + i * nr_events, t->counts + 2 * i * nr_events,
		       nr_events * sizeof(*t->counts));
	}
	t->nr = i;
	t->step *= 2;
}

/**
 * track_counts() - note what was counted by a time
 * @t: the CPU
 * @at: the time
 * @counts: of each event; UNKNOWN ones are interpolated by end_capture()
 * @always: also if the last counts are hardly older
 */
void track_counts(struct cpu_track *t, uint64_t at, const uint64_t *counts, bool always)
{
	uint64_t *to;
	int i;

	if (t->nr && at <= t->times[t->nr - 1])
		return;
	if (t->nr && at < t->times[t->nr - 1] + t->step && !always)
		return;
	if (t->nr == MAX_TIMES)
		thin_out(t);
	t->times[t->nr] = at;
	to = t->counts + t->nr++ * nr_events;
	for (i = 0; i < nr_events; i++)
		to[i] = counts[i] == KPMU_SET_NONE ? 0 : counts[i];
}

/**
 * count_at() - the count of an event at a time, by interpolation
 * @t: the CPU
 * @event: the event
 * @at: the time, ns
 */
double count_at(const struct cpu_track *t, int event, double at)
{
	int low = 0, high = t->nr - 1, mid;
	double a, b;

	if (!t->nr)
		return 0;
	if (at <= t->times[0])
		return t->counts[event];
	if (at >= t->times[high])
		return t->counts[high * nr_events + event];
	while (high - low > 1) {
		mid = (low + high) / 2;
		if (t->times[mid] <= at)
			low = mid;
		else
			high = mid;
	}
	a = t->counts[low * nr_events + event];
	b = t->counts[high * nr_events + event];
	return a + (b - a) * (at - t->times[low]) / (t->times[high] - t->times[low]);
}

/* ---- a run ------------------------------------------------------------------------- */

/**
 * begin_capture() - prepare to record a run on all targets
 * @c: the run; its name and how are set
 */
void begin_capture(struct capture *c)
{
	struct kpmu_info info;
	int i;

	c->nr_cpus = nr_targets;
	c->length = UINT64_MAX;
	c->cpus = calloc(nr_targets, sizeof(*c->cpus));
	if (!c->cpus)
		die("out of memory");
	for (i = 0; i < nr_targets; i++) {
		struct cpu_track *t = &c->cpus[i];

		t->cpu = targets[i].cpu;
		t->step = STEP;
		t->counters = kpmu_cpu_info(t->cpu, &info, NULL, 0) < 0 ? 0 : info.general;
		t->times = grown(NULL, MAX_TIMES * sizeof(*t->times));
		t->counts = grown(NULL, MAX_TIMES * nr_events * sizeof(*t->counts));
	}
	c->begin = clock_ns();
}

/**
 * time_in() - a time since the beginning of a run, within the run
 * @c: the run
 * @ns: the time by the clock
 */
uint64_t time_in(const struct capture *c, uint64_t ns)
{
	uint64_t at = ns > c->begin ? ns - c->begin : 0;

	return at < c->length ? at : c->length;
}

/* Unknown counts of an event: as if its rate were constant between those that are known */
static void interpolate(struct cpu_track *t, int event)
{
	int i, j, known = -1;

	for (i = 0; i < t->nr; i++) {
		uint64_t *at = t->counts + event, from, to = at[i * nr_events];

		if (to == UNKNOWN)
			continue;
		from = known < 0 ? to : at[known * nr_events];
		for (j = known + 1; j < i; j++)
			at[j * nr_events] = known < 0 ? to : from + (double)(to - from) *
				(t->times[j] - t->times[known]) / (t->times[i] - t->times[known]);
		known = i;
	}
	for (j = known + 1; j < t->nr; j++)
		t->counts[j * nr_events + event] = known < 0 ? 0 :
			t->counts[known * nr_events + event];
}

/**
 * end_capture() - end all slices, and interpolate counts
 * @c: the run
 * @end: when it ended
 */
void end_capture(struct capture *c, uint64_t end)
{
	int i, e;

	c->length = end - c->begin;
	for (i = 0; i < c->nr_cpus; i++) {
		clear_track(&c->cpus[i], c->length);
		for (e = 0; e < nr_events; e++)
			interpolate(&c->cpus[i], e);
	}
}

/**
 * track_moment() - take a record of kpmu into account
 * @c: the run
 * @m: the record
 */
void track_moment(struct capture *c, const struct kpmu_moment *m)
{
	const struct kpmu_timeline_record *r = m->record;
	struct cpu_track *t = &c->cpus[m->cpu];
	uint64_t at = time_in(c, r->time);
	bool idle = !r->tid && r->comm[0];

	c->records++;
	c->switches += r->why == KPMU_TIMELINE_SWITCH;
	/* Nothing is known of the time before it */
	if (m->lost || r->why == KPMU_TIMELINE_START)
		clear_track(t, t->last);
	lane_set(&t->tasks, at, idle ? NOTHING : find_task(r));
	track_owners(c, t, at, m->where);
	track_counts(t, at, m->count, r->why == KPMU_TIMELINE_PLAN ||
		     r->why == KPMU_TIMELINE_CONTROL);
	t->last = at;
}

/**
 * counter_name() - the name of a counter
 * @counter: its number
 *
 * Return: the name, valid until the next call.
 */
const char *counter_name(int counter)
{
	static char name[32];

	if (counter < FIRST_FIXED)
		snprintf(name, sizeof(name), "counter %d", counter);
	else
		snprintf(name, sizeof(name), "fixed counter %d", counter - FIRST_FIXED);
	return name;
}

/**
 * shows_counter() - is a counter general, or has an event had it?
 * @t: the CPU
 * @counter: its number
 */
bool shows_counter(const struct cpu_track *t, int counter)
{
	return t->counters >> counter & 1 || t->on[counter].nr;
}
