// SPDX-License-Identifier: GPL-2.0-only
/* SWITCH and SWITCH_CPU_WIDE records. */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"
#include "pair.h"
#include "switches.h"
#include "task.h"

static struct record rec;

static struct perf_event_attr switch_attr(void)
{
	struct perf_event_attr a = pair_attr();

	a.context_switch = 1;
	return a;
}

/* A task that sleeps: switch-out and switch-in records alternate */
TEST(sleeping)
{
	ROWS("A-51 D-29 B-07 B-09");
	struct perf_event_attr a = switch_attr();
	struct whose w;
	struct pair p;
	int i, n = 0;

	pin_to(0);
	pair_open(&p, &a, 0, -1, 16);
	pair_enable(&p);
	for (i = 0; i < 5; i++)
		sleep_switched(2000000);
	pair_disable(&p);
	EXPECT_GE(pair_compare(&p, -1), 10);
	pair_rewind(&p);
	while (ring_next(&p.ours, &rec)) {
		ASSERT_EQ(rec.head.type, 14);
		ASSERT_EQ(record_size(&p.ours, &rec), 0);
		ASSERT_EQ(!!(rec.head.misc & PERF_RECORD_MISC_SWITCH_OUT), n % 2 == 0);
		w = record_whose(&p.ours, &rec);
		EXPECT_EQ(w.tid, getpid());
		EXPECT_EQ(w.cpu, 0);
		n++;
	}
	EXPECT_EQ(n % 2, 0);
}

/* A task that yields, or is preempted, is switched out while runnable */
TEST(yielding)
{
	ROWS("B-09 B-07");
	struct perf_event_attr a = switch_attr();
	struct worker w;
	struct pair p;
	int i, preempted = 0;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, 0);
	pair_open(&p, &a, 0, -1, 16);
	/*
	 * Enable and disable both events of the pair while the worker sleeps: a switch between
	 * the two would be in one ring only.
	 */
	pair_enable(&p);
	worker_go(&w, 20000000);
	for (i = 0; i < 20; i++)
		sched_yield();
	worker_wait(&w);
	pair_disable(&p);
	EXPECT_GE(pair_compare(&p, -1), 2);
	pair_rewind(&p);
	while (ring_next(&p.ours, &rec))
		preempted += rec.head.misc == 0x6000;
	EXPECT_GE(preempted, 1);
	worker_stop(&w);
}

/*
 * Record the switches of CPU 0 while a worker there runs five times.  Return: the number of
 * records, -1 if the two rings differ.
 */
static int watch_cpu(struct pair *p, struct worker *w)
{
	struct perf_event_attr a = switch_attr();
	int i;

	pair_open(p, &a, -1, 0, 64);
	pair_enable(p);
	for (i = 0; i < 5; i++)
		worker_run(w, 10);
	pair_disable(p);
	return pair_compare(p, TYPE(SWITCH_CPU_WIDE));
}

/* A CPU event records all switches of its CPU, each with the ids of the other task */
TEST(cpu_wide)
{
	ROWS("A-51 D-30 D-31 D-46 U-44");
	uint32_t out_tid = 0, to_tid = 0;
	bool after_out = false;
	struct worker w;
	struct pair p;
	int n = 0, ours = 0, try = 0;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, 0);
	/* Try again if a switch occurs while only one of the pair's events is enabled */
	while (watch_cpu(&p, &w) < 20) {
		ASSERT_LT(++try, 5);
		pair_close(&p);
	}
	pair_rewind(&p);
	while (ring_next(&p.ours, &rec)) {
		bool out = rec.head.misc & PERF_RECORD_MISC_SWITCH_OUT;
		struct whose who = record_whose(&p.ours, &rec);

		ASSERT_EQ(rec.head.type, 15);
		ASSERT_EQ(record_size(&p.ours, &rec), 8);
		if (n++)
			ASSERT_NE(out, after_out);
		/* The idle task never sleeps: it is always runnable when switched out */
		if (out && !who.tid)
			EXPECT_TRUE(rec.head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		if (out) {
			out_tid = who.tid;
			to_tid = record_u32(&rec, 4);
		} else if (n > 1) {
			EXPECT_EQ(who.tid, to_tid);
			EXPECT_EQ(record_u32(&rec, 4), out_tid);
		}
		ours += who.tid == w.pid;
		after_out = out;
	}
	EXPECT_GE(ours, 10);
	worker_stop(&w);
}

/* Unprivileged tasks may record their own switches, even with paranoid 2 */
TEST(unprivileged)
{
	ROWS("A-52");
	struct perf_event_attr a = switch_attr();
	struct ring r;
	int fd;

	set_paranoid(2);
	drop_privilege();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	sleep_switched(20000000);
	ev_disable(fd);
	EXPECT_GE(ring_count(&r, PERF_RECORD_SWITCH), 2);
}

static int polled(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents == POLLIN;
}

/* Side-band records count for wakeup_watermark, but not for wakeup_events */
TEST(watermark)
{
	ROWS("A-65 A-64 A-34");
	struct perf_event_attr a = switch_attr();
	struct ring r;
	int fd;

	a.watermark = 1;
	a.wakeup_watermark = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	EXPECT_EQ(polled(fd), 0);
	ev_enable(fd);
	sleep_switched(20000000);
	ev_disable(fd);
	EXPECT_EQ(polled(fd), 1);
	a.watermark = 0;
	a.wakeup_events = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	usleep(20000 * slow());
	ev_disable(fd);
	EXPECT_EQ(polled(fd), 0);
}

TEST_HARNESS_MAIN
