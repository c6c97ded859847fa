// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu: names of events: instructions, L1-dcache-load-misses, r81d0; with :u and {}. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libkpmu.h"

#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))

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

const char *kpmu_event_name(int n)
{
	return n >= 0 && n < ARRAY_SIZE(rows) ? rows[n].name : NULL;
}

static bool find(const char *name, struct perf_event_attr *attr)
{
	char *end;
	int i;

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

static bool parse_one(char *name, struct kpmu_event *e)
{
	char *colon = strchr(name, ':');

	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->attr.size = sizeof(e->attr);
	if (colon)
		*colon = 0;
	return find(name, &e->attr) && (!colon || modify(colon + 1, &e->attr));
}

/* Without the braces of a group; true if @name is the last event of one */
static bool strip_braces(char **name, bool *first)
{
	size_t len;

	*first = **name == '{';
	*name += *first;
	len = strlen(*name);
	if (!len || (*name)[len - 1] != '}')
		return false;
	(*name)[len - 1] = 0;
	return true;
}

static int parse_all(char *list, struct kpmu_event *events, int max, char *bad)
{
	char *save, *name;
	int n = 0, leader = -1;
	bool first, last;

	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save), n++) {
		if (n == max)
			return errno = E2BIG, -1;
		last = strip_braces(&name, &first);
		if (first)
			leader = n;
		if (!parse_one(name, &events[n])) {
			if (bad)
				strcpy(bad, events[n].name);
			return errno = EINVAL, -1;
		}
		events[n].leader = leader < 0 ? n : leader;
		if (last)
			leader = -1;
	}
	return n;
}

int kpmu_events_parse(const char *list, struct kpmu_event *events, int max, char bad[64])
{
	char *copy = strdup(list);
	int n, err;

	if (bad)
		bad[0] = 0;
	if (!copy)
		return -1;
	n = parse_all(copy, events, max, bad);
	err = errno;
	free(copy);
	errno = err;
	return n;
}
