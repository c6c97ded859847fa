// SPDX-License-Identifier: GPL-2.0-only
/*
 * Permission for the target is checked before any resource is reserved for an event.  So a refused
 * open reserves no debug register, not even briefly, and does not reveal whether one is free.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "breakpoint.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define NOBODY	65534
#define SLOTS	4

static volatile long data[SLOTS + 1];

static struct perf_event_attr bp(int i)
{
	struct perf_event_attr a = bp_at(&data[i]);

	a.disabled = 0;
	return a;
}

/* As root: take all debug registers, so that an open that reserves one gets ENOSPC */
static void take_all(pid_t pid, int cpu)
{
	struct perf_event_attr a;
	int i;

	for (i = 0; i < SLOTS; i++) {
		a = bp(i);
		ev_must(&a, pid, cpu, -1, 0);
	}
}

static int in_nobody(const struct perf_event_attr *a, pid_t pid, int cpu)
{
	int status;

	if (!fork()) {
		drop_privilege();
		_exit(ev_errno(a, pid, cpu, -1, 0));
	}
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(breakpoints_of_a_task)
{
	ROWS("C-09");
	struct perf_event_attr a = bp(SLOTS);
	struct worker root;

	set_paranoid(2);
	worker_start(&root);
	take_all(root.pid, -1);
	EXPECT_EQ(ev_errno(&a, root.pid, -1, -1, 0), ENOSPC);
	EXPECT_EQ(in_nobody(&a, root.pid, -1), EACCES);
	EXPECT_EQ(in_nobody(&a, root.pid, 0), EACCES);
	a.inherit = 1;
	EXPECT_EQ(in_nobody(&a, root.pid, -1), EACCES);
	worker_stop(&root);
}

TEST(breakpoints_of_a_cpu)
{
	struct perf_event_attr a = bp(SLOTS);

	set_paranoid(2);
	take_all(-1, 0);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), ENOSPC);
	EXPECT_EQ(in_nobody(&a, -1, 0), EACCES);
}

/* KPMU_IOC_OPEN_FOR by a privileged caller: the permissions of the task args.tid decide */
TEST(on_behalf)
{
	struct perf_event_attr a = bp(SLOTS);
	struct kpmu_open_for args = {
		.open.attr = (uintptr_t)&a, .open.cpu = -1, .open.group_fd = -1,
	};
	int device = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	struct worker root, nobody;

	ASSERT_GE(device, 0);
	set_paranoid(2);
	worker_start(&root);
	worker_start_as(&nobody, NOBODY);
	take_all(root.pid, -1);
	args.open.pid = root.pid;
	args.tid = nobody.pid;
	EXPECT_EQ(ioctl(device, KPMU_IOC_OPEN_FOR, &args), -1);
	EXPECT_EQ(errno, EACCES);
	args.open.pid = 0;
	EXPECT_GE(ioctl(device, KPMU_IOC_OPEN_FOR, &args), 0);
	worker_stop(&root);
	worker_stop(&nobody);
}

/* The errno of a refused open does not reveal whether native perf uses the counters */
TEST(counters)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct worker root;
	int native;

	if (!has_pmu())
		SKIP(return, "no PMU");
	set_paranoid(2);
	native = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	if (native < 0)
		SKIP(return, "no counters for the kernel's own perf");
	worker_start(&root);
	EXPECT_EQ(ev_errno(&a, root.pid, -1, -1, 0), EBUSY);
	EXPECT_EQ(in_nobody(&a, root.pid, -1), EACCES);
	EXPECT_EQ(in_nobody(&a, -1, 0), EACCES);
	EXPECT_EQ(in_nobody(&a, 0, -1), EBUSY);
	worker_stop(&root);
	close(native);
}

/* Permission is checked before a probe is created without exec_update_lock, and again under it */
TEST(probes)
{
	struct perf_event_attr a = ev_attr(pmu_type("kprobe"), 0);
	struct worker root, other;
	int fd;

	a.exclude_kernel = 0;
	a.kprobe_func = (uintptr_t)"__x64_sys_getppid";
	a.disabled = 0;
	set_paranoid(-1);
	worker_start(&root);
	worker_start_as(&other, 1234);
	/* First refused for the type, which requires privilege; then for the target, too */
	EXPECT_EQ(in_nobody(&a, 0, -1), EACCES);
	EXPECT_EQ(in_nobody(&a, root.pid, -1), EACCES);
	fd = ev_must(&a, other.pid, -1, -1, 0);
	worker_run(&other, 1);
	EXPECT_EQ(ev_count(fd), 0);
	close(fd);
	fd = ev_must(&a, 0, -1, -1, 0);
	syscall(SYS_getppid);
	syscall(SYS_getppid);
	EXPECT_EQ(ev_count(fd), 2);
	worker_stop(&root);
	worker_stop(&other);
}

TEST_HARNESS_MAIN
