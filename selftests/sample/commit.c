// SPDX-License-Identifier: GPL-2.0-only
/*
 * PMIs at each instruction of the commit, which programs the counters.  One event counts kernel
 * instructions and overflows once, a given number of instructions after it is enabled.  For each
 * such number, another event is enabled and disabled meanwhile and must count exactly.  Or two
 * tasks alternate meanwhile, so that counters pass from the events of one to those of the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"
#include "places.h"
#include "ring.h"

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
	struct perf_event_attr a = kernel_insns(FIRST);
	struct perf_event_attr b = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t from, to, last = 0, period, places = 0;
	static bool seen[PLACES];
	struct ring r;
	int fd, other, wrong = 0, n = 0, step = (LAST - FIRST) / often(LAST - FIRST);

	no_throttle();
	from = symbol("commit_changes", 0);
	to = symbol(NULL, from);
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
	printf("# %d periods, at %llu places of commit_changes()\n", n,
	       (unsigned long long)places);
	if (!route_is_native() && exact() && slow() == 1)
		EXPECT_GE(places, 30 / step);
}

static int to[2], from_it[2];

/* A child that returns each byte; its loads are the same for each byte */
static pid_t echo_start(void)
{
	pid_t pid;
	char c;

	if (pipe(to) || pipe(from_it))
		exit(1);
	pid = fork();
	if (pid)
		return pid;
	close(to[1]);
	while (read(to[0], &c, 1) == 1 && write(from_it[1], &c, 1) == 1)
		;
	_exit(0);
}

/* Two switches */
static void echo(void)
{
	char c = 0;

	if (write(to[1], &c, 1) != 1 || read(from_it[0], &c, 1) != 1)
		exit(1);
}

/*
 * An event of the CPU is enabled, so new plans are made: they are compared at the first switches,
 * and known to be alike at the later ones.
 */
#define STRIDE	13
#define TRIES	2000
#define ECHOES	4

static void handovers(int fd, int first, int n)
{
	uint64_t period;
	int i, k;

	for (i = first; i < first + n; i++) {
		period = FIRST + i * STRIDE;
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
		for (k = 0; k < ECHOES; k++)
			echo();
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	}
}

/*
 * Each task does the same in both halves.  When the counts are read, the child may be some loads
 * before its next read(2) or after its last write(2).
 */
#define PHASE	20

TEST(at_each_instruction_of_a_handover)
{
	struct perf_event_attr a = kernel_insns(FIRST), b = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	uint64_t from, to, first, end, ip, places = 0, one[3], two[3];
	int fd, i, n = often(TRIES) / 2;
	struct ring r;
	pid_t pid;

	no_throttle();
	pin_to(0);
	pid = echo_start();
	from = symbol("x86_commit", 0);
	to = symbol(NULL, from);
	first = symbol("hand_over_first", 0);
	end = symbol(NULL, first);
	b.disabled = 0;
	one[2] = ev_must(&b, pid, -1, -1, 0);
	two[2] = ev_must(&b, 0, -1, -1, 0);
	fd = ev_must(&a, -1, 0, -1, 0);
	ring_map(&r, fd, &a, 128);
	handovers(fd, 0, 10);
	for (i = 0; i < 2; i++) {
		one[i] = ev_count(one[2]);
		two[i] = ev_count(two[2]);
		handovers(fd, i * n, n);
		one[i] = ev_count(one[2]) - one[i];
		two[i] = ev_count(two[2]) - two[i];
	}
	EXPECT_GT(one[0], n);
	EXPECT_LE(one[0], one[1] + PHASE + SLACK(one[0]));
	EXPECT_LE(one[1], one[0] + PHASE + SLACK(one[0]));
	EXPECT_LE(two[0], two[1] + PHASE + SLACK(two[0]));
	EXPECT_LE(two[1], two[0] + PHASE + SLACK(two[0]));
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		ip = record_sample(&r, &rec).ip;
		places += ip - from < to - from || ip - first < end - first;
	}
	printf("# %d periods, %llu in a handover\n", 2 * n, (unsigned long long)places);
	if (!route_is_native() && exact() && slow() == 1)
		EXPECT_GE(places, 2 * n / 1000);
}

TEST_HARNESS_MAIN
