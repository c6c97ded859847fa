// SPDX-License-Identifier: GPL-2.0-only
/* PERF_RECORD_READ: the counts of an inherited event, written when the child exits. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "harness.h"
#include "pair.h"
#include "event.h"
#include "task.h"

#define N 1000

static struct record rec;

static struct perf_event_attr stat_attr(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.inherit = 1;
	a.inherit_stat = 1;
	a.sample_type = WHOSE;
	a.sample_id_all = 1;
	a.read_format = FORMAT_TIMES | PERF_FORMAT_ID;
	return a;
}

/* Let @w fork a child that works and exits on @cpu.  Return: its pid */
static pid_t one_child(struct worker *w, int cpu)
{
	struct worker kid;

	worker_fork(w, &kid);
	worker_run(&kid, N);
	worker_pin(&kid, cpu);
	worker_stop(&kid);
	worker_reap(w);
	return kid.pid;
}

TEST(at_exit)
{
	ROWS("D-23 H-08 A-20");
	struct perf_event_attr a = stat_attr();
	uint64_t total, last;
	struct worker w;
	struct ring r;
	pid_t pid;
	int fd, n = 0;

	a.task = 1;
	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_must(&a, w.pid, 0, -1, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	pid = one_child(&w, 0);
	ev_disable(fd);
	total = ev_count(fd);
	/* READ follows the child's EXIT */
	ASSERT_TRUE(ring_find(&r, &rec, PERF_RECORD_EXIT));
	ASSERT_TRUE(ring_next(&r, &rec));
	ASSERT_EQ(rec.head.type, PERF_RECORD_READ);
	EXPECT_EQ(rec.head.misc, 0);
	EXPECT_EQ(record_size(&r, &rec), 8 + 32);
	EXPECT_EQ(record_u32(&rec, 0), pid);
	EXPECT_EQ(record_u32(&rec, 4), pid);
	EXPECT_GE(record_u64(&rec, 8), 4 * N);
	EXPECT_LT(record_u64(&rec, 8), total);
	EXPECT_GT(record_u64(&rec, 16), 0);
	EXPECT_EQ(record_u64(&rec, 16), record_u64(&rec, 24));
	EXPECT_EQ(record_u64(&rec, 32), ev_id(fd));
	EXPECT_EQ(record_whose(&r, &rec).tid, pid);
	EXPECT_EQ(record_whose(&r, &rec).id, ev_id(fd));
	EXPECT_NE(record_whose(&r, &rec).stream_id, ev_id(fd));
	last = record_u64(&rec, 8);
	/* Children that execute the same code count the same */
	ev_enable(fd);
	one_child(&w, 0);
	one_child(&w, 0);
	ev_disable(fd);
	while (ring_find(&r, &rec, PERF_RECORD_READ)) {
		EXPECT_EQ(record_u64(&rec, 8), last);
		n++;
	}
	EXPECT_EQ(n, 2);
	/* No READ record for the task itself: its event is not inherited */
	worker_stop(&w);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_READ), 0);
}

/* The child exits on another CPU than the one that its event is bound to */
TEST(other_cpu)
{
	ROWS("D-23 H-08");
	struct perf_event_attr a = stat_attr();
	struct worker w;
	struct ring r;
	pid_t pid;
	int fd;

	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_must(&a, w.pid, 0, -1, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	pid = one_child(&w, nr_cpus() - 1);
	ASSERT_TRUE(ring_find(&r, &rec, PERF_RECORD_READ));
	EXPECT_EQ(record_u32(&rec, 0), pid);
	EXPECT_GE(record_u64(&rec, 8), 4 * N);
	EXPECT_EQ(record_whose(&r, &rec).cpu, 0);
	/* Not the ids of the task that the IPI interrupted on CPU 0 */
	EXPECT_EQ(record_whose(&r, &rec).pid, pid);
	EXPECT_EQ(record_whose(&r, &rec).tid, pid);
	worker_stop(&w);
}

/* A READ record of a group holds all its values; only events with inherit_stat write one */
TEST(group)
{
	ROWS("D-23 H-07");
	struct perf_event_attr a = stat_attr(), m = a;
	struct worker w;
	struct ring r;
	int fd, branches;

	a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	m.inherit_stat = 0;
	m.disabled = 0;
	m.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_must(&a, w.pid, 0, -1, 0);
	branches = ev_must(&m, w.pid, 0, fd, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	one_child(&w, 0);
	ASSERT_TRUE(ring_find(&r, &rec, PERF_RECORD_READ));
	EXPECT_EQ(record_size(&r, &rec), 8 + 8 + 2 * 16);
	EXPECT_EQ(record_u64(&rec, 8), 2);
	EXPECT_GE(record_u64(&rec, 16), 4 * N);
	EXPECT_EQ(record_u64(&rec, 24), ev_id(fd));
	EXPECT_GE(record_u64(&rec, 32), N);
	EXPECT_LT(record_u64(&rec, 32), record_u64(&rec, 16));
	EXPECT_EQ(record_u64(&rec, 40), ev_id(branches));
	EXPECT_EQ(ring_count(&r, PERF_RECORD_READ), 0);
	worker_stop(&w);
}

/* Without inherit_stat there is no READ record */
TEST(without_inherit_stat)
{
	ROWS("A-20");
	struct perf_event_attr a = stat_attr();
	struct worker w;
	struct ring r;
	int fd;

	a.inherit_stat = 0;
	a.task = 1;
	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_must(&a, w.pid, 0, -1, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	one_child(&w, 0);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_READ), 0);
	worker_stop(&w);
}

/* No sample of a task follows its EXIT record */
TEST(nothing_after_exit)
{
	ROWS("D-21");
	struct perf_event_attr a = stat_attr();
	struct worker w;
	struct ring r;
	pid_t gone[64];
	int fd, n = 0, i, samples = 0;

	a.inherit_stat = 0;
	a.task = 1;
	a.read_format = 0;
	a.exclude_kernel = 0;
	a.sample_period = 5000 * slow() * slow();
	no_throttle();
	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_must(&a, w.pid, 0, -1, 0);
	ring_map(&r, fd, &a, 512);
	ev_enable(fd);
	for (i = 0; i < 10; i++)
		one_child(&w, 0);
	worker_stop(&w);
	while (ring_next(&r, &rec)) {
		if (rec.head.type == PERF_RECORD_EXIT) {
			ASSERT_LT(n, ARRAY_SIZE(gone));
			gone[n++] = record_u32(&rec, 8);
		}
		if (rec.head.type != PERF_RECORD_SAMPLE)
			continue;
		samples++;
		for (i = 0; i < n; i++)
			EXPECT_NE(gone[i], record_sample(&r, &rec).tid);
	}
	EXPECT_EQ(n, 11);
	EXPECT_GE(samples, 100);
}

/* Return: the number of function-call IPIs received by @cpu so far; -1 if unknown */
static long calls(int cpu)
{
	char line[4096], *p = NULL;
	FILE *f = fopen("/proc/interrupts", "r");
	long n = -1;

	if (!f)
		return -1;
	while (n < 0 && fgets(line, sizeof(line), f)) {
		p = strstr(line, "CAL:");
		for (p = p ? p + 4 : NULL; p && cpu-- >= 0; )
			n = strtol(p, &p, 10);
	}
	fclose(f);
	return n;
}

#define MANY	reduced(4000)
#define BATCH	128		/* KPMU_BATCH in kernel/sched/sched.h */

/*
 * The child's events are bound to a CPU other than the one that it exits on.  That CPU writes
 * their READ records in batches, one IPI each, so that no interrupt takes too long.
 */
TEST(many_on_other_cpu)
{
	ROWS("D-23");
	struct rlimit limit = { MANY + 100, MANY + 100 };
	struct perf_event_attr a = stat_attr();
	/* Natively, the exit of a task with 4,000 events takes a minute */
	int many = route_is_native() ? 100 : MANY;
	int i, fd, other, cpu = nr_cpus() - 1;
	struct worker w;
	struct ring r;
	long before, n;

	if (cpu < 1)
		SKIP(return, "one CPU");
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_must(&a, w.pid, cpu, -1, 0);
	ring_map(&r, fd, &a, 128);
	for (i = 1; i < many; i++) {
		other = ev_must(&a, w.pid, cpu, -1, 0);
		ASSERT_EQ(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd), 0);
	}
	before = calls(cpu);
	ASSERT_GE(before, 0);
	one_child(&w, 0);
	ASSERT_EQ(ring_count(&r, PERF_RECORD_READ), many);
	n = calls(cpu) - before;
	TH_LOG("%ld calls", n);
	/* An IPI may serve several calls: one to a CPU that has not served the last one is not sent */
	EXPECT_GE(n, many / BATCH * 3 / 4);
	worker_stop(&w);
}

#define NR_GROUPS	4
#define MEMBERS		100

/* A group's READ record reads all members, so it uses up that many events of a batch */
TEST(groups_on_other_cpu)
{
	ROWS("D-23");
	struct perf_event_attr a = stat_attr();
	int i, k, fd, leader, ring = -1, cpu = nr_cpus() - 1;
	struct worker w;
	struct ring r;
	long before, n;

	if (cpu < 1)
		SKIP(return, "one CPU");
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	a.read_format = PERF_FORMAT_GROUP;
	worker_start(&w);
	worker_pin(&w, 0);
	for (i = 0; i < NR_GROUPS; i++) {
		leader = -1;
		for (k = 0; k < MEMBERS; k++) {
			fd = ev_must(&a, w.pid, cpu, leader, 0);
			leader = k ? leader : fd;
			if (ring < 0)
				ring_map(&r, ring = fd, &a, 128);
			else
				ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring), 0);
		}
	}
	before = calls(cpu);
	ASSERT_GE(before, 0);
	one_child(&w, 0);
	ASSERT_EQ(ring_count(&r, PERF_RECORD_READ), NR_GROUPS * MEMBERS);
	n = calls(cpu) - before;
	TH_LOG("%ld calls", n);
	/* Native perf writes the records on the CPU that the task exits on, without IPIs */
	if (!route_is_native())
		EXPECT_GE(n, NR_GROUPS * MEMBERS * MEMBERS / (2 * BATCH));
	worker_stop(&w);
}

TEST_HARNESS_MAIN
