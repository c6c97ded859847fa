// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-stat: counts, what follows from them, and times, as text, CSV or JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat.h"

static enum format format;
static bool on_terminal, coloured;

/**
 * print_begin() - set how to print
 * @how: the format
 * @terminal: stdout is a terminal: separate thousands, and use colours unless NO_COLOR is set
 */
void print_begin(enum format how, bool terminal)
{
	const char *no = getenv("NO_COLOR");

	format = how;
	on_terminal = terminal && how == TEXT;
	coloured = on_terminal && !(no && *no);
}

/* With a comma before each three digits on a terminal */
static const char *number(uint64_t value)
{
	static char text[32];
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value), i;
	char *to = text;

	for (i = 0; i < len; i++) {
		if (on_terminal && i && !((len - i) % 3))
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return text;
}

static bool same_modes(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->exclude_user == b->exclude_user && a->exclude_kernel == b->exclude_kernel;
}

/* The sample of a named event in the same modes; NULL if there is none, or it was not counted */
static const struct sample *find_sample(const struct kpmu_event *events, int nr,
					const struct sample *samples, const char *name,
					const struct perf_event_attr *like)
{
	struct kpmu_event wanted;
	int i;

	if (kpmu_events_parse(name, &wanted, 1, NULL) != 1)
		return NULL;
	for (i = 0; i < nr; i++)
		if (events[i].attr.type == wanted.attr.type &&
		    events[i].attr.config == wanted.attr.config && samples[i].count.running &&
		    (!like || same_modes(&events[i].attr, like)))
			return &samples[i];
	return NULL;
}

/* An event in relation to another one: of both, name of the ratio, and factor */
static const struct ratio {
	const char *event, *of, *text;
	double factor;
} ratios[] = {
	{ "instructions", "cycles", "insn per cycle", 1 },
	{ "branch-misses", "branches", "% of all branches", 100 },
	{ "cache-misses", "cache-references", "% of all cache refs", 100 },
	{ "L1-dcache-load-misses", "L1-dcache-loads", "% of all L1-dcache loads", 100 },
	{ "LLC-load-misses", "LLC-loads", "% of all LLC loads", 100 },
	{ "dTLB-load-misses", "dTLB-loads", "% of all dTLB loads", 100 },
	{ "branch-load-misses", "branch-loads", "% of all branch loads", 100 },
};

static bool is_named(const struct kpmu_event *e, const char *name)
{
	struct kpmu_event wanted;

	return kpmu_events_parse(name, &wanted, 1, NULL) == 1 &&
	       e->attr.type == wanted.attr.type && e->attr.config == wanted.attr.config;
}

static bool print_ratio(const struct kpmu_event *events, int nr, const struct sample *samples, int i)
{
	double value = kpmu_count_scaled(samples[i].count), of;

	for (const struct ratio *r = ratios; r < ratios + ARRAY_SIZE(ratios); r++) {
		const struct sample *base;

		if (!is_named(&events[i], r->event))
			continue;
		base = find_sample(events, nr, samples, r->of, &events[i].attr);
		of = base ? kpmu_count_scaled(base->count) : 0;
		if (of)
			printf("  # %8.2f %s", r->factor * value / of, r->text);
		return of;
	}
	return false;
}

static void print_rate(double per_second)
{
	static const char units[] = " KMG";
	const char *unit = units;

	while (per_second >= 1000 && unit[1]) {
		per_second /= 1000;
		unit++;
	}
	printf("  # %8.3f %.*s/sec", per_second, *unit == ' ' ? 0 : 1, unit);
}

/* What the count means: a ratio, CPUs in use, or a rate by the CPU time */
static void print_metric(const struct kpmu_event *events, int nr, const struct sample *samples,
			 int i, double elapsed)
{
	const struct sample *clock;
	double value = kpmu_count_scaled(samples[i].count);

	if (!samples[i].count.running || print_ratio(events, nr, samples, i))
		return;
	if (is_named(&events[i], "task-clock") || is_named(&events[i], "cpu-clock")) {
		if (elapsed > 0)
			printf("  # %8.3f CPUs utilized", value / 1e9 / elapsed);
		return;
	}
	clock = find_sample(events, nr, samples, "task-clock", NULL) ?:
		find_sample(events, nr, samples, "cpu-clock", NULL);
	if (clock && clock->count.value)
		print_rate(value / (clock->count.value / 1e9));
}

/* The share of the time, and why it is not all of it */
static void print_share(const struct kpmu_event *events, int i, const struct kpmu_count *c)
{
	const char *why = why_shared(events, i);

	if (coloured)
		fputs("\033[33m", stdout);
	if (c->running)
		printf("  (estimated: counted %.1f%% of the time", 100.0 * c->running / c->enabled);
	else
		printf("  (");
	printf("%s%s)", c->running && why[0] ? "; " : "", why);
	if (coloured)
		fputs("\033[0m", stdout);
}

/* A task that did not run was not counted either, but that is a count of 0 */
static bool is_counted(const struct kpmu_count *c, int i)
{
	return c->running || (!c->enabled && !has_no_room(i));
}

static void print_text(const struct kpmu_event *events, int nr, const struct sample *samples,
		       int i, double at, int cpu, double elapsed)
{
	const struct sample *s = &samples[i];
	const struct kpmu_count *c = &s->count;

	if (at >= 0)
		printf("%10.3f", at);
	if (cpu >= 0)
		printf("  CPU%-4d", cpu);
	if (is_counted(c, i))
		printf("%20s  %s", number(kpmu_count_scaled(*c)), events[i].name);
	else
		printf("%20s  %s", "not counted", events[i].name);
	print_metric(events, nr, samples, i, elapsed);
	if (s->deviation >= 0)
		printf("  ( +- %5.2f%% )", s->deviation);
	/* The times of a pinned event without a counter are 0 */
	if (c->running < c->enabled || (!c->running && has_no_room(i)))
		print_share(events, i, c);
	putchar('\n');
}

static void print_csv(const struct kpmu_event *e, const struct sample *s, int i, double at, int cpu)
{
	const struct kpmu_count *c = &s->count;

	if (at >= 0)
		printf("%.3f,", at);
	if (cpu >= 0)
		printf("CPU%d,", cpu);
	if (is_counted(c, i))
		printf("%llu", (unsigned long long)kpmu_count_scaled(*c));
	printf(",%s,%llu,%.2f", e->name, (unsigned long long)c->running,
	       c->enabled ? 100.0 * c->running / c->enabled : 0);
	if (s->deviation >= 0)
		printf(",%.2f%%", s->deviation);
	putchar('\n');
}

static void print_json(const struct kpmu_event *events, const struct sample *s, int i, double at,
		       int cpu)
{
	const struct kpmu_count *c = &s->count;

	putchar('{');
	if (at >= 0)
		printf("\"time\": %.3f, ", at);
	if (cpu >= 0)
		printf("\"cpu\": %d, ", cpu);
	printf("\"event\": \"%s\", \"value\": ", events[i].name);
	if (is_counted(c, i))
		printf("%llu", (unsigned long long)kpmu_count_scaled(*c));
	else
		fputs("null", stdout);
	printf(", \"enabled\": %llu, \"running\": %llu", (unsigned long long)c->enabled,
	       (unsigned long long)c->running);
	if (s->deviation >= 0)
		printf(", \"deviation\": %.2f", s->deviation);
	if (c->running < c->enabled)
		printf(", \"reason\": \"%s\"", why_shared(events, i));
	puts("}");
}

/**
 * print_samples() - print the counts of all events
 * @events: the events
 * @nr: number of events
 * @samples: their counts
 * @at: seconds since the start, with -I; negative without
 * @cpu: the CPU of the counts, with -A; negative: all
 * @elapsed: seconds in which they were counted
 */
void print_samples(const struct kpmu_event *events, int nr, const struct sample *samples,
		   double at, int cpu, double elapsed)
{
	for (int i = 0; i < nr; i++) {
		if (format == CSV)
			print_csv(&events[i], &samples[i], i, at, cpu);
		else if (format == JSON)
			print_json(events, &samples[i], i, at, cpu);
		else
			print_text(events, nr, samples, i, at, cpu, elapsed);
	}
	fflush(stdout);
}

/**
 * print_taken() - print the times of the program, in text only
 * @taken: the times
 * @runs: number of runs, of which they are the mean
 */
void print_taken(const struct taken *taken, int runs)
{
	if (format != TEXT)
		return;
	printf("\n%20.6f  seconds elapsed", taken->elapsed);
	if (runs > 1)
		printf(", on average of %d runs", runs);
	printf("\n%20.6f  seconds user\n%20.6f  seconds sys\n", taken->user, taken->system);
	fflush(stdout);
}
