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

/* Natively, mmap() after munmap() of the same event waits for RCU: let its grace period end */
static void unmap_if_mapped(void)
{
	if (rings[0])
		unmap_all();
	usleep(500000);
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
		.before = unmap_if_mapped, .op = map_all, .per = number, .tries = 5,
	};
	const struct trial unmap = {
		.before = map_if_not, .op = unmap_all, .per = number, .tries = 5,
		.later = 8000,
	};

	nr = number;
	bytes = (1 + pages) * 4096;
	row(map_row, measure_trial(&map));
	row(unmap_row, measure_trial(&unmap));
	unmap_if_mapped();
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
	RINGS(16, 1, "16 rings of 1+1 pages");
	RINGS(256, 1, "256 rings of 1+1 pages");
	RINGS(1024, 1, "1,024 rings of 1+1 pages");
	RINGS(64, 16, "64 rings of 1+16 pages");
	RINGS(16, 128, "16 rings of 1+128 pages");
	RINGS(8, 4096, "8 rings of 1+4,096 pages");
	return 0;
}
