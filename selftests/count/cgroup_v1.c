// SPDX-License-Identifier: GPL-2.0-only
/* cgroup v1: perf_event has its own hierarchy, and threads may be in different cgroups. */
#define _GNU_SOURCE
#include <errno.h>

#include "cgroup_tests.h"

static void enter_v1(struct cgroup *top)
{
	if (!cgroup_v1())
		SKIP(return, "no cgroup of version 1: %s", strerror(errno));
	cgroup_root(top);
	atexit(cgroup_v1_end);
}

TEST(only_its_tasks)
{
	ROWS("G-01 G-02 G-07");
	struct cgroup top, a, b;
	struct worker in_a, in_b, outside;
	int fd_a, fd_b;

	enter_v1(&top);
	cgroup_make(&a, &top, "a");
	cgroup_make(&b, &top, "b");
	start_in(&in_a, &a, 1);
	start_in(&in_b, &b, 1);
	start_in(&outside, NULL, 1);
	fd_a = watch(&a, 1);
	fd_b = watch(&b, 1);
	SEES_ALL(fd_a, &in_a);
	SEES_ALL(fd_b, &in_b);
	SEES_NOTHING(fd_a, &in_b);
	SEES_NOTHING(fd_b, &in_a);
	SEES_NOTHING(fd_a, &outside);
	EXPECT_TRUE(always_ran(fd_a));
}

TEST(descendants)
{
	ROWS("G-05");
	struct cgroup top, a, b;
	struct worker in_a, in_b;
	int fa, fb;

	enter_v1(&top);
	cgroup_make(&a, &top, "a");
	cgroup_make(&b, &a, "b");
	start_in(&in_a, &a, 1);
	start_in(&in_b, &b, 1);
	fa = watch(&a, 1);
	fb = watch(&b, 1);
	SEES_ALL(fa, &in_a);
	SEES_NOTHING(fb, &in_a);
	SEES_ALL(fa, &in_b);
	SEES_ALL(fb, &in_b);
}

/* Threads of one process in different cgroups */
TEST(threads_in_cgroups)
{
	ROWS("G-06 G-01");
	struct cgroup top, a, b;
	struct worker w, thread;
	int fd_a, fd_b;

	enter_v1(&top);
	cgroup_make(&a, &top, "a");
	cgroup_make(&b, &top, "b");
	start_in(&w, &a, 1);
	worker_add_thread(&w, &thread);
	fd_a = watch(&a, 1);
	fd_b = watch(&b, 1);
	SEES_ALL(fd_a, &thread);
	SEES_ALL(fd_a, &w);
	cgroup_add_thread(&b, thread.pid);
	SEES_ALL(fd_b, &thread);
	SEES_NOTHING(fd_a, &thread);
	SEES_ALL(fd_a, &w);
	SEES_NOTHING(fd_b, &w);
	cgroup_add_thread(&a, thread.pid);
	SEES_ALL(fd_a, &thread);
	worker_stop(&thread);
	worker_stop(&w);
}

/* Move a thread while it runs */
TEST(thread_moved_while_it_runs)
{
	ROWS("G-06");
	struct cgroup top, a, b;
	struct worker w, thread;
	int fd_a, fd_b;
	uint64_t v;

	enter_v1(&top);
	cgroup_make(&a, &top, "a");
	cgroup_make(&b, &top, "b");
	start_in(&w, &a, 1);
	worker_add_thread(&w, &thread);
	fd_a = watch(&a, 1);
	fd_b = watch(&b, 1);
	worker_go(&thread, 100000000);	/* longer than the move takes */
	cgroup_add_thread(&b, thread.pid);
	v = ev_count(fd_a);
	EXPECT_TRUE(moves_on(fd_b, 0));
	worker_wait(&thread);
	EXPECT_EQ(ev_count(fd_a), v);
	EXPECT_LE(ev_count(fd_b), 4 * 100000000ULL + 10000);
	worker_stop(&thread);
	worker_stop(&w);
}

/* While perf_event is on a v1 hierarchy, a directory of the v2 hierarchy is refused */
TEST(v2_directory_refused)
{
	ROWS("G-08");
	struct perf_event_attr a = insns();
	struct cgroup v2, v1;

	cgroup_v2();
	cgroup_root(&v2);
	enter_v1(&v1);
	EXPECT_EQ(ev_errno(&a, v1.fd, 0, -1, PERF_FLAG_PID_CGROUP), 0);
	EXPECT_EQ(ev_errno(&a, v2.fd, 0, -1, PERF_FLAG_PID_CGROUP), ENOENT);
}

TEST_HARNESS_MAIN
