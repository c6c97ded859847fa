// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user may open thousands of events that count the same hit, or whose timers expire together.
 * Interrupts must not stay disabled while all their filters, samples and timers are processed, and
 * the task must make progress.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "event.h"
#include "harness.h"
#include "irqs.h"
#include "task.h"

#define ID	"/sys/kernel/tracing/events/syscalls/sys_enter_openat/id"

static void many_fds(int n)
{
	struct rlimit r = { n + 100, n + 100 };

	if (setrlimit(RLIMIT_NOFILE, &r)) {
		perror("setrlimit");
		exit(KSFT_FAIL);
	}
}

static void touch_fresh(void)
{
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*p = 1;
	munmap((void *)p, 4096);
}

static void open_long(void)
{
	static char path[1000];

	memset(path, 'a', sizeof(path) - 1);
	open(path, O_RDONLY);
}

/*
 * Longest section with interrupts off in @hit(), in kernel instructions: the maximum (@most) or
 * minimum of three runs.  Before each run, wait until the events that the previous run has
 * throttled are unthrottled.
 */
static int longest(struct __test *_metadata, void (*hit)(void), bool most)
{
	int fd, i, n, samples, found = 0;
	static struct ring r;

	fd = irqs_event(&r);
	for (i = 0; i < 3; i++) {
		usleep(300000 * slow());
		ev_enable(fd);
		hit();
		ev_disable(fd);
		n = irqs_longest_off(&r, &samples);
		if (!i || (most ? n > found : n < found))
			found = n;
	}
	ring_unmap(&r);
	close(fd);
	TH_LOG("%d instructions without interrupts", found * IRQS_PERIOD);
	return found * IRQS_PERIOD;
}

#define FEW	60
#define TIMES	reduced(100)

/*
 * Two cheap filters follow each expensive one.  The time charged for a filter is limited by the
 * median of the previous ones, and cheap filters must not hide the cost of the expensive ones.
 */
static void more_filters(struct __test *_metadata, int n)
{
	static const char *const filter[] = {
		"common_pid == 0", "common_pid == 0",
		"filename.ustring ~ \"*aaaaaaaaaaaaaaaaaaab\"",
	};
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, read_long(ID));

	a.disabled = 0;
	while (n--)
		ASSERT_EQ(ioctl(ev_must(&a, 0, -1, -1, 0), PERF_EVENT_IOC_SET_FILTER,
				filter[n % 3]), 0);
}

/* Each expensive filter takes thousands of instructions to compare the file name */
TEST(filters)
{
	int few, many;

	if (!has_pmu())
		SKIP(return, "no PMU to sample with");
	no_throttle();
	many_fds(FEW * TIMES);
	pin_to(0);
	more_filters(_metadata, FEW);
	few = longest(_metadata, open_long, true);
	EXPECT_GT(few, 0);
	more_filters(_metadata, FEW * (TIMES - 1));
	many = longest(_metadata, open_long, false);
	EXPECT_LT(many, few * TIMES / 2);
}

#define MEMBERS	100
#define GROUPS	reduced(80)

static void one_group(struct __test *_metadata, int output)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_PAGE_FAULTS);
	int i, fd, leader = -1;

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP;
	a.disabled = 0;
	for (i = 0; i < MEMBERS; i++) {
		fd = ev_must(&a, 0, -1, leader, 0);
		leader = i ? leader : fd;
		ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output), 0);
	}
}

/* Each sample contains the values of a whole group */
TEST(samples)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int fd, i, few, many;
	struct ring r;

	if (!has_pmu())
		SKIP(return, "no PMU to sample with");
	no_throttle();
	many_fds(MEMBERS * GROUPS);
	pin_to(0);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	one_group(_metadata, fd);
	few = longest(_metadata, touch_fresh, true);
	EXPECT_GT(few, 0);
	for (i = 1; i < GROUPS; i++)
		one_group(_metadata, fd);
	many = longest(_metadata, touch_fresh, false);
	EXPECT_LT(many, few * GROUPS / 2);
}

/* Number of work(1000) calls in 0.2 s, or in a longer time on slow kernels */
static uint64_t rounds(void)
{
	uint64_t end = now_ns() + 200000000 * (uint64_t)slow(), n = 0;

	while (now_ns() < end) {
		work(1000);
		n++;
	}
	return n;
}

#define CLOCKS	2000

TEST(clocks)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	uint64_t alone, beside = 0, n;
	int i, fd, leader = -1;
	struct ring r;

	a.sample_period = 100000;
	a.sample_type = PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP;
	throttle_at(100000, 25);
	many_fds(CLOCKS);
	pin_to(0);
	alone = rounds();
	for (i = 0; i < CLOCKS; i++) {
		fd = ev_must(&a, 0, -1, leader, 0);
		if (i) {
			ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, leader), 0);
		} else {
			leader = fd;
			ring_map(&r, fd, &a, 64);
		}
	}
	ASSERT_EQ(ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0);
	for (i = 0; i < 3; i++) {
		n = rounds();
		beside = n > beside ? n : beside;
	}
	ASSERT_EQ(ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP), 0);
	TH_LOG("%llu rounds alone, %llu beside %d clocks", (unsigned long long)alone,
	       (unsigned long long)beside, CLOCKS);
	EXPECT_GT(beside, alone / 8);
}

#define LEFT	16

/* However many clocks of a CPU are throttled in one tick, each goes on */
TEST(clocks_go_on)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	static int fd[CLOCKS];
	static struct record rec;
	int i, k, found = 0;
	uint64_t id[LEFT];
	struct ring r;

	a.sample_period = 100000;
	a.sample_type = PERF_SAMPLE_ID;
	a.disabled = 0;
	throttle_at(100000, 25);
	many_fds(CLOCKS);
	pin_to(0);
	for (i = 0; i < CLOCKS; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	rounds();
	for (i = LEFT; i < CLOCKS; i++)
		close(fd[i]);
	ring_map(&r, fd[0], &a, 64);
	for (i = 0; i < LEFT; i++) {
		id[i] = ev_id(fd[i]);
		if (i)
			ASSERT_EQ(ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, fd[0]), 0);
	}
	ring_skip(&r);
	rounds();
	while (found < LEFT && ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		for (k = 0; k < LEFT && id[k] != record_sample(&r, &rec).id; k++)
			;
		if (k < LEFT) {
			id[k] = 0;
			found++;
		}
	}
	EXPECT_EQ(found, LEFT);
	ring_unmap(&r);
}

TEST_HARNESS_MAIN
