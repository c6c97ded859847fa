// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_OPEN_STRICT: groups that are always on their counters, and what is refused for them. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cgroup.h"
#include "harness.h"
#include "sets.h"
#include "strict.h"
#include "task.h"

TEST(all_counters)
{
	ROWS("W-17");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], waits[2];
	struct perf_event_attr a = busy();
	struct kpmu_why why = { };

	pin_to(0);
	ASSERT_EQ(fill(fd, gp, 0, -1), gp);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	ioctl(ev_device(), KPMU_IOC_WHY, &why);
	EXPECT_NE(why.text[0], 0);
	/* Others may be opened, and wait */
	for (int i = 0; i < 2; i++)
		waits[i] = ev_must(&a, i ? -1 : 0, i ? 0 : -1, -1, 0);
	some_turns();
	for (int i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
	EXPECT_EQ(ev_times(waits[0]).running, 0);
	EXPECT_GT(ev_times(waits[0]).enabled, 0);
	EXPECT_LT(ev_times(waits[1]).running, ev_times(waits[1]).enabled);
	/* A fixed counter is left, and an event that needs none */
	a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fixed = counters_fixed() ? ev_must(&a, 0, -1, -1, KPMU_OPEN_STRICT) : -1;

	if (fixed >= 0)
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), EBUSY);
	a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), 0);
	/* One that is closed makes room */
	close(fd[0]);
	EXPECT_EQ(strict_errno(0, -1, -1), 0);
	/* Enabled or not: it may be enabled */
	ioctl(fd[1], PERF_EVENT_IOC_DISABLE, 0);
	fd[0] = strict(0, -1, -1);
	ASSERT_GE(fd[0], 0);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	ioctl(fd[1], PERF_EVENT_IOC_ENABLE, 0);
	uint64_t ran = ev_times(waits[0]).running;

	some_turns();
	EXPECT_EQ(ev_times(waits[0]).running, ran);
	/* Counts are exact */
	ioctl(fd[1], PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fd[1], PERF_EVENT_IOC_RESET, 0);
	work_counted(fd[1], N, 0);
	EXPECT_GE(ev_times(fd[1]).value, WORK_BRANCHES(N));
	EXPECT_LE(ev_times(fd[1]).value, WORK_BRANCHES(N) + SLACK(N));
}

TEST(pinned)
{
	ROWS("W-17 W-18");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], pin, late, later, waits;
	struct perf_event_attr a = busy();
	uint64_t buf[3];

	pin_to(0);
	a.pinned = 1;
	a.disabled = 1;
	late = ev_must(&a, 0, -1, -1, 0);
	later = ev_must(&a, -1, 0, -1, 0);
	a.disabled = 0;
	pin = ev_must(&a, 0, -1, -1, 0);
	a.pinned = 0;
	waits = ev_must(&a, 0, -1, -1, 0);
	/* A pinned event keeps its counter; one that is off holds none */
	ASSERT_EQ(fill(fd, gp, 0, -1), gp - 1);
	EXPECT_TRUE(always_ran(pin));
	/* What is enabled later does not push a strict one out: it is in error */
	ev_enable(late);
	EXPECT_EQ(read(late, buf, sizeof(buf)), 0);
	/* A pinned event that would have no counter beside strict ones is refused */
	a.pinned = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);	/* beside strict ones it has */
	close(pin);
	ASSERT_GE(fd[gp - 1] = strict(0, -1, -1), 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EBUSY);
	a.disabled = 1;
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), EBUSY);
	/* Pinned events of a CPU have precedence over those of tasks, but not over strict ones */
	ev_enable(later);
	work(N);
	EXPECT_EQ(read(later, buf, sizeof(buf)), 0);
	some_turns();
	for (int i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
	EXPECT_GT(ev_times(waits).enabled, ev_times(waits).running);
}

/* A member that is off takes no room beside a pinned leader */
TEST(pinned_member_off)
{
	ROWS("W-17 W-18");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], leader;
	struct perf_event_attr a = busy();

	a.pinned = 1;
	leader = ev_must(&a, 0, -1, -1, 0);
	a.pinned = 0;
	a.disabled = 1;
	ev_must(&a, 0, -1, leader, 0);
	EXPECT_EQ(fill(fd, gp, 0, -1), gp - 1);
}

TEST(exclusive)
{
	ROWS("W-17");
	NEED_PMU();
	struct perf_event_attr a = busy();
	int alone, fd;

	a.exclusive = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), EINVAL);
	a.pinned = 1;
	alone = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	close(alone);
	fd = strict(0, -1, -1);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EBUSY);
	a.pinned = 0;
	alone = ev_must(&a, 0, -1, -1, 0);
	some_turns();
	EXPECT_TRUE(always_ran(fd));
	EXPECT_EQ(ev_times(alone).running, 0);
}

/* What can be at one CPU together, and what cannot */
TEST(places)
{
	ROWS("W-17");
	NEED_PMU();
	int gp = counters_general(), a[MAX], b[MAX], c[MAX], half = gp / 2;
	struct perf_event_attr pin = busy();
	struct worker w;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	worker_start(&w);
	/* Two tasks are never on a CPU at the same time */
	ASSERT_EQ(fill(a, gp, 0, -1), gp);
	ASSERT_EQ(fill(b, gp, w.pid, -1), gp);
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	drain(a, gp);
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	drain(b, gp);
	/* The events of a CPU are beside those of each task */
	ASSERT_EQ(fill(c, gp, -1, 1), gp);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	EXPECT_EQ(strict_errno(w.pid, 1, -1), EBUSY);
	EXPECT_EQ(strict_errno(0, 0, -1), 0);		/* only on CPU 0 */
	EXPECT_EQ(strict_errno(-1, 0, -1), 0);
	drain(c, gp);
	ASSERT_EQ(fill(c, half, -1, 1), half);
	ASSERT_EQ(fill(a, gp, 0, -1), gp - half);
	EXPECT_EQ(fill(b, gp, w.pid, -1), gp - half);
	EXPECT_EQ(strict_errno(-1, 1, -1), EBUSY);
	EXPECT_EQ(strict_errno(-1, 0, -1), half ? 0 : EBUSY);
	EXPECT_EQ(strict_errno(0, 0, -1), half ? 0 : EBUSY);
	drain(a, gp - half);
	drain(b, gp - half);
	/* A pinned event of a task yields to those of CPUs, so it is no obstacle to them */
	pin.pinned = 1;
	int pinned = ev_must(&pin, 0, -1, -1, 0);

	EXPECT_EQ(fill(b, gp, -1, 1), gp - half);
	EXPECT_EQ(strict_errno(0, 1, -1), EBUSY);
	pin_to(1);
	work(N);
	EXPECT_EQ(read(pinned, a, 24), 0);
	worker_stop(&w);
}

TEST(groups)
{
	ROWS("W-17");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], other, i;
	struct perf_event_attr a = busy();

	other = strict(0, -1, -1);
	fd[0] = strict(0, -1, -1);
	ASSERT_GE(fd[0], 0);
	for (i = 1; i < gp - 1; i++)
		ASSERT_GE(fd[i] = strict(0, -1, fd[0]), 0);
	/* One more would not always fit; nor if it is off, because it may be enabled */
	EXPECT_EQ(strict_errno(0, -1, fd[0]), EBUSY);
	a.disabled = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, fd[0], 0), EBUSY);
	/* One that needs no counter fits */
	a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	EXPECT_EQ(ev_errno(&a, 0, -1, fd[0], 0), 0);
	close(other);
	ASSERT_GE(fd[i] = strict(0, -1, fd[0]), 0);
	EXPECT_EQ(strict_errno(0, -1, fd[0]), EINVAL);	/* not even alone */
	some_turns();
	for (i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
	/* The flag is for leaders */
	a = busy();
	EXPECT_EQ(ev_errno(&a, 0, -1, fd[0], KPMU_OPEN_STRICT), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, fd[0], KPMU_OPEN_STRICT | PERF_FLAG_FD_NO_GROUP), EBUSY);
	/* A software leader, whose member needs a counter */
	a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	other = ev_must(&a, 0, -1, -1, KPMU_OPEN_STRICT);
	EXPECT_EQ(strict_errno(0, -1, other), EBUSY);
	/* Without its leader a group is not strict any more */
	close(fd[0]);
	EXPECT_EQ(strict_errno(0, -1, -1), 0);
	EXPECT_EQ(strict_errno(0, -1, other), 0);
}

/* Members that need no counter take no room */
TEST(software_members)
{
	ROWS("W-17");
	NEED_PMU();
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int gp = counters_general(), fd[MAX], leader, i;

	leader = ev_must(&a, 0, -1, -1, KPMU_OPEN_STRICT);
	ev_must(&a, 0, -1, leader, 0);
	ev_enable(leader);
	for (i = 0; i < gp - 1; i++)
		ASSERT_GE(fd[i] = strict(0, -1, leader), 0);
	ev_must(&a, 0, -1, leader, 0);
	/* One counter is left */
	ASSERT_GE(fd[i] = strict(0, -1, -1), 0);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	some_turns();
	for (i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
	/* A group of software alone always fits */
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), 0);
}

#define MAX_STRICT	1024

/* As many strict groups as a task can have; they need no counter */
TEST(number)
{
	ROWS("W-17");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct rlimit files = { MAX_STRICT + 100, MAX_STRICT + 100 };
	struct kpmu_why why = { };
	int fd = -1;

	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (int i = 0; i < MAX_STRICT; i++)
		ASSERT_GE(fd = ev_open(&a, 0, -1, -1, KPMU_OPEN_STRICT), 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), ENOSPC);
	ioctl(ev_device(), KPMU_IOC_WHY, &why);
	EXPECT_EQ(strcmp(why.text, "too many strict groups"), 0);
	/* Other groups are not limited by that, nor those of a CPU */
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, KPMU_OPEN_STRICT), 0);
	close(fd);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), 0);
}

TEST(arguments)
{
	ROWS("W-17");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct kpmu_open_for on_behalf = {
		.open = {
			.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1, .flags = KPMU_OPEN_STRICT,
		},
		.tid = syscall(SYS_gettid),
	};

	EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), 0);
	for (int bit = 4; bit < 64; bit++)
		if (1ULL << bit != KPMU_OPEN_STRICT && 1ULL << bit != KPMU_OPEN_RESERVED)
			EXPECT_EQ(ev_errno(&a, 0, -1, -1, 1ULL << bit), EINVAL);
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_OPEN_FOR, &on_behalf), -1);
	EXPECT_EQ(errno, EINVAL);
	/* A permission that is missing has precedence */
	set_paranoid(2);
	drop_privilege();
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, KPMU_OPEN_STRICT), EACCES);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, KPMU_OPEN_STRICT), 0);
}

TEST(set)
{
	ROWS("W-17");
	NEED_PMU();
	int gp = counters_general(), n = nr_cpus(), fd, before = open_fds();

	plan(gp + 1, n, KPMU_SET_STRICT | KPMU_SET_TIMES);
	for (int i = 0; i <= gp; i++) {
		attr[i] = busy();
		attr[i].disabled = i < 2;
		ev[i].group = i == 1 ? 0 : -1;
	}
	EXPECT_EQ(open_errno(), EBUSY);
	EXPECT_EQ(open_fds(), before);
	EXPECT_EQ(error[gp], EBUSY);
	args.flags |= KPMU_SET_PARTIAL;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(error[i * (gp + 1) + gp], EBUSY);
		EXPECT_EQ(error[i * (gp + 1) + gp - 1], 0);
	}
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	some_turns();
	ASSERT_GT(get(fd), 0);
	for (int i = 0; i < n * (gp + 1); i++)
		if (!error[i])
			EXPECT_EQ(result.word[3 * i + 1], result.word[3 * i + 2]);
	close(fd);
	EXPECT_EQ(strict_errno(0, -1, -1), 0);
}

/* Inherited events have counters in all tasks, wherever they run */
TEST(inherit)
{
	ROWS("W-18");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], n = nr_cpus();
	struct perf_event_attr a = busy();
	uint64_t base = 0, want = 0;
	struct worker w, kid;
	struct ev_times t;

	worker_start(&w);
	worker_run(&w, 1);
	a.inherit = 1;
	for (int i = 0; i < gp; i++)
		fd[i] = ev_must(&a, w.pid, -1, -1, KPMU_OPEN_STRICT);
	EXPECT_EQ(ev_errno(&a, w.pid, -1, -1, KPMU_OPEN_STRICT), EBUSY);
	worker_fork(&w, &kid);
	/* The child has as many; and so has an event of a CPU no room beside it */
	EXPECT_EQ(strict_errno(kid.pid, -1, -1), EBUSY);
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	worker_roam(&kid, N, 2 * n);
	base = ev_times(fd[0]).value;
	for (int cpu = 0; cpu < n; cpu++) {
		worker_pin(&kid, cpu);
		worker_run(&kid, N);
		worker_run(&w, N);
		want += 2 * N;
	}
	for (int i = 0; i < gp; i++) {
		t = ev_times(fd[i]);
		EXPECT_EQ(t.enabled, t.running);
	}
	EXPECT_GE(ev_times(fd[0]).value, base + want);
	/* After exec, too */
	worker_exec_self(&w);
	worker_run(&w, N);
	EXPECT_EQ(strict_errno(w.pid, -1, -1), EBUSY);
	for (int i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
	/* Without the parent's events the child has none */
	drain(fd, gp);
	EXPECT_EQ(fill(fd, gp, kid.pid, -1), gp);
	worker_stop(&kid);
	worker_stop(&w);
}

#define TASKS	40

/* An event of a CPU needs room beside those of each task, however many tasks there are */
TEST(beside_many_tasks)
{
	static struct worker w[TASKS];
	int gp = counters_general(), fd[MAX], of[TASKS];

	ROWS("W-18");
	NEED_PMU();
	for (int i = 0; i < TASKS; i++) {
		worker_start(&w[i]);
		of[i] = strict(w[i].pid, -1, -1);
		ASSERT_GE(of[i], 0);
	}
	EXPECT_EQ(fill(fd, gp, -1, 0), gp - 1);
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	drain(fd, gp - 1);
	drain(of, TASKS);
	for (int i = 0; i < TASKS; i++)
		worker_stop(&w[i]);
	EXPECT_EQ(fill(fd, gp, -1, 0), gp);
	drain(fd, gp);
}

TEST(on_exec)
{
	ROWS("W-18");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], gone;
	struct perf_event_attr a = busy();
	struct worker w;

	worker_start(&w);
	a.disabled = 1;
	a.enable_on_exec = 1;
	for (int i = 0; i < gp - 1; i++)
		fd[i] = ev_must(&a, w.pid, -1, -1, KPMU_OPEN_STRICT);
	a = busy();
	gone = strict(w.pid, -1, -1);
	EXPECT_EQ(strict_errno(w.pid, -1, -1), EBUSY);
	for (int i = 0; i < 3; i++)
		ev_must(&a, w.pid, -1, -1, 0);
	worker_exec_self(&w);
	worker_run(&w, N);
	for (int i = 0; i < gp - 1; i++) {
		EXPECT_TRUE(always_ran(fd[i]));
		EXPECT_GT(ev_times(fd[i]).value, N);
	}
	EXPECT_TRUE(always_ran(gone));
	/* The counts stay when the task has exited, and its events are no obstacle any more */
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	worker_stop(&w);
	EXPECT_GT(ev_times(fd[0]).value, N);
	EXPECT_EQ(strict_errno(-1, 0, -1), 0);
}

TEST(cgroups)
{
	ROWS("W-17 W-18");
	NEED_PMU();
	int gp = counters_general(), a[MAX], b[MAX], fd;
	struct cgroup root, one, two, below;
	struct perf_event_attr attr = busy();
	struct worker w;

	cgroup_v2();
	cgroup_root(&root);
	cgroup_make(&one, &root, "one");
	cgroup_make(&two, &root, "two");
	cgroup_make(&below, &one, "below");
	for (int i = 0; i < gp; i++) {
		a[i] = ev_must(&attr, one.fd, 0, -1, KPMU_OPEN_STRICT | PERF_FLAG_PID_CGROUP);
		/* The other one's tasks never run at the same time */
		b[i] = ev_must(&attr, two.fd, 0, -1, KPMU_OPEN_STRICT | PERF_FLAG_PID_CGROUP);
	}
	EXPECT_EQ(ev_errno(&attr, one.fd, 0, -1, KPMU_OPEN_STRICT | PERF_FLAG_PID_CGROUP), EBUSY);
	EXPECT_EQ(ev_errno(&attr, below.fd, 0, -1, KPMU_OPEN_STRICT | PERF_FLAG_PID_CGROUP),
		  EBUSY);
	EXPECT_EQ(ev_errno(&attr, root.fd, 0, -1, KPMU_OPEN_STRICT | PERF_FLAG_PID_CGROUP), EBUSY);
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);	/* the task may be moved there */
	EXPECT_EQ(strict_errno(-1, 1, -1), 0);
	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_must(&attr, w.pid, -1, -1, 0);
	cgroup_add(&below, w.pid);
	worker_run(&w, N);
	cgroup_add(&two, w.pid);
	worker_run(&w, N);
	for (int i = 0; i < gp; i++) {
		EXPECT_TRUE(always_ran(a[i]));
		EXPECT_TRUE(always_ran(b[i]));
		EXPECT_GE(ev_times(a[i]).value, N);
		EXPECT_GE(ev_times(b[i]).value, N);
	}
	/* The task's own event has waited there */
	EXPECT_LT(ev_times(fd).running, ev_times(fd).enabled);
	worker_stop(&w);
	/* A sibling that needs less: the worst of both counts */
	close(a[0]);
	EXPECT_EQ(ev_errno(&attr, below.fd, 0, -1, KPMU_OPEN_STRICT | PERF_FLAG_PID_CGROUP), 0);
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	close(b[0]);
	EXPECT_EQ(strict_errno(-1, 0, -1), 0);
}

TEST(hotplug)
{
	ROWS("W-18");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], own;
	uint64_t before;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	pin_to(0);
	ASSERT_EQ(fill(fd, gp, -1, 1), gp);
	own = strict(0, 0, -1);
	ASSERT_EQ(cpu_online(1, 0), 0);
	/* While the CPU is offline no time passes there, and it may return */
	before = ev_times(fd[0]).enabled;
	some_turns();
	EXPECT_EQ(ev_times(fd[0]).enabled, before);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	ASSERT_EQ(cpu_online(1, 1), 0);
	for (int i = 0; i < often(8); i++) {
		cpu_online(1, 0);
		cpu_online(1, 1);
	}
	some_turns();
	for (int i = 0; i < gp; i++) {
		EXPECT_TRUE(always_ran(fd[i]));
		EXPECT_GT(ev_times(fd[i]).enabled, before);
	}
	EXPECT_TRUE(always_ran(own));
}

TEST_HARNESS_MAIN
