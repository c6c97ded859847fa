// SPDX-License-Identifier: GPL-2.0-only
/* Precise events: the instruction of each sample, and what the sample says of it. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "msr.h"
#include "precise.h"

static uint64_t words[N];

static int max_precise(void)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/cpu/caps/max_precise",
		 route_is_native() ? "event_source" : "kpmu");
	return read_long(path);
}

/* Level 2: the very instruction, and a mark that it is.  Records wait, or cause an interrupt each */
TEST(exact_ip)
{
	struct perf_event_attr a;
	int i, n, single;

	ROWS("A-36 A-37 S-38 B-08");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	for (single = 0; single < 2; single++) {
		a.wakeup_events = single;
		n = of_rising(&a);
		EXPECT_EQ(n, N / step_of(2));
		for (i = 0; i < n; i++) {
			EXPECT_EQ(seen[i].ip, nth_inc((i + 1) * step_of(2)));
			EXPECT_TRUE(seen[i].misc & EXACT_IP);
		}
	}
}

/* Level 1: the instruction after it, without the mark */
TEST(constant_skid)
{
	struct perf_event_attr a;
	int i, n, single;

	ROWS("A-36 A-37 S-38");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 1, 0);
	for (single = 0; single < 2; single++) {
		a.wakeup_events = single;
		n = of_rising(&a);
		EXPECT_EQ(n, N / step_of(1));
		for (i = 0; i < n; i++) {
			EXPECT_EQ(seen[i].ip, nth_inc((i + 1) * step_of(1) + 1));
			EXPECT_FALSE(seen[i].misc & EXACT_IP);
		}
	}
}

/* Level 3 of an event with precise distribution: the instruction that overflows */
TEST(distribution)
{
	struct perf_event_attr a;
	int i, n;

	ROWS("A-36 A-37");
	NEED_PRECISE();
	a = precise_attr(cpu_model() == CPU_SPR ? RAW_INSNS : RAW_PREC_DIST, 3, 0);
	n = of_rising(&a);
	EXPECT_EQ(n, N / PERIOD);
	for (i = 0; i < n; i++)
		EXPECT_EQ(seen[i].ip, nth_inc((i + 1) * PERIOD));
}

/* Sapphire Rapids: level 3 is on fixed counter 0 for instructions, else on general counter 0 */
TEST(distribution_counters)
{
	struct perf_event_attr a;

	ROWS("A-36 E-33");
	NEED_PRECISE();
	if (cpu_model() != CPU_SPR)
		SKIP(return, "another model");
	a = precise_attr(0x0100, 3, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.precise_ip = 2;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	a = precise_attr(RAW_LATENCY, 3, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = precise_attr(RAW_BRANCHES, 3, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

/* Registers are those after the instruction */
TEST(registers)
{
	struct perf_event_attr a;
	int i, n;

	ROWS("A-37 S-38");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_REGS_INTR);
	a.sample_regs_intr = 1ULL << REGS_R8;
	n = of_rising(&a);
	EXPECT_EQ(n, N / step_of(2));
	for (i = 0; i < n; i++)
		EXPECT_EQ(seen[i].reg, (i + 1) * step_of(2));
}

/* The lower half of XMM0, which nothing changes meanwhile */
TEST(vector_registers)
{
	static const uint64_t value = 0x123456789abcdef0;
	struct perf_event_attr a;
	int i, n, fd, err;
	struct ring r;

	ROWS("S-38 U-24");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_REGS_INTR);
	a.sample_regs_intr = 1ULL << REGS_XMM0;
	err = ev_errno(&a, 0, -1, -1, 0);
	if (!is_adaptive()) {
		EXPECT_EQ(err, EINVAL);
		return;
	}
	ASSERT_EQ(err, 0);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	__asm__ volatile("movq %0, %%xmm0" :: "r"(value) : "xmm0");
	rising_counted(fd);
	n = collect(&r);
	EXPECT_EQ(n, N / step_of(2));
	for (i = 0; i < n; i++)
		EXPECT_EQ(seen[i].reg, value);
	ring_unmap(&r);
	close(fd);
	a.precise_ip = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

#define MSR_PEBS_DATA_CFG	0x3f2

/* What the records of an event on CPU 0 consist of */
static uint64_t groups_of(uint64_t type, uint64_t regs)
{
	struct perf_event_attr a = precise_attr(RAW_INSNS, 2, type);
	uint64_t val = -1;
	int fd;

	a.sample_regs_intr = regs;
	fd = ev_must(&a, -1, 0, -1, 0);
	ev_enable(fd);
	msr_read(0, MSR_PEBS_DATA_CFG, &val);
	ev_disable(fd);
	close(fd);
	return val;
}

/* The hardware records only what samples need, as each group takes room in the buffer */
TEST(recorded_groups)
{
	uint64_t val;

	ROWS("S-38");
	NEED_PRECISE();
	pin_to(0);
	if (!is_adaptive() || !msr_read(0, MSR_PEBS_DATA_CFG, &val))
		SKIP(return, "no such register, or it cannot be read");
	EXPECT_EQ(groups_of(0, 0), 0);
	EXPECT_EQ(groups_of(PERF_SAMPLE_DATA_SRC, 0), 1);
	EXPECT_EQ(groups_of(PERF_SAMPLE_REGS_INTR, 1), 2);
	EXPECT_EQ(groups_of(PERF_SAMPLE_REGS_INTR, 1ULL << REGS_XMM0), 4);
}

/* What comes after them in a record: the branches.  A task switch clears those, so there are several tries */
TEST(vector_registers_and_branches)
{
	static const uint64_t value = 0xfedcba9876543210;
	struct perf_event_attr a;
	int i, n, fd, try, found = 0;
	struct ring r;

	ROWS("S-18 S-38");
	NEED_PRECISE();
	if (!is_adaptive())
		SKIP(return, "no vector registers in records");
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_BRANCH_STACK);
	a.sample_regs_intr = 1ULL << REGS_XMM0;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	if (ev_errno(&a, 0, -1, -1, 0))
		SKIP(return, "this CPU does not record branches");
	branch_target = (uintptr_t)rising;
	for (try = 0; try < TRIES && found < N / step_of(2) - 1; try++) {
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 64);
		ev_enable(fd);
		__asm__ volatile("movq %0, %%xmm0" :: "r"(value) : "xmm0");
		rising();
		ev_disable(fd);
		n = collect(&r);
		for (i = 0, found = 0; i < n; i++)
			if (in_rising(&seen[i]) && seen[i].ip != (uintptr_t)rising)
				found += seen[i].branch_found && seen[i].reg == value ? 1 : -1;
		ring_unmap(&r);
		close(fd);
	}
	EXPECT_GE(found, N / step_of(2) - 1);
}

enum access { LOADS, STORES, LOCKED, PAGES };

static void access_memory(enum access what, int fd, void *pages)
{
	switch (what) {
	case LOADS:
		loads_counted(fd, words);
		break;
	case STORES:
		stores_counted(fd, words);
		break;
	case LOCKED:
		locked_counted(fd, words);
		break;
	case PAGES:
		pages_counted(fd, pages);
		break;
	}
}

static int of_memory(const struct perf_event_attr *a, enum access what, int fd)
{
	size_t size = what == PAGES ? N * 4096UL : 4096;
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct ring r;
	int n;

	if (pages == MAP_FAILED)
		return -1;
	madvise(pages, size, MADV_NOHUGEPAGE);
	ring_map(&r, fd, a, 64);
	access_memory(what, fd, pages);
	munmap(pages, size);
	n = collect(&r);
	ring_unmap(&r);
	close(fd);
	return n;
}

#define MEMORY	(PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT)
#define STEP	(PERIOD + 1)

TEST(loads)
{
	union perf_mem_data_src src;
	struct perf_event_attr a;
	int i, n;

	ROWS("S-28 S-29");
	NEED_PRECISE();
	a = precise_attr(RAW_LOADS, 2, MEMORY);
	n = of_memory(&a, LOADS, ev_must(&a, 0, -1, -1, 0));
	EXPECT_EQ(n, N / STEP);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(seen[i].ip, (uintptr_t)loads_start);
		EXPECT_EQ(seen[i].addr, (uintptr_t)&words[(i + 1) * STEP - 1]);
		src.val = seen[i].data_src;
		EXPECT_EQ((int)src.mem_op, PERF_MEM_OP_LOAD);
	}
}

TEST(stores)
{
	union perf_mem_data_src src;
	struct perf_event_attr a;
	int i, n;

	ROWS("S-28 S-29 S-30");
	NEED_PRECISE();
	a = precise_attr(RAW_STORES, 2, MEMORY);
	n = of_memory(&a, STORES, ev_must(&a, 0, -1, -1, 0));
	EXPECT_EQ(n, N / STEP);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(seen[i].addr, (uintptr_t)&words[(i + 1) * STEP - 1]);
		src.val = seen[i].data_src;
		EXPECT_EQ((int)src.mem_op, PERF_MEM_OP_STORE);
		EXPECT_TRUE(src.mem_lvl & PERF_MEM_LVL_L1);
	}
}

/* Sapphire Rapids needs an auxiliary event in the group of one with load latencies */
static int open_latency(const struct perf_event_attr *a, int *leader)
{
	struct perf_event_attr aux = ev_attr(PERF_TYPE_RAW, RAW_LATENCY_AUX);

	*leader = -1;
	if (cpu_model() == CPU_SPR) {
		aux.disabled = 0;
		*leader = ev_must(&aux, 0, -1, -1, 0);
	}
	return ev_must(a, 0, -1, *leader, 0);
}

/* Samples of accesses that take more than @least cycles */
static int of_latency(enum access what, int least, uint64_t type)
{
	struct perf_event_attr a = precise_attr(RAW_LATENCY, 2, type);
	int n, leader, fd;

	a.config1 = least;
	a.sample_period = 101;
	fd = open_latency(&a, &leader);
	n = of_memory(&a, what, fd);
	if (leader >= 0)
		close(leader);
	return n;
}

/* Loads that take longer than a number of cycles: their latency is the weight */
TEST(latency)
{
	union perf_mem_data_src src;
	int i, n;

	ROWS("S-28 S-29 S-30 S-31 S-33");
	NEED_PRECISE();
	n = of_latency(LOADS, 3, MEMORY);
	EXPECT_GT(n, 0);
	for (i = 0; i < n; i++) {
		EXPECT_GT(seen[i].weight, 0);
		src.val = seen[i].data_src;
		EXPECT_EQ((int)src.mem_op, PERF_MEM_OP_LOAD);
		EXPECT_TRUE(src.mem_lvl & PERF_MEM_LVL_HIT);
		EXPECT_NE((int)src.mem_lvl_num, PERF_MEM_LVLNUM_NA);
		/* The model has no persistent memory */
		EXPECT_TRUE(!exact() || src.mem_lvl_num != PERF_MEM_LVLNUM_PMEM);
		if (src.mem_lvl & PERF_MEM_LVL_L1)
			EXPECT_EQ((int)src.mem_lvl_num, PERF_MEM_LVLNUM_L1);
		EXPECT_FALSE(src.mem_snoop & PERF_MEM_SNOOP_NA);
		EXPECT_TRUE(src.mem_dtlb & PERF_MEM_TLB_HIT);
		EXPECT_FALSE(src.mem_lock & PERF_MEM_LOCK_LOCKED);
	}
}

TEST(locked)
{
	union perf_mem_data_src src;
	int i, n;

	ROWS("S-32");
	NEED_PRECISE();
	n = of_latency(LOCKED, 1, MEMORY);
	EXPECT_GT(n, 0);
	for (i = 0; i < n; i++) {
		src.val = seen[i].data_src;
		EXPECT_TRUE(src.mem_lock & PERF_MEM_LOCK_LOCKED);
	}
}

/* More pages than the TLBs hold */
TEST(tlb_misses)
{
	union perf_mem_data_src src;
	int i, n;

	ROWS("S-33");
	NEED_PRECISE();
	n = of_latency(PAGES, 3, MEMORY);
	EXPECT_GT(n, 0);
	for (i = 0; i < n; i++) {
		src.val = seen[i].data_src;
		EXPECT_TRUE(src.mem_dtlb & PERF_MEM_TLB_MISS);
	}
}

#define WEIGHT_STRUCT	(1ULL << 24)	/* PERF_SAMPLE_WEIGHT_STRUCT */

/* The same latency in PERF_SAMPLE_WEIGHT_STRUCT, and that of the instruction if the CPU tells it */
TEST(weight_struct)
{
	int i, n;

	ROWS("S-26");
	NEED_PRECISE();
	n = of_latency(LOADS, 3, PERF_SAMPLE_DATA_SRC | WEIGHT_STRUCT);
	EXPECT_GT(n, 0);
	for (i = 0; i < n; i++) {
		EXPECT_GT((uint32_t)seen[i].weight, 0);
		EXPECT_EQ(seen[i].weight >> 32 != 0, cpu_model() == CPU_SPR);
	}
}

TEST(latency_alone)
{
	struct perf_event_attr a;
	bool alone = cpu_model() != CPU_SPR;
	int leader;

	ROWS("S-29");
	NEED_PRECISE();
	a = precise_attr(RAW_LATENCY, 2, MEMORY);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), alone ? 0 : ENODATA);
	leader = ev_self(PERF_TYPE_RAW, RAW_INSNS, -1);
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), alone ? 0 : ENODATA);
	ev_self(PERF_TYPE_RAW, RAW_LATENCY_AUX, leader);
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), 0);
	a.sample_type = PERF_SAMPLE_ADDR;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

#define PHYS_ADDR	(1ULL << 19)	/* PERF_SAMPLE_PHYS_ADDR */
#define DATA_PAGE	(1ULL << 22)	/* PERF_SAMPLE_DATA_PAGE_SIZE */

/* Physical address and page size of the data */
TEST(pages)
{
	struct perf_event_attr a;
	int i, n;

	ROWS("S-39 S-41");
	NEED_PRECISE();
	a = precise_attr(RAW_STORES, 2, PERF_SAMPLE_ADDR | PHYS_ADDR | DATA_PAGE);
	n = of_memory(&a, STORES, ev_must(&a, 0, -1, -1, 0));
	EXPECT_EQ(n, N / STEP);
	for (i = 0; i < n; i++) {
		EXPECT_GT(seen[i].phys, 4096);
		EXPECT_EQ(seen[i].phys % 4096, seen[i].addr % 4096);
		EXPECT_EQ(seen[i].page, 4096);
	}
}

/* The generic event cycles:p, which Skylake counts by another code */
TEST(cycles)
{
	struct perf_event_attr a;
	int i, n, level;

	ROWS("A-36 A-37");
	NEED_PRECISE();
	for (level = 1; level <= 3; level++) {
		a = precise_attr(0, level, 0);
		a.type = PERF_TYPE_HARDWARE;
		a.config = PERF_COUNT_HW_CPU_CYCLES;
		n = of_rising(&a);
		EXPECT_GT(n, 0);
		for (i = 0; i < n; i++)
			EXPECT_LE(seen[i].ip - (uintptr_t)rising_start, INC_LEN * N + 64);
	}
}

/* A frequency: the period changes from sample to sample */
TEST(frequency)
{
	struct perf_event_attr a;
	int i, n;

	ROWS("A-36 A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	a.freq = 1;
	a.sample_freq = 10000;
	n = of_rising(&a);
	EXPECT_GT(n, 0);
	for (i = 0; i < n; i++)
		EXPECT_TRUE(seen[i].misc & EXACT_IP);
}

TEST(refused)
{
	struct perf_event_attr a;

	ROWS("A-36 A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	a.sample_period = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = precise_attr(RAW_INSNS, 1, 0);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_TASK_CLOCK;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

/* Precise events are found whatever the format of their records */
TEST(level)
{
	ROWS("U-28");
	if (model_property("pebs-fmt", 0))
		ASSERT_TRUE(has_precise());
	NEED_PRECISE();
	if (!route_is_native())
		EXPECT_EQ(max_precise(), 3);
}

/* Beside an event that is not precise: both count what they count alone */
TEST(beside_another)
{
	struct perf_event_attr a, b;
	uint64_t count;
	int other, n;

	ROWS("A-37");
	NEED_PRECISE();
	/* So that the other one is on the same counter as alone */
	b = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	other = ev_must(&b, 0, -1, -1, 0);
	a = precise_attr(RAW_INSNS, 2, 0);
	ev_enable(other);
	n = of_rising(&a);
	EXPECT_EQ(n, N / step_of(2));
	ev_disable(other);
	ASSERT_EQ(read(other, &count, 8), 8);
	EXPECT_GT(count, 0);
}

TEST_HARNESS_MAIN
