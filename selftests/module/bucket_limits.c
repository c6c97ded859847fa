// SPDX-License-Identifier: GPL-2.0-only
/* Sets with buckets: arguments, permissions, limits; hotplug, and storms of reads, tasks and resets. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buckets.h"
#include "harness.h"
#include "task.h"

#define N	1001

/* Events that every kernel and machine has */
static void plan_software(int events, int cpus, uint32_t flags, int buckets)
{
	plan_buckets(events, cpus, flags, buckets);
	for (int i = 0; i < EVENTS; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_DUMMY;
	}
}

TEST(arguments)
{
	ROWS("W-32");
	int fd;

	plan_software(1, 1, KPMU_SET_BY_TASK | KPMU_SET_BY_CGROUP, 10);
	EXPECT_EQ(open_errno(), EINVAL);
	args.flags = KPMU_SET_BY_TASK | KPMU_SET_TASKS;
	EXPECT_EQ(open_errno(), EINVAL);
	args.flags = KPMU_SET_BY_TASK | KPMU_SET_CGROUP;
	EXPECT_EQ(open_errno(), EINVAL);
	args.flags = KPMU_SET_DELTA;
	args.nr_slots = 0;
	EXPECT_EQ(open_errno(), EINVAL);
	args.flags = KPMU_SET_BY_TASK;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_slots = KPMU_SET_MAX_BUCKETS + 1;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_slots = 10;
	args.period_us = 1000000;
	EXPECT_EQ(open_errno(), EINVAL);
	args.period_us = 0;
	/* Of 64 MiB and more */
	args.nr_slots = KPMU_SET_MAX_BUCKETS;
	args.nr_events = EVENTS;
	args.flags |= KPMU_SET_TIMES;
	for (int i = 0; i < EVENTS; i++)
		ev[i].attr = (uintptr_t)&attr[0];
	args.nr_events = KPMU_SET_MAX_EVENTS;
	EXPECT_EQ(open_errno(), EINVAL);
	/* A CPU twice, beside and apart */
	plan_software(2, 2, KPMU_SET_BY_TASK, 10);
	target[1] = 0;
	EXPECT_EQ(open_errno(), EINVAL);
	if (nr_cpus() > 1) {
		plan_software(1, 3, KPMU_SET_BY_CGROUP, 10);
		target[2] = 0;
		EXPECT_EQ(open_errno(), EINVAL);
	}
	/* The fd */
	plan_software(1, 1, KPMU_SET_BY_TASK, 1);
	fd = open_set();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(read(fd, &read_out, sizeof(read_out.head)), -1);
	EXPECT_EQ(errno, ENOSPC);
	EXPECT_EQ(read(fd, &read_out, sizeof(read_out.head) + 2 * 24), sizeof(read_out.head) + 2 * 24);
	EXPECT_EQ(read_out.head.nr_buckets, 2);
	EXPECT_EQ(syscall(SYS_read, fd, 16L, 4096L), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, ENODEV);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), -1);
	EXPECT_EQ(errno, EINVAL);
}

static int try_it(void)
{
	plan_software(1, 1, KPMU_SET_BY_TASK, 10);
	return open_errno();
}

/* Sets until the memory does not suffice */
static int hoard(void)
{
	struct rlimit none = { };
	int n = 0;

	setrlimit(RLIMIT_MEMLOCK, &none);
	plan_software(1, 1, KPMU_SET_BY_TASK, 8192);
	while (open_set() >= 0)
		n++;
	if (errno != EPERM)
		return 100;
	/* A set of 8192 buckets of 32 bytes, with an index of 64 KiB, in 516 KiB for each CPU */
	return n >= 1 && n <= 2 * nr_cpus() ? 0 : 101;
}

TEST(permissions)
{
	ROWS("W-32");

	set_paranoid(2);
	EXPECT_EQ(try_unprivileged(try_it), EACCES);
	set_paranoid(0);
	EXPECT_EQ(try_unprivileged(try_it), 0);
	EXPECT_EQ(try_unprivileged(hoard), 0);
	/* All of it is free again */
	EXPECT_EQ(try_unprivileged(hoard), 0);
	set_paranoid(2);
}

/* The number of events with buckets on a CPU is limited, as a switch reads all of them */
TEST(events_of_a_cpu)
{
	ROWS("W-32");
	int fd[16];

	plan_software(EVENTS, 1, KPMU_SET_BY_TASK, 10);
	for (int i = 0; i < 16; i++) {
		fd[i] = open_set();
		ASSERT_GE(fd[i], 0);
	}
	EXPECT_EQ(open_errno(), ENOSPC);
	struct kpmu_why why = { };

	ioctl(ev_device(), KPMU_IOC_WHY, &why);
	EXPECT_EQ(strcmp(why.text, "the CPU has the maximum number of events with buckets"), 0);
	close(fd[3]);
	fd[3] = open_set();
	EXPECT_GE(fd[3], 0);
	for (int i = 0; i < 16; i++) {
		EXPECT_EQ(get_buckets(fd[i]), 0);
		close(fd[i]);
	}
}

static volatile int stop;

static void plan_counting(uint32_t flags, int buckets)
{
	plan_buckets(3, nr_cpus(), flags, buckets);
	attr[0].exclude_kernel = 0;
	attr[1].config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr[2].type = PERF_TYPE_SOFTWARE;
	attr[2].config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr[2].exclude_kernel = 0;
	for (int i = 0; i < 3; i++)
		attr[i].disabled = 0;
}

TEST(hotplug)
{
	ROWS("W-33");
	int n = nr_cpus(), fd;
	uint64_t last = 0;
	pthread_t thread;

	if (!has_pmu() || n < 2 || cpu_online(n - 1, 0))
		SKIP(return, "no CPU can be taken offline");
	cpu_online(n - 1, 1);
	plan_counting(KPMU_SET_BY_TASK | KPMU_SET_TIMES, 10000);
	fd = open_set();
	ASSERT_GE(fd, 0);
	pthread_create(&thread, NULL, toggle_last_cpu, (void *)&stop);
	for (int round = 0; round < 30; round++) {
		pin_to(round % (n - 1));
		work(N);
		ASSERT_GE(get_buckets(fd), 1);
		EXPECT_EQ(wrong_sums(), 0);
		EXPECT_GE(bucket_value(KPMU_BUCKET_ALL, 0), last);
		last = bucket_value(KPMU_BUCKET_ALL, 0);
	}
	stop = 1;
	pthread_join(thread, NULL);
	/* A CPU that is back counts again */
	get_buckets(fd);
	last = bucket_value(getpid(), 0);
	pin_to(n - 1);
	work(100 * N);
	get_buckets(fd);
	EXPECT_GE(bucket_value(getpid(), 0), last + WORK_INSNS(100 * N));
	EXPECT_EQ(wrong_sums(), 0);
}

static int shared;

static void *use_it(void *op)
{
	char *buf = malloc(1 << 20);

	while (!stop) {
		if (op)
			ioctl(shared, *(unsigned int *)op, 0);
		else if (read(shared, buf, 1 << 20) < 0 && errno != ENOSPC)
			break;
		usleep(op ? 2000 : 500);
	}
	free(buf);
	return NULL;
}

/* Reads and resets by several threads while tasks come and go: the sums are right at all times */
TEST(storm)
{
	ROWS("W-33");
	static unsigned int op[3] = {
		PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_ENABLE,
	};
	pthread_t thread[4];
	int status;

	if (!has_pmu())
		SKIP(return, "no PMU");
	plan_counting(KPMU_SET_BY_TASK, 64);
	shared = open_set();
	ASSERT_GE(shared, 0);
	pthread_create(&thread[0], NULL, use_it, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i + 1], NULL, use_it, &op[i]);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid) {
			work(N);
			sched_yield();
			_exit(0);
		}
		ASSERT_GE(get_buckets(shared), 0);
		EXPECT_EQ(wrong_sums(), 0);
		waitpid(pid, &status, 0);
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	/* Open and close under load */
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			work(N);
			_exit(0);
		}
		EXPECT_EQ(open_errno(), 0);
		waitpid(pid, &status, 0);
	}
}

TEST_HARNESS_MAIN
