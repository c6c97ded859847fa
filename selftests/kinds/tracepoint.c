// SPDX-License-Identifier: GPL-2.0-only
/* Tracepoint events count hits on the CPU where they happen, for the task that causes them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <linux/capability.h>

#include "event.h"
#include "harness.h"

static long id_of(const char *name)
{
	static const char *const roots[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[200];
	long id = -1;
	int i;

	for (i = 0; i < ARRAY_SIZE(roots) && id < 0; i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", roots[i], name);
		id = read_long(path);
	}
	if (id < 0) {
		printf("# no id of %s\n", name);
		exit(1);
	}
	return id;
}

static struct perf_event_attr tp(const char *name)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, id_of(name));

	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

static int self(const char *name)
{
	struct perf_event_attr a = tp(name);

	return ev_must(&a, 0, -1, -1, 0);
}

#define GETPPID	"syscalls/sys_enter_getppid"

static void call(int n)
{
	while (n--)
		syscall(SYS_getppid);
}

static void nap(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

TEST(hits)
{
	ROWS("T-03 T-35 Y-17");
	int fd = self(GETPPID), i;

	call(3);
	for (i = 1; i <= 3; i++) {
		ev_enable(fd);
		call(7);
		ev_disable(fd);
		EXPECT_EQ(ev_times(fd).value, i * 7);
		call(3);
	}
	EXPECT_TRUE(always_ran(fd));
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ev_times(fd).value, 0);
}

static void rename_self(int n)
{
	while (n--)
		prctl(PR_SET_NAME, "renamed");
}

static void both_calls(int n)
{
	rename_self(n);
	call(n);
}

/*
 * kpmu receives the hits of counting events by a probe, and those of sampling events by an event
 * of native perf.  All system calls share a probe for entry and one for exit.  Whatever the way,
 * the count must be that of native perf.
 */
TEST(counted_and_sampled)
{
	ROWS("T-03 T-35");
	static const char *const names[] = {
		"task/task_rename", GETPPID, "syscalls/sys_exit_getppid",
	};
	struct perf_event_attr a;
	int fd[3][3], i, k;

	for (i = 0; i < 3; i++) {
		a = tp(names[i]);
		fd[i][0] = ev_must(&a, 0, -1, -1, 0);
		a.sample_period = 1000000;
		fd[i][1] = ev_must(&a, 0, -1, -1, 0);
		a.sample_period = 0;
		fd[i][2] = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
		ASSERT_GE(fd[i][2], 0);
	}
	both_calls(2);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++)
			ev_enable(fd[i][k]);
	both_calls(50);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++)
			ev_disable(fd[i][k]);
	both_calls(2);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++)
			EXPECT_EQ(ev_times(fd[i][k]).value, 50);
	/* Closing the sampling event does not affect the counting event */
	for (i = 0; i < 3; i++) {
		close(fd[i][1]);
		ev_enable(fd[i][0]);
	}
	both_calls(5);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(ev_times(fd[i][0]).value, 55);
}

/* 32-bit system calls have other numbers: 64 is getppid, but semget in 64-bit programs */
TEST(compat_syscalls)
{
	ROWS("T-03 Y-17");
	int fd = self("syscalls/sys_enter_semget"), status;
	pid_t pid;

	ev_enable(fd);
	syscall(SYS_semget, 0, -1, 0);
	EXPECT_EQ(ev_times(fd).value, 1);
	pid = fork();
	if (!pid) {
		long ret = 64;

		__asm__ volatile("int $0x80" : "+a"(ret) : : "memory", "r8", "r9",
				 "r10", "r11");
		_exit(ret <= 0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		SKIP(return, "no 32-bit system calls on this kernel");
	fd = self("syscalls/sys_enter_semget");
	ev_enable(fd);
	{
		long ret = 64;

		__asm__ volatile("int $0x80" : "+a"(ret) : : "memory", "r8", "r9",
				 "r10", "r11");
		EXPECT_EQ(ret, getppid());
	}
	EXPECT_EQ(ev_times(fd).value, 0);
	syscall(SYS_semget, 0, -1, 0);
	EXPECT_EQ(ev_times(fd).value, 1);
}

/* A hit of sched_stat_runtime adds its runtime in ns to the count, not 1 */
TEST(sched_stat_runtime_ns)
{
	ROWS("T-03");
	int fd = self("sched/sched_stat_runtime");

	ev_enable(fd);
	nap(1000000);
	nap(1000000);
	ev_disable(fd);
	/* In ns, for at least two runs of the task */
	EXPECT_GT(ev_times(fd).value, 1000);
}

/* Several events of one tracepoint, one of another tracepoint, and one on another task */
TEST(independent_events)
{
	ROWS("T-03");
	struct perf_event_attr a = tp(GETPPID);
	int fd[10], other = self("syscalls/sys_enter_getuid"), kid, i;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(fd); i++)
		fd[i] = self(GETPPID);
	pid = fork();
	if (!pid) {
		for (;;)
			call(100);
	}
	kid = ev_must(&a, pid, -1, -1, 0);
	ev_enable(other);
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		ev_enable(fd[i]);
		call(1);
	}
	nap(20000000);
	for (i = 0; i < ARRAY_SIZE(fd); i++)
		EXPECT_EQ(ev_times(fd[i]).value, ARRAY_SIZE(fd) - i);
	EXPECT_EQ(ev_times(other).value, 0);
	EXPECT_EQ(ev_times(kid).value, 0);
	ev_enable(kid);
	for (i = 0; i < 200 && !ev_times(kid).value; i++)
		nap(10000000);
	EXPECT_GT(ev_times(kid).value, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(of_a_cpu)
{
	ROWS("T-03");
	struct perf_event_attr a = tp(GETPPID);
	int fd, elsewhere, bound;

	ASSERT_EQ(pin_to(1), 0);
	fd = ev_must(&a, -1, 1, -1, 0);
	elsewhere = ev_must(&a, -1, 0, -1, 0);
	bound = ev_must(&a, 0, 1, -1, 0);
	ev_enable(fd);
	ev_enable(elsewhere);
	ev_enable(bound);
	call(5);
	EXPECT_EQ(ev_times(fd).value, 5);
	EXPECT_EQ(ev_times(bound).value, 5);
	EXPECT_TRUE(always_ran(bound));
	ASSERT_EQ(pin_to(0), 0);
	call(4);
	EXPECT_EQ(ev_times(fd).value, 5);
	EXPECT_EQ(ev_times(bound).value, 5);
	EXPECT_GE(ev_times(elsewhere).value, 4);
	/* The task is not on the CPU that the event is bound to: enabled, but not running */
	EXPECT_FALSE(always_ran(bound));
	ASSERT_EQ(pin_to(1), 0);
	call(3);
	EXPECT_EQ(ev_times(bound).value, 8);
}

/* A context switch counts for the task that is scheduled out */
TEST(sched_switch)
{
	ROWS("T-35");
	int fd = self("sched/sched_switch"), i;
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_CONTEXT_SWITCHES);
	int switches;

	a.exclude_kernel = 0;
	a.read_format = FORMAT_TIMES;
	switches = ev_must(&a, 0, -1, fd, 0);
	ev_enable(switches);
	ev_enable(fd);
	for (i = 0; i < 10; i++)
		nap(5000000);
	ev_disable(fd);
	EXPECT_GE(ev_times(fd).value, 5);
	EXPECT_EQ(ev_times(fd).value, ev_times(switches).value);
}

TEST(by_mode)
{
	ROWS("A-23 A-24");
	struct perf_event_attr a = tp(GETPPID);
	int user, kernel;

	a.exclude_kernel = 1;
	user = ev_must(&a, 0, -1, -1, 0);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	kernel = ev_must(&a, 0, -1, -1, 0);
	ev_enable(user);
	ev_enable(kernel);
	call(5);
	/* The hits have user registers, so exclude_kernel has no effect; exclude_user is ignored */
	EXPECT_EQ(ev_times(user).value, 5);
	EXPECT_EQ(ev_times(kernel).value, 5);
	ev_disable(user);
	ev_disable(kernel);
	a = tp("sched/sched_switch");
	a.exclude_kernel = 1;
	user = ev_must(&a, 0, -1, -1, 0);
	ev_enable(user);
	nap(10000000);
	EXPECT_EQ(ev_times(user).value, 0);
}

TEST(inherited)
{
	ROWS("H-01");
	struct perf_event_attr a = tp(GETPPID);
	int fd, i;

	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	call(1);
	for (i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (!pid) {
			call(10);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	EXPECT_EQ(ev_times(fd).value, 51);
}

TEST(no_such_id)
{
	ROWS("T-36");
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, 999999);

	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.config = ~0ULL;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

TEST(raw_records_need_permission)
{
	ROWS("E-41 E-40 C-05 Y-02");
	struct perf_event_attr a = tp("sched/sched_switch"), call = tp(GETPPID);
	struct perf_event_attr function = ev_attr(PERF_TYPE_TRACEPOINT, 1);

	a.exclude_kernel = 1;
	call.exclude_kernel = 1;
	set_paranoid(2);
	drop_privilege();
	/* Counting alone reveals nothing */
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	a.sample_type = PERF_SAMPLE_RAW;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EPERM);
	/* System calls of the caller's own task are not secret to it */
	call.sample_type = PERF_SAMPLE_RAW;
	EXPECT_EQ(ev_errno(&call, 0, -1, -1, 0), 0);
	EXPECT_EQ(ev_errno(&function, 0, -1, -1, 0), EPERM);
}

TEST(raw_records_at_level_0)
{
	ROWS("C-05 E-41");
	struct perf_event_attr a = tp("sched/sched_switch"), call = tp(GETPPID);

	set_paranoid(0);
	a.sample_type = PERF_SAMPLE_RAW;
	call.sample_type = PERF_SAMPLE_RAW;
	if (!fork()) {
		drop_privilege();
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EPERM);
		EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), EPERM);
		/* A CPU event would expose the records of all users, whatever the tracepoint */
		EXPECT_EQ(ev_errno(&call, 0, -1, -1, 0), 0);
		EXPECT_EQ(ev_errno(&call, 0, 0, -1, 0), 0);
		EXPECT_EQ(ev_errno(&call, -1, 0, -1, 0), EPERM);
		call.sample_period = 1;
		EXPECT_EQ(ev_errno(&call, -1, 0, -1, 0), EPERM);
		a.sample_type = 0;
		EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), 0);
		_exit(_metadata->failed);
	}
	int status;

	wait(&status);
	EXPECT_EQ(status, 0);
	set_paranoid(-1);
	drop_privilege();
	a.sample_type = PERF_SAMPLE_RAW;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), 0);
}

TEST(raw_records_with_perfmon)
{
	ROWS("E-41");
	struct perf_event_attr a = tp("sched/sched_switch");

	set_paranoid(2);
	drop_to(CAP_PERFMON);
	a.sample_type = PERF_SAMPLE_RAW;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), 0);
}

/* Groups with hardware events, as member and as leader */
TEST(in_groups)
{
	ROWS("Q-15");
	struct perf_event_attr a = tp(GETPPID);
	int hw = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	int member, lead, insns;

	a.disabled = 0;
	member = ev_must(&a, 0, -1, hw, 0);
	lead = self(GETPPID);
	insns = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, lead);
	call(1);
	ev_enable(hw);
	ev_enable(lead);
	call(4);
	work(1000);
	ev_disable(hw);
	ev_disable(lead);
	EXPECT_EQ(ev_times(member).value, 4);
	EXPECT_EQ(ev_times(lead).value, 4);
	EXPECT_GE(ev_times(insns).value, WORK_INSNS(1000));
	EXPECT_TRUE(always_ran(lead));
}

TEST(cpu_hotplug)
{
	ROWS("T-03");
	struct perf_event_attr a = tp(GETPPID);
	int fd, counts = self(GETPPID), cpu = nr_cpus() - 1, i;

	if (route_is_native())
		SKIP(return, "what happens to listeners of a CPU is ours only");
	/* Sampling events get their hits from an event of native perf on each CPU (a tap) */
	a.sample_period = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	if (cpu < 1 || cpu_online(cpu, 0))
		SKIP(return, "no CPU can be taken offline");
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	ASSERT_EQ(pin_to(cpu), 0);
	/* The tap's event on that CPU is created again by deferred work */
	for (i = 0; i < 1000 && !ev_times(fd).value; i++) {
		ev_enable(fd);
		call(1);
		ev_disable(fd);
		nap(10000000);
	}
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	ev_enable(fd);
	ev_enable(counts);
	call(5);
	EXPECT_EQ(ev_times(fd).value, 5);
	EXPECT_EQ(ev_times(counts).value, 5);
}

TEST_HARNESS_MAIN
