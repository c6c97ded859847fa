// SPDX-License-Identifier: GPL-2.0-only
/* System sleep (S3): PMU registers are lost, but events count again after resume. */
#define _GNU_SOURCE
#include "event.h"
#include "harness.h"
#include "nap.h"
#include "task.h"

#define N	100000

static int insns(pid_t pid, int cpu, bool on)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = !on;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, cpu, -1, 0);
}

/*
 * Events on the boot CPU, which stays online during suspend: of this task, of another task, of
 * the CPU, and a raw event.
 */
TEST(boot_cpu)
{
	int off, on, raw, cpu, other;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	uint64_t before, of_cpu, of_other, first;
	struct worker w;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, 0);
	off = insns(0, -1, false);
	raw = ev_must(&a, 0, -1, -1, 0);
	on = insns(0, -1, true);
	cpu = insns(-1, 0, true);
	other = insns(w.pid, -1, true);
	work_counted(off, N, 0);
	EXPECT_EQ(ev_count(off), WORK_INSNS(N));
	work_counted(raw, N, 0);
	EXPECT_EQ(ev_count(raw), WORK_BRANCHES(N));
	worker_run(&w, 1);
	first = ev_count(other);
	worker_run(&w, N);
	of_other = ev_count(other) - first;

	if (!nap())
		SKIP(return, "the machine does not go to sleep");
	before = ev_count(on);
	of_cpu = ev_count(cpu);
	work(N);
	EXPECT_GE(ev_count(on) - before, WORK_INSNS(N));
	EXPECT_GE(ev_count(cpu) - of_cpu, WORK_INSNS(N));
	work_counted(off, N, 0);
	EXPECT_EQ(ev_count(off), 2 * WORK_INSNS(N));
	work_counted(raw, N, 0);
	EXPECT_EQ(ev_count(raw), 2 * WORK_BRANCHES(N));
	EXPECT_TRUE(always_ran(off));
	/* The worker restarts the system call in which it was frozen; do not measure that */
	worker_run(&w, 1);
	first = ev_count(other);
	worker_run(&w, N);
	EXPECT_EQ(ev_count(other) - first, of_other);
	worker_stop(&w);
}

/* PMIs work again after resume */
TEST(samples)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	pin_to(0);
	/* With this period a counter of any width overflows in the middle of the work */
	a.sample_period = 1000003;
	a.read_format = FORMAT_TIMES;
	fd = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd, 1000 * N, 0);
	if (!nap())
		SKIP(return, "the machine does not go to sleep");
	work_counted(fd, 1000 * N, 0);
	EXPECT_EQ(ev_count(fd), 2 * WORK_INSNS(1000 * N));
	EXPECT_TRUE(always_ran(fd));
}

/* Suspend repeatedly, with no event open during the suspend */
TEST(again)
{
	int fd, i;

	pin_to(0);
	for (i = 0; i < 2; i++) {
		if (!nap())
			SKIP(return, "the machine does not go to sleep");
		fd = insns(0, -1, false);
		work_counted(fd, N, 0);
		EXPECT_EQ(ev_count(fd), WORK_INSNS(N));
		close(fd);
	}
}

TEST_HARNESS_MAIN
