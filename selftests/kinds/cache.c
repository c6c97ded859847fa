// SPDX-License-Identifier: GPL-2.0-only
/*
 * The 42 generic cache events, with a table for each CPU model: events that the CPU supports can
 * be opened and count.  The others are refused, rather than opened to read 0.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "event.h"
#include "harness.h"

enum { L1D, L1I, LL, DTLB, ITLB, BPU, NODE, CACHES };
enum { READ, WRITE, PREFETCH, OPS };
enum { ACCESS, MISS, RESULTS };

#define CONFIG(c, o, r)	((c) | (o) << 8 | (r) << 16)

#define OK	0
#define NO	ENOENT		/* not supported by this CPU */
#define BAD	EINVAL		/* meaningless combination */

/* read access, miss; write access, miss; prefetch access, miss */
typedef unsigned char table[CACHES][OPS * RESULTS];

static const table skylake = {
	[L1D]  = { OK,  OK,  OK,  NO,  NO,  NO },
	[L1I]  = { NO,  OK,  BAD, BAD, NO,  NO },
	[LL]   = { OK,  OK,  OK,  OK,  NO,  NO },
	[DTLB] = { OK,  OK,  OK,  OK,  NO,  NO },
	[ITLB] = { OK,  OK,  BAD, BAD, BAD, BAD },
	[BPU]  = { OK,  OK,  BAD, BAD, BAD, BAD },
	[NODE] = { OK,  OK,  OK,  OK,  NO,  NO },
};

static const table icelake = {
	[L1D]  = { OK,  OK,  OK,  NO,  NO,  NO },
	[L1I]  = { NO,  OK,  BAD, BAD, NO,  NO },
	[LL]   = { OK,  OK,  OK,  OK,  NO,  NO },
	[DTLB] = { OK,  OK,  OK,  OK,  NO,  NO },
	[ITLB] = { BAD, OK,  BAD, BAD, BAD, BAD },
	[BPU]  = { OK,  OK,  BAD, BAD, BAD, BAD },
	[NODE] = { OK,  OK,  OK,  OK,  NO,  NO },
};

static const table sapphire_rapids = {
	[L1D]  = { OK,  OK,  OK,  NO,  NO,  NO },
	[L1I]  = { NO,  OK,  BAD, BAD, NO,  NO },
	[LL]   = { OK,  OK,  OK,  OK,  NO,  NO },
	[DTLB] = { OK,  OK,  OK,  OK,  NO,  NO },
	[ITLB] = { BAD, OK,  BAD, BAD, BAD, BAD },
	[BPU]  = { OK,  OK,  BAD, BAD, BAD, BAD },
	[NODE] = { OK,  OK,  NO,  NO,  NO,  NO },
};

static const table k7 = {
	[L1D]  = { OK,  OK,  NO,  NO,  OK,  OK },
	[L1I]  = { OK,  OK,  BAD, BAD, OK,  NO },
	[LL]   = { OK,  OK,  OK,  NO,  NO,  NO },
	[DTLB] = { OK,  OK,  NO,  NO,  NO,  NO },
	[ITLB] = { OK,  OK,  BAD, BAD, BAD, BAD },
	[BPU]  = { OK,  OK,  BAD, BAD, BAD, BAD },
	[NODE] = { NO,  NO,  BAD, BAD, BAD, BAD },
};

static const table zen = {
	[L1D]  = { OK,  OK,  NO,  NO,  OK,  NO },
	[L1I]  = { OK,  OK,  BAD, BAD, NO,  NO },
	[LL]   = { NO,  NO,  NO,  NO,  NO,  NO },
	[DTLB] = { OK,  OK,  NO,  NO,  NO,  NO },
	[ITLB] = { OK,  OK,  BAD, BAD, BAD, BAD },
	[BPU]  = { OK,  OK,  BAD, BAD, BAD, BAD },
	[NODE] = { NO,  NO,  BAD, BAD, BAD, BAD },
};

static int expected(int cache, int op, int result)
{
	if (is_amd() && cpu_model() != CPU_ZEN)
		return k7[cache][op * RESULTS + result];
	switch (cpu_model()) {
	case CPU_SKYLAKE: return skylake[cache][op * RESULTS + result];
	case CPU_ICELAKE: return icelake[cache][op * RESULTS + result];
	case CPU_SPR: return sapphire_rapids[cache][op * RESULTS + result];
	case CPU_ZEN: return zen[cache][op * RESULTS + result];
	default: return NO;	/* no table for this CPU */
	}
}

static void check(struct __test *_metadata, int cache, int op, int result)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HW_CACHE,
					   CONFIG(cache, op, result));
	int err = ev_errno(&a, 0, -1, -1, 0);

	if (err != expected(cache, op, result))
		printf("# cache %d op %d result %d: %s\n", cache, op, result,
		       strerror(err));
	EXPECT_EQ(err, expected(cache, op, result));
}

/* One test for each combination that no model of Intel supports, with its conformance id */
#define REFUSED(name, row, cache, op, result)				\
	TEST(name)							\
	{								\
		ROWS(row);						\
		check(_metadata, cache, op, result);			\
	}

REFUSED(l1d_write_miss, "T-42 E-29", L1D, WRITE, MISS)
REFUSED(l1d_prefetch_access, "T-43", L1D, PREFETCH, ACCESS)
REFUSED(l1d_prefetch_miss, "T-44", L1D, PREFETCH, MISS)
REFUSED(l1i_read_access, "T-45", L1I, READ, ACCESS)
REFUSED(l1i_prefetch_access, "T-49", L1I, PREFETCH, ACCESS)
REFUSED(l1i_prefetch_miss, "T-50", L1I, PREFETCH, MISS)
REFUSED(ll_prefetch_access, "T-55", LL, PREFETCH, ACCESS)
REFUSED(ll_prefetch_miss, "T-56", LL, PREFETCH, MISS)
REFUSED(dtlb_prefetch_access, "T-61", DTLB, PREFETCH, ACCESS)
REFUSED(dtlb_prefetch_miss, "T-62", DTLB, PREFETCH, MISS)
REFUSED(node_prefetch_access, "T-79", NODE, PREFETCH, ACCESS)
REFUSED(node_prefetch_miss, "T-80", NODE, PREFETCH, MISS)

/* Meaningless combinations: EINVAL with a table for the CPU, ENOENT without */
TEST(meaningless_combinations)
{
	ROWS("T-47 T-48 T-65 T-66 T-67 T-68 T-71 T-72 T-73 T-74 E-21");
	check(_metadata, L1I, WRITE, ACCESS);
	check(_metadata, L1I, WRITE, MISS);
	for (int op = WRITE; op < OPS; op++) {
		for (int result = 0; result < RESULTS; result++) {
			check(_metadata, ITLB, op, result);
			check(_metadata, BPU, op, result);
		}
	}
}

TEST(all_42)
{
	ROWS("T-04 T-37 T-96");
	for (int cache = 0; cache < CACHES; cache++)
		for (int op = 0; op < OPS; op++)
			for (int result = 0; result < RESULTS; result++)
				check(_metadata, cache, op, result);
}

static int cache(int cache_id, int op, int result, int group)
{
	if (expected(cache_id, op, result))
		SKIP(return -1, "not on this CPU");
	return ev_self(PERF_TYPE_HW_CACHE, CONFIG(cache_id, op, result), group);
}

/* The event, where it counts what it does on Intel */
static int intel_cache(int cache_id, int op, int result, int group)
{
	if (is_amd())
		SKIP(return -1, "AMD's events count something else");
	return cache(cache_id, op, result, group);
}

#define N 100000

#define BETWEEN(v, want, more) do {					\
	uint64_t __v = (v), __w = (want);				\
									\
	EXPECT_GE(__v, __w);						\
	EXPECT_LE(__v, __w + (more) + SLACK(__w));			\
} while (0)

static char *memory(size_t size)
{
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (m == MAP_FAILED)
		exit(1);
	return m;
}

#define BIG	(8u << 20)
#define SMALL	4096u
#define LINE	64

/* AMD counts loads and stores together; accesses to Zen's DTLB are misses of the first level */
TEST(amd_accesses)
{
	ROWS("T-39 T-57");
	int l1d, dtlb, n = BIG / 4096;

	if (!is_amd())
		SKIP(return, "not AMD");
	l1d = cache(L1D, READ, ACCESS, -1);
	work_counted(l1d, N, 0);
	BETWEEN(ev_count(l1d), WORK_LOADS(N) + WORK_STORES(N), 0);
	dtlb = cache(DTLB, READ, ACCESS, -1);
	if (cpu_model() != CPU_ZEN) {
		work_counted(dtlb, N, 0);
		BETWEEN(ev_count(dtlb), WORK_LOADS(N) + WORK_STORES(N), 0);
	} else if (exact()) {
		load_counted(dtlb, n, memory(BIG), 4096);
		BETWEEN(ev_count(dtlb), n, n / 100 + 10);
	}
}

TEST(l1d_accesses)
{
	ROWS("T-39 T-41");
	int loads = intel_cache(L1D, READ, ACCESS, -1);
	int stores = intel_cache(L1D, WRITE, ACCESS, loads);

	work_counted(loads, N, 0);
	BETWEEN(ev_count(loads), WORK_LOADS(N), 0);
	BETWEEN(ev_count(stores), WORK_STORES(N), 0);
}

TEST(dtlb_accesses)
{
	ROWS("T-57 T-59");
	int loads = intel_cache(DTLB, READ, ACCESS, -1);
	int stores = intel_cache(DTLB, WRITE, ACCESS, loads);

	work_counted(loads, N, 0);
	BETWEEN(ev_count(loads), WORK_LOADS(N), 0);
	BETWEEN(ev_count(stores), WORK_STORES(N), 0);
}

TEST(branches)
{
	ROWS("T-69");
	int fd = cache(BPU, READ, ACCESS, -1);

	/* All branches, except that Sapphire Rapids uses another code (0x04c4) */
	work_counted(fd, N, 0);
	if (cpu_model() == CPU_SPR)
		SKIP(return, "the QEMU model does not have this code");
	BETWEEN(ev_count(fd), WORK_BRANCHES(N), 0);
}

static uint64_t missed(int fd, const unsigned char *way)
{
	uint64_t before = ev_count(fd);

	ev_enable(fd);
	for (int i = 0; i < N; i++)
		asm volatile("testb %0, %0\n\t"
			     "jz 1f\n\t"
			     "nop\n"
			     "1:" : : "q" (way[i]) : "cc");
	ev_disable(fd);
	return ev_count(fd) - before;
}

TEST(branch_misses)
{
	ROWS("T-70");
	static unsigned char sorted[N], random[N];
	int fd = cache(BPU, READ, MISS, -1);
	uint32_t x = 1;

	if (cpu_model() == CPU_SPR)
		SKIP(return, "the QEMU model does not have this code");
	for (int i = 0; i < N; i++) {
		x = x * 1664525 + 1013904223;
		random[i] = x >> 31;
	}
	EXPECT_LT(missed(fd, sorted), N / 50);
	EXPECT_GT(missed(fd, random), N / 4);
}

typedef void accesses(int fd, uint64_t n, void *base, uint64_t stride);

/*
 * Access memory that fits into no cache: nearly every access is counted.  Access one page
 * repeatedly: nearly none is.
 */
static void misses(struct __test *_metadata, int fd, accesses *access,
		   uint64_t stride)
{
	uint64_t n = BIG / stride, big, small;
	char *m = memory(BIG), *s = memory(SMALL);
	int i;

	/* The caches of another CPU may have lines of an earlier test with the same memory */
	pin_to(0);
	access(fd, n, m, stride);
	big = ev_count(fd);
	access(fd, SMALL / LINE, s, LINE);
	small = ev_count(fd);
	for (i = 0; i < 20; i++)
		access(fd, SMALL / LINE, s, LINE);
	small = ev_count(fd) - small;
	printf("# %lu of %lu accesses to %u MiB, %lu of %u to a page\n", big, n,
	       BIG >> 20, small, 20 * SMALL / LINE);
	if (exact()) {
		EXPECT_GE(big, n);
		EXPECT_LE(big, n + n / 100 + 10);
	} else {
		EXPECT_GT(big, n / 100);
	}
	EXPECT_LE(small, 20 * SMALL / LINE / 10);
}

TEST(l1d_read_misses)
{
	ROWS("T-40");
	misses(_metadata, cache(L1D, READ, MISS, -1), load_counted, LINE);
}

TEST(ll_reads)
{
	ROWS("T-51");
	misses(_metadata, cache(LL, READ, ACCESS, -1), load_counted, LINE);
}

TEST(ll_read_misses)
{
	ROWS("T-52");
	misses(_metadata, cache(LL, READ, MISS, -1), load_counted, LINE);
}

TEST(ll_writes)
{
	ROWS("T-53");
	misses(_metadata, intel_cache(LL, WRITE, ACCESS, -1), store_counted, LINE);
}

TEST(ll_write_misses)
{
	ROWS("T-54");
	misses(_metadata, cache(LL, WRITE, MISS, -1), store_counted, LINE);
}

TEST(dtlb_read_misses)
{
	ROWS("T-58");
	misses(_metadata, cache(DTLB, READ, MISS, -1), load_counted, 4096);
}

TEST(dtlb_write_misses)
{
	ROWS("T-60");
	misses(_metadata, cache(DTLB, WRITE, MISS, -1), store_counted, 4096);
}

TEST(node_reads)
{
	ROWS("T-75");
	misses(_metadata, cache(NODE, READ, ACCESS, -1), load_counted, LINE);
}

/* One node: hardware has no remote accesses, but the QEMU model counts every miss as one */
TEST(node_read_misses)
{
	ROWS("T-76");
	int fd = cache(NODE, READ, MISS, -1);

	load_counted(fd, BIG / LINE, memory(BIG), LINE);
	printf("# %lu\n", ev_count(fd));
	EXPECT_LE(ev_count(fd), BIG / LINE + BIG / LINE / 100);
}

TEST(node_writes)
{
	ROWS("T-77");
	misses(_metadata, cache(NODE, WRITE, ACCESS, -1), store_counted, LINE);
}

TEST(node_write_misses)
{
	ROWS("T-78");
	int fd = cache(NODE, WRITE, MISS, -1);

	store_counted(fd, BIG / LINE, memory(BIG), LINE);
	printf("# %lu\n", ev_count(fd));
	EXPECT_LE(ev_count(fd), BIG / LINE + BIG / LINE / 100);
}

/* LL events differ only in OFFCORE_RSP: a group can use two values of it */
TEST(offcore_group)
{
	ROWS("E-22 Q-13");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HW_CACHE,
					   CONFIG(LL, READ, MISS));
	int lead = intel_cache(LL, READ, ACCESS, -1);

	a.disabled = 0;
	EXPECT_GE(ev_open(&a, 0, -1, lead, 0), 0);
	a.config = CONFIG(LL, WRITE, ACCESS);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), EINVAL);
	/* A third event with one of the two values fits */
	a.config = CONFIG(LL, READ, ACCESS);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), 0);
}

TEST_HARNESS_MAIN
