// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost of mmap() and munmap() of ring buffers, by size and number.  bench_begin() locks all
 * memory, so mmap() also populates the pages.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define MAX	1024

static int fds[MAX], nr;
static size_t bytes;
static void *rings[MAX];

static void map_all(void)
{
	int i;

	for (i = 0; i < nr; i++)
		rings[i] = map_ring(fds[i], bytes);
}

static void unmap_all(void)
{
	int i;

	for (i = 0; i < nr; i++) {
		munmap(rings[i], bytes);
		rings[i] = NULL;
	}
}

static void unmap_if_mapped(void)
{
	if (rings[0])
		unmap_all();
}

static void map_if_not(void)
{
	if (!rings[0])
		map_all();
}

/* The deferred frees of the pages count for munmap() */
static void bench_rings(int number, int pages, const char *map_row, const char *unmap_row)
{
	const struct trial map = {
		.before = unmap_if_mapped, .op = map_all, .per = number, .tries = 10,
	};
	const struct trial unmap = {
		.before = map_if_not, .op = unmap_all, .per = number, .tries = 10,
		.later = 8000,
	};

	nr = number;
	bytes = (1 + pages) * 4096;
	row(map_row, measure_trial(&map));
	row(unmap_row, measure_trial(&unmap));
	unmap_if_mapped();
}

static int pairs;

static void map_and_unmap(void)
{
	int i;

	for (i = 0; i < pairs; i++) {
		map_all();
		unmap_all();
	}
}

/* The work of the kernel in eight seconds is large compared with one ring: map it @times times */
static void bench_one(int times, int pages, const char *name)
{
	const struct trial both = {
		.op = map_and_unmap, .per = times, .tries = 3, .later = 8000,
	};

	nr = 1;
	pairs = times;
	bytes = (1 + pages) * 4096;
	row(name, measure_trial(&both));
}

#define RINGS(number, pages, what)					\
	bench_rings(number, pages, "mmap() of " what, "munmap() of " what)

int main(void)
{
	struct rlimit files = { MAX + 300, MAX + 300 };
	struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int i;

	bench_begin();
	setrlimit(RLIMIT_NOFILE, &files);
	attr.sample_period = 1;
	for (i = 0; i < MAX; i++)
		fds[i] = ev_must(&attr, 0, -1, -1, 0);
	bench_one(1000, 1, "mmap() + munmap() of 1 ring of 1+1 pages");
	RINGS(256, 1, "256 rings of 1+1 pages");
	RINGS(1024, 1, "1,024 rings of 1+1 pages");
	RINGS(64, 16, "64 rings of 1+16 pages");
	RINGS(16, 128, "16 rings of 1+128 pages");
	bench_one(10, 4096, "mmap() + munmap() of 1 ring of 1+4,096 pages");
	return 0;
}
