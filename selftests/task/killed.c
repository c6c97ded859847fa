// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kill observers and their targets at arbitrary moments.  A leaked event or reference is
 * detected when the module is unloaded at the end of the guest's run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "cgroup.h"
#include "clone.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define ROUNDS	60

static struct perf_event_attr insns(int inherit)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = 0;
	a.inherit = inherit;
	a.read_format = FORMAT_TIMES;
	return a;
}

/* Number of times the observer has opened all its events, in memory shared with it */
static _Atomic int *held;

/* Open, use and close events of several kinds, until killed */
static void observe(const struct cgroup *c)
{
	struct clone_work w = { .clone = CLONE_FORK, .n = 100, .kids = 5 };
	struct perf_event_attr plain = insns(0), family = insns(1);
	struct worker top, kid;
	int i, fd[6];

	worker_start(&top);
	cgroup_add(c, top.pid);
	for (;;) {
		fd[0] = ev_must(&family, top.pid, -1, -1, 0);
		worker_fork(&top, &kid);
		fd[1] = ev_must(&plain, kid.pid, -1, -1, 0);
		fd[2] = ev_must(&plain, kid.pid, -1, fd[1], 0);
		fd[3] = ev_must(&plain, c->fd, 1, -1, PERF_FLAG_PID_CGROUP);
		fd[4] = ev_must(&plain, -1, 0, -1, 0);
		fd[5] = ev_must(&family, 0, -1, -1, 0);
		++*held;
		worker_go(&kid, 100000);
		clone_counted(fd[5], &w);
		for (i = 0; i < 6; i++)
			ev_count(fd[i]);
		prctl(PR_TASK_PERF_EVENTS_DISABLE);
		worker_wait(&kid);
		worker_stop(&kid);
		worker_reap(&top);
		for (i = 0; i < 6; i++)
			close(fd[i]);
		close(kid.to);
		close(kid.from);
	}
}

TEST(observer)
{
	uint64_t end = patience();
	struct cgroup top, a;
	int i, status;
	pid_t pid;

	held = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	ASSERT_NE((void *)held, MAP_FAILED);

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	/* Fewer rounds on a slow machine, but each kind of kill at least once */
	for (i = 0; i < often(ROUNDS) && (i < 2 || now_ns() < end); i++) {
		*held = 0;
		pid = fork();
		if (!pid) {
			setpgid(0, 0);
			observe(&a);
		}
		/* Parent and child both call setpgid(), as either may run first */
		setpgid(pid, pid);
		while (!*held) {
			ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0);
			usleep(1000);
		}
		usleep(1713 * i);
		ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0);
		/* Kill the observer alone, or its whole process group */
		ASSERT_EQ(kill(i & 1 ? pid : -pid, SIGKILL), 0);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		/* In a group, a worker may die first and break the observer's pipe */
		if (i & 1)
			EXPECT_EQ(status, SIGKILL);
		else
			EXPECT_TRUE(status == SIGKILL || status == SIGPIPE || WIFEXITED(status));
	}
}

TEST_HARNESS_MAIN
