// SPDX-License-Identifier: GPL-2.0-only
/* prctl(PR_TASK_PERF_EVENTS_*) with many events, of the caller and of others. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define N	1000

#define ON	PR_TASK_PERF_EVENTS_ENABLE
#define OFF	PR_TASK_PERF_EVENTS_DISABLE

/* More than kpmu handles at a time */
#define OWN	300
#define OTHERS	60

static int own[OWN], other[OTHERS];

/* The number of such events that can run is not limited */
static struct perf_event_attr clock_attr(int disabled)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);

	a.disabled = disabled;
	a.read_format = FORMAT_TIMES;
	return a;
}

static void advance(struct worker *w)
{
	work(N);
	worker_run(w, N);
}

/* Number of events whose time_enabled and count advance while the tasks work */
static int running(const int *fds, int nr, struct worker *w)
{
	struct ev_times before[OWN], after;
	int i, n = 0;

	for (i = 0; i < nr; i++)
		before[i] = ev_times(fds[i]);
	advance(w);
	for (i = 0; i < nr; i++) {
		after = ev_times(fds[i]);
		n += after.enabled > before[i].enabled && after.value > before[i].value;
	}
	return n;
}

/* Every third is off at first; the states are mixed again before each call */
static void mix(const int *fds, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		ioctl(fds[i], i % 3 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

TEST(many_events)
{
	ROWS("K-01");
	struct worker w;
	int i, k;

	worker_start(&w);
	for (i = 0; i < OWN; i++) {
		struct perf_event_attr a = clock_attr(i % 3 == 0);

		a.inherit = i % 5 == 0;
		own[i] = ev_must(&a, 0, -1, -1, 0);
	}
	for (i = 0; i < OTHERS; i++) {
		struct perf_event_attr a = clock_attr(i % 3 == 0);

		a.inherit = i % 5 == 0;
		other[i] = ev_must(&a, w.pid, -1, -1, 0);
	}
	for (k = 0; k < 3; k++) {
		EXPECT_EQ(prctl(OFF), 0);
		EXPECT_EQ(running(own, OWN, &w), 0);
		EXPECT_EQ(running(other, OTHERS, &w), 0);
		mix(own, OWN);
		mix(other, OTHERS);
		EXPECT_EQ(prctl(ON), 0);
		EXPECT_EQ(running(own, OWN, &w), OWN);
		EXPECT_EQ(running(other, OTHERS, &w), OTHERS);
		mix(own, OWN);
		mix(other, OTHERS);
	}
	worker_stop(&w);
}

/* The children of an event that is off may be on: they are reached, too */
TEST(child_of_an_event_that_is_off)
{
	ROWS("K-01 K-03");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct worker kid;
	uint64_t v;
	int fd[2], i;

	a.inherit = 1;
	for (i = 0; i < 2; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	worker_start(&kid);
	for (i = 0; i < 2; i++)
		ev_enable(fd[i]);
	EXPECT_EQ(prctl(OFF), 0);
	for (i = 0; i < 2; i++) {
		v = ev_count(fd[i]);
		worker_run(&kid, N);
		EXPECT_EQ(ev_count(fd[i]), v);
	}
	EXPECT_EQ(prctl(ON), 0);
	for (i = 0; i < 2; i++) {
		v = ev_count(fd[i]);
		worker_run(&kid, N);
		EXPECT_GE(ev_count(fd[i]), v + 4 * N);
	}
	worker_stop(&kid);
}

/* A large group of software events: each member is switched, and times are those of the group */
TEST(large_group)
{
	ROWS("K-01 K-04");
	struct perf_event_attr a = clock_attr(1);
	struct worker w;
	int i;

	worker_start(&w);
	for (i = 0; i < OWN; i++)
		own[i] = ev_must(&a, 0, -1, i ? own[0] : -1, 0);
	EXPECT_EQ(running(own, OWN, &w), 0);
	EXPECT_EQ(prctl(ON), 0);
	EXPECT_EQ(running(own, OWN, &w), OWN);
	/* Members that are off stay off when their leader is enabled alone */
	for (i = 0; i < OWN; i += 2)
		ev_disable(own[i]);
	EXPECT_EQ(running(own, OWN, &w), 0);
	ev_enable(own[0]);
	EXPECT_EQ(running(own, OWN, &w), OWN / 2 + 1);
	EXPECT_EQ(prctl(OFF), 0);
	EXPECT_EQ(running(own, OWN, &w), 0);
	worker_stop(&w);
}

#define MANY	300	/* several batches of kernel/sched/scan.c */

static int many[MANY];

/* Close all of them, from the first to the last, while the other thread switches them off and on */
static void *close_all(void *stop)
{
	int i;

	for (i = 0; i < MANY; i += 2) {
		close(many[i]);
		if (i % 16 == 0)
			sched_yield();
	}
	__atomic_store_n((int *)stop, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* No event is left out because others are closed meanwhile */
TEST(closed_meanwhile)
{
	ROWS("K-01");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int i, k, stop;
	pthread_t thread;

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	for (k = 0; k < 2; k++) {
		for (i = 0; i < MANY; i++)
			many[i] = ev_must(&a, 0, -1, -1, 0);
		stop = 0;
		ASSERT_EQ(pthread_create(&thread, NULL, close_all, &stop), 0);
		while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
			prctl(ON);
			prctl(OFF);
			for (i = MANY - 1; i > MANY - 8; i -= 2) {
				uint64_t before = ev_times(many[i]).enabled;

				EXPECT_EQ(ev_times(many[i]).enabled, before);
			}
		}
		pthread_join(thread, NULL);
		for (i = 1; i < MANY; i += 2)
			close(many[i]);
	}
}

TEST_HARNESS_MAIN
