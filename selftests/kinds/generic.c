// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ten generic hardware events.  On the QEMU model its exact ratios are checked: by default
 * two core cycles and three reference cycles per instruction, a 32 KiB first-level and a 1 MiB
 * last-level cache.  Elsewhere only what holds for all hardware is checked.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "event.h"
#include "harness.h"

#define N	100000
#define LINE	64

static int hw(uint64_t config, int group)
{
	return ev_self(PERF_TYPE_HARDWARE, config, group);
}

TEST(instructions)
{
	ROWS("T-10 T-01 N-19");
	int fd = hw(PERF_COUNT_HW_INSTRUCTIONS, -1);

	work_counted(fd, N, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(N));
	EXPECT_LE(ev_count(fd), WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
}

/* Cycles per instruction may be a fraction: the model carries its remainder to the next one */
static bool are_cycles(uint64_t got, uint64_t insns)
{
	uint64_t all = insns * model_property("x-pmu-cpi", 2);
	unsigned int divisor = model_property("x-pmu-cpi-div", 1);

	return got >= all / divisor && got <= (all + divisor - 1) / divisor;
}

static uint64_t ref_cycles(uint64_t insns)
{
	return insns * model_property("x-pmu-ref", 3);
}

/* Skip if this bit of CPUID.0AH:EBX marks the architectural event as not available */
#define NEEDS_EVENT(bit) do {						\
	if (events_missing() & 1u << (bit))				\
		SKIP(return, "this CPU lacks the event");		\
} while (0)

TEST(cycles)
{
	ROWS("T-09 O-16");
	int fd = hw(PERF_COUNT_HW_CPU_CYCLES, -1);
	int insns = hw(PERF_COUNT_HW_INSTRUCTIONS, fd);
	uint64_t c;

	work_counted(fd, N, 0);
	c = ev_count(fd);
	EXPECT_GT(c, 0);
	if (exact())
		EXPECT_TRUE(are_cycles(c, ev_count(insns)));
	work_counted(fd, N, 0);
	EXPECT_GT(ev_count(fd), c);
	if (exact())
		EXPECT_TRUE(are_cycles(ev_count(fd), ev_count(insns)));
}

TEST(reference_cycles)
{
	ROWS("T-18");
	int fd, insns;

	if (!has_ref_cycles())
		SKIP(return, "no counter for them");
	fd = hw(PERF_COUNT_HW_REF_CPU_CYCLES, -1);
	insns = hw(PERF_COUNT_HW_INSTRUCTIONS, fd);
	work_counted(fd, N, 0);
	EXPECT_GT(ev_count(fd), 0);
	if (exact())
		EXPECT_EQ(ev_count(fd), ref_cycles(ev_count(insns)));
}

/* On Intel only fixed counter 2 can count reference cycles: EINVAL without it, not ENOENT */
TEST(no_reference_cycles)
{
	ROWS("T-18 E-20");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_REF_CPU_CYCLES);

	if (has_ref_cycles())
		SKIP(return, "there is a counter for them");
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), is_amd() ? ENOENT : EINVAL);
}

TEST(bus_cycles)
{
	ROWS("T-15");
	int fd;

	NEEDS_EVENT(2);
	fd = hw(PERF_COUNT_HW_BUS_CYCLES, -1);
	work_counted(fd, N, 0);
	EXPECT_GT(ev_count(fd), 0);
	if (exact())
		EXPECT_EQ(ev_count(fd), ref_cycles(WORK_INSNS(N)));
}

TEST(branches)
{
	ROWS("T-13 N-18");
	int fd = hw(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1);

	work_counted(fd, N, 0);
	EXPECT_GE(ev_count(fd), WORK_BRANCHES(N));
	EXPECT_LE(ev_count(fd), WORK_BRANCHES(N) + SLACK(N));
}

/* Count mispredictions of a branch whose direction depends on @way */
static uint64_t missed(int fd, const unsigned char *way, int n)
{
	uint64_t before = ev_count(fd);
	int i;

	ev_enable(fd);
	for (i = 0; i < n; i++)
		asm volatile("testb %0, %0\n\t"
			     "jz 1f\n\t"
			     "nop\n"
			     "1:" : : "q" (way[i]) : "cc");
	ev_disable(fd);
	return ev_count(fd) - before;
}

TEST(branch_misses)
{
	ROWS("T-14");
	static unsigned char sorted[N], random[N];
	uint32_t x = 12345;
	uint64_t few, many;
	int fd, i;

	NEEDS_EVENT(6);
	fd = hw(PERF_COUNT_HW_BRANCH_MISSES, -1);
	for (i = 0; i < N; i++) {
		x = x * 1664525 + 1013904223;
		random[i] = x >> 31;
		sorted[i] = i >= N / 2;
	}
	few = missed(fd, sorted, N);
	many = missed(fd, random, N);
	printf("# sorted %lu random %lu of %d\n", few, many, N);
	EXPECT_LT(few, N / 50);
	EXPECT_GT(many, N / 4);
	EXPECT_LT(many, N);
}

static char *memory(size_t size)
{
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (m == MAP_FAILED)
		exit(1);
	return m;
}

static void cache_events(int *refs, int *misses)
{
	NEEDS_EVENT(3);
	NEEDS_EVENT(4);
	*refs = hw(PERF_COUNT_HW_CACHE_REFERENCES, -1);
	*misses = hw(PERF_COUNT_HW_CACHE_MISSES, *refs);
}

#define BIG	(8 << 20)

TEST(cache_streaming)
{
	ROWS("T-11 T-12");
	uint64_t lines = BIG / LINE, r, m;
	int refs, misses;

	cache_events(&refs, &misses);
	load_counted(refs, lines, memory(BIG), LINE);
	r = ev_count(refs);
	m = ev_count(misses);
	printf("# %lu lines: %lu references %lu misses\n", lines, r, m);
	EXPECT_GT(r, 0);
	EXPECT_LE(m, r);
	if (exact()) {
		EXPECT_GE(m, lines);
		EXPECT_LE(r, lines + lines / 100);
	}
}

TEST(cache_resident)
{
	ROWS("T-11 T-12");
	char *m = memory(4096);
	int refs, misses, i;

	cache_events(&refs, &misses);
	load_counted(refs, 4096 / LINE, m, LINE);
	ioctl(refs, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	for (i = 0; i < 100; i++)
		load_counted(refs, 4096 / LINE, m, LINE);
	printf("# %lu references, %lu misses\n", ev_count(refs), ev_count(misses));
	/* 6,400 loads, nearly all of which hit the first-level cache */
	EXPECT_LT(ev_count(refs), 640);
	EXPECT_LT(ev_count(misses), 640);
}

TEST(cache_levels)
{
	ROWS("T-11 T-12");
	uint64_t lines = (256 << 10) / LINE;
	char *m = memory(256 << 10);
	int refs, misses;

	if (!exact())
		SKIP(return, "the sizes of real caches are not known here");
	cache_events(&refs, &misses);
	/* Does not fit into the first-level cache, fits into the last-level cache */
	load_counted(refs, lines, m, LINE);
	ioctl(refs, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	load_counted(refs, lines, m, LINE);
	EXPECT_GE(ev_count(refs), lines);
	EXPECT_LT(ev_count(misses), lines / 10);
}

TEST(stalled_cycles_unsupported)
{
	ROWS("T-16 T-17 T-20 E-29");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_STALLED_CYCLES_FRONTEND);

	if (is_amd())
		SKIP(return, "AMD's CPUs have such events");
	/* No model of Intel's here defines the stalled-cycles events */
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	a.config = PERF_COUNT_HW_STALLED_CYCLES_BACKEND;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
}

/* AMD: the front end's everywhere, the back end's until the first Zen; the QEMU model has no stalls */
TEST(stalled_cycles)
{
	ROWS("T-16 T-17");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
	int fd;

	if (!is_amd())
		SKIP(return, "not AMD");
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), is_zen4() ? ENOENT : 0);
	fd = hw(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, -1);
	work_counted(fd, N, 0);
	if (exact())
		EXPECT_EQ(ev_count(fd), 0);
}

/*
 * The upper half of config is the type of a PMU.  Others than the core PMU do not have the event; a
 * type that no PMU has is ignored
 */
TEST(pmu_in_config)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	static const uint64_t others[] = { PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT,
					   PERF_TYPE_BREAKPOINT };
	int i;

	ROWS("U-21");
	for (i = 0; i < 3; i++) {
		a.config = others[i] << 32 | PERF_COUNT_HW_INSTRUCTIONS;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	}
	a.config = 7777ULL << 32 | PERF_COUNT_HW_INSTRUCTIONS;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

/* An event that CPUID marks as not available must be refused, not opened to read 0 */
TEST(marked_unavailable)
{
	ROWS("T-20 E-21 E-29");
	static const uint8_t generic[7] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
		PERF_COUNT_HW_BUS_CYCLES, PERF_COUNT_HW_CACHE_REFERENCES,
		PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		PERF_COUNT_HW_BRANCH_MISSES,
	};
	struct perf_event_attr a;

	for (int i = 0; i < 7; i++) {
		a = ev_attr(PERF_TYPE_HARDWARE, generic[i]);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0),
			  events_missing() & 1u << i ? ENOENT : 0);
	}
	printf("# missing: %#x\n", events_missing());
}

TEST(all_ten)
{
	ROWS("T-20 T-01 E-21");
	struct perf_event_attr a;
	int err, n = 0;

	for (int i = 0; i < 10; i++) {
		a = ev_attr(PERF_TYPE_HARDWARE, i);
		err = ev_errno(&a, 0, -1, -1, 0);
		printf("# config %d: %s\n", i, err ? strerror(err) : "ok");
		EXPECT_TRUE(!err || err == ENOENT || err == EINVAL);
		n += !err;
	}
	EXPECT_GE(n, 7 - __builtin_popcount(events_missing() & 0x7f));
	a.config = 10;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

/* Four generic events in one group count at the same time */
TEST(generic_group)
{
	ROWS("O-16");
	static const uint8_t configs[] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
		PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BUS_CYCLES,
	};
	int lead = hw(configs[0], -1), fd[4] = { lead }, i;

	NEEDS_EVENT(2);
	for (i = 1; i < 4; i++)
		fd[i] = hw(configs[i], lead);
	work_counted(lead, N, 0);
	for (i = 0; i < 4; i++)
		EXPECT_GT(ev_count(fd[i]), N / 2);
	if (!exact())
		return;
	EXPECT_EQ(ev_count(fd[0]), WORK_INSNS(N));
	EXPECT_TRUE(are_cycles(ev_count(fd[1]), WORK_INSNS(N)));
	EXPECT_EQ(ev_count(fd[2]), WORK_BRANCHES(N));
	EXPECT_EQ(ev_count(fd[3]), ref_cycles(WORK_INSNS(N)));
}

TEST_HARNESS_MAIN
