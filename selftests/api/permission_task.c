// SPDX-License-Identifier: GPL-2.0-only
/* Permission to open events on other tasks. */
#define _GNU_SOURCE
#include <grp.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "attr.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define NOBODY	65534
#define OTHER	1234

static int errno_of(pid_t pid)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	return ev_errno(&a, pid, -1, -1, 0);
}

TEST(same_user)
{
	ROWS("C-09");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct worker w;
	int fd;

	set_paranoid(2);
	worker_start_as(&w, NOBODY);
	drop_privilege();
	EXPECT_EQ(errno_of(w.pid), 0);
	a.disabled = 0;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, 1000);
	EXPECT_GE(ev_count(fd), 4000);
	worker_stop(&w);
}

TEST(another_user)
{
	ROWS("C-09 E-06");
	struct worker root, other;

	set_paranoid(2);
	worker_start(&root);
	worker_start_as(&other, OTHER);
	drop_privilege();
	EXPECT_EQ(errno_of(root.pid), EACCES);
	EXPECT_EQ(errno_of(other.pid), EACCES);
	EXPECT_EQ(errno_of(1), EACCES);
	EXPECT_EQ(errno_of(2), EACCES);		/* a kernel thread */
	worker_stop(&root);
}

TEST(another_user_at_any_level)
{
	ROWS("E-06");
	struct worker other;

	set_paranoid(-1);
	worker_start_as(&other, OTHER);
	drop_privilege();
	EXPECT_EQ(errno_of(other.pid), EACCES);
	EXPECT_EQ(errno_of(0), 0);
}

/* A task that is not dumpable cannot be monitored without privilege */
TEST(not_dumpable)
{
	ROWS("C-09");
	struct worker w;

	set_paranoid(2);
	worker_start_as(&w, NOBODY);
	worker_dumpable(&w, 0);
	drop_privilege();
	EXPECT_EQ(errno_of(w.pid), EACCES);
	worker_dumpable(&w, 1);
	EXPECT_EQ(errno_of(w.pid), 0);
	worker_stop(&w);
}

/* A task can always monitor itself, also if it is not dumpable */
TEST(not_dumpable_self)
{
	ROWS("C-09");
	set_paranoid(2);
	drop_privilege();
	prctl(PR_SET_DUMPABLE, 0);
	EXPECT_EQ(errno_of(0), 0);
	EXPECT_EQ(errno_of(getpid()), 0);
}

TEST(perfmon_any_task)
{
	ROWS("C-07 C-09");
	struct worker root, other, closed;

	set_paranoid(2);
	worker_start(&root);
	worker_start_as(&other, OTHER);
	worker_start_as(&closed, OTHER);
	worker_dumpable(&closed, 0);
	drop_to(CAP_PERFMON);
	EXPECT_EQ(errno_of(root.pid), 0);
	EXPECT_EQ(errno_of(other.pid), 0);
	EXPECT_EQ(errno_of(closed.pid), 0);
	EXPECT_EQ(errno_of(1), 0);
}

static int sigtrap_errno(pid_t pid)
{
	union any_attr x;

	any_init(&x);
	x.a.sample_period = 100000;
	any_flag(&x, F_SIGTRAP);
	any_flag(&x, F_REMOVE_ON_EXEC);
	return ev_errno(&x.a, pid, -1, -1, 0);
}

/*
 * An event with sigtrap sends signals to the task, so CAP_PERFMON is not sufficient.  The open
 * needs CAP_KILL in addition, or permission to attach to the task with ptrace(2).
 */
TEST(sigtrap_on_another_users_task)
{
	ROWS("C-07");
	struct worker root, other, own;

	set_paranoid(2);
	worker_start(&root);
	worker_start_as(&other, OTHER);
	worker_start_as(&own, NOBODY);
	EXPECT_EQ(sigtrap_errno(root.pid), 0);
	EXPECT_EQ(sigtrap_errno(other.pid), 0);
	if (!fork()) {
		drop_to(CAP_PERFMON);
		EXPECT_EQ(errno_of(root.pid), 0);
		EXPECT_EQ(errno_of(other.pid), 0);
		EXPECT_EQ(sigtrap_errno(root.pid), EACCES);
		EXPECT_EQ(sigtrap_errno(other.pid), EACCES);
		EXPECT_EQ(sigtrap_errno(0), 0);
		_exit(_metadata->failed);
	}
	int status;

	wait(&status);
	EXPECT_EQ(status, 0);
	/* CAP_KILL alone is not sufficient for a task of another user */
	drop_to(CAP_KILL);
	EXPECT_EQ(sigtrap_errno(other.pid), EACCES);
	EXPECT_EQ(sigtrap_errno(own.pid), 0);
	worker_stop(&own);
}

TEST(ptrace_user_mode_only)
{
	ROWS("C-09");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct worker other;

	set_paranoid(2);
	worker_start_as(&other, OTHER);
	drop_to(CAP_SYS_PTRACE);
	EXPECT_EQ(errno_of(other.pid), 0);
	/* CAP_SYS_PTRACE gives access to the task, but not to the kernel */
	a.exclude_kernel = 0;
	EXPECT_EQ(ev_errno(&a, other.pid, -1, -1, 0), EACCES);
}

/* Permission is checked at open; a later user of the fd does not need it */
TEST(fd_of_another_users_task)
{
	ROWS("C-10");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct worker other;
	uint64_t before;
	int fd;

	set_paranoid(2);
	worker_start_as(&other, OTHER);
	fd = ev_must(&a, other.pid, -1, -1, 0);
	drop_privilege();
	EXPECT_EQ(errno_of(other.pid), EACCES);
	ev_enable(fd);
	before = ev_count(fd);
	worker_run(&other, 1000);
	EXPECT_GE(ev_count(fd), before + 4000);
}

/* A pid that does not exist gives ESRCH, not EACCES */
TEST(no_such_task)
{
	ROWS("E-42");
	set_paranoid(2);
	drop_privilege();
	EXPECT_EQ(errno_of(0x3fffff), ESRCH);
	EXPECT_EQ(errno_of(-2), ESRCH);
}

TEST_HARNESS_MAIN
