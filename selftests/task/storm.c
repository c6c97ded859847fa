// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several threads enable, disable, reset, open and close events concurrently, while the target
 * runs and migrates.  A pinned event that no thread changes must count the target's work
 * exactly.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define ROUNDS	((uint64_t)often(30000000))

static volatile int stop;
static int all_on_one;		/* all threads use one event */
static pid_t target;
static int shared[4];

static struct perf_event_attr attr(uint32_t type, uint64_t config, int disabled)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.disabled = disabled;
	a.read_format = FORMAT_TIMES;
	return a;
}

static void *switcher(void *arg)
{
	int fd = shared[all_on_one ? 0 : (long)arg % 4];
	long bad = 0;

	while (!stop) {
		bad += ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0;
		bad += ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) != 0;
	}
	return (void *)bad;
}

static void *resetter(void *arg)
{
	int fd = shared[all_on_one ? 0 : (long)arg % 4];
	long bad = 0;

	while (!stop)
		bad += ioctl(fd, PERF_EVENT_IOC_RESET, 0) != 0;
	return (void *)bad;
}

static void *opener(void *arg)
{
	struct perf_event_attr a = attr(PERF_TYPE_RAW, RAW_LOADS, 0);
	struct perf_event_attr b = attr(PERF_TYPE_HARDWARE,
					PERF_COUNT_HW_INSTRUCTIONS, 1);
	long bad = 0;
	int fd, other;

	while (!stop) {
		fd = ev_open(&a, target, -1, -1, 0);
		other = ev_open(&b, target, -1, fd, 0);
		bad += fd < 0 || other < 0;
		close(fd);
		if (other >= 0)
			ioctl(other, PERF_EVENT_IOC_ENABLE, 0);
		close(other);
	}
	return (void *)bad;
}

static void *reader(void *arg)
{
	struct ev_times last = { 0 }, t;
	int fd = shared[0];
	long bad = 0;

	while (!stop) {
		if (read(fd, &t, sizeof(t)) != sizeof(t) || t.value < last.value ||
		    t.enabled < last.enabled || t.running < last.running ||
		    t.running > t.enabled)
			bad++;
		last = t;
	}
	return (void *)bad;
}

typedef void *thread_fn_t(void *arg);

/* Run @nr threads with the functions @who, while the target works; migrate it if @moves */
static void storm(struct __test *_metadata, thread_fn_t *const *who, int nr, int moves)
{
	struct perf_event_attr a = attr(PERF_TYPE_HARDWARE,
					PERF_COUNT_HW_INSTRUCTIONS, 0);
	uint64_t before, little, all;
	pthread_t t[8];
	struct worker w;
	void *bad;
	int i, witness;

	worker_start(&w);
	target = w.pid;
	a.pinned = 1;
	witness = ev_must(&a, w.pid, -1, -1, 0);
	a = attr(PERF_TYPE_RAW, RAW_BRANCHES, 1);
	for (i = 0; i < 4; i++)
		shared[i] = ev_must(&a, w.pid, -1, -1, 0);
	if (!moves)
		worker_pin(&w, nr_cpus() - 1);
	before = ev_count(witness);
	if (moves)
		worker_roam(&w, 1, 40);
	else
		worker_run(&w, 1);
	little = ev_count(witness) - before;
	for (i = 0; i < nr; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, who[i], (void *)(long)i), 0);
	before = ev_count(witness);
	if (moves)
		worker_roam(&w, ROUNDS / 40, 40);
	else
		worker_run(&w, ROUNDS);
	all = ev_count(witness) - before;
	stop = 1;
	for (i = 0; i < nr; i++) {
		pthread_join(t[i], &bad);
		EXPECT_EQ(bad, NULL);
	}
	if (exact())
		EXPECT_EQ(all - little, moves ? 40 * worker_insns(ROUNDS / 40, 1) :
						worker_insns(ROUNDS, 1));
	else
		EXPECT_GE(all, 4 * ROUNDS);
	EXPECT_TRUE(always_ran(witness));
	for (i = 0; i < 4; i++) {
		struct ev_times ti = ev_times(shared[i]);

		EXPECT_LE(ti.running, ti.enabled);
		EXPECT_LE(ti.value, ROUNDS + 1000000);
	}
	worker_stop(&w);
}

TEST(switching)
{
	ROWS("I-01 I-02 O-07");
	thread_fn_t *who[] = { switcher, switcher };

	storm(_metadata, who, 2, 0);
}

TEST(switching_one_event_from_all_sides)
{
	ROWS("I-01 I-02 I-08");
	thread_fn_t *who[] = { switcher, resetter, switcher };

	all_on_one = 1;
	storm(_metadata, who, 3, 0);
}

TEST(switching_while_it_moves)
{
	ROWS("I-01 I-02 O-07");
	thread_fn_t *who[] = { switcher, switcher, switcher };

	storm(_metadata, who, 3, 1);
}

TEST(opening_and_closing)
{
	ROWS("O-28 O-07");
	thread_fn_t *who[] = { opener, opener };

	storm(_metadata, who, 2, 0);
}

TEST(opening_while_it_moves)
{
	ROWS("O-28 O-07");
	thread_fn_t *who[] = { opener, switcher };

	storm(_metadata, who, 2, 1);
}

TEST(all_operations)
{
	ROWS("O-28 O-07 I-08");
	thread_fn_t *who[] = { reader, switcher, resetter, opener };

	storm(_metadata, who, 4, 1);
}

/* A thread that enables and disables an event on itself; returns 0 if its count is right */
static void *worker_thread(void *arg)
{
	struct perf_event_attr a = attr(PERF_TYPE_HARDWARE,
					PERF_COUNT_HW_INSTRUCTIONS, 1);
	int fd = ev_must(&a, 0, -1, -1, 0);
	uint64_t n = 0, v;

	shared[(long)arg] = fd;
	while (!stop) {
		work_counted(fd, 1000, 0);
		n++;
	}
	v = ev_count(fd);
	close(fd);
	n *= WORK_INSNS(1000);
	return (void *)(long)(exact() ? v != n : v < n);
}

/* More threads than CPUs, each with an event on itself: task switches at any moment */
TEST(own_events_of_many_threads)
{
	ROWS("O-05 O-09");
	uint64_t end = now_ns() + 1500000000;
	pthread_t t[8];
	void *bad;
	int i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, worker_thread,
					 (void *)(long)(i % 4)), 0);
	while (now_ns() < end)
		usleep(10000);
	stop = 1;
	for (i = 0; i < 8; i++) {
		pthread_join(t[i], &bad);
		EXPECT_EQ(bad, NULL);
	}
}

/* Open, read, disable and close CPU events while a task with events migrates */
static void *cpu_switcher(void *arg)
{
	struct perf_event_attr a = attr(PERF_TYPE_RAW, RAW_BRANCHES, 0);
	int cpu = (long)arg % nr_cpus(), fd;
	struct ev_times t;
	long bad = 0;

	while (!stop) {
		fd = ev_open(&a, -1, cpu, -1, 0);
		if (fd < 0)
			return (void *)1;
		if (read(fd, &t, sizeof(t)) != sizeof(t) || t.running > t.enabled)
			bad++;
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		close(fd);
	}
	return (void *)bad;
}

TEST(cpu_and_task_events)
{
	ROWS("O-10 O-07");
	thread_fn_t *who[] = { cpu_switcher, cpu_switcher, cpu_switcher };

	storm(_metadata, who, 3, 1);
}

TEST_HARNESS_MAIN
