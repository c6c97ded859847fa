// SPDX-License-Identifier: GPL-2.0-only
/*
 * PERF_SAMPLE_REGS_INTR of context switches contains the registers that perf_fetch_caller_regs()
 * sets.  The others are 0, not stale data of the kernel stack.
 */
#define _GNU_SOURCE
#include <asm/perf_regs.h>
#include <sched.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

#define ROUNDS	50

/* The general registers but SP; perf_fetch_caller_regs() sets SP, IP, FLAGS and CS only */
#define UNKNOWN	(0x7f | 0xffULL << PERF_REG_X86_R8)

static struct record rec;

TEST(of_switches)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_CONTEXT_SWITCHES);
	int fd, i, n = 0, other;
	struct ring r;
	pid_t pid;

	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_REGS_INTR;
	a.sample_regs_intr = UNKNOWN | 1ULL << PERF_REG_X86_IP;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 16);
	ev_enable(fd);
	for (i = 0; i < ROUNDS; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, &other, 0);
	}
	ev_disable(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);

		ASSERT_EQ(s.intr_abi, 2);
		/* In the order of PERF_REG_X86_*: seven registers, IP, eight registers */
		for (i = 0; i < 16; i++) {
			if (i == 7)
				EXPECT_NE(s.intr_regs[i], 0);
			else
				EXPECT_EQ(s.intr_regs[i], 0);
		}
		n++;
	}
	EXPECT_GT(n, 0);
}

TEST_HARNESS_MAIN
