// SPDX-License-Identifier: GPL-2.0-only
/* AMD's instruction-based sampling: what each sample says of its instruction. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#include "ibs.h"

static uint64_t words[N];

/* Samples in the row of instructions; -1 if one of them is not at an instruction, or not exact */
static int samples_in_row(int n)
{
	int i, found = 0;

	for (i = 0; i < n; i++) {
		if (!in_row(seen[i].ip))
			continue;
		found++;
		if ((seen[i].ip - nth_inc(1)) % INC_LEN || !(seen[i].misc & EXACT_IP))
			return -1;
	}
	return found;
}

/* Interrupts that last long may take all samples of the time of the row */
static bool row_is_sampled(const struct perf_event_attr *a)
{
	int i, n = 0;

	for (i = 0; i < TRIES && !n; i++)
		n = samples_in_row(of_rising(a));
	return n > 0;
}

/* Ops: the very instruction */
TEST(exact_ip)
{
	struct perf_event_attr a;
	int n, i;

	ROWS("U-48 A-37 B-08");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	EXPECT_TRUE(row_is_sampled(&a));
	n = of_rising(&a);
	EXPECT_TRUE(samples_in_row(n) >= 0);
	/* Less than a period apart, as the interrupt counts, too */
	for (i = 1; i < n; i++)
		if (in_row(seen[i - 1].ip) && in_row(seen[i].ip))
			EXPECT_TRUE(seen[i].ip - seen[i - 1].ip <= OPS * INC_LEN);
}

/* Cycles; on the PMU model two for each instruction */
TEST(cycles)
{
	struct perf_event_attr a;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_op", 0, 2 * OPS);
	EXPECT_TRUE(row_is_sampled(&a));
}

/* The call chain begins where the interrupt came, after the instruction of the sample */
TEST(call_chain)
{
	static struct record rec;
	struct perf_event_attr a;
	int i, fd, found = 0;
	struct ring r;

	ROWS("U-48 S-14");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.sample_type |= PERF_SAMPLE_CALLCHAIN;
	for (i = 0; i < TRIES && !found; i++) {
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 64);
		rising_counted(fd);
		while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
			struct parts p = record_sample(&r, &rec);

			if (!in_row(p.ip) || p.nr < 2 || p.chain[0] != PERF_CONTEXT_USER)
				continue;
			EXPECT_GT(p.chain[1], p.ip);
			found++;
		}
		ring_unmap(&r);
		close(fd);
	}
	EXPECT_GT(found, 0);
}

TEST(fetch)
{
	struct perf_event_attr a;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_fetch", 0, OPS);
	EXPECT_TRUE(row_is_sampled(&a));
}

/* A frequency sets the period */
TEST(frequency)
{
	struct perf_event_attr a;
	int n, i;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, 0);
	a.freq = 1;
	a.sample_freq = 20000;
	n = of_rising(&a);
	EXPECT_TRUE(n > 0);
	for (i = 0; i < n; i++)
		EXPECT_TRUE(seen[i].misc & EXACT_IP);
}

#define MEMORY	(PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | \
		 PERF_SAMPLE_PHYS_ADDR)

static bool in_words(uint64_t addr)
{
	return addr >= (uintptr_t)words && addr < (uintptr_t)(words + N) && addr % 8 == 0;
}

/* Does a sample say of a load what it should? */
static bool is_load(const struct seen *x)
{
	union perf_mem_data_src src = { .val = x->data_src };

	return in_words(x->addr) && src.mem_op == PERF_MEM_OP_LOAD &&
	       src.mem_lvl & PERF_MEM_LVL_HIT &&
	       src.mem_dtlb & (PERF_MEM_TLB_HIT | PERF_MEM_TLB_MISS) &&
	       !x->weight == !!(src.mem_lvl & PERF_MEM_LVL_L1) &&
	       x->phys && x->phys % 4096 == x->addr % 4096;
}

#define SHIFTS	8

/*
 * The loop has four instructions, and periods are multiples of four: they may meet the same one each time.
 * Each number of these, below SHIFTS, makes that another one
 */
static void shift_by(uint64_t instructions)
{
	__asm__ volatile("lea	1f(%%rip), %%rax\n\t"
			 "sub	%0, %%rax\n\t"
			 "jmp	*%%rax\n\t"
			 ".skip	8, 0x90\n"	/* NOP */
			 "1:" : : "r" (instructions) : "rax");
}

/* A load: its address, where the data came from */
TEST(loads)
{
	struct perf_event_attr a;
	int n, i, fd, shift, loads = 0;
	struct ring r;

	ROWS("U-48 S-28");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.sample_type |= MEMORY;
	memset(words, 1, sizeof(words));
	for (shift = 0; shift < SHIFTS; shift++) {
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 64);
		ev_enable(fd);
		shift_by(shift);
		loads_counted(fd, words);
		n = collect(&r);
		for (i = 0; i < n; i++) {
			if (seen[i].ip != (uintptr_t)loads_start)
				continue;
			EXPECT_TRUE(is_load(&seen[i]));
			loads++;
		}
		ring_unmap(&r);
		close(fd);
	}
	EXPECT_TRUE(loads > 0);
}

/* Samples of loads of lines that the other CPU has modified, in @n samples */
static int of_modified(int n)
{
	union perf_mem_data_src src;
	int i, found = 0;

	for (i = 0; i < n; i++) {
		src.val = seen[i].data_src;
		found += seen[i].ip == (uintptr_t)loads_start && src.mem_snoop == PERF_MEM_SNOOP_HITM;
	}
	return found;
}

/* The first load of each line finds it modified by the other CPU; later loads do not */
TEST(modified_lines)
{
	struct perf_event_attr a;
	int i, fd, misses, again = 0, first = 0;
	struct ring r;

	ROWS("U-48 S-28");
	NEED_IBS();
	if (nr_cpus() < 2)
		SKIP(return, "there is only one CPU");
	/* IBS alone: the model's caches know of accesses in the 1,024 ops before a sample only */
	a = ev_attr(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	misses = ev_must(&a, 0, -1, -1, 0);
	ev_enable(misses);
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.sample_type |= MEMORY;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	for (i = 0; i < 20 * TRIES && !first; i++) {
		pin_to(1);
		stores_counted(fd, words);
		pin_to(0);
		ring_skip(&r);
		loads_counted(fd, words);
		first += of_modified(collect(&r));
		loads_counted(fd, words);
		again += of_modified(collect(&r));
	}
	EXPECT_GT(first, 0);
	EXPECT_EQ(again, 0);
	ring_unmap(&r);
	close(fd);
	close(misses);
}

#define RAW_REGS	9

/* What a sample has of registers, after a word of the capabilities */
struct raw {
	uint64_t ip;
	uint32_t size, caps;
	uint64_t reg[RAW_REGS];
};

static bool raw_next(struct ring *r, struct raw *raw)
{
	static struct record rec;
	struct parts p;

	if (!ring_find(r, &rec, PERF_RECORD_SAMPLE))
		return false;
	p = record_sample(r, &rec);
	memset(raw, 0, sizeof(*raw));
	raw->ip = p.ip;
	raw->size = p.raw_size;
	if (p.raw_size < 4 || p.raw_size > 4 + sizeof(raw->reg))
		return true;
	memcpy(&raw->caps, p.raw, 4);
	memcpy(raw->reg, p.raw + 4, p.raw_size - 4);
	return true;
}

static int raw_open(struct ring *r, const char *pmu, uint64_t config)
{
	struct perf_event_attr a = ibs_attr(pmu, config, OPS);
	int fd;

	a.sample_type |= PERF_SAMPLE_RAW;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(r, fd, &a, 64);
	rising_counted(fd);
	return fd;
}

/* The registers as the hardware has them */
TEST(raw)
{
	struct ring r;
	struct raw raw;
	int n = 0, fd;

	ROWS("U-48");
	NEED_IBS();
	fd = raw_open(&r, "ibs_op", CNT_CTL);
	for (; raw_next(&r, &raw); n++) {
		EXPECT_EQ(raw.size, 4 + 8 * (7 + (raw.caps >> 5 & 1) + (raw.caps >> 10 & 1)));
		EXPECT_TRUE(raw.caps & 1);
		EXPECT_EQ(raw.reg[1], raw.ip);
		EXPECT_EQ(raw.reg[0] & (CNT_CTL | 3 << 17), CNT_CTL | 3 << 17);
	}
	EXPECT_TRUE(n > 0);
	ring_unmap(&r);
	close(fd);
}

TEST(raw_fetch)
{
	struct ring r;
	struct raw raw;
	int n = 0, fd;

	ROWS("U-48");
	NEED_IBS();
	fd = raw_open(&r, "ibs_fetch", 0);
	for (; raw_next(&r, &raw); n++) {
		EXPECT_EQ(raw.size, 4 + 8 * (3 + (raw.caps >> 9 & 1)));
		EXPECT_EQ(raw.reg[0] & 3ULL << 48, 3ULL << 48);
		EXPECT_EQ(raw.reg[1], raw.ip);
		/* The physical address, if it is valid */
		EXPECT_EQ(raw.reg[2] % 4096, raw.reg[0] >> 52 & 1 ? raw.ip % 4096 : 0);
	}
	EXPECT_TRUE(n > 0);
	ring_unmap(&r);
	close(fd);
}

/* Physical addresses in the registers: -1 if a sample is one of the kernel, or has an address of it */
static int some_addresses(const char *pmu, uint64_t config, int at, int shift)
{
	struct perf_event_attr a = ibs_attr(pmu, config, OPS);
	static struct record rec;
	int n = 0, fd, samples = 0;
	struct ring r;

	a.sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_ADDR;
	a.exclude_kernel = 1;
	a.config2 = SWFILT;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 4);
	ev_enable(fd);
	shift_by(shift);
	loads_counted(fd, words);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&r, &rec);
		uint64_t reg;

		memcpy(&reg, p.raw + 4 + 8 * at, sizeof(reg));
		n += reg != 0;
		samples++;
		if ((int64_t)p.ip < 0 || (int64_t)p.addr < 0)
			return -1;
	}
	ring_unmap(&r);
	close(fd);
	return samples ? n : -1;
}

static int physical_addresses(const char *pmu, uint64_t config, int at)
{
	int shift, n, all = 0;

	for (shift = 0; shift < SHIFTS; shift++) {
		n = some_addresses(pmu, config, at, shift);
		if (n < 0)
			return -1;
		all += n;
	}
	return all;
}

static int of_fetches(void)
{
	return physical_addresses("ibs_fetch", 0, 2);
}

static int of_ops(void)
{
	return physical_addresses("ibs_op", CNT_CTL, 6);
}

/* Without privilege the registers show no physical addresses */
TEST(raw_without_privilege)
{
	ROWS("U-48 C-13");
	NEED_IBS();
	if (!ibs_has("ibs_op", "format/swfilt"))
		SKIP(return, "this kernel has no swfilt");
	memset(words, 1, sizeof(words));
	no_throttle();
	EXPECT_TRUE(of_fetches() > 0);
	EXPECT_TRUE(of_ops() > 0);
	EXPECT_EQ(try_unprivileged(of_fetches), 0);
	EXPECT_EQ(try_unprivileged(of_ops), 0);
}

#define PAGES	4000UL

/* Pages that no cache and no TLB has */
static void *cold_pages(void)
{
	void *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Samples of loads or stores that are a page apart, after some more instructions */
static int of_pages(const struct perf_event_attr *a, char *pages, bool store, int shift)
{
	int n, fd = ev_must(a, 0, -1, -1, 0);
	struct ring r;

	ring_map(&r, fd, a, 64);
	ev_enable(fd);
	shift_by(shift);
	(store ? store_counted : load_counted)(fd, PAGES, pages, 4096);
	n = collect(&r);
	ring_unmap(&r);
	close(fd);
	return n;
}

static bool in_pages(const struct seen *x, const char *pages)
{
	return x->addr >= (uintptr_t)pages && x->addr < (uintptr_t)pages + PAGES * 4096;
}

/* Accesses that miss all caches: only of a load is known where the data came from */
TEST(misses)
{
	union perf_mem_data_src src;
	struct perf_event_attr a;
	int n, i, round, store, found[2] = { 0 };
	char *pages;

	ROWS("U-48 S-28");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.sample_type |= MEMORY;
	/* Which accesses are sampled also depends on the instructions of the interrupt: more tries if it was none */
	for (round = 0; round < 2 * SHIFTS || (round < 12 * SHIFTS && !(found[0] && found[1])); round++) {
		store = round & 1;
		pages = cold_pages();
		ASSERT_TRUE(pages);
		n = of_pages(&a, pages, store, round / 2 % SHIFTS);
		for (i = 0; i < n; i++) {
			if (!in_pages(&seen[i], pages))
				continue;
			found[store]++;
			src.val = seen[i].data_src;
			EXPECT_EQ((int)src.mem_op, store ? PERF_MEM_OP_STORE : PERF_MEM_OP_LOAD);
			EXPECT_EQ((int)src.mem_lvl, store ? PERF_MEM_LVL_NA :
				  PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM);
			EXPECT_EQ((int)src.mem_lvl_num, store ? PERF_MEM_LVLNUM_NA : PERF_MEM_LVLNUM_RAM);
			EXPECT_EQ(!seen[i].weight, store);
		}
		munmap(pages, PAGES * 4096);
	}
	EXPECT_TRUE(found[0] > 0);
	EXPECT_TRUE(found[1] > 0);
}

/* A period that the hardware does not have, in several turns */
TEST(long_period)
{
	const uint64_t period = 3ULL << 19;
	struct perf_event_attr a;
	uint64_t count;
	struct ring r;
	int fd, n;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_fetch", 0, period);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 4);
	spin_counted(fd, 100000, 0);
	n = ring_count(&r, PERF_RECORD_SAMPLE);
	count = ev_count(fd);
	EXPECT_TRUE(count >= SPIN_INSNS(100000));
	EXPECT_EQ(n, count / period);
	ring_unmap(&r);
	close(fd);
}

/* swfilt drops the samples of a mode */
TEST(filter)
{
	struct perf_event_attr a;
	int n, i, user;

	ROWS("U-48");
	NEED_IBS();
	if (!ibs_has("ibs_op", "format/swfilt"))
		SKIP(return, "this kernel has no swfilt");
	for (user = 0; user < 2; user++) {
		a = ibs_attr("ibs_op", CNT_CTL, OPS);
		a.exclude_user = !user;
		a.exclude_kernel = user;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
		a.config2 = SWFILT;
		n = of_rising(&a);
		EXPECT_TRUE(n > 0);
		for (i = 0; i < n; i++)
			EXPECT_EQ((int64_t)seen[i].ip >= 0, user);
	}
}

#define L3_MISS_ONLY	(1ULL << 16)	/* of IbsOpCtl */
#define LEAST	128
#define MOST	2048
#define RAM	210	/* cycles: the PMU model has no load between this and those that miss the TLB, too */

/* Zen 5 filters loads that miss all caches only */
static bool is_zen5(void)
{
	unsigned int a = 0, b, c, d, model;

	__cpuid(1, a, b, c, d);
	model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
	return (a >> 8 & 0xf) + (a >> 20 & 0xff) == 0x1a &&
	       (model < 0x30 || (model >= 0x40 && model < 0x50) || (model >= 0x60 && model < 0x80) ||
		(model >= 0xd0 && model < 0xd8));
}

static int of_latency(struct __test *_metadata, int least, char *pages)
{
	struct perf_event_attr a = ibs_attr("ibs_op", CNT_CTL, OPS);
	union perf_mem_data_src src;
	int n, i, found = 0;

	a.config1 = least;
	a.sample_type |= MEMORY;
	n = of_pages(&a, pages, false, 0);
	for (i = 0; i < n; i++) {
		src.val = seen[i].data_src;
		EXPECT_EQ((int)src.mem_op, PERF_MEM_OP_LOAD);
		EXPECT_TRUE(seen[i].weight > least);
		found += in_pages(&seen[i], pages);
	}
	return found;
}

/* Loads of more than a number of cycles, which the hardware compares in steps of 128 */
TEST(latency)
{
	struct perf_event_attr a;
	static struct record rec;
	char *pages;
	struct ring r;
	int fd, n = 0;

	ROWS("U-48 S-28");
	NEED_IBS();
	if (!ibs_has("ibs_op", "format/ldlat"))
		SKIP(return, "no filter of latencies");
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.config1 = LEAST - 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.config1 = MOST + 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.config1 = MOST;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	pages = cold_pages();
	ASSERT_TRUE(pages);
	EXPECT_TRUE(of_latency(_metadata, LEAST, pages) > 0);
	EXPECT_TRUE(of_latency(_metadata, RAM, pages) > 0);
	EXPECT_EQ(of_latency(_metadata, 255, pages), 0);
	/* The control register of a sample has the filters */
	a.config1 = LEAST;
	a.sample_type |= PERF_SAMPLE_RAW;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	load_counted(fd, PAGES, pages, 4096);
	for (; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts p = record_sample(&r, &rec);
		uint64_t ctl;

		memcpy(&ctl, p.raw + 4, sizeof(ctl));
		EXPECT_EQ(ctl >> 59, 0x10);
		EXPECT_EQ(ctl & L3_MISS_ONLY, is_zen5() ? L3_MISS_ONLY : 0);
	}
	EXPECT_TRUE(n > 0);
	munmap(pages, PAGES * 4096);
}

/* A precise event of the core PMU is one of IBS */
TEST(forwarded)
{
	struct perf_event_attr a;
	int level;

	ROWS("A-36 A-37 E-33 U-48");
	NEED_IBS();
	for (level = 1; level <= 2; level++) {
		a = ibs_attr("ibs_op", 0, 2 * OPS);
		a.type = PERF_TYPE_HARDWARE;
		a.config = PERF_COUNT_HW_CPU_CYCLES;
		a.precise_ip = level;
		EXPECT_TRUE(row_is_sampled(&a));
		a.type = PERF_TYPE_RAW;
		a.config = 0xc1;
		EXPECT_TRUE(row_is_sampled(&a));
		a.config = 0x76;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
		a.config = 0xc0;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
		a.type = PERF_TYPE_HARDWARE;
		a.config = PERF_COUNT_HW_INSTRUCTIONS;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	}
	a.type = PERF_TYPE_HW_CACHE;
	a.config = PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	/* An event of another PMU is not forwarded */
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	a.type = PERF_TYPE_HARDWARE;
	a.config = PERF_COUNT_HW_CPU_CYCLES;
	a.precise_ip = 3;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
}

TEST_HARNESS_MAIN
