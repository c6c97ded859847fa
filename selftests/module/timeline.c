// SPDX-License-Identifier: GPL-2.0-only
/* Sets with a timeline: records of task switches and of the counters that events have. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "sets.h"
#include "task.h"

#define N	100001

/* The mapped timeline of the last set */
static struct kpmu_timeline_page *page;

/* The last CPU: with one CPU, this process runs there, too */
static int far_cpu(void)
{
	return nr_cpus() - 1;
}

/* A set on CPU @cpu only */
static void plan_timeline(int events, int cpu, int slots)
{
	plan(events, 1, KPMU_SET_TIMELINE);
	target[0] = cpu;
	args.nr_slots = slots;
	for (int i = 0; i < EVENTS; i++)
		attr[i].disabled = 0;
}

static size_t timeline_bytes(void)
{
	size_t record = (sizeof(struct kpmu_timeline_record) + 9 * args.nr_events + 7) / 8 * 8;
	size_t size = sizeof(*page) + args.nr_targets * sizeof(struct kpmu_timeline_ring);

	size = (size + 4095) / 4096 * 4096 + args.nr_targets * args.nr_slots * record;
	return (size + 4095) / 4096 * 4096;
}

static int open_timeline(void)
{
	int fd = open_set();

	if (fd < 0)
		return fd;
	page = mmap(NULL, timeline_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? -1 : fd;
}

static struct kpmu_timeline_ring *ring(void)
{
	return (void *)(page + 1);
}

static uint64_t head(void)
{
	return __atomic_load_n(&ring()->head, __ATOMIC_ACQUIRE);
}

static struct kpmu_timeline_record *record(uint64_t n)
{
	return (void *)page + page->first + n % page->nr_slots * page->slot_size;
}

static uint64_t value(uint64_t n, int e)
{
	return ((uint64_t *)(record(n) + 1))[e];
}

static int where(uint64_t n, int e)
{
	return ((uint8_t *)((uint64_t *)(record(n) + 1) + page->nr_events))[e];
}

/* Number of records of a kind */
static int records_of(unsigned int why)
{
	int n = 0;

	for (uint64_t i = 0; i < head(); i++)
		n += record(i)->why == why;
	return n;
}

/* What event @e counted while a thread ran, by the records */
static uint64_t counted_for(pid_t tid, int e)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i + 1 < head(); i++)
		if (record(i)->tid == tid)
			sum += value(i + 1, e) - value(i, e);
	return sum;
}

/* Records that are out of order, or in which an event counts without a counter, or two share one */
static int wrong_records(void)
{
	uint64_t end = head(), first = end > page->nr_slots ? end - page->nr_slots : 0;
	int wrong = 0;

	for (uint64_t i = first; i < end; i++) {
		uint64_t used = 0;

		if (i > first && record(i)->time < record(i - 1)->time)
			wrong++;
		for (unsigned int e = 0; e < page->nr_events; e++) {
			if (i > first && where(i - 1, e) == KPMU_TIMELINE_WAITS &&
			    record(i)->why != KPMU_TIMELINE_CONTROL &&
			    value(i, e) != value(i - 1, e))
				wrong++;
			if (where(i, e) >= KPMU_TIMELINE_RUNS)
				continue;
			wrong += used >> where(i, e) & 1;
			used |= 1ULL << where(i, e);
		}
	}
	return wrong;
}

/* To the instruction, what an event of the task counts itself */
TEST(switches)
{
	ROWS("W-50");
	NEED_PMU();
	struct perf_event_attr own = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct worker w;
	uint64_t before;
	int fd, task;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, far_cpu());
	worker_run(&w, 1);
	own.disabled = 0;
	task = ev_open(&own, w.pid, -1, -1, 0);
	ASSERT_GE(task, 0);
	plan_timeline(1, far_cpu(), 4096);
	fd = open_timeline();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(page->nr_rings, 1);
	EXPECT_EQ(page->nr_slots, 4096);
	EXPECT_EQ(page->nr_events, 1);
	EXPECT_EQ(page->size, timeline_bytes());
	EXPECT_EQ(ring()->cpu, far_cpu());
	EXPECT_EQ(record(0)->why, KPMU_TIMELINE_START);
	before = ev_count(task);
	for (int i = 1; i < 10; i++)
		worker_run(&w, i * N);
	usleep(20000);
	EXPECT_GE(counted_for(w.pid, 0), worker_insns(45 * N, 9));
	EXPECT_EQ(counted_for(w.pid, 0), ev_count(task) - before);
	EXPECT_GE(records_of(KPMU_TIMELINE_SWITCH), 18);
	EXPECT_EQ(wrong_records(), 0);
	EXPECT_EQ(ring()->lost, 0);
	for (uint64_t i = 1; i < head(); i++) {
		if (record(i)->why != KPMU_TIMELINE_SWITCH)
			continue;
		if (record(i)->tid == w.pid)
			EXPECT_EQ(record(i)->pid, w.pid);
		else if (!record(i)->tid)
			EXPECT_EQ(strncmp(record(i)->comm, "swapper", 7), 0);
	}
	worker_stop(&w);
}

/* With a reader in a PID namespace, records of tasks outside of it have no ids and no name */
TEST(tasks_outside)
{
	ROWS("W-50");
	NEED_PMU();
	struct worker w;
	pid_t child;
	int status;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, far_cpu());
	plan_timeline(1, far_cpu(), 4096);
	ASSERT_EQ(unshare(CLONE_NEWPID), 0);
	child = fork();
	if (!child) {
		int fd = open_timeline(), outside = 0, named = 0;
		static const char none[sizeof(record(0)->comm)];

		for (int i = 0; fd >= 0 && i < 10; i++)
			worker_run(&w, N);
		for (uint64_t i = 0; fd >= 0 && i < head(); i++) {
			if (record(i)->tid || !strncmp(record(i)->comm, "swapper", 7))
				continue;
			outside++;
			named += record(i)->pid || memcmp(record(i)->comm, none, sizeof(none));
		}
		printf("# %d records of tasks outside\n", outside);
		fflush(stdout);
		_exit(fd < 0 ? 1 : outside < 10 ? 2 : named ? 3 : 0);
	}
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	worker_stop(&w);
}

/* More events than counters: what waits does not count, and each change of counters is recorded */
TEST(counters)
{
	ROWS("W-51");
	NEED_PMU();
	int n = 6, fd, plans, seen[6] = { };
	struct kpmu_open_set saved;
	struct worker w;
	uint64_t tail = 0, sum = 0;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, far_cpu());
	plan_timeline(n, far_cpu(), 4096);
	for (int i = 0; i < n; i++)
		attr[i].config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	saved = args;
	fd = open_timeline();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(saved.nr_events, page->nr_events);
	for (int i = 0; i < 300; i++) {
		worker_run(&w, 4 * N);
		plans = records_of(KPMU_TIMELINE_PLAN);
		for (; tail < head(); tail++)
			for (int e = 0; e < n; e++)
				seen[e] += where(tail, e) < KPMU_TIMELINE_RUNS;
		if (plans >= 40 && seen[0] && seen[1] && seen[2] && seen[3] && seen[4] && seen[5])
			break;
	}
	EXPECT_GE(plans, 40);
	for (int e = 0; e < n; e++) {
		EXPECT_GE(seen[e], 1);
		sum += value(head() - 1, e);
	}
	EXPECT_GT(sum, 0);
	EXPECT_EQ(wrong_records(), 0);
	EXPECT_EQ(ring()->lost, 0);
	worker_stop(&w);
}

/* An event without a counter; enable, disable and reset */
TEST(control)
{
	ROWS("W-51");
	int fd;
	uint64_t n;

	pin_to(far_cpu());
	plan_timeline(2, far_cpu(), 1024);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].config = PERF_COUNT_SW_CPU_CLOCK;
	attr[1].type = PERF_TYPE_SOFTWARE;
	attr[1].config = PERF_COUNT_SW_PAGE_FAULTS;
	attr[1].disabled = 1;
	fd = open_timeline();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(where(0, 0), KPMU_TIMELINE_RUNS);
	EXPECT_EQ(where(0, 1), KPMU_TIMELINE_WAITS);
	n = head();
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	ASSERT_GT(head(), n);
	EXPECT_EQ(where(head() - 1, 1), KPMU_TIMELINE_RUNS);
	EXPECT_GE(records_of(KPMU_TIMELINE_CONTROL), 1);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_EQ(where(head() - 1, 0), KPMU_TIMELINE_WAITS);
	EXPECT_EQ(where(head() - 1, 1), KPMU_TIMELINE_WAITS);
	EXPECT_GT(value(head() - 1, 0), 0);
	n = head();
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	for (; record(n)->why != KPMU_TIMELINE_CONTROL; n++)
		ASSERT_LT(n + 1, head());
	EXPECT_EQ(value(n, 0), 0);
	EXPECT_EQ(wrong_records(), 0);
}

TEST(period)
{
	ROWS("W-52");
	struct pollfd p = { .events = POLLIN };

	pin_to(0);
	plan_timeline(1, 0, 16);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].config = PERF_COUNT_SW_DUMMY;
	args.period_us = 1000;
	p.fd = open_timeline();
	ASSERT_GE(p.fd, 0);
	/* At half of the ring */
	EXPECT_EQ(poll(&p, 1, 30000), 1);
	EXPECT_EQ(p.revents, POLLIN);
	EXPECT_GE(head(), 8);
	for (int i = 0; i < 1000 && !ring()->lost; i++)
		usleep(1000);
	EXPECT_EQ(head(), 16);
	EXPECT_GE(ring()->lost, 1);
	EXPECT_GE(records_of(KPMU_TIMELINE_PERIOD), 1);
	/* Free all, and there is room again */
	ring()->tail = 16;
	EXPECT_EQ(poll(&p, 1, 30000), 1);
	EXPECT_GE(head(), 24);
	EXPECT_EQ(wrong_records(), 0);
}

/* A tail that user space makes up: records are lost, and nothing else */
TEST(tails)
{
	ROWS("W-52");
	static const uint64_t bad[] = { 1, 17, 1000, 1ULL << 32, 1ULL << 63, ~0ULL, ~7ULL };
	struct pollfd p = { .events = POLLIN };
	uint64_t n;

	pin_to(0);
	plan_timeline(1, 0, 8);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].config = PERF_COUNT_SW_DUMMY;
	p.fd = open_timeline();
	ASSERT_GE(p.fd, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		/* With a tail far ahead there is no room, and the head stays */
		ring()->tail = head() + (1ULL << 40);
		n = head();
		ring()->tail = n + bad[i];
		page->nr_slots = page->slot_size = 0xffffffff;	/* of no effect */
		page->first = ~0ULL;
		usleep(5000);
		poll(&p, 1, 0);
		/* Behind the last record but one there is room for seven; else there is none */
		EXPECT_LE(head(), bad[i] == ~0ULL ? n + 7 : n);
		EXPECT_GE(head(), n);
		ring()->tail = head();
		ring()->head = ~0ULL;
		usleep(5000);
		EXPECT_GT(head(), n);
		EXPECT_LE(head(), n + 100000);
	}
}

static void plan_dummy(int events, int slots)
{
	plan_timeline(events, 0, slots);
	for (int i = 0; i < EVENTS; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_DUMMY;
	}
}

TEST(arguments)
{
	ROWS("W-53");
	static const uint32_t with[] = { KPMU_SET_TASKS, KPMU_SET_CGROUP, KPMU_SET_BY_TASK,
					 KPMU_SET_BY_CGROUP, KPMU_SET_DELTA };
	static const int bad_slots[] = { 0, 1, 4, 7, 9, 24, 2 * KPMU_SET_MAX_RECORDS };
	int fd;

	for (unsigned int i = 0; i < ARRAY_SIZE(with); i++) {
		plan_dummy(1, 8);
		args.flags |= with[i];
		EXPECT_EQ(open_errno(), EINVAL);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(bad_slots); i++) {
		plan_dummy(1, bad_slots[i]);
		EXPECT_EQ(open_errno(), EINVAL);
	}
	plan_dummy(1, 8);
	args.period_us = 999;
	EXPECT_EQ(open_errno(), EINVAL);
	/* Of more than 64 MiB */
	plan_dummy(EVENTS, KPMU_SET_MAX_RECORDS);
	args.nr_targets = 8;
	EXPECT_EQ(open_errno(), EINVAL);
	/* A CPU twice */
	plan_dummy(1, 8);
	args.nr_targets = 2;
	target[1] = 0;
	EXPECT_EQ(open_errno(), EINVAL);
	plan_dummy(1, 8);
	fd = open_timeline();
	ASSERT_GE(fd, 0);
	/* The first page says how much there is */
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(page, MAP_FAILED);
	EXPECT_EQ(page->size, timeline_bytes());
	EXPECT_EQ(mmap(NULL, timeline_bytes() + 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(mmap(NULL, timeline_bytes(), PROT_READ, MAP_PRIVATE, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(mmap(NULL, timeline_bytes(), PROT_READ, MAP_SHARED, fd, 4096), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	/* Its counts can be read, too */
	EXPECT_EQ(get(fd), size_of(1));
	EXPECT_EQ(result.head.nr_targets, 1);
}

/* The events that have timelines on a CPU are limited, as each switch reads them */
TEST(limits)
{
	ROWS("W-53");
	static struct kpmu_set_event many[KPMU_SET_MAX_EVENTS];
	int fd[3];

	for (int i = 0; i < 3; i++) {
		plan_dummy(1, 8);
		for (int k = 0; k < KPMU_SET_MAX_EVENTS; k++)
			many[k] = ev[0];
		args.events = (uintptr_t)many;
		args.nr_events = i < 2 ? KPMU_SET_MAX_EVENTS : 1;
		args.errors = 0;
		fd[i] = open_set();
		if (i == 2) {
			EXPECT_EQ(fd[i], -1);
			EXPECT_EQ(errno, ENOSPC);
		} else {
			ASSERT_GE(fd[i], 0);
		}
	}
	close(fd[0]);
	plan_dummy(1, 8);
	EXPECT_GE(open_set(), 0);
}

static int as_other(struct rlimit locked, int slots)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		setrlimit(RLIMIT_MEMLOCK, &locked);
		drop_privilege();
		plan_dummy(1, slots);
		_exit(open_errno());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(permissions)
{
	ROWS("W-53");
	struct rlimit none = { }, some = { 64 << 20, 64 << 20 };

	EXPECT_EQ(as_other(some, 8), EACCES);
	set_paranoid(-1);
	EXPECT_EQ(as_other(some, 8), 0);
	set_paranoid(0);
	/* 64 MiB do not fit into what a user may lock */
	EXPECT_EQ(as_other(none, KPMU_SET_MAX_RECORDS), EPERM);
	EXPECT_EQ(as_other(some, 8), 0);
	set_paranoid(2);
}

TEST(hotplug)
{
	ROWS("W-50 W-51");
	NEED_PMU();
	int last = far_cpu(), fd;
	uint64_t n, i;

	if (!last || cpu_online(last, 0))
		SKIP(return, "no CPU can go offline");
	ASSERT_EQ(cpu_online(last, 1), 0);
	pin_to(0);
	plan_timeline(1, last, 1024);
	fd = open_timeline();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(where(head() - 1, 0) < KPMU_TIMELINE_RUNS, 1);
	ASSERT_EQ(cpu_online(last, 0), 0);
	n = head();
	EXPECT_EQ(where(n - 1, 0), KPMU_TIMELINE_WAITS);
	usleep(20000);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(head(), n);
	ASSERT_EQ(cpu_online(last, 1), 0);
	usleep(20000);
	ASSERT_GT(head(), n);
	EXPECT_EQ(record(n)->why, KPMU_TIMELINE_START);
	for (i = n; i < head() && where(i, 0) >= KPMU_TIMELINE_RUNS; )
		i++;
	EXPECT_LT(i, head());
}

static volatile bool stop;

static void *switch_all(void *unused)
{
	while (!stop)
		sched_yield();
	return NULL;
}

/* Timelines come and go while tasks switch, events multiplex, and programs write to the memory */
TEST(storm)
{
	ROWS("W-50 W-51 W-52");
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, switch_all, NULL);
	for (int i = 0; i < often(60); i++) {
		int cpu = i % nr_cpus(), fd;

		plan_timeline(1 + i % 8, cpu, 8 << i % 4);
		for (int k = 0; k < EVENTS; k++)
			attr[k].config = k & 1 ? PERF_COUNT_HW_BRANCH_INSTRUCTIONS :
						 PERF_COUNT_HW_INSTRUCTIONS;
		if (!has_pmu())
			for (int k = 0; k < EVENTS; k++)
				attr[k] = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
		args.period_us = i % 3 ? 0 : 1000;
		fd = open_timeline();
		ASSERT_GE(fd, 0);
		for (int k = 0; k < 4; k++) {
			ring()->tail = k & 1 ? head() : (uint64_t)i << (i % 64);
			ioctl(fd, k & 1 ? PERF_EVENT_IOC_RESET : PERF_EVENT_IOC_ENABLE, 0);
			sched_yield();
		}
		if (i & 1)
			munmap(page, timeline_bytes());
		close(fd);
		if (!(i & 1))
			munmap(page, timeline_bytes());
	}
	stop = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

TEST_HARNESS_MAIN
