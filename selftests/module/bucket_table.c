// SPDX-License-Identifier: GPL-2.0-only
/* Sets with buckets: tables that are full or grow, operations on the set, events that do not count. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buckets.h"
#include "harness.h"
#include "task.h"

#define N	100001

/* Few buckets: the first come first, all others are together, and all sums are right */
TEST(full)
{
	ROWS("W-31");
	NEED_PMU();
	struct worker w[12];
	uint64_t before;
	int fd, own = 0;

	pin_to(0);
	for (int i = 0; i < 12; i++) {
		worker_start(&w[i]);
		worker_pin(&w[i], far_cpu());
	}
	plan_buckets(2, 1, KPMU_SET_BY_TASK, 8);
	target[0] = far_cpu();
	attr[1].exclude_kernel = 0;
	attr[0].disabled = attr[1].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 12; i++)
		worker_run(&w[i], N);
	EXPECT_EQ(get_buckets(fd), 8);
	EXPECT_EQ(wrong_sums(), 0);
	EXPECT_GT(read_out.head.overflows, 0);
	for (int i = 0; i < 12; i++)
		own += bucket_value(w[i].pid, 0) >= 4 * N;
	EXPECT_LE(own, 8);
	EXPECT_GE(bucket_value(KPMU_BUCKET_OTHER, 0), (12 - own) * 4ULL * N);
	EXPECT_LE(bucket_value(KPMU_BUCKET_OTHER, 0), (12 - own + 1) * 4ULL * N);
	/* A bucket once made stays: the others get nothing of it */
	before = bucket_value(KPMU_BUCKET_ALL, 0);
	for (int i = 0; i < 12; i++)
		worker_run(&w[i], N);
	EXPECT_EQ(get_buckets(fd), 8);
	EXPECT_EQ(wrong_sums(), 0);
	EXPECT_GE(bucket_value(KPMU_BUCKET_ALL, 0), before + 12ULL * 4 * N);
	/* After a reset there is room */
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	for (int i = 9; i < 12; i++)
		worker_run(&w[i], N);
	get_buckets(fd);
	EXPECT_EQ(wrong_sums(), 0);
	for (int i = 9; i < 12; i++)
		EXPECT_GE(bucket_value(w[i].pid, 0), 4 * N);
	for (int i = 0; i < 12; i++)
		worker_stop(&w[i]);
}

/* One bucket is for the first task, whichever that is */
TEST(one_bucket)
{
	ROWS("W-31");
	NEED_PMU();
	struct worker w[2];
	int fd, n;

	pin_to(0);
	for (int i = 0; i < 2; i++) {
		worker_start(&w[i]);
		worker_pin(&w[i], far_cpu());
	}
	plan_buckets(1, 1, KPMU_SET_BY_TASK, 1);
	target[0] = far_cpu();
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 2; i++)
		worker_run(&w[i], N);
	/* A task of the kernel may have it, which counts nothing and is not shown */
	n = get_buckets(fd);
	EXPECT_GE(n, 0);
	EXPECT_LE(n, 1);
	EXPECT_EQ(wrong_sums(), 0);
	EXPECT_GT(read_out.head.overflows, 0);
	EXPECT_GE(bucket_value(KPMU_BUCKET_OTHER, 0), worker_insns(N, 1));
	EXPECT_GE(bucket_value(KPMU_BUCKET_ALL, 0), 2 * worker_insns(N, 1));
	for (int i = 0; i < 2; i++)
		worker_stop(&w[i]);
}

/* More tasks than a CPU's table has room for, and more than two of them have */
TEST(growth)
{
	ROWS("W-31");
	NEED_PMU();
	int fd, n, found = 0, status;
	static pid_t pid[600];

	pin_to(far_cpu());
	plan_buckets(1, 1, KPMU_SET_BY_TASK, 10000);
	target[0] = far_cpu();
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 600; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			work(N / 10);
			_exit(0);
		}
		waitpid(pid[i], &status, 0);
		if (i % 50 == 49)
			usleep(50000);		/* time to collect */
	}
	n = get_buckets(fd);
	ASSERT_GE(n, 600);
	EXPECT_EQ(wrong_sums(), 0);
	EXPECT_EQ(read_out.head.overflows, 0);
	EXPECT_EQ(bucket_value(KPMU_BUCKET_OTHER, 0), 0);
	for (int i = 0; i < 600; i++)
		found += bucket_value(pid[i], 0) >= WORK_INSNS(N / 10);
	EXPECT_EQ(found, 600);
}

TEST(control)
{
	ROWS("W-31");
	NEED_PMU();
	uint64_t one, two;
	struct worker w;
	int fd;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, far_cpu());
	plan_buckets(1, nr_cpus(), KPMU_SET_BY_TASK, 1000);
	fd = open_set();
	ASSERT_GE(fd, 0);
	/* Disabled: nothing is counted, so there are no buckets */
	worker_run(&w, N);
	EXPECT_EQ(get_buckets(fd), 0);
	EXPECT_EQ(bucket_value(KPMU_BUCKET_ALL, 0), 0);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	worker_run(&w, N);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_GE(get_buckets(fd), 1);
	one = bucket_value(w.pid, 0);
	EXPECT_GE(one, 4 * N);
	worker_run(&w, N);
	get_buckets(fd);
	EXPECT_EQ(bucket_value(w.pid, 0), one);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(get_buckets(fd), 0);
	EXPECT_EQ(bucket_value(KPMU_BUCKET_ALL, 0), 0);
	EXPECT_EQ(bucket_value(KPMU_BUCKET_OTHER, 0), 0);
	/* While it counts, too */
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	worker_run(&w, N);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	worker_run(&w, N);
	get_buckets(fd);
	EXPECT_EQ(wrong_sums(), 0);
	two = bucket_value(w.pid, 0);
	EXPECT_GE(two, 4 * N);
	EXPECT_LE(two, 4 * N + 2000 + SLACK(4 * N));
	worker_stop(&w);
}

TEST(delta)
{
	ROWS("W-31");
	NEED_PMU();
	struct worker w;
	uint64_t base;
	int fd;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, far_cpu());
	plan_buckets(1, nr_cpus(), KPMU_SET_BY_TASK | KPMU_SET_DELTA, 1000);
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	worker_run(&w, 1);
	get_buckets(fd);
	worker_run(&w, 1);
	get_buckets(fd);
	base = bucket_value(w.pid, 0);
	for (int i = 1; i < 5; i++) {
		uint64_t want = base + worker_insns(i * N, 1);

		worker_run(&w, i * N);
		/* What cannot be written is not taken */
		EXPECT_EQ(read(fd, &read_out, 40), -1);
		EXPECT_EQ(errno, ENOSPC);
		EXPECT_EQ(syscall(SYS_read, fd, 16L, sizeof(read_out)), -1);
		EXPECT_EQ(errno, EFAULT);
		EXPECT_GE(get_buckets(fd), 1);
		EXPECT_EQ(read_out.head.seq, 2 + i);
		EXPECT_EQ(wrong_sums(), 0);
		EXPECT_GE(bucket_value(w.pid, 0), want);
		EXPECT_LE(bucket_value(w.pid, 0), want + SLACK(want));
	}
	/* A task that does nothing has no bucket */
	get_buckets(fd);
	EXPECT_EQ(bucket_value(w.pid, 0), 0);
	worker_stop(&w);
}

/* Pinned events: the one without counter counts nothing; partial sets: the others count */
TEST(pinned_and_partial)
{
	ROWS("W-31");
	NEED_PMU();
	int gp = counters_general(), fd, none = 0;

	plan_buckets(gp + 1, 1, KPMU_SET_BY_TASK, 1000);
	for (int i = 0; i <= gp; i++) {
		attr[i].type = PERF_TYPE_RAW;
		attr[i].config = RAW_BRANCHES;
		attr[i].pinned = 1;
		attr[i].disabled = 0;
	}
	pin_to(0);
	fd = open_set();
	ASSERT_GE(fd, 0);
	work(N);
	ASSERT_GE(get_buckets(fd), 1);
	EXPECT_EQ(wrong_sums(), 0);
	for (int i = 0; i <= gp; i++)
		none += !bucket_value(getpid(), i);
	EXPECT_EQ(none, 1);
	close(fd);

	plan_buckets(3, 2, KPMU_SET_BY_TASK | KPMU_SET_PARTIAL, 1000);
	attr[0].type = 0x7fff;
	attr[1].disabled = attr[2].disabled = 0;
	target[1] = 9999;
	fd = open_set();
	ASSERT_GE(fd, 0);
	work(N);
	ASSERT_GE(get_buckets(fd), 1);
	EXPECT_EQ(wrong_sums(), 0);
	EXPECT_EQ(bucket_value(getpid(), 0), 0);
	EXPECT_GE(bucket_value(getpid(), 1), WORK_INSNS(N));
	EXPECT_GE(bucket_value(getpid(), 2), WORK_INSNS(N));
}

TEST_HARNESS_MAIN
