// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU of a separate driver module, selftests/driver/kpmu-toy.c, which counts TSC cycles.
 * An event's count is checked against TSC values read just outside and just inside the calls that
 * enable and disable the event.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "driver.h"
#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define TOY	"/sys/bus/kpmu/devices/toy"
#define CYCLES	1
#define SHIFT(n)	((n) << 8)
#define WORK	2000000

static struct perf_event_attr toy(uint64_t config)
{
	return driver_attr("toy", config);
}

static int self(uint64_t config, int group)
{
	struct perf_event_attr a = toy(config);

	return ev_must(&a, 0, -1, group, 0);
}

TEST(counts)
{
	int fd = self(CYCLES, -1);

	EXPECT_TRUE(counts_cycles(fd, WORK));
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ev_count(fd), 0);
}

/* Two events of a group count the same cycles, in units of 1 and of 2^10 */
TEST(shifts)
{
	const struct sched_param first = { .sched_priority = 99 };
	struct perf_event_attr a = toy(CYCLES);
	uint64_t v[3], before, from, to, after;
	int fd, shifted;

	a.read_format = PERF_FORMAT_GROUP;
	fd = ev_must(&a, 0, -1, -1, 0);
	shifted = self(CYCLES | SHIFT(10), fd);
	ioctl(shifted, PERF_EVENT_IOC_ENABLE, 0);
	/* Preemption by another task would stop the events, but not the TSC */
	ASSERT_EQ(sched_setscheduler(0, SCHED_FIFO, &first), 0);
	before = __rdtsc();
	ev_enable(fd);
	from = __rdtsc();
	work(WORK);
	to = __rdtsc();
	ev_disable(fd);
	after = __rdtsc();
	ASSERT_EQ(read(fd, v, sizeof(v)), sizeof(v));
	ASSERT_EQ(v[0], 2);
	EXPECT_LE(v[1], after - before);
	/* Stopper tasks still preempt */
	EXPECT_GE(v[1], (to - from) / 4 * 3);
	EXPECT_GE(v[2], (to - from) / 4 * 3 >> 10);
	EXPECT_LE(v[2], ((after - before) >> 10) + 1);
}

/* An event on a task counts only while the task runs */
TEST(task_event)
{
	struct perf_event_attr a = toy(CYCLES);
	uint64_t before, after, n;
	struct worker w;
	int fd;

	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	ev_enable(fd);
	worker_run(&w, WORK);
	n = ev_count(fd);
	EXPECT_GT(n, 0);
	before = __rdtsc();
	usleep(200000);
	after = __rdtsc();
	EXPECT_LT(ev_count(fd) - n, (after - before) / 4);
	worker_run(&w, WORK);
	EXPECT_GT(ev_count(fd), n);
	worker_stop(&w);
	n = ev_count(fd);
	usleep(10000);
	EXPECT_EQ(ev_count(fd), n);
}

TEST(inherited_event)
{
	struct perf_event_attr a = toy(CYCLES);
	uint64_t own, *cycles;
	int fd;

	cycles = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(cycles, MAP_FAILED);
	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	work(WORK);
	own = ev_count(fd);
	if (!fork()) {
		*cycles = cycles_of_work(WORK);
		_exit(0);
	}
	wait(NULL);
	EXPECT_GT(*cycles, 0);
	/* A stopper task may have preempted the child */
	EXPECT_GE(ev_count(fd), own + *cycles / 4 * 3);
}

/* Each sample's period is a multiple of the event's period; their sum does not exceed the count */
TEST(samples)
{
	const uint64_t period = 1000000;
	struct perf_event_attr a = toy(CYCLES);
	uint64_t sum, count;
	struct ring r;
	int fd, n;

	throttle_at(1000000, 0);
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	work(40 * WORK);
	ev_disable(fd);
	count = ev_count(fd);
	n = sum_samples(&r, period, &sum);
	EXPECT_GE(n, 3);
	EXPECT_LE(sum, count);
	/* Cycles after the last overflow are in no sample, but they are less than half of all */
	EXPECT_GE(sum, count / 2);
}

/* The sample rate is within a factor of 10 of the frequency requested */
TEST(samples_by_frequency)
{
	int n = samples_by_frequency(toy(CYCLES));

	EXPECT_GE(n, 20);
	EXPECT_LE(n, 2000);
}

static char *page;

/* Page faults, which software events count */
static void fault_often(int n)
{
	while (n--) {
		madvise(page, 4096, MADV_DONTNEED);
		*(volatile char *)page = 1;
	}
}

/*
 * An event on a counter of the PMU "few" that overflows too often stops its group, with a software
 * event; beside it, one on the other counter is throttled at other times.
 */
TEST(throttled_group)
{
	struct perf_event_attr a = driver_attr("few", 1), b, faults;
	const int n = 5000;
	struct ring r, other;
	int fd, second, inside, outside, throttled = 0, other_throttled = 0, all = 0;
	uint64_t end;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(page, MAP_FAILED);
	throttle_at(1000, 99);
	a.sample_period = 20000;
	a.sample_type = PERF_SAMPLE_IP;
	b = a;
	b.config = 2;
	b.sample_period = 31000;
	fd = ev_must(&a, 0, -1, -1, 0);
	second = ev_must(&b, 0, -1, -1, 0);
	faults = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	outside = ev_must(&faults, 0, -1, -1, 0);
	faults.disabled = 0;
	inside = ev_must(&faults, 0, -1, fd, 0);
	ring_map(&r, fd, &a, 64);
	ring_map(&other, second, &b, 64);
	fault_often(1);
	ev_enable(fd);
	ev_enable(second);
	ev_enable(outside);
	/* On a busy host, ticks may be so rare that these faults take less time than two */
	end = patience();
	do {
		fault_often(n);
		all += n;
		throttled += ring_count(&r, PERF_RECORD_THROTTLE);
		other_throttled += ring_count(&other, PERF_RECORD_THROTTLE);
		ring_consume(&r);
		ring_consume(&other);
	} while ((throttled < 2 || other_throttled < 2) && now_ns() < end);
	ev_disable(outside);
	ev_disable(second);
	ev_disable(fd);
	no_throttle();
	/* The first look at the rings touches few pages */
	EXPECT_GE(ev_count(outside), all);
	EXPECT_LE(ev_count(outside), all + 16);
	printf("# throttled %d times, %d of %d faults\n", throttled, (int)ev_count(inside), all);
	EXPECT_GE(throttled, 2);
	EXPECT_GE(other_throttled, 2);
	EXPECT_GT(ev_count(inside), 0);
	/* In a pause, until the next tick, some faults occur, but on slow kernels these take longer */
	EXPECT_LE(ev_count(inside), slow() > 1 ? all + 16 : all - throttled / 2);
	close(inside);
	close(outside);
	close(second);
	close(fd);
	ring_unmap(&r);
	ring_unmap(&other);
	EXPECT_EQ(driver_unload_at_last("few"), 0);
}

TEST(refreshes)
{
	struct perf_event_attr a = toy(CYCLES);
	struct ring r;
	int fd;

	throttle_at(1000000, 0);
	a.sample_period = 100000;
	a.sample_type = PERF_SAMPLE_IP;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	work(40 * WORK);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 3);
}

TEST(refuses)
{
	struct perf_event_attr a = toy(CYCLES);

	a.config = 2;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.config = CYCLES | SHIFT(32);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.config = CYCLES;
	a.exclude_kernel = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.exclude_kernel = 0;
	a.sample_type = PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	a.sample_period = 1000000;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	a = toy(CYCLES);
	a.type++;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
}

/* A sibling of a group with a hardware leader counts while the group is scheduled in */
TEST(with_counters)
{
	int fd = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	int cycles = self(CYCLES, fd);

	ioctl(cycles, PERF_EVENT_IOC_ENABLE, 0);
	work_counted(fd, WORK, 0);
	EXPECT_GT(ev_count(cycles), 0);
	if (exact())
		EXPECT_EQ(ev_count(fd), WORK_INSNS(WORK));
}

TEST(folder)
{
	struct perf_event_attr a = toy(CYCLES);
	char line[50] = "";
	struct stat st;
	FILE *f;

	EXPECT_EQ(read_long(TOY "/type"), a.type);
	f = fopen(TOY "/events/cycles", "r");
	ASSERT_TRUE(f && fgets(line, sizeof(line), f));
	fclose(f);
	EXPECT_EQ(strcmp(line, "event=0x01\n"), 0);
	f = fopen(TOY "/format/shift", "r");
	ASSERT_TRUE(f && fgets(line, sizeof(line), f));
	fclose(f);
	EXPECT_EQ(strcmp(line, "config:8-13\n"), 0);
	EXPECT_NE(stat(TOY "/cpumask", &st), 0);
}

/* The driver cannot be unloaded while an event exists; unloading removes the PMU */
TEST(unloads)
{
	struct perf_event_attr a = toy(CYCLES);
	int fd = ev_must(&a, 0, -1, -1, 0);
	struct stat st;

	EXPECT_EQ(driver_unload("toy"), EAGAIN);
	close(fd);
	EXPECT_EQ(driver_unload_at_last("toy"), 0);
	EXPECT_NE(stat(TOY, &st), 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
}

/* Opens race with loading and unloading of the driver */
TEST(unloads_under_load)
{
	struct perf_event_attr a = toy(CYCLES);
	int i, status, gone = 0;
	pid_t pid;

	a.inherit = 1;
	a.disabled = 0;
	pid = fork();
	if (!pid) {
		uint64_t end = patience();
		int opened = 0;

		while (opened < 200 && now_ns() < end) {
			int fd = ev_open(&a, 0, -1, -1, 0);

			if (fd < 0 && errno != ENOENT)
				_exit(1);
			if (fd < 0)
				continue;
			if (!(opened++ % 8) && !fork())
				_exit(0);
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
			close(fd);
			/* Leave a moment without events, so that some unloads succeed */
			usleep(1000);
		}
		/* A busy host may take its time; 20 are enough to meet an unload */
		_exit(opened < 20 ? 2 : 0);
	}
	for (i = 0; !waitpid(pid, &status, WNOHANG); i++) {
		if (!driver_unload("toy"))
			gone++;
		driver_load("toy");
		usleep(500);
	}
	EXPECT_EQ(status, 0);
	printf("# unloaded %d times in %d tries\n", gone, i);
	driver_load("toy");
	EXPECT_EQ(driver_unload_at_last("toy"), 0);
}

/* The reason for a failed open is a string of the driver, but outlives it */
TEST(reason_outlives_driver)
{
	struct perf_event_attr a = toy(CYCLES | SHIFT(32));
	struct kpmu_open args = { .attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1 };
	int fd = open("/dev/kpmu", O_RDWR), i;
	struct kpmu_why why;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(ioctl(fd, KPMU_IOC_OPEN, &args), -1);
	EXPECT_EQ(errno, EINVAL);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(ioctl(fd, KPMU_IOC_WHY, &why), 0);
		EXPECT_EQ(strcmp(why.text, "the shift exceeds 31"), 0);
		ASSERT_EQ(i ? 0 : driver_unload_at_last("toy"), 0);
	}
	/* An open that fails early has no reason of an earlier one */
	EXPECT_EQ(ioctl(fd, KPMU_IOC_OPEN, 8), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(ioctl(fd, KPMU_IOC_WHY, &why), 0);
	EXPECT_EQ(why.text[0], 0);
	close(fd);
}

TEST_HARNESS_MAIN
