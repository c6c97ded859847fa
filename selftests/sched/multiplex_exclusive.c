// SPDX-License-Identifier: GPL-2.0-only
/* Exclusive groups: while one is scheduled in, no other group uses a counter. */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define MS 1000000ULL

static int open_ev(int exclusive, int pinned, int group, pid_t pid, int cpu)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	a.disabled = 0;
	a.exclusive = exclusive;
	a.pinned = pinned;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, cpu, group, 0);
}

static int exclusive(void)
{
	return open_ev(1, 0, -1, 0, -1);
}

static int ordinary(void)
{
	return open_ev(0, 0, -1, 0, -1);
}

/* Work until both events have run for @running ns; false on timeout */
static bool both_run(int one, int two, uint64_t running)
{
	uint64_t end = patience();

	do {
		work(100000);
		if (ev_times(one).running >= running &&
		    ev_times(two).running >= running)
			return true;
	} while (now_ns() < end);
	return false;
}

TEST(alone)
{
	ROWS("A-22");
	int fd = exclusive();

	work(10000);
	ev_disable(fd);
	EXPECT_GE(ev_count(fd), 10000);
	EXPECT_TRUE(always_ran(fd));
}

TEST(alone_as_a_group)
{
	ROWS("A-22 O-15");
	int lead = exclusive(), member = open_ev(0, 0, lead, 0, -1);

	work(10000);
	EXPECT_GE(ev_count(lead), 10000);
	EXPECT_GE(ev_count(member), 10000);
	EXPECT_TRUE(always_ran(member));
}

/* An exclusive event and two others rotate, although there are enough counters for all */
TEST(never_with_others)
{
	ROWS("Q-10 A-22");
	int fd = exclusive(), other = ordinary(), third = ordinary();
	struct ev_times e, o, t;

	ASSERT_TRUE(both_run(fd, other, 20 * MS));
	ev_disable(third);
	ev_disable(other);
	ev_disable(fd);
	e = ev_times(fd);
	o = ev_times(other);
	t = ev_times(third);
	printf("# exclusive %lu of %lu ns, others %lu %lu\n", e.running,
	       e.enabled, o.running, t.running);
	EXPECT_LE(e.running + o.running, e.enabled);
	EXPECT_LE(e.running + t.running, e.enabled);
	EXPECT_GT(t.running, 0);
}

/* Two exclusive groups are never scheduled in together */
TEST(two_exclusive)
{
	ROWS("Q-10 A-22");
	int one = exclusive(), two = exclusive();

	ASSERT_TRUE(both_run(one, two, 20 * MS));
	ev_disable(two);
	ev_disable(one);
	EXPECT_LE(ev_times(one).running + ev_times(two).running,
		  ev_times(one).enabled);
}

/* A pinned event is always on a counter, so the exclusive event waits, but not in error */
TEST(with_pinned)
{
	ROWS("Q-11");
	int pin = open_ev(0, 1, -1, 0, -1), fd = exclusive();
	uint64_t v[3];

	for (int i = 0; i < 50; i++)
		work(100000);
	EXPECT_TRUE(always_ran(pin));
	EXPECT_EQ(read(fd, v, sizeof(v)), 24);
	EXPECT_EQ(v[0], 0);
	EXPECT_GT(v[1], 0);
	EXPECT_EQ(v[2], 0);
	close(pin);
	usleep(1000);
	work(10000);
	EXPECT_GT(ev_count(fd), 0);
}

/* While a pinned and exclusive event is enabled, no other event runs */
TEST(pinned_and_exclusive)
{
	ROWS("Q-10 Q-06");
	int other = ordinary(), fd;
	struct ev_times before, after;

	work(10000);
	EXPECT_GT(ev_count(other), 0);
	fd = open_ev(1, 1, -1, 0, -1);
	before = ev_times(other);
	for (int i = 0; i < 50; i++)
		work(100000);
	after = ev_times(other);
	EXPECT_EQ(after.value, before.value);
	EXPECT_EQ(after.running, before.running);
	EXPECT_GT(after.enabled, before.enabled);
	EXPECT_TRUE(always_ran(fd));
	close(fd);
	usleep(1000);
	work(10000);
	EXPECT_GT(ev_count(other), after.value);
}

/* An exclusive task event waits for a pinned CPU event; only its times show that */
TEST(with_pinned_cpu_event)
{
	ROWS("Q-11");
	int cpu = open_ev(0, 1, -1, -1, 1), fd;
	uint64_t v[3];

	ASSERT_EQ(pin_to(1), 0);
	fd = exclusive();
	for (int i = 0; i < 50; i++)
		work(100000);
	EXPECT_EQ(read(fd, v, sizeof(v)), 24);
	EXPECT_EQ(v[2], 0);
	EXPECT_GT(v[1], 0);
	EXPECT_TRUE(always_ran(cpu));
	/* On another CPU, the exclusive event is scheduled in */
	ASSERT_EQ(pin_to(0), 0);
	work(10000);
	EXPECT_GT(ev_times(fd).running, 0);
}

/* An exclusive event of a task on another CPU does not stop the events of this task */
TEST(other_task)
{
	ROWS("Q-10");
	int fd, mine = ordinary();
	struct worker w;

	worker_start(&w);
	worker_pin(&w, 1);
	ASSERT_EQ(pin_to(0), 0);
	fd = open_ev(1, 0, -1, w.pid, -1);
	worker_run(&w, 100000);
	work(10000);
	EXPECT_TRUE(always_ran(fd));
	EXPECT_TRUE(always_ran(mine));
	worker_stop(&w);
}

TEST_HARNESS_MAIN
