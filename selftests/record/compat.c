// SPDX-License-Identifier: GPL-2.0-only
/* Counts and samples of a 32-bit program. */
#define _GNU_SOURCE
#include "deep32.h"
#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define PERIOD	10007

static struct record rec;

static bool in(uint64_t ip, uint64_t function)
{
	return ip - function < 4096;
}

/* Count the whole program, from exec to its exit; @r may be NULL */
static int run(struct ring *r, struct perf_event_attr *a)
{
	struct worker w;
	int fd;

	no_throttle();
	worker_start(&w);
	a->enable_on_exec = 1;
	fd = ev_must(a, w.pid, -1, -1, 0);
	if (r)
		ring_map(r, fd, a, 8);
	worker_exec(&w, DEEP32);
	waitpid(w.pid, NULL, 0);
	return fd;
}

TEST(counted)
{
	ROWS("O-01");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd = run(NULL, &a);

	EXPECT_GE(ev_count(fd), 2 * DEEP32_ROUNDS);
	EXPECT_LE(ev_count(fd), DEEP32_INSNS + SLACK(DEEP32_INSNS));
}

TEST(chains)
{
	ROWS("S-12");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct ring r;
	int n, fd;

	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	fd = run(&r, &a);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_TRUE(in(s.ip, DEEP32_INNER));
		/* A late PMI may find the function without its frame, as it begins or ends: then its caller is missing */
		if (!exact() && s.nr == 4)
			continue;
		ASSERT_EQ(s.nr, 5);
		EXPECT_EQ(s.chain[0], PERF_CONTEXT_USER);
		EXPECT_EQ(s.chain[1], s.ip);
		EXPECT_TRUE(in(s.chain[2], DEEP32_MIDDLE));
		EXPECT_TRUE(in(s.chain[3], DEEP32_OUTER));
		EXPECT_TRUE(in(s.chain[4], DEEP32_START));
	}
	EXPECT_EQ(n, ev_count(fd) / PERIOD);
}

TEST(registers)
{
	ROWS("S-21");
	const uint64_t mask = 1 << 0 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8;
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t before = DEEP32_ROUNDS;
	struct ring r;
	int n;

	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER |
			PERF_SAMPLE_STACK_USER;
	a.sample_regs_user = mask;	/* ax, cx, bp, sp, ip */
	a.sample_stack_user = 16;
	run(&r, &a);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);
		const uint32_t *stack = (const void *)s.stack;

		EXPECT_EQ(s.user_abi, PERF_SAMPLE_REGS_ABI_32);
		/* cx holds the remaining rounds; bp equals sp, as nothing is pushed after bp */
		EXPECT_LT(s.user_regs[1], before);
		before = s.user_regs[1];
		EXPECT_EQ(s.user_regs[2], s.user_regs[3]);
		EXPECT_EQ(s.user_regs[4], s.ip);
		ASSERT_EQ(s.stack_dyn, 16);
		EXPECT_TRUE(in(stack[1], DEEP32_MIDDLE));
		EXPECT_TRUE(in(stack[3], DEEP32_OUTER));
	}
	EXPECT_GE(n, 15);
}

TEST_HARNESS_MAIN
