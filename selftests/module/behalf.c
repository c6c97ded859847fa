// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_OPEN_FOR: opens events for another task, and bypasses no permission check. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define NOBODY	65534
#define OTHER	1234

static int device;

static int open_for(pid_t tid, const struct perf_event_attr *attr, pid_t pid,
		    int cpu, int group_fd)
{
	struct kpmu_open_for args = {
		.open.attr = (uintptr_t)attr, .open.pid = pid, .open.cpu = cpu,
		.open.group_fd = group_fd, .open.flags = PERF_FLAG_FD_CLOEXEC,
		.tid = tid,
	};

	return ioctl(device, KPMU_IOC_OPEN_FOR, &args);
}

/* The errno of opening an event for task @tid; 0 if that succeeds */
static int errno_for(pid_t tid, const struct perf_event_attr *attr, pid_t pid,
		     int cpu)
{
	int fd = open_for(tid, attr, pid, cpu, -1);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static struct perf_event_attr insns(void)
{
	return ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static void begin(void)
{
	device = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0) {
		perror(KPMU_DEVICE);
		exit(1);
	}
	set_paranoid(2);
}

TEST(counts_requesting_task)
{
	struct perf_event_attr a = insns();
	uint64_t lone, more;
	struct worker w;
	int fd;

	begin();
	worker_start_as(&w, NOBODY);
	a.disabled = 0;
	fd = open_for(w.pid, &a, 0, -1, -1);
	ASSERT_GE(fd, 0);
	worker_run(&w, 1000);
	lone = ev_count(fd);
	worker_run(&w, 3000);
	more = ev_count(fd) - lone;
	EXPECT_GT(lone, 0);
	worker_run(&w, 1000);
	EXPECT_EQ(more - (ev_count(fd) - lone - more), worker_insns(3000, 1000));
	worker_stop(&w);
}

TEST(groups_are_made_of_the_callers_fds)
{
	struct perf_event_attr a = insns();
	uint64_t v[3] = { 0 };
	struct worker w;
	int lead, fd;

	begin();
	worker_start(&w);
	a.disabled = 0;
	a.read_format = PERF_FORMAT_GROUP;
	lead = open_for(w.pid, &a, 0, -1, -1);
	ASSERT_GE(lead, 0);
	fd = open_for(w.pid, &a, 0, -1, lead);
	ASSERT_GE(fd, 0);
	worker_run(&w, 1000);
	ASSERT_EQ(read(lead, v, sizeof(v)), (ssize_t)sizeof(v));
	EXPECT_EQ(v[0], 2);
	EXPECT_GT(v[1], 4000);
	EXPECT_EQ(open_for(w.pid, &a, 0, -1, 249), -1);
	EXPECT_EQ(errno, EBADF);
	worker_stop(&w);
}

/* Records have the pids that the requesting task sees, not those of the caller */
TEST(records_have_its_pids)
{
	struct perf_event_attr a = insns();
	struct ring ours, its;
	static struct record rec;
	int own, fd, pair[2];
	char byte;
	pid_t pid;

	begin();
	ASSERT_EQ(pipe(pair), 0);
	ASSERT_EQ(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (!pid) {
		if (read(pair[0], &byte, 1) == 1)
			prctl(PR_SET_NAME, "renamed");
		_exit(0);
	}
	a.comm = 1;
	a.sample_id_all = 1;
	a.sample_type = PERF_SAMPLE_TID;
	a.disabled = 0;
	own = ev_must(&a, pid, -1, -1, 0);
	fd = open_for(pid, &a, 0, -1, -1);
	ASSERT_GE(fd, 0);
	ring_map(&ours, own, &a, 1);
	ring_map(&its, fd, &a, 1);
	ASSERT_EQ(write(pair[1], "", 1), 1);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	ASSERT_TRUE(ring_find(&ours, &rec, PERF_RECORD_COMM));
	EXPECT_EQ(record_u32(&rec, 0), pid);
	EXPECT_EQ(record_whose(&ours, &rec).tid, pid);
	ASSERT_TRUE(ring_find(&its, &rec, PERF_RECORD_COMM));
	EXPECT_EQ(record_u32(&rec, 0), 1);
	EXPECT_EQ(record_u32(&rec, 4), 1);
	EXPECT_EQ(record_whose(&its, &rec).tid, 1);
}

TEST(arguments)
{
	struct perf_event_attr a = insns();
	struct kpmu_open_for args = {
		.open.attr = (uintptr_t)&a, .open.cpu = -1, .open.group_fd = -1,
	};

	begin();
	args.tid = getpid();
	args.reserved = 1;
	EXPECT_EQ(ioctl(device, KPMU_IOC_OPEN_FOR, &args), -1);
	EXPECT_EQ(errno, EINVAL);
	args.reserved = 0;
	args.open.reserved = 1;
	EXPECT_EQ(ioctl(device, KPMU_IOC_OPEN_FOR, &args), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(ioctl(device, KPMU_IOC_OPEN_FOR, NULL), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(errno_for(0, &a, 0, -1), ESRCH);
	EXPECT_EQ(errno_for(-1, &a, 0, -1), ESRCH);
	EXPECT_EQ(errno_for(0x3fffffff, &a, 0, -1), ESRCH);
	EXPECT_EQ(errno_for(getpid(), NULL, 0, -1), EFAULT);
	EXPECT_EQ(errno_for(getpid(), &a, 0, -1), 0);
}

/* The caller must be allowed to attach to the task with ptrace(2) */
TEST(needs_ptrace)
{
	struct perf_event_attr a = insns();
	struct worker root, other, same, kid;

	begin();
	worker_start(&root);
	worker_start_as(&other, OTHER);
	worker_start_as(&same, NOBODY);
	worker_start_as(&kid, NOBODY);
	worker_dumpable(&kid, 0);
	drop_privilege();
	EXPECT_EQ(errno_for(root.pid, &a, 0, -1), EPERM);
	EXPECT_EQ(errno_for(other.pid, &a, 0, -1), EPERM);
	EXPECT_EQ(errno_for(1, &a, 0, -1), EPERM);
	EXPECT_EQ(errno_for(kid.pid, &a, 0, -1), EPERM);
	EXPECT_EQ(errno_for(same.pid, &a, 0, -1), 0);
	EXPECT_EQ(errno_for(getpid(), &a, 0, -1), 0);
}

/* Permissions are those of the task, not those of the caller */
TEST(checks_requesting_task)
{
	struct perf_event_attr a = insns(), kernel = insns();
	struct worker w, root, other;

	begin();
	worker_start_as(&w, NOBODY);
	worker_start_as(&other, OTHER);
	worker_start(&root);
	kernel.exclude_kernel = 0;
	/* The caller is root, so all opens for itself succeed */
	EXPECT_EQ(errno_for(getpid(), &kernel, 0, -1), 0);
	EXPECT_EQ(errno_for(getpid(), &a, -1, 0), 0);
	EXPECT_EQ(errno_for(getpid(), &a, other.pid, -1), 0);
	/* The task is unprivileged: only the open of a user-mode event on itself succeeds */
	EXPECT_EQ(errno_for(w.pid, &a, 0, -1), 0);
	EXPECT_EQ(errno_for(w.pid, &kernel, 0, -1), EACCES);
	EXPECT_EQ(errno_for(w.pid, &a, -1, 0), EACCES);
	EXPECT_EQ(errno_for(w.pid, &a, root.pid, -1), EACCES);
	EXPECT_EQ(errno_for(w.pid, &a, other.pid, -1), EACCES);
	EXPECT_EQ(errno_for(w.pid, &a, 1, -1), EACCES);
	/* For a task of root, all opens succeed */
	EXPECT_EQ(errno_for(root.pid, &kernel, 0, -1), 0);
	EXPECT_EQ(errno_for(root.pid, &a, -1, 0), 0);
	EXPECT_EQ(errno_for(root.pid, &a, w.pid, -1), 0);
	set_paranoid(0);
	EXPECT_EQ(errno_for(w.pid, &a, -1, 0), 0);
	EXPECT_EQ(errno_for(w.pid, &kernel, 0, -1), 0);
	EXPECT_EQ(errno_for(w.pid, &a, root.pid, -1), EACCES);
	set_paranoid(3);
	EXPECT_EQ(errno_for(w.pid, &a, 0, -1), EACCES);
	set_paranoid(2);
	/* The caller's own credentials are in effect again */
	EXPECT_EQ(errno_for(getpid(), &kernel, 0, -1), 0);
	worker_stop(&w);
	worker_stop(&other);
	worker_stop(&root);
}

/*
 * A process may always monitor itself.  The check must not mistake the caller for the requesting
 * task: for any other task, an event on the caller's own process is refused.
 */
TEST(caller_is_refused_as_target)
{
	struct perf_event_attr a = insns();
	struct worker w, root;

	begin();
	worker_start_as(&w, NOBODY);
	worker_start(&root);
	EXPECT_EQ(errno_for(w.pid, &a, getpid(), -1), EACCES);
	EXPECT_EQ(errno_for(root.pid, &a, getpid(), -1), EACCES);
	worker_stop(&w);
	worker_stop(&root);
}

TEST(its_own_threads)
{
	struct perf_event_attr a = insns();
	struct worker w, kid;

	begin();
	worker_start(&w);
	worker_add_thread(&w, &kid);
	EXPECT_EQ(errno_for(w.pid, &a, kid.pid, -1), 0);
	EXPECT_EQ(errno_for(kid.pid, &a, w.pid, -1), 0);
	EXPECT_EQ(errno_for(kid.pid, &a, 0, -1), 0);
	worker_stop(&w);
}

TEST(pid_namespace)
{
	struct perf_event_attr a = insns();
	int up[2], status;
	char c = 0;
	pid_t kid;

	begin();
	ASSERT_EQ(pipe(up), 0);
	ASSERT_EQ(unshare(CLONE_NEWPID), 0);
	kid = fork();
	if (!kid) {
		close(up[1]);
		_exit(read(up[0], &c, 1) < 0);
	}
	/* pid is resolved in the task's pid namespace, where the task is 1 */
	EXPECT_EQ(errno_for(kid, &a, 1, -1), 0);
	EXPECT_EQ(errno_for(kid, &a, 0, -1), 0);
	EXPECT_NE(kid, 1);
	EXPECT_EQ(errno_for(kid, &a, kid, -1), ESRCH);
	close(up[1]);
	ASSERT_EQ(waitpid(kid, &status, 0), kid);
	/* The task has exited */
	EXPECT_EQ(errno_for(kid, &a, 0, -1), ESRCH);
}

/* The event is owned by the task it was opened for, so only prctl(2) by that task disables it */
TEST(owner_is_the_task)
{
	struct perf_event_attr a = insns();
	struct worker w, other;
	uint64_t before;
	int fd;

	begin();
	worker_start(&w);
	worker_start(&other);
	a.disabled = 0;
	fd = open_for(w.pid, &a, other.pid, -1, -1);
	ASSERT_GE(fd, 0);
	worker_run(&other, 1000);
	EXPECT_GT(ev_count(fd), 4000);
	ASSERT_EQ(prctl(PR_TASK_PERF_EVENTS_DISABLE), 0);
	before = ev_count(fd);
	worker_run(&other, 1000);
	EXPECT_GT(ev_count(fd), before + 4000);
	worker_prctl(&w, PR_TASK_PERF_EVENTS_DISABLE);
	before = ev_count(fd);
	worker_run(&other, 1000);
	EXPECT_EQ(ev_count(fd), before);
	worker_stop(&w);
	worker_stop(&other);
}

/* An open for a zombie fails cleanly */
TEST(zombie)
{
	struct perf_event_attr a = insns();
	struct worker w;
	int err;

	begin();
	worker_start(&w);
	worker_zombie(&w);
	err = errno_for(w.pid, &a, 0, -1);
	EXPECT_TRUE(err == ESRCH || err == EPERM);
	EXPECT_EQ(waitpid(w.pid, NULL, 0), w.pid);
}

/* No deadlock: opens for each worker on the other one, while both workers call exec */
TEST(crossing_execs)
{
	struct perf_event_attr a = insns();
	struct worker w[2];
	int i, n;
	pid_t kids[2];

	begin();
	for (i = 0; i < 2; i++)
		worker_start(&w[i]);
	for (i = 0; i < 2; i++) {
		kids[i] = fork();
		if (kids[i])
			continue;
		for (;;)
			errno_for(w[i].pid, &a, w[!i].pid, -1);
	}
	for (n = 0; n < 10; n++) {
		worker_exec_self(&w[n & 1]);
		worker_run(&w[n & 1], 10);
	}
	for (i = 0; i < 2; i++) {
		kill(kids[i], SIGKILL);
		EXPECT_EQ(waitpid(kids[i], NULL, 0), kids[i]);
		worker_stop(&w[i]);
	}
}

TEST_HARNESS_MAIN
