// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_RESERVE: counters of a CPU on which only events that name the reservation are. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/wait.h>

#include "harness.h"
#include "sets.h"
#include "strict.h"
#include "task.h"

#define SLOTS	32

static struct kpmu_info info;
static struct kpmu_info_counter counter[SLOTS];
static struct kpmu_reserve reserve;
static int32_t cpus[64];

static int ask(int cpu)
{
	struct kpmu_ask_info q = {
		.cpu = cpu, .size = sizeof(info), .info = (uintptr_t)&info,
		.counter_size = sizeof(counter[0]), .nr = SLOTS, .counters = (uintptr_t)counter,
	};

	return ioctl(ev_device(), KPMU_IOC_INFO, &q) ? errno : 0;
}

/* What holds counter @n, by the last ask() */
static const struct kpmu_info_counter *holder(uint32_t n)
{
	for (unsigned int i = 0; i < info.nr_counters; i++)
		if (counter[i].counter == n)
			return &counter[i];
	return &counter[0];
}

/* Reserve @counters on @n CPUs from @first on */
static int set_aside(int first, int n, uint32_t counters)
{
	reserve = (struct kpmu_reserve) {
		.cpus = (uintptr_t)cpus, .nr_cpus = n, .counters = counters,
		.flags = KPMU_RESERVE_CLOEXEC, .name = "mine",
	};
	for (int i = 0; i < n; i++)
		cpus[i] = first + i;
	return ioctl(ev_device(), KPMU_IOC_RESERVE, &reserve);
}

static int reserve_errno(void)
{
	return fd_errno(ioctl(ev_device(), KPMU_IOC_RESERVE, &reserve));
}

static int set_aside_errno(int first, int n, uint32_t counters)
{
	return fd_errno(set_aside(first, n, counters));
}

/* Open an event that names reservation @by */
static int open_by(int by, const struct perf_event_attr *a, pid_t pid, int cpu, int group)
{
	struct kpmu_open args = {
		.attr = (uintptr_t)a, .pid = pid, .cpu = cpu, .group_fd = group, .reserved = by,
		.flags = KPMU_OPEN_RESERVED,
	};

	return ioctl(ev_device(), KPMU_IOC_OPEN, &args);
}

static int by_errno(int by, const struct perf_event_attr *a)
{
	return fd_errno(open_by(by, a, 0, -1, -1));
}

/* The counter that an event is on, on CPU @cpu; -1 for none */
static int counter_of(int fd, int cpu)
{
	uint64_t id = ev_id(fd);

	ask(cpu);
	for (unsigned int i = 0; i < info.nr_counters; i++)
		if (counter[i].id == id)
			return counter[i].counter;
	return -1;
}

/* How many of @n events count all the time */
static int steady(const int *fd, int n)
{
	struct ev_times a[MAX], b;
	int k = 0;

	for (int i = 0; i < n; i++)
		a[i] = ev_times(fd[i]);
	some_turns();
	for (int i = 0; i < n; i++) {
		b = ev_times(fd[i]);
		k += b.running - a[i].running == b.enabled - a[i].enabled;
	}
	return k;
}

/* Do at most @most of @n events count all the time?  A guest that gets no CPU does not rotate */
static bool share(const int *fd, int n, int most)
{
	for (int i = 0; i < 100; i++)
		if (steady(fd, n) <= most)
			return true;
	return false;
}

TEST(others)
{
	ROWS("W-20 W-21");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], by, i;
	struct perf_event_attr a = busy();

	if (gp != 4)
		SKIP(return, "not 4 general counters");
	pin_to(0);
	for (i = 0; i < gp; i++)
		fd[i] = ev_must(&a, -1, 0, -1, 0);
	EXPECT_EQ(steady(fd, gp), gp);
	/* Those that are on the counters leave them, and share what is left */
	by = set_aside(0, 1, 0x5);
	ASSERT_GE(by, 0);
	ASSERT_EQ(ask(0), 0);
	EXPECT_EQ(info.reserved, 0x5);
	EXPECT_EQ(info.free & 0xf, 0);
	EXPECT_EQ(holder(0)->holder, KPMU_HOLDER_RESERVED);
	EXPECT_EQ(holder(2)->holder, KPMU_HOLDER_RESERVED);
	EXPECT_EQ(strcmp(holder(2)->comm, "mine"), 0);
	EXPECT_EQ(holder(1)->holder, KPMU_HOLDER_EVENT);
	EXPECT_TRUE(share(fd, gp, 0));
	for (i = 2; i < gp; i++)
		close(fd[i]);
	EXPECT_EQ(steady(fd, 2), 2);
	/* A task's event that starts later is not on them, either */
	fd[2] = ev_must(&a, 0, -1, -1, 0);
	EXPECT_TRUE(share(fd, 3, 2));
	close(fd[2]);
	/* A pinned one is in error */
	a.pinned = 1;
	fd[2] = ev_must(&a, -1, 0, -1, 0);
	fd[3] = ev_must(&a, -1, 0, -1, 0);
	EXPECT_EQ(steady(fd + 2, 2), 2);
	EXPECT_EQ(counter_of(fd[2], 0) & 1, 1);
	i = ev_must(&a, -1, 0, -1, 0);
	EXPECT_EQ(read(i, &a, 24), 0);
	close(i);
	close(fd[2]);
	close(fd[3]);
	close(by);
	ask(0);
	EXPECT_EQ(info.reserved, 0);
	EXPECT_EQ(holder(0)->holder == KPMU_HOLDER_RESERVED, 0);
	a.pinned = 0;
	a.read_format = FORMAT_TIMES;
	fd[2] = ev_must(&a, -1, 0, -1, 0);
	fd[3] = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(steady(fd, 4), 4);
}

TEST(named)
{
	ROWS("W-20 W-22");
	NEED_PMU();
	int gp = counters_general(), by, fd[MAX], plain, grp;
	struct perf_event_attr a = busy(), i = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t before;

	if (gp != 4)
		SKIP(return, "not 4 general counters");
	pin_to(0);
	by = set_aside(0, 1, 0x6);
	ASSERT_GE(by, 0);
	/* Only on these, although a fixed counter is free */
	i.disabled = 0;
	i.read_format = FORMAT_TIMES;
	fd[0] = open_by(by, &i, 0, -1, -1);
	ASSERT_GE(fd[0], 0);
	fd[1] = open_by(by, &a, -1, 0, -1);
	EXPECT_EQ(1 << counter_of(fd[0], 0) | 1 << counter_of(fd[1], 0), 0x6);
	EXPECT_EQ(info.reserved, 0x6);
	EXPECT_EQ(holder(1)->holder, KPMU_HOLDER_EVENT);
	EXPECT_EQ(steady(fd, 2), 2);
	/* A third one shares them with these, although others are free */
	fd[2] = open_by(by, &a, 0, -1, -1);
	EXPECT_TRUE(share(fd, 3, 2));
	plain = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(steady(&plain, 1), 1);
	close(fd[2]);
	/* Counts are exact, beside the others */
	before = ev_times(fd[0]).value;
	work(N);
	EXPECT_GE(ev_times(fd[0]).value - before, WORK_INSNS(N));
	ioctl(plain, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(plain, PERF_EVENT_IOC_RESET, 0);
	work_counted(plain, N, 0);
	EXPECT_GE(ev_times(plain).value, WORK_BRANCHES(N));
	EXPECT_LE(ev_times(plain).value, WORK_BRANCHES(N) + SLACK(N));
	close(fd[0]);
	close(fd[1]);
	/* A group with a member that names it and one that does not */
	grp = open_by(by, &a, 0, -1, -1);
	fd[0] = ev_must(&a, 0, -1, grp, 0);
	fd[1] = grp;
	EXPECT_EQ(steady(fd, 2), 2);
	EXPECT_NE(1 << counter_of(fd[1], 0) & 0x6, 0);
	EXPECT_EQ(1 << counter_of(fd[0], 0) & 0x6, 0);
	/* Without the reservation it is an event as any other */
	close(by);
	for (int k = 2; k < 4; k++)
		fd[k] = ev_must(&a, 0, -1, -1, 0);
	ioctl(plain, PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_EQ(steady(fd, 4), 4);
	/* A later reservation is another one */
	close(fd[2]);
	close(fd[3]);
	by = set_aside(0, 1, 0x6);
	ASSERT_GE(by, 0);
	EXPECT_EQ(steady(fd, 2), 2);
	for (int k = 0; k < 2; k++)
		EXPECT_EQ(1 << counter_of(fd[k], 0) & 0x6, 0);
}

/* The same events on a CPU with a reservation and on one without */
/* fdinfo of the process that holds it */
TEST(file_information)
{
	char path[64], text[1024] = "";
	int fd = set_aside(0, 2, 1), info_fd;

	ASSERT_GE(fd, 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info_fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(info_fd, 0);
	ASSERT_GT(read(info_fd, text, sizeof(text) - 1), 0);
	EXPECT_TRUE(strstr(text, "name:\tmine\n"));
	EXPECT_TRUE(strstr(text, "cpus:\t0-1\n"));
	EXPECT_TRUE(strstr(text, "counters:\t0x1\n"));
	close(info_fd);
	close(fd);
}

TEST(moved)
{
	ROWS("W-21 W-22");
	NEED_PMU();
	int gp = counters_general(), by, fd[MAX], named;
	struct perf_event_attr a = busy();
	struct worker w, kid;

	if (gp != 4 || nr_cpus() < 2)
		SKIP(return, "not 4 general counters, or one CPU");
	worker_start(&w);
	worker_pin(&w, 0);
	a.inherit = 1;
	for (int i = 0; i < gp; i++)
		fd[i] = ev_must(&a, w.pid, -1, -1, 0);
	by = set_aside(1, 1, 0xf);
	ASSERT_GE(by, 0);
	named = open_by(by, &a, w.pid, -1, -1);
	ASSERT_GE(named, 0);
	worker_run(&w, N);
	worker_fork(&w, &kid);
	for (int round = 0; round < 3; round++) {
		struct ev_times was[MAX], is;
		uint64_t run = 0;

		worker_pin(&kid, 1);
		for (int i = 0; i < gp; i++)
			was[i] = ev_times(fd[i]);
		worker_run(&kid, N);
		for (int i = 0; i < gp; i++) {
			is = ev_times(fd[i]);
			run += is.running - was[i].running;
		}
		/* All counters of CPU 1 are reserved */
		EXPECT_EQ(run, 0);
		was[1] = ev_times(named);
		worker_run(&kid, N);
		is = ev_times(named);
		EXPECT_EQ(is.running - was[1].running, is.enabled - was[1].enabled);
		EXPECT_GE(is.value - was[1].value, WORK_BRANCHES(N));
		worker_pin(&kid, 0);
		was[0] = ev_times(fd[0]);
		was[1] = ev_times(fd[1]);
		worker_run(&kid, 10 * N);
		/* With the fifth event one of them may wait, and there may be no tick meanwhile */
		EXPECT_GT(ev_times(fd[0]).running + ev_times(fd[1]).running,
			  was[0].running + was[1].running);
	}
	worker_stop(&kid);
	worker_stop(&w);
}

TEST(strict_groups)
{
	ROWS("W-23");
	NEED_PMU();
	int gp = counters_general(), fd[MAX], by;
	struct perf_event_attr a = busy();

	if (gp != 4)
		SKIP(return, "not 4 general counters");
	pin_to(0);
	ASSERT_EQ(fill(fd, gp - 1, 0, -1), gp - 1);
	EXPECT_EQ(set_aside_errno(0, 1, 0x3), EBUSY);
	by = set_aside(0, 1, 0x1);
	ASSERT_GE(by, 0);
	/* The counters that are left are as many as there are strict groups */
	EXPECT_EQ(steady(fd, gp - 1), gp - 1);
	EXPECT_EQ(strict_errno(0, -1, -1), EBUSY);
	EXPECT_EQ(strict_errno(-1, 0, -1), EBUSY);
	drain(fd, gp - 1);
	EXPECT_EQ(fill(fd, gp, -1, 0), gp - 1);
	drain(fd, gp - 1);
	/* An event that is pinned and enabled is an obstacle, one that is off is not */
	a.pinned = 1;
	for (int i = 0; i < gp - 1; i++)
		fd[i] = ev_must(&a, -1, 0, -1, 0);
	EXPECT_EQ(set_aside_errno(0, 1, 0x8), EBUSY);
	ioctl(fd[0], PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_EQ(set_aside_errno(0, 1, 0x8), 0);
	EXPECT_EQ(set_aside_errno(0, 1, 0xc), EBUSY);
	/* Another CPU has no part in it */
	if (nr_cpus() > 1)
		EXPECT_EQ(set_aside_errno(1, 1, 0xf), 0);
	drain(fd, gp - 1);
	close(by);
	/* All or nothing */
	if (nr_cpus() > 1) {
		ASSERT_EQ(fill(fd, gp, -1, 1), gp);
		EXPECT_EQ(set_aside_errno(0, 2, 0x1), EBUSY);
		ask(0);
		EXPECT_EQ(info.reserved, 0);
		drain(fd, gp);
		EXPECT_EQ(set_aside_errno(0, 2, 0x1), 0);
	}
}

TEST(arguments)
{
	ROWS("W-24");
	NEED_PMU();
	int by, other, cpu0 = 0;
	struct perf_event_attr a = busy(), soft = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct perf_event_attr fixed = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES);
	struct kpmu_why why = { };

	EXPECT_EQ(set_aside_errno(0, 1, 0), EINVAL);
	EXPECT_EQ(set_aside_errno(0, 0, 1), EINVAL);
	EXPECT_EQ(set_aside_errno(-1, 1, 1), EINVAL);
	EXPECT_EQ(set_aside_errno(1 << 20, 1, 1), EINVAL);
	EXPECT_EQ(set_aside_errno(0, 1, 1U << 31), EINVAL);
	ioctl(ev_device(), KPMU_IOC_WHY, &why);
	EXPECT_NE(why.text[0], 0);
	set_aside_errno(0, 2, 1);
	cpus[1] = 0;
	EXPECT_EQ(reserve_errno(), EINVAL);
	by = set_aside(0, 1, 1);
	ASSERT_GE(by, 0);
	reserve.flags = 2;
	EXPECT_EQ(reserve_errno(), EINVAL);
	reserve.flags = 0;
	reserve.reserved = 1;
	EXPECT_EQ(reserve_errno(), EINVAL);
	reserve.reserved = 0;
	memset(reserve.name, 'x', sizeof(reserve.name));
	EXPECT_EQ(reserve_errno(), EINVAL);
	reserve.name[15] = 0;
	reserve.cpus = 8;
	EXPECT_EQ(reserve_errno(), EFAULT);
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_RESERVE, 8), -1);
	EXPECT_EQ(errno, EFAULT);
	reserve.cpus = (uintptr_t)&cpu0;
	reserve.counters = 1;
	EXPECT_EQ(reserve_errno(), EBUSY);
	close(by);
	EXPECT_EQ(reserve_errno(), 0);
	by = set_aside(0, 1, 1);
	ASSERT_GE(by, 0);
	EXPECT_EQ(fcntl(by, F_GETFD), FD_CLOEXEC);
	other = set_aside(0, 1, 2);
	ASSERT_GE(other, 0);
	EXPECT_EQ(set_aside_errno(0, 1, 3), EBUSY);
	/* Events */
	EXPECT_EQ(by_errno(by, &a), 0);
	EXPECT_EQ(by_errno(by, &soft), 0);
	EXPECT_EQ(by_errno(-1, &a), EBADF);
	EXPECT_EQ(by_errno(ev_device(), &a), EBADF);
	if (counters_fixed() > 2)
		EXPECT_EQ(by_errno(by, &fixed), EINVAL);	/* only on the fixed counter */
	/* A privileged program can pass the fd on */
	set_paranoid(2);
	drop_privilege();
	EXPECT_EQ(set_aside_errno(0, 1, 4), EACCES);
	EXPECT_EQ(set_aside_errno(0, 1, 0), EINVAL);
	a.exclude_kernel = 1;
	EXPECT_EQ(by_errno(by, &a), 0);
}

TEST(set)
{
	ROWS("W-22");
	NEED_PMU();
	int n = nr_cpus(), gp = counters_general(), by, fd;

	if (gp != 4)
		SKIP(return, "not 4 general counters");
	by = set_aside(0, n, 0x3);
	ASSERT_GE(by, 0);
	plan(3, n, KPMU_SET_RESERVED | KPMU_SET_STRICT | KPMU_SET_TIMES);
	for (int i = 0; i < 3; i++) {
		attr[i] = busy();
		ev[i].reserved = by;
	}
	EXPECT_EQ(open_errno(), EBUSY);
	args.nr_events = 2;
	fd = open_set();
	ASSERT_GE(fd, 0);
	some_turns();
	ASSERT_GT(get(fd), 0);
	for (int i = 0; i < 2 * n; i++)
		EXPECT_EQ(result.word[3 * i + 1], result.word[3 * i + 2]);
	for (int i = 0; i < n; i++) {
		ask(i);
		EXPECT_EQ(holder(0)->holder, KPMU_HOLDER_EVENT);
		EXPECT_EQ(holder(1)->holder, KPMU_HOLDER_EVENT);
	}
	args.flags = KPMU_SET_TIMES;
	EXPECT_EQ(open_errno(), EINVAL);
	close(fd);
}

static int explain_one(struct kpmu_explain_event *e, struct perf_event_attr *a, int cpu)
{
	struct kpmu_explain q = {
		.size = sizeof(*e), .nr = 1, .pid = -1, .cpu = cpu, .events = (uintptr_t)e,
	};

	*e = (struct kpmu_explain_event){ .attr = (uintptr_t)a, .group = -1 };
	return ioctl(ev_device(), KPMU_IOC_EXPLAIN, &q);
}

TEST(explained)
{
	ROWS("W-25");
	NEED_PMU();
	int gp = counters_general(), by;
	struct perf_event_attr a = busy();
	struct kpmu_explain_event e;

	by = set_aside(0, 1, (1U << gp) - 2);
	ASSERT_GE(by, 0);
	ASSERT_EQ(explain_one(&e, &a, 0), 0);
	EXPECT_EQ(e.fits, 1);
	EXPECT_EQ(e.allowed, 1);
	EXPECT_EQ(e.counter, 0);
	EXPECT_EQ(e.rules & KPMU_RULE_RESERVED, KPMU_RULE_RESERVED);
	close(by);
	by = set_aside(0, 1, (1U << gp) - 1);
	ASSERT_GE(by, 0);
	ASSERT_EQ(explain_one(&e, &a, 0), 0);
	EXPECT_EQ(e.fits, 0);
	EXPECT_EQ(e.allowed, 0);
	EXPECT_NE(strstr(e.text, "reserved"), NULL);
	if (nr_cpus() > 1) {
		ASSERT_EQ(explain_one(&e, &a, 1), 0);
		EXPECT_EQ(e.fits, 1);
		EXPECT_EQ(e.rules & KPMU_RULE_RESERVED, 0);
	}
}

TEST(hotplug)
{
	ROWS("W-21");
	NEED_PMU();
	int gp = counters_general(), cpu = nr_cpus() - 1, by, fd[MAX];
	struct perf_event_attr a = busy();

	if (cpu < 1 || gp != 4)
		SKIP(return, "one CPU, or not 4 general counters");
	by = set_aside(cpu, 1, 0x3);
	ASSERT_GE(by, 0);
	for (int i = 0; i < gp; i++)
		fd[i] = i < 2 ? open_by(by, &a, -1, cpu, -1) : ev_must(&a, -1, cpu, -1, 0);
	ASSERT_EQ(cpu_online(cpu, 0), 0);
	/* Another one, while it is offline */
	int more = set_aside(cpu, 1, 0x4);

	EXPECT_GE(more, 0);
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	pin_to(cpu);
	EXPECT_EQ(steady(fd, 2), 2);
	ask(cpu);
	EXPECT_EQ(info.reserved, 0x7);
	close(more);
	EXPECT_EQ(steady(fd, gp), gp);
	ASSERT_EQ(cpu_online(cpu, 0), 0);
	close(by);
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	ask(cpu);
	EXPECT_EQ(info.reserved, 0);
}

/* Reservations come and go while events are opened, moved, rotated and closed */
TEST(storm)
{
	ROWS("W-21 W-23");
	NEED_PMU();
	int gp = counters_general(), n = nr_cpus(), fd, keep[MAX];
	struct perf_event_attr a = busy();
	uint64_t end = now_ns() + 2000000000ull * slow();
	struct ev_times was[MAX], is;
	struct worker w;

	if (gp != 4)
		SKIP(return, "not 4 general counters");
	worker_start(&w);
	for (int i = 0; i < gp; i++)
		keep[i] = ev_must(&a, w.pid, -1, -1, 0);
	pid_t child = fork();

	if (!child)
		for (unsigned int i = 0; ; i++) {
			fd = set_aside(i % n, 1, 1 + i % 15);
			if (fd >= 0 && i % 3)
				close(open_by(fd, &a, 0, -1, -1));
			if (fd >= 0)
				close(fd);
		}
	for (unsigned int i = 0; now_ns() < end; i++) {
		worker_roam(&w, 1000, n);
		fd = ev_open(&a, i & 1 ? -1 : w.pid, i & 1 ? i % n : -1, -1,
			     i & 2 ? KPMU_OPEN_STRICT : 0);
		work(100);
		if (fd >= 0) {
			ev_times(fd);
			close(fd);
		}
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < n; i++) {
		ask(i);
		EXPECT_EQ(info.reserved, 0);
	}
	for (int i = 0; i < gp; i++)
		was[i] = ev_times(keep[i]);
	worker_run(&w, N);
	for (int i = 0; i < gp; i++) {
		is = ev_times(keep[i]);
		EXPECT_EQ(is.running - was[i].running, is.enabled - was[i].enabled);
		EXPECT_GE(is.value - was[i].value, WORK_BRANCHES(N));
	}
	worker_stop(&w);
}

TEST_HARNESS_MAIN
