// SPDX-License-Identifier: GPL-2.0-only
/* Event names: instructions, L1-dcache-load-misses, r81d0; with :u and {}. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

#define HW(name, config) { name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_ ## config }
#define SW(name, config) { name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ ## config }
#define CACHE(name, cache, op, result) { name, PERF_TYPE_HW_CACHE,	\
	PERF_COUNT_HW_CACHE_ ## cache | PERF_COUNT_HW_CACHE_OP_ ## op << 8 |	\
	PERF_COUNT_HW_CACHE_RESULT_ ## result << 16 }

static const struct row {
	const char *name;
	unsigned int type;
	unsigned long config;
} rows[] = {
	HW("cycles", CPU_CYCLES),
	HW("instructions", INSTRUCTIONS),
	HW("cache-references", CACHE_REFERENCES),
	HW("cache-misses", CACHE_MISSES),
	HW("branches", BRANCH_INSTRUCTIONS),
	HW("branch-misses", BRANCH_MISSES),
	HW("bus-cycles", BUS_CYCLES),
	HW("ref-cycles", REF_CPU_CYCLES),
	SW("cpu-clock", CPU_CLOCK),
	SW("task-clock", TASK_CLOCK),
	SW("page-faults", PAGE_FAULTS),
	SW("minor-faults", PAGE_FAULTS_MIN),
	SW("major-faults", PAGE_FAULTS_MAJ),
	SW("context-switches", CONTEXT_SWITCHES),
	SW("cpu-migrations", CPU_MIGRATIONS),
	CACHE("L1-dcache-loads", L1D, READ, ACCESS),
	CACHE("L1-dcache-load-misses", L1D, READ, MISS),
	CACHE("L1-dcache-stores", L1D, WRITE, ACCESS),
	CACHE("L1-icache-load-misses", L1I, READ, MISS),
	CACHE("LLC-loads", LL, READ, ACCESS),
	CACHE("LLC-load-misses", LL, READ, MISS),
	CACHE("dTLB-loads", DTLB, READ, ACCESS),
	CACHE("dTLB-load-misses", DTLB, READ, MISS),
	CACHE("iTLB-load-misses", ITLB, READ, MISS),
	CACHE("branch-loads", BPU, READ, ACCESS),
	CACHE("branch-load-misses", BPU, READ, MISS),
};

/**
 * list_events() - print the names of all events
 */
void list_events(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		puts(rows[i].name);
	puts("rHEX (as PERFEVTSEL: r81d0 is event d0, umask 81)");
}

static bool find(const char *name, struct perf_event_attr *attr)
{
	unsigned int i;
	char *end;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(name, rows[i].name))
			continue;
		attr->type = rows[i].type;
		attr->config = rows[i].config;
		return true;
	}
	if (name[0] != 'r' || !name[1])
		return false;
	attr->type = PERF_TYPE_RAW;
	attr->config = strtoul(name + 1, &end, 16);
	return !*end;
}

/* :u user, :k kernel, :p pinned */
static bool modify(const char *letters, struct perf_event_attr *attr)
{
	bool user = false, kernel = false;

	for (; *letters; letters++) {
		user |= *letters == 'u';
		kernel |= *letters == 'k';
		attr->pinned |= *letters == 'p';
		if (!strchr("ukp", *letters))
			return false;
	}
	if (user || kernel) {
		attr->exclude_user = !user;
		attr->exclude_kernel = !kernel;
		attr->exclude_hv = 1;
	}
	return true;
}

static bool parse_one(char *name, struct event *e)
{
	char *colon = strchr(name, ':');

	snprintf(e->name, sizeof(e->name), "%s", name);
	e->attr.size = sizeof(e->attr);
	if (colon)
		*colon = 0;
	return find(name, &e->attr) && (!colon || modify(colon + 1, &e->attr));
}

/**
 * parse_events() - parse a list of events
 * @list: as given to -e
 * @events: array of MAX_EVENTS, filled in
 *
 * Return: the number of events, or -1 after a message on stderr.
 */
int parse_events(const char *list, struct event *events)
{
	char *copy = strdup(list), *save, *name;
	int n = 0, leader = -1;
	bool last;

	for (name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		size_t len;

		if (n == MAX_EVENTS) {
			fprintf(stderr, "kpmu-stat: more than %d events\n", MAX_EVENTS);
			return -1;
		}
		if (*name == '{') {
			leader = n;
			name++;
		}
		len = strlen(name);
		last = len && name[len - 1] == '}';
		if (last)
			name[len - 1] = 0;
		memset(&events[n], 0, sizeof(events[n]));
		if (!parse_one(name, &events[n])) {
			fprintf(stderr, "kpmu-stat: unknown event '%s'; -l lists those known\n",
				events[n].name);
			return -1;
		}
		events[n].leader = leader < 0 ? n : leader;
		if (last)
			leader = -1;
		n++;
	}
	free(copy);
	return n;
}
