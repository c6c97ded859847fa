// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client that reads its counter by RDPMC, with the loop documented in perf_event_open(2), as
 * PAPI does.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client.h"

static uint64_t rdpmc(uint32_t counter)
{
	uint32_t lo, hi;

	__asm__ volatile("rdpmc" : "=a" (lo), "=d" (hi) : "c" (counter));
	return lo | (uint64_t)hi << 32;
}

#define barrier()	__asm__ volatile("" : : : "memory")

static uint64_t read_self(volatile struct perf_event_mmap_page *page)
{
	uint32_t seq, index;
	uint64_t count;
	int64_t pmc;

	do {
		seq = page->lock;
		barrier();
		index = page->index;
		count = page->offset;
		if (page->cap_user_rdpmc && index) {
			pmc = rdpmc(index - 1);
			pmc <<= 64 - page->pmc_width;
			pmc >>= 64 - page->pmc_width;
			count += pmc;
		}
		barrier();
	} while (page->lock != seq);
	return count;
}

int main(void)
{
	struct perf_event_attr a = client_attr(PERF_TYPE_HARDWARE,
					       PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	struct perf_event_mmap_page *page;
	uint64_t before, after, v = 0;
	long fd;

	fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		perror("perf_event_open, mmap");
		return 1;
	}
	printf("rdpmc %d\n", page->cap_user_rdpmc);
	before = read_self(page);
	work_counted(fd, 5000, 0);
	after = read_self(page);
	printf("branches %lu\n", (unsigned long)(after - before));
	if (read(fd, &v, sizeof(v)) != sizeof(v))
		perror("read");
	printf("read %d\n", v == after);
	return 0;
}
