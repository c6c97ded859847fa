// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-stat: which events share counters, and why (KPMU_IOC_EXPLAIN). */
#include <stdio.h>
#include <string.h>

#include "stat.h"

static struct kpmu_explain_event view[MAX_EVENTS];
static int nr_viewed;

/**
 * explain_events() - ask the module which of the events count together
 * @events: the events
 * @nr: number of @events, at most MAX_EVENTS
 * @cpu: the CPU that they count on, -1 for events of tasks
 *
 * Returns true if the module has answered.
 */
bool explain_events(const struct kpmu_event *events, int nr, int cpu)
{
	nr_viewed = nr && !kpmu_events_explain(events, nr, cpu, view) ? nr : 0;
	return nr_viewed;
}

static int leader_of(int i)
{
	return view[i].group < 0 ? i : view[i].group;
}

/* The first event that waits for the counters of the group of @i, -1 if none does */
static int waits_for(int i)
{
	for (int j = 0; j < nr_viewed; j++)
		if (view[j].blocker == leader_of(i))
			return j;
	return -1;
}

/* The last event that does not fit, -1 if all do */
static int any_misfit(void)
{
	for (int i = nr_viewed - 1; i >= 0; i--)
		if (!view[i].fits)
			return i;
	return -1;
}

/**
 * has_no_room() - does an event not fit beside those before it?
 * @i: its index
 */
bool has_no_room(int i)
{
	return nr_viewed && !view[i].fits;
}

/**
 * why_shared() - the reason why an event did not count all the time
 * @events: as passed to explain_events()
 * @i: index of the event
 *
 * Returns the reason, valid until the next call; "" if the module has not answered.
 */
const char *why_shared(const struct kpmu_event *events, int i)
{
	static char text[256];
	int j;

	if (!nr_viewed)
		return "";
	if (!view[i].fits && view[i].blocker >= 0) {
		snprintf(text, sizeof(text), "%s: takes turns with %s", view[i].text,
			 events[view[i].blocker].name);
		return text;
	}
	if (!view[i].fits)
		return view[i].text;
	j = waits_for(i);
	if (j < 0)
		j = any_misfit();
	if (j < 0)
		return "others use the counters";
	snprintf(text, sizeof(text), "takes turns with %s", events[j].name);
	return text;
}

static const char *rules(__u32 bits)
{
	static const char *const names[] = {
		"fixed", "some counters only", "extra register", "branch records", "precise",
		"driver's PMU", "others are reserved", "two counters",
	};
	static char text[128];

	text[0] = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		if (bits & 1U << i) {
			strcat(text, text[0] ? ", " : "");
			strcat(text, names[i]);
		}
	return text;
}

static void print_counters(const struct kpmu_explain_event *e, __u32 all)
{
	for (int c = 0; c < 32; c++)
		if (all & 1U << c)
			printf(" %2s", c == e->counter ? "X" : e->allowed & 1U << c ? "." : "");
}

static void print_row(const struct kpmu_event *event, const struct kpmu_explain_event *e, __u32 all)
{
	printf("%-30s", event->name);
	print_counters(e, all);
	if (e->error)
		printf("  cannot be opened: %s%s%s", strerror(e->error), e->text[0] ? ": " : "",
		       e->text);
	else if (!e->fits)
		printf("  does not fit: %s", e->text);
	else if (!e->allowed)
		printf("  needs no counter");
	if (e->rules)
		printf("  (%s)", rules(e->rules));
	putchar('\n');
}

/**
 * print_explained() - print the table of events and counters that explain_events() asked for
 * @events: as passed to explain_events()
 *
 * X: the event's counter, a dot: another one that it may use.  Returns the number of events that
 * do not fit.
 */
int print_explained(const struct kpmu_event *events)
{
	__u32 all = 0;
	int i, misfits = 0;

	for (i = 0; i < nr_viewed; i++)
		all |= view[i].allowed;
	printf("%-30s", "counter");
	for (i = 0; i < 32; i++)
		if (all & 1U << i)
			printf(" %2d", i);
	putchar('\n');
	for (i = 0; i < nr_viewed; i++) {
		print_row(&events[i], &view[i], all);
		misfits += !view[i].fits;
	}
	if (misfits)
		printf("%d of %d events cannot count together with the others: all take turns\n",
		       misfits, nr_viewed);
	else
		printf("all events count together\n");
	return misfits;
}
