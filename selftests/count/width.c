// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts are 64 bits wide, whatever the width of the counters.  They stay exact beyond 2^32 and
 * when counters wrap.  Some guests have 32-bit counters, or counters without full-width writes.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "task.h"

/* 64 * N = 1.5 * 2^32 instructions: more than 32 bits; a 32-bit counter wraps */
#define N	(3ULL << 25)

static int user(uint32_t type, uint64_t config, int group)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.disabled = group < 0;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, 0, -1, group, 0);
}

#define BETWEEN(v, want) do {						\
	uint64_t __v = (v), __w = (want);				\
									\
	EXPECT_GE(__v, __w);						\
	EXPECT_LE(__v, __w + SLACK(__w));				\
} while (0)

TEST(beyond_32_bits)
{
	ROWS("O-02");
	int lead = user(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	int branches = user(PERF_TYPE_RAW, RAW_BRANCHES, lead);

	printf("# counters of %d bits\n", counter_width());
	spin_counted(lead, N, 0);
	BETWEEN(ev_count(lead), SPIN_INSNS(N));
	BETWEEN(ev_count(branches), SPIN_BRANCHES(N));
	EXPECT_GT(ev_count(lead), 1ULL << 32);
	EXPECT_TRUE(always_ran(lead));
}

/* All counters wrap at the same time or shortly after each other */
TEST(all_counters_at_once)
{
	ROWS("O-02");
	int gp = counters_general(), fd[20], nr = 0, i;

	fd[nr++] = user(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	for (i = 0; i < gp; i++) {
		fd[nr] = user(PERF_TYPE_HARDWARE,
			      i % 2 && counters_fixed() > 1 ?
			      PERF_COUNT_HW_CPU_CYCLES :
			      PERF_COUNT_HW_INSTRUCTIONS, fd[0]);
		nr++;
		if (!counters_fixed() && nr == gp)
			break;
	}
	spin_counted(fd[0], N, 0);
	for (i = 0; i < nr; i++) {
		uint64_t v = ev_count(fd[i]);

		if (i && i % 2 == 0 && counters_fixed() > 1)
			EXPECT_GT(v, SPIN_INSNS(N));	/* cycles */
		else
			BETWEEN(v, SPIN_INSNS(N));
	}
	EXPECT_TRUE(always_ran(fd[0]));
}

/* Stop, migrate and read the event between bursts, at various distances from the overflow */
TEST(in_pieces)
{
	ROWS("O-02");
	int fd = user(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	uint64_t sum = 0, last = 0, v, n;

	for (n = 1000003; sum < 3ULL << 31; n += 300007) {
		pin_to((n >> 4) % nr_cpus());
		spin_counted(fd, n, 0);
		sum += SPIN_INSNS(n);
		v = ev_count(fd);
		BETWEEN(v, sum);
		EXPECT_GT(v, last);
		last = v;
	}
}

/* Kernel and user mode: the PMI handler's own instructions add only a little */
TEST(user_and_kernel)
{
	ROWS("O-02");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int both, mine;
	uint64_t b, u;

	a.exclude_kernel = 0;
	a.read_format = FORMAT_TIMES;
	both = ev_must(&a, 0, -1, -1, 0);
	mine = user(PERF_TYPE_RAW, RAW_BRANCHES, both);
	spin_counted(both, N, 0);
	b = ev_count(both);
	u = SPIN_INSNS(N);
	BETWEEN(ev_count(mine), SPIN_BRANCHES(N));
	EXPECT_GT(b, u);
	EXPECT_LT(b, u + u / 4);
	EXPECT_TRUE(always_ran(both));
}

/* Read another task's event from another CPU while its counter overflows */
TEST(other_task)
{
	ROWS("O-02 O-07");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t v[3], last = 0, now;
	struct worker w;
	int fd, i;

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	worker_start(&w);
	worker_pin(&w, nr_cpus() - 1);
	pin_to(0);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, 1);
	v[0] = ev_count(fd);
	worker_run(&w, 1);
	v[1] = ev_count(fd);
	worker_go(&w, 700000001);		/* 2.8e9 instructions */
	for (i = 0; i < 2000; i++) {
		now = ev_count(fd);
		EXPECT_GE(now, last);
		last = now;
	}
	worker_wait(&w);
	v[2] = ev_count(fd);
	if (exact())
		EXPECT_EQ(v[2] - v[1] - (v[1] - v[0]), 4 * 700000000ULL);
	EXPECT_TRUE(always_ran(fd));
	worker_stop(&w);
}

TEST_HARNESS_MAIN
