// SPDX-License-Identifier: GPL-2.0-only
/*
 * PAPI sign-extends the user page's offset to pmc_width bits, as it does the counter's
 * value.  The formula of perf_event_open(2) adds the offset unchanged.  Both must yield the
 * value of read(2), whatever used the counter before, as long as the count fits in
 * pmc_width - 1 bits.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/kpmu-read.h>

#include "event.h"
#include "harness.h"
#include "module.h"

#define PAGE	4096

/* Open the device at first use only: an open device would prevent unloading the module */
const bool ev_device_late = true;

struct both {
	uint64_t manual, papi;
	uint32_t index;
	int width;
};

static struct perf_event_mmap_page *map(int fd)
{
	void *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("# mmap: %s\n", strerror(errno));
		exit(KSFT_FAIL);
	}
	return p;
}

static struct both take(const struct perf_event_mmap_page *p)
{
	struct both b = { 0 };
	int64_t offset, pmc = 0;
	uint32_t seq;
	int shift;

	do {
		seq = __kpmu_load(p->lock);
		__kpmu_barrier();
		b.index = __kpmu_load(p->index);
		offset = __kpmu_load(p->offset);
		b.width = b.index ? p->pmc_width : 64;
		shift = 64 - b.width;
		if (b.index)
			pmc = (int64_t)(__kpmu_rdpmc(b.index - 1) << shift) >> shift;
		__kpmu_barrier();
	} while (seq & 1 || __kpmu_load(p->lock) != seq);
	b.manual = offset + pmc;
	b.papi = ((int64_t)((uint64_t)offset << shift) >> shift) + pmc;
	return b;
}

/* Check one reading by both formulas against read(2) before and after it */
static bool right(int fd, const struct perf_event_mmap_page *p)
{
	uint64_t before = ev_count(fd), after, wrong;
	struct both b = take(p);

	after = ev_count(fd);
	wrong = b.manual - b.papi;
	/* PAPI yields only the low pmc_width bits of a count that does not fit */
	if (b.width < 64 && after >> (b.width - 1))
		wrong <<= 64 - b.width;
	if (b.index && before <= b.manual && b.manual <= after && !wrong)
		return true;
	printf("# index %u width %d: read %llu, manual %lld, PAPI %lld, read %llu\n",
	       b.index, b.width, (long long)before, (long long)b.manual,
	       (long long)b.papi, (long long)after);
	return false;
}

static const uint64_t kinds[] = {
	PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
};

static int start(uint64_t config, uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, config);

	a.sample_period = period;
	a.disabled = 0;
	return ev_open(&a, 0, -1, -1, 0);
}

/* Open an event of each kind in turn; return the number of wrong readings */
static int each_kind(uint64_t period)
{
	struct perf_event_mmap_page *p;
	int fd, wrong = 0, i, j;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		fd = start(kinds[i], period);
		if (fd < 0)
			continue;	/* this CPU lacks the event */
		p = map(fd);
		for (j = 0; j < 10; j++) {
			work(1000);
			wrong += !right(fd, p);
		}
		munmap(p, PAGE);
		close(fd);
	}
	return wrong;
}

/* Counters not used since the module was loaded */
TEST(unused_counters)
{
	ROWS("M-06 M-07 P-02");
	if (!route_is_native()) {
		ASSERT_EQ(module_unload_at_last(), 0);
		ASSERT_EQ(module_load(""), 0);
	}
	EXPECT_EQ(each_kind(0), 0);
	EXPECT_EQ(each_kind(0), 0);
}

static void sample(uint64_t period)
{
	int fd[ARRAY_SIZE(kinds)], i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		fd[i] = start(kinds[i], period);
	work(30000);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		close(fd[i]);
}

/* Counters that still hold the values set for sampling events */
TEST(after_sampling)
{
	ROWS("M-06 M-07 P-02");
	static const uint64_t periods[] = {
		100, 100003, 1ULL << 30, 1ULL << 31, 1ULL << 45, 1ULL << 47,
		1ULL << 62,
	};
	int i;

	no_throttle();
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		sample(periods[i]);
		EXPECT_EQ(each_kind(0), 0);
	}
}

/* Readings of the sampling events themselves */
TEST(while_sampling)
{
	ROWS("M-06 M-07 P-02");
	no_throttle();
	EXPECT_EQ(each_kind(1009), 0);
	EXPECT_EQ(each_kind(100003), 0);
	EXPECT_EQ(each_kind(1ULL << 30), 0);
}

/* Count past 2^32: 32-bit counters, and counters with 32-bit writes, wrap several times */
TEST_TIMEOUT(long_counting, 240)
{
	ROWS("M-06 M-07 P-02");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_mmap_page *p;
	int fd = ev_must(&a, 0, -1, -1, 0), wrong = 0, i;

	p = map(fd);
	/* The step size varies the counter's distance from a wrap at each reading */
	for (i = 0; i < 37; i++) {
		spin_counted(fd, 1900013, 0);
		ev_enable(fd);
		wrong += !right(fd, p);
		ev_disable(fd);
	}
	EXPECT_GT(ev_count(fd), 1ULL << 32);
	EXPECT_EQ(wrong, 0);
}

/*
 * An event with a high count is scheduled in on a counter with a low value.  The first mapping of a task
 * lets it execute RDPMC, for which all counters are set to other values.  A later one sets that of its event.
 */
TEST_TIMEOUT(high_count_low_counter, 240)
{
	ROWS("M-06 M-07 P-02");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd = ev_must(&a, 0, -1, -1, 0), first = ev_must(&a, 0, -1, -1, 0), other, wrong = 0, i;
	struct perf_event_mmap_page *p, *before = NULL;

	for (i = 0; i < 25; i++) {
		spin_counted(fd, 1000003, 0);
		if (i & 1)
			before = map(first);
		/* A period too long to expire sets the counter to its lowest value */
		other = start(PERF_COUNT_HW_INSTRUCTIONS, 1ULL << 62);
		work(100);
		close(other);
		ev_enable(fd);
		p = map(fd);
		wrong += !right(fd, p);
		work(100);
		wrong += !right(fd, p);
		munmap(p, PAGE);
		ev_disable(fd);
		if (i & 1)
			munmap(before, PAGE);
	}
	EXPECT_EQ(wrong, 0);
}

TEST_HARNESS_MAIN
