// SPDX-License-Identifier: GPL-2.0-only
/* Inherited events count children exactly, from their first user instruction to their last. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "clone.h"
#include "event.h"
#include "harness.h"

#define N	100000
#define MANY	200

static struct clone_word words[MANY];

static int own(int inherit)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.inherit = inherit;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, 0, -1, -1, 0);
}

#define EXACT(got, want) do {						\
	EXPECT_GE((got) + SLACK(want), want);				\
	EXPECT_LE(got, (want) + SLACK(want));				\
} while (0)

TEST(one_child)
{
	ROWS("H-01 H-06 H-13 A-19 F-25");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = 1 };
	int fd = own(1);

	clone_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(1) + CLONE_KIDS(N, 1));
	EXPECT_TRUE(always_ran(fd));
}

/* Without inherit, neither children nor threads are counted */
TEST(not_without_inherit)
{
	ROWS("A-19");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = 1 };
	int fd = own(0);

	clone_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(1));
	w.clone = CLONE_THREADS;
	w.words = words;
	threads_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(1) + THREADS_SELF(1));
}

TEST(short_child)
{
	ROWS("H-01");
	struct clone_work w = { .clone = CLONE_FORK, .n = 1, .kids = 1 };
	int fd = own(1), i;

	/* Counts nothing before the child's first instruction, nothing after its last */
	for (i = 1; i <= 50; i++) {
		clone_counted(fd, &w);
		EXACT(ev_count(fd), i * (CLONE_SELF(1) + CLONE_KIDS(1, 1)));
	}
}

TEST(vfork)
{
	ROWS("H-01");
	struct clone_work w = { .clone = CLONE_V, .n = N, .kids = 1 };
	int fd = own(1);

	clone_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(1) + CLONE_KIDS(N, 1));
	w.kids = 10;
	clone_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(1) + CLONE_KIDS(N, 1) +
			    CLONE_SELF(10) + CLONE_KIDS(N, 10));
}

TEST(many_children_at_once)
{
	ROWS("H-01 H-06");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = MANY };
	int fd = own(1);

	clone_counted(fd, &w);
	EXACT(ev_count(fd), CLONE_SELF(MANY) + CLONE_KIDS(N, MANY));
	EXPECT_TRUE(always_ran(fd));
}

TEST(threads)
{
	ROWS("H-04 H-06");
	struct clone_work w = { .clone = CLONE_THREADS, .n = N, .kids = 1,
				.words = words };
	int fd = own(1);

	threads_counted(fd, &w);
	EXACT(ev_count(fd), THREADS_SELF(1) + THREADS_KIDS(N, 1));
	w.kids = MANY;
	threads_counted(fd, &w);
	EXACT(ev_count(fd), THREADS_SELF(1) + THREADS_KIDS(N, 1) +
			    THREADS_SELF(MANY) + THREADS_KIDS(N, MANY));
	EXPECT_TRUE(always_ran(fd));
}

TEST(grandchildren)
{
	ROWS("H-03");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = 2 };
	int fd = own(1);

	chain_counted(fd, &w);
	EXACT(ev_count(fd), CHAIN_SELF(2) + CHAIN_KIDS(N, 2));
}

TEST(deep_chain)
{
	ROWS("H-03");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = reduced(100) };
	int fd = own(1);

	chain_counted(fd, &w);
	EXACT(ev_count(fd), CHAIN_SELF(w.kids) + CHAIN_KIDS(N, w.kids));
	EXPECT_TRUE(always_ran(fd));
}

/* Descendants that do their work after their parents have exited */
TEST(orphans)
{
	ROWS("H-03");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = 2 };
	int fd = own(1);

	ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	orphans_counted(fd, &w);
	EXACT(ev_count(fd), ORPHANS_SELF(2) + ORPHANS_KIDS(N, 2));
	w.kids = 50;
	orphans_counted(fd, &w);
	EXACT(ev_count(fd), ORPHANS_SELF(2) + ORPHANS_KIDS(N, 2) +
			    ORPHANS_SELF(50) + ORPHANS_KIDS(N, 50));
}

static const struct {
	uint32_t type;
	uint64_t config;
} kinds[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ PERF_TYPE_RAW, RAW_LOADS },
	{ PERF_TYPE_RAW, RAW_STORES },
	{ PERF_TYPE_RAW, RAW_BRANCHES },
};

/*
 * A group is inherited as a group.  An ioctl on its leader with PERF_IOC_FLAG_GROUP enables all
 * its events.
 */
TEST(group)
{
	ROWS("H-01 U-13");
	struct clone_work w = { .flag = PERF_IOC_FLAG_GROUP, .clone = CLONE_FORK,
				.n = N, .kids = 10 };
	struct {
		uint64_t nr, enabled, running, value[4];
	} r;
	int i, fd[4], leader = -1;

	for (i = 0; i < 4; i++) {
		struct perf_event_attr a = ev_attr(kinds[i].type, kinds[i].config);

		a.inherit = 1;
		a.read_format = FORMAT_TIMES | PERF_FORMAT_GROUP;
		fd[i] = ev_must(&a, 0, -1, leader, 0);
		leader = fd[0];
	}
	clone_counted(leader, &w);
	ASSERT_EQ(read(leader, &r, sizeof(r)), sizeof(r));
	EXPECT_EQ(r.nr, 4);
	EXPECT_EQ(r.enabled, r.running);
	EXACT(r.value[0], CLONE_SELF(10) + CLONE_KIDS(N, 10));
	/* Loads: FLAG once and CLONE per child in the parent; N and n times the cell per child */
	EXACT(r.value[1], 1 + 10 + (N + 1) * 10);
	EXACT(r.value[2], N * 10);
	/* Branches: 3 to start and 2 to await each child, 1 for the last ioctl; n + 2 per child */
	EXACT(r.value[3], 10 * 5 + 1 + (N + 2) * 10);
}

/* More events than counters: the children's events are multiplexed too */
TEST(shared_counters)
{
	ROWS("H-13");
	enum { M = 12 };
	struct clone_work w = { .clone = CLONE_FORK, .n = 20000000, .kids = 2 };
	struct ev_times t;
	int i, fd[M], starter = own(1);
	uint64_t running = 0, most = 0, least = -1;

	for (i = 0; i < M; i++) {
		struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_LOADS);

		a.disabled = 0;
		a.inherit = 1;
		a.read_format = FORMAT_TIMES;
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	}
	clone_counted(starter, &w);
	/* Disable in reverse order of opening, so that enabled times are nested */
	for (i = M - 1; i >= 0; i--) {
		ev_disable(fd[i]);
		t = ev_times(fd[i]);
		EXPECT_LE(t.running, t.enabled);
		EXPECT_GT(t.running, 0);
		EXPECT_LE(t.value, 2 * w.n + 100000);
		running += t.running;
		most = t.enabled > most ? t.enabled : most;
		least = t.enabled < least ? t.enabled : least;
	}
	/* The events cannot run for longer than the counters provide, and no counter may be idle */
	if (route_is_native())		/* native times are less exact */
		most += most / 10;
	EXPECT_LE(running, most * counters_general());
	EXPECT_GE(running, least * counters_general() * 9 / 10);
}

/* Events with side-band records, inherited or not, do not disturb one that only counts */
TEST(with_sideband_events)
{
	ROWS("H-01");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = 20 };
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int fd, i;

	for (i = 0; i < 4; i++) {
		a.inherit = i & 1;
		a.comm = 1;
		a.task = i > 1;
		ev_must(&a, 0, -1, -1, 0);
	}
	fd = own(1);
	for (i = 1; i <= 5; i++) {
		clone_counted(fd, &w);
		EXACT(ev_count(fd), i * (CLONE_SELF(20) + CLONE_KIDS(N, 20)));
	}
}

/* Inherited events bound to a CPU: each counts what the family does on that CPU */
TEST(on_one_cpu)
{
	ROWS("H-01 O-06");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = 20 };
	uint64_t sum = 0;
	int cpu, n = nr_cpus(), fd[16];

	if (n < 2 || n > 16)
		SKIP(return, "2 to 16 CPUs are needed");
	a.inherit = 1;
	a.disabled = 0;
	for (cpu = 0; cpu < n; cpu++)
		fd[cpu] = ev_must(&a, 0, cpu, -1, 0);
	for (cpu = 0; cpu < n; cpu++) {
		ASSERT_EQ(pin_to(cpu), 0);
		clone_counted(own(0), &w);
	}
	for (cpu = 0; cpu < n; cpu++) {
		uint64_t got = ev_count(fd[cpu]);

		EXPECT_GE(got, CLONE_KIDS(N, 20));
		EXPECT_LT(got, CLONE_KIDS(N, 20) + 100000);
		sum += got;
	}
	EXPECT_GT(sum, 0);
}

/* A fork that fails after events were inherited (the PID is in use) leaves no copy behind */
TEST(failed_forks)
{
	ROWS("H-01 H-06");
	struct clone_work w = { .clone = CLONE_FORK, .n = N, .kids = 1 };
	pid_t taken = getpid();
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&taken,
		.set_tid_size = 1,
	};
	int fd = own(1), i;
	uint64_t before;

	ev_enable(fd);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(syscall(SYS_clone3, &args, sizeof(args)), -1);
		ASSERT_EQ(errno, EEXIST);
	}
	ev_disable(fd);
	before = ev_count(fd);
	clone_counted(fd, &w);
	EXACT(ev_count(fd) - before, CLONE_SELF(1) + CLONE_KIDS(N, 1));
}

/* Create and exit 2,000 threads, fewer on slow kernels */
TEST_TIMEOUT(thread_storm, 120)
{
	ROWS("H-11 H-04");
	struct clone_work w = { .clone = CLONE_THREADS, .n = 10, .kids = MANY,
				.words = words };
	int fd = own(1), i, rounds = reduced(10);

	for (i = 0; i < rounds; i++)
		threads_counted(fd, &w);
	EXACT(ev_count(fd), rounds * (THREADS_SELF(MANY) + THREADS_KIDS(10, MANY)));
}

#define STORMS	4

static struct clone_word storm_words[STORMS][100];
static int storm_fd[STORMS];

static void *storm(void *arg)
{
	int i, k = (intptr_t)arg;
	struct clone_work w = { .clone = CLONE_THREADS, .n = 10, .kids = 100,
				.words = storm_words[k] };

	storm_fd[k] = own(1);
	for (i = 0; i < reduced(5); i++)
		threads_counted(storm_fd[k], &w);
	return NULL;
}

/*
 * Several threads create threads concurrently.  Each opens an event on itself, and all inherit
 * one more from the main thread.
 */
TEST_TIMEOUT(thread_storms, 120)
{
	ROWS("H-11 H-04");
	pthread_t t[STORMS];
	int i, all = own(1);
	uint64_t sum = 0;

	ev_enable(all);
	for (i = 0; i < STORMS; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, storm, (void *)(intptr_t)i), 0);
	for (i = 0; i < STORMS; i++)
		pthread_join(t[i], NULL);
	ev_disable(all);
	for (i = 0; i < STORMS; i++) {
		EXACT(ev_count(storm_fd[i]),
		      reduced(5) * (THREADS_SELF(100) + THREADS_KIDS(10, 100)));
		sum += ev_count(storm_fd[i]);
	}
	EXPECT_GE(ev_count(all), sum);
	EXPECT_LT(ev_count(all), sum + 1000000);
}

/* Several children fork concurrently, each with several inherited events */
TEST_TIMEOUT(fork_storm, 120)
{
	ROWS("H-11 H-03");
	struct clone_work w = { .clone = CLONE_FORK, .n = 10, .kids = 30 };
	int i, k, fd[2], all = own(1);
	uint64_t each = reduced(5) * (CLONE_SELF(30) + CLONE_KIDS(10, 30));
	uint64_t sum = 4 * each;

	for (i = 0; i < 2; i++) {
		fd[i] = own(1);
		ev_enable(fd[i]);
	}
	ev_enable(all);
	for (k = 0; k < 4; k++) {
		if (fork())
			continue;
		int mine = own(1);

		for (i = 0; i < reduced(5); i++)
			clone_counted(mine, &w);
		_exit(ev_count(mine) != each || !always_ran(mine));
	}
	for (k = 0; k < 4; k++) {
		int status;

		ASSERT_GT(wait(&status), 0);
		EXPECT_EQ(status, 0);
	}
	ev_disable(all);
	EXPECT_GE(ev_count(all), sum);
	EXPECT_LT(ev_count(all), sum + 1000000);
	for (i = 0; i < 2; i++)
		EXPECT_GE(ev_count(fd[i]), ev_count(all));
}

TEST_HARNESS_MAIN
