// SPDX-License-Identifier: GPL-2.0-only
/*
 * Demonstration: a table with the counts of a loop by native perf and by kpmu, and with the exact
 * values, which are known from the assembly code in selftests/lib/work.S.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "event.h"

#define N 10000000ULL

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint64_t expected;
} events[] = {
	{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
	  WORK_INSNS(N) },
	{ "branches:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  WORK_BRANCHES(N) },
	{ "loads:u", PERF_TYPE_RAW, RAW_LOADS, WORK_LOADS(N) },
	{ "stores:u", PERF_TYPE_RAW, RAW_STORES, WORK_STORES(N) },
};

#define NR (ARRAY_SIZE(events))

static uint64_t count(const char *route, int i)
{
	uint64_t val;
	int fd;

	setenv("KPMU_ROUTE", route, 1);
	fd = ev_self(events[i].type, events[i].config, -1);
	work_counted(fd, N, 0);
	val = ev_count(fd);
	close(fd);
	return val;
}

int main(void)
{
	unsigned int i, right = 0;

	printf("%llu times round a loop of a load, a store, a decrement and a branch:\n\n",
	       N);
	printf("%-16s %12s %12s %12s %12s\n", "event", "expected", "native",
	       "kpmu", "kpmu again");
	for (i = 0; i < NR; i++) {
		uint64_t native = count("native", i);
		uint64_t first = count("kpmu", i), second = count("kpmu", i);

		right += first == events[i].expected && second == first;
		printf("%-16s %12llu %12llu %12llu %12llu\n", events[i].name,
		       (unsigned long long)events[i].expected,
		       (unsigned long long)native, (unsigned long long)first,
		       (unsigned long long)second);
	}
	printf("\ndemo: %u of %zu exact\n", right, NR);
	return right == NR ? 0 : 1;
}
