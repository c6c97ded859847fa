// SPDX-License-Identifier: GPL-2.0-only
/*
 * PMIs at each instruction of kpmu_commit(), which programs the counters.  One event counts kernel
 * instructions and overflows once, a given number of instructions after it is enabled.  For each
 * such number, another event is enabled and disabled meanwhile and must count exactly.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

#define FIRST	100
#define LAST	6000
#define PLACES	4096

static struct record rec;

/* Address of the symbol @name, or with NULL of the next symbol after @from; 0 if none */
static uint64_t symbol(const char *name, uint64_t from)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long at, found = 0;
	char line[300], sym[200];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %199s", &at, sym) != 2)
			continue;
		if (name ? !strcmp(sym, name) : at > from && (!found || at < found))
			found = at;
	}
	if (f)
		fclose(f);
	return found;
}

TEST(at_each_instruction)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS), b = a;
	uint64_t from, to, last = 0, period, places = 0;
	static bool seen[PLACES];
	struct ring r;
	int fd, other, wrong = 0, n = 0, step = (LAST - FIRST) / often(LAST - FIRST);

	no_throttle();
	from = symbol("kpmu_commit", 0);
	to = symbol(NULL, from);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	a.sample_period = FIRST;
	a.sample_type = PERF_SAMPLE_IP;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 128);
	other = ev_must(&b, 0, -1, -1, 0);
	for (period = FIRST; period < LAST; period += step) {
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
		work_counted(other, 10, 0);
		n++;
		if (exact())
			wrong += ev_count(other) - last != WORK_INSNS(10);
		last = ev_count(other);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	EXPECT_EQ(wrong, 0);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		uint64_t at = record_sample(&r, &rec).ip - from;

		if (from && at < to - from && at < PLACES && !seen[at]) {
			seen[at] = true;
			places++;
		}
	}
	printf("# %d periods, at %llu places of kpmu_commit()\n", n,
	       (unsigned long long)places);
	if (!route_is_native() && exact() && slow() == 1)
		EXPECT_GE(places, 30 / step);
}

TEST_HARNESS_MAIN
