// SPDX-License-Identifier: GPL-2.0-only
/* One event on one task does a known amount of work: check that the count matches. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"

#define N 1000000

static void counts(struct __test *_metadata, uint32_t type, uint64_t config,
		   uint64_t expected)
{
	int fd = ev_self(type, config, -1);
	uint64_t slack = SLACK(expected), first, second;

	work_counted(fd, N, 0);
	first = ev_count(fd);
	EXPECT_GE(first, expected);
	EXPECT_LE(first, expected + slack);
	work_counted(fd, N, 0);
	second = ev_count(fd);
	EXPECT_GE(second, 2 * expected);
	EXPECT_LE(second, 2 * (expected + slack));
}

TEST(instructions)
{
	ROWS("O-33 T-01 T-10 F-03 F-08 N-19");
	counts(_metadata, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
	       WORK_INSNS(N));
}

TEST(branches)
{
	ROWS("T-13 N-18");
	counts(_metadata, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	       WORK_BRANCHES(N));
}

TEST(loads)
{
	ROWS("T-05");
	counts(_metadata, PERF_TYPE_RAW, RAW_LOADS, WORK_LOADS(N));
}

TEST(stores)
{
	ROWS("T-05");
	counts(_metadata, PERF_TYPE_RAW, RAW_STORES, WORK_STORES(N));
}

/* Each close releases the counter, so each open must program one again */
TEST(again_after_close)
{
	ROWS("O-28");
	int i, fd;

	for (i = 0; i < 4; i++) {
		fd = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
		work_counted(fd, N, 0);
		EXPECT_GE(ev_count(fd), WORK_INSNS(N));
		EXPECT_LE(ev_count(fd), WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
		close(fd);
	}
}

TEST_HARNESS_MAIN
