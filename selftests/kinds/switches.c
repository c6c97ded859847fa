// SPDX-License-Identifier: GPL-2.0-only
/*
 * Context switches of a CPU.  An event that samples them is told of each one; an event that only
 * counts them reads a number that kpmu has for the CPU.  In one group both have the same count.
 */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "cgroup.h"
#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define CPU	1
#define RUNS	50	/* of a worker on the CPU, to and from which it switches */
#define NEVER	(1ull << 40)

static struct worker w;

static void start(void)
{
	pin_to(CPU);
	worker_start(&w);
	worker_pin(&w, CPU);
}

/* At the begin of a test */
#define NEED_CPU() do {						\
	if (nr_cpus() <= CPU)						\
		SKIP(return, "there is only one CPU");			\
	start();							\
} while (0)

/* Two events that count the switches of the CPU, @lead and the member told of each one */
struct two {
	int lead, told;
};

struct counts {
	uint64_t nr, number, told;
};

static struct two open_two(int pid, unsigned long flags)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.read_format = PERF_FORMAT_GROUP, .disabled = 1,
	};
	struct two t;

	t.lead = ev_must(&a, pid, CPU, -1, flags);
	a.disabled = 0;
	a.sample_period = NEVER;
	t.told = ev_must(&a, pid, CPU, t.lead, flags);
	return t;
}

static void close_two(struct two t)
{
	close(t.told);
	close(t.lead);
}

static struct counts counts(int lead)
{
	struct counts c = { 0 };

	if (read(lead, &c, sizeof(c)) != sizeof(c))
		printf("# group read failed\n");
	return c;
}

static void be_busy(void)
{
	int i;

	for (i = 0; i < RUNS; i++)
		worker_run(&w, 1);
}

TEST(same_count)
{
	struct two t;
	struct counts c;
	int i;

	ROWS("T-24");
	NEED_CPU();
	t = open_two(-1, 0);
	be_busy();
	EXPECT_EQ(counts(t.lead).number, 0);
	for (i = 1; i <= 5; i++) {
		ev_enable(t.lead);
		be_busy();
		c = counts(t.lead);
		EXPECT_EQ(c.number, c.told);
		be_busy();
		ev_disable(t.lead);
		c = counts(t.lead);
		EXPECT_EQ(c.number, c.told);
		EXPECT_GE(c.number, 4 * RUNS * i);
		/* Disabled, it does not count */
		be_busy();
		EXPECT_EQ(counts(t.lead).number, c.number);
		EXPECT_EQ(counts(t.lead).told, c.told);
	}
	close_two(t);
	worker_stop(&w);
}

/* Read by a task on another CPU */
TEST(read_from_afar)
{
	struct two t;
	struct counts c;
	uint64_t last = 0;
	int i;

	ROWS("T-24");
	NEED_CPU();
	t = open_two(-1, 0);
	pin_to(0);
	ev_enable(t.lead);
	for (i = 0; i < RUNS; i++) {
		worker_run(&w, 1);
		c = counts(t.lead);
		EXPECT_EQ(c.number, c.told);
		EXPECT_GT(c.number, last);
		last = c.number;
	}
	close_two(t);
	pin_to(CPU);
	worker_stop(&w);
}

TEST(reset)
{
	struct two t;
	struct counts before, after, end;

	ROWS("T-24");
	NEED_CPU();
	t = open_two(-1, 0);
	ev_enable(t.lead);
	be_busy();
	before = counts(t.lead);
	EXPECT_EQ(ioctl(t.lead, PERF_EVENT_IOC_RESET, 0), 0);
	after = counts(t.lead);
	be_busy();
	ev_disable(t.lead);
	end = counts(t.lead);
	/* The told event was not reset; a switch may come between a read and the reset */
	EXPECT_LE(end.told - after.told, end.number);
	EXPECT_GE(end.told - before.told, end.number);
	EXPECT_EQ(ioctl(t.lead, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP), 0);
	EXPECT_EQ(counts(t.lead).number, 0);
	ev_enable(t.lead);
	be_busy();
	ev_disable(t.lead);
	end = counts(t.lead);
	EXPECT_EQ(end.number, end.told);
	EXPECT_GE(end.number, 2 * RUNS);
	close_two(t);
	worker_stop(&w);
}

/* Switches are in the kernel: an event that excludes it counts none, one that excludes user mode all */
TEST(modes)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.read_format = PERF_FORMAT_GROUP, .disabled = 1, .exclude_kernel = 1,
	};
	int lead, kernel;
	struct counts c;

	ROWS("N-10 T-24");
	NEED_CPU();
	lead = ev_must(&a, -1, CPU, -1, 0);
	a.disabled = 0;
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	kernel = ev_must(&a, -1, CPU, lead, 0);
	ev_enable(lead);
	be_busy();
	ev_disable(lead);
	c = counts(lead);
	EXPECT_EQ(c.number, 0);
	EXPECT_GE(c.told, 2 * RUNS);
	close(kernel);
	close(lead);
	worker_stop(&w);
}

/* Only the switches at which the previous task is in the cgroup */
TEST(of_a_cgroup)
{
	struct counts all, inside;
	struct two cpu, part;
	struct cgroup top, c;

	ROWS("G-10 T-24");
	NEED_CPU();
	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&c, &top, "kpmu-counted");
	cgroup_add(&c, w.pid);
	cpu = open_two(-1, 0);
	part = open_two(c.fd, PERF_FLAG_PID_CGROUP);
	ev_enable(cpu.lead);
	ev_enable(part.lead);
	be_busy();
	ev_disable(part.lead);
	ev_disable(cpu.lead);
	all = counts(cpu.lead);
	inside = counts(part.lead);
	EXPECT_EQ(all.number, all.told);
	EXPECT_EQ(inside.number, inside.told);
	EXPECT_GE(inside.number, RUNS);
	EXPECT_LE(inside.number, all.number - RUNS);
	close_two(part);
	close_two(cpu);
	cgroup_add(&top, w.pid);
	worker_stop(&w);
}

/* Groups with hardware events take turns, and these events with them */
TEST(in_turns)
{
	enum { GROUPS = 4 };
	struct perf_event_attr a = {
		.type = PERF_TYPE_RAW, .size = sizeof(a), .config = RAW_BRANCHES,
		.read_format = PERF_FORMAT_GROUP, .disabled = 1,
	};
	int lead[GROUPS], i, k;
	uint64_t values[1 + 5], end;

	ROWS("Q-03 T-24");
	NEED_PMU();
	NEED_CPU();
	for (i = 0; i < GROUPS; i++) {
		struct perf_event_attr b = a;

		lead[i] = ev_must(&b, -1, CPU, -1, 0);
		b.disabled = 0;
		for (k = 0; k < 2; k++)
			ev_must(&b, -1, CPU, lead[i], 0);
		b.type = PERF_TYPE_SOFTWARE;
		b.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
		ev_must(&b, -1, CPU, lead[i], 0);
		b.sample_period = NEVER;
		ev_must(&b, -1, CPU, lead[i], 0);
	}
	for (i = 0; i < GROUPS; i++)
		ev_enable(lead[i]);
	for (i = 0, end = now_ns() + patience(); i < GROUPS && now_ns() < end; ) {
		be_busy();
		ASSERT_EQ(read(lead[i], values, sizeof(values)), (long)sizeof(values));
		i += values[5] != 0;
	}
	EXPECT_EQ(i, GROUPS);
	for (i = 0; i < GROUPS; i++) {
		ev_disable(lead[i]);
		ASSERT_EQ(read(lead[i], values, sizeof(values)), (long)sizeof(values));
		EXPECT_EQ(values[4], values[5]);
	}
	worker_stop(&w);
}

/* Samples of the leader in user mode have both counts, which are the same */
TEST(in_samples)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = 20011, .sample_type = PERF_SAMPLE_READ, .read_format = PERF_FORMAT_GROUP,
		.exclude_kernel = 1, .disabled = 1,
	};
	static struct record rec;
	/* After the number of values; the leader's comes first */
	const struct { uint64_t insns, number, told; } *c = (const void *)(rec.body + 8);
	uint64_t last = 0, different = 0;
	struct perf_event_attr m = a;
	struct ring r;
	int lead, i;

	ROWS("S-11 T-24");
	NEED_PMU();
	NEED_CPU();
	no_throttle();
	lead = ev_must(&a, -1, CPU, -1, 0);
	m.type = PERF_TYPE_SOFTWARE;
	m.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	m.exclude_kernel = m.disabled = m.sample_period = 0;
	ev_must(&m, -1, CPU, lead, 0);
	m.sample_period = NEVER;
	ev_must(&m, -1, CPU, lead, 0);
	ring_map(&r, lead, &a, 64);
	ev_enable(lead);
	for (i = 0; i < RUNS; i++)
		worker_run(&w, 10000);
	ev_disable(lead);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		different += c->number != c->told || c->number < last;
		last = c->number;
	}
	EXPECT_EQ(different, 0);
	EXPECT_GE(last, RUNS);
	worker_stop(&w);
}

/* A CPU that goes offline takes the event with it; on its return the event counts on */
TEST(offline)
{
	struct two t;
	struct counts c, d;
	int i;

	ROWS("E-27 T-24");
	NEED_CPU();
	t = open_two(-1, 0);
	ev_enable(t.lead);
	for (i = 0; i < 3; i++) {
		be_busy();
		pin_to(0);
		worker_pin(&w, 0);
		ASSERT_EQ(cpu_online(CPU, 0), 0);
		c = counts(t.lead);
		ASSERT_EQ(cpu_online(CPU, 1), 0);
		worker_pin(&w, CPU);
		ASSERT_EQ(pin_to(CPU), 0);
		be_busy();
		ev_disable(t.lead);
		d = counts(t.lead);
		ev_enable(t.lead);
		EXPECT_EQ(c.number, c.told);
		EXPECT_EQ(d.number, d.told);
		EXPECT_GE(d.number, c.number + 2 * RUNS);
	}
	close_two(t);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
