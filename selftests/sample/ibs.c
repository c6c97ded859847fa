// SPDX-License-Identifier: GPL-2.0-only
/* AMD's instruction-based sampling: what each sample says of its instruction. */
#define _GNU_SOURCE
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

/* The loop has four instructions: periods may meet the same one each time */
static void shift_by(int instructions)
{
	if (instructions & 1)
		__asm__ volatile("nop");
	if (instructions & 2)
		__asm__ volatile("nop; nop");
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
	for (shift = 0; shift < 4; shift++) {
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

/* The registers as the hardware has them, after a word of the capabilities */
TEST(raw)
{
	struct perf_event_attr a;
	static struct record rec;
	int n = 0, fd;
	struct ring r;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.sample_type |= PERF_SAMPLE_RAW;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	rising_counted(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&r, &rec);
		uint64_t reg[2];
		uint32_t caps;

		ASSERT_TRUE(p.raw_size >= 4 + 7 * 8);
		memcpy(&caps, p.raw, 4);
		memcpy(reg, p.raw + 4, sizeof(reg));
		EXPECT_EQ(p.raw_size, 4 + 8 * (7 + (caps >> 5 & 1) + (caps >> 10 & 1)));
		EXPECT_TRUE(caps & 1);
		EXPECT_EQ(reg[1], p.ip);
		EXPECT_EQ(reg[0] & (CNT_CTL | 3 << 17), CNT_CTL | 3 << 17);
		n++;
	}
	EXPECT_TRUE(n > 0);
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
	a.config = PERF_COUNT_HW_CPU_CYCLES;
	a.precise_ip = 3;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
}

TEST_HARNESS_MAIN
