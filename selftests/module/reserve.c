// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reservation of the counters against native perf: the first of the two to open an event gets all
 * counters, opens on the other fail with EBUSY, and the kernel log names the holder.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

static struct perf_event_attr insns(void)
{
	return ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static int native(struct perf_event_attr *a, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, a, pid, cpu, -1, 0);
}

static int native_errno(struct perf_event_attr *a)
{
	int fd = native(a, 0, -1);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int kpmu_errno(struct perf_event_attr *a)
{
	return ev_errno(a, 0, -1, -1, 0);
}

/* Number of occurrences of @text in the kernel log */
static int log_lines(const char *text)
{
	static char buf[1 << 20];
	int len = klogctl(3, buf, sizeof(buf) - 1), n = 0;
	char *p = buf;

	buf[len < 0 ? 0 : len] = 0;
	while ((p = strstr(p, text))) {
		p++;
		n++;
	}
	return n;
}

/* The module can make native perf request the counters: the log does not say otherwise */
TEST(guarded)
{
	NEED_PMU();
	if (!log_lines(" PMU, version "))
		SKIP(return, "the log does not go back to the load of the module");
	EXPECT_EQ(log_lines("kpmu: the kernel's perf cannot be made to request the counters"), 0);
}

TEST(native_holds_counters)
{
	struct perf_event_attr a = insns();
	int lines = log_lines("kpmu: the kernel's perf holds the counters");
	int fd = native(&a, 0, -1), fds;

	ASSERT_GE(fd, 0);
	fds = open_fds();
	EXPECT_EQ(kpmu_errno(&a), EBUSY);
	EXPECT_EQ(open_fds(), fds);
	EXPECT_EQ(log_lines("kpmu: the kernel's perf holds the counters"),
		  lines + 1);
	/* The failed open on kpmu does not disturb the native event */
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
	close(fd);
	EXPECT_EQ(kpmu_errno(&a), 0);
}

TEST(native_cpu_event_holds_counters)
{
	struct perf_event_attr a = insns();
	int fd = native(&a, -1, nr_cpus() - 1);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(kpmu_errno(&a), EBUSY);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), EBUSY);
	close(fd);
	EXPECT_EQ(kpmu_errno(&a), 0);
}

TEST(kpmu_holds_counters)
{
	struct perf_event_attr a = insns();
	int fd = ev_must(&a, 0, -1, -1, 0);

	EXPECT_EQ(native_errno(&a), EBUSY);
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
	EXPECT_EQ(native_errno(&a), EBUSY);
	close(fd);
	EXPECT_EQ(native_errno(&a), 0);
}

static struct perf_event_attr offcore(uint64_t rsp)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, 0x01b7);

	a.config1 = rsp;
	return a;
}

/* The extra registers hold what native perf has written.  An event of value 0 counts nothing */
TEST(native_leaves_extra_registers)
{
	ROWS("A-70");
	enum { LINE = 64, LINES = 1000 };
	static char buf[LINE * LINES];
	struct perf_event_attr a = offcore(0x10001), b = offcore(0x10003), none = offcore(0);
	int fd, other, empty;

	if (cpu_model() != CPU_SKYLAKE)
		SKIP(return, "not Skylake");
	memset(buf, 1, sizeof(buf));
	/* Two values, one for each register */
	fd = native(&a, 0, -1);
	other = native(&b, 0, -1);
	ASSERT_GE(fd, 0);
	ASSERT_GE(other, 0);
	ev_enable(other);
	load_counted(fd, LINES, buf, LINE);
	EXPECT_GE(ev_count(fd), LINES);
	EXPECT_GE(ev_count(other), LINES);
	close(fd);
	close(other);
	empty = ev_must(&none, 0, -1, -1, 0);
	load_counted(empty, LINES, buf, LINE);
	EXPECT_EQ(ev_count(empty), 0);
	close(empty);
}

/* The counters stay reserved until the last event is closed */
TEST(released_with_last_event)
{
	struct perf_event_attr a = insns();
	int fd[10], i;

	for (i = 0; i < 10; i++)
		fd[i] = ev_must(&a, i % 2 ? 0 : -1, i % 2 ? -1 : 0, -1, 0);
	for (i = 0; i < 9; i++) {
		close(fd[i]);
		EXPECT_EQ(native_errno(&a), EBUSY);
	}
	close(fd[9]);
	EXPECT_EQ(native_errno(&a), 0);
}

/* A failed open leaves no reservation behind */
TEST(failed_open_holds_nothing)
{
	struct perf_event_attr a = insns(), b = insns();

	b.config = 99;
	EXPECT_EQ(kpmu_errno(&b), EINVAL);
	EXPECT_EQ(native_errno(&a), 0);
	b = insns();
	EXPECT_EQ(ev_errno(&b, -2, -1, -1, 0), ESRCH);
	EXPECT_EQ(native_errno(&a), 0);
	/* Permission for the target task is checked late, after the event is allocated */
	set_paranoid(2);
	{
		int status;
		pid_t pid = fork();

		if (!pid) {
			drop_privilege();
			_exit(ev_errno(&b, 1, -1, -1, 0) != EACCES);
		}
		waitpid(pid, &status, 0);
		EXPECT_EQ(status, 0);
	}
	EXPECT_EQ(native_errno(&a), 0);
}

/* Native software events need no counter and work concurrently with kpmu events */
TEST(native_software_concurrent)
{
	struct perf_event_attr a = insns(), s;
	int fd = ev_must(&a, 0, -1, -1, 0), sw;

	s = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	sw = native(&s, 0, -1);
	ASSERT_GE(sw, 0);
	ev_enable(sw);
	work_counted(fd, 100000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(100000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(100000) + SLACK(WORK_INSNS(100000)));
	EXPECT_GT(ev_count(sw), 0);
}

/* Native perf and kpmu use the counters alternately; neither sees state left by the other */
TEST(alternating)
{
	struct perf_event_attr a = insns(), b = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int fd, i;

	for (i = 0; i < 20; i++) {
		pin_to(i % nr_cpus());
		fd = native(&a, 0, -1);
		ASSERT_GE(fd, 0);
		work_counted(fd, 1000, 0);
		EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
		EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(4000));
		close(fd);
		fd = ev_must(i % 2 ? &a : &b, 0, -1, -1, 0);
		work_counted(fd, 1000, 0);
		EXPECT_GE(ev_count(fd), i % 2 ? WORK_INSNS(1000) : WORK_BRANCHES(1000));
		EXPECT_LE(ev_count(fd), (i % 2 ? WORK_INSNS(1000) :
					WORK_BRANCHES(1000)) + SLACK(4000));
		close(fd);
	}
}

/* Native sampling works after kpmu has used and released the counters */
TEST(native_interrupts_still_work)
{
	struct perf_event_attr a = insns();
	int fd, i;

	for (i = 0; i < 3; i++) {
		close(ev_must(&a, 0, -1, -1, 0));
		a.sample_period = 100000;
		fd = native(&a, 0, -1);
		ASSERT_GE(fd, 0);
		/* REFRESH: the event is disabled at its third overflow */
		ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
		for (int k = 0; k < 20; k++)
			work(100000);
		EXPECT_GE(ev_count(fd), 300000);
		EXPECT_LT(ev_count(fd), 600000);
		close(fd);
		a.sample_period = 0;
	}
}

/* While enabled, the NMI watchdog holds a counter on each CPU */
TEST(watchdog)
{
	static const char file[] = "/proc/sys/kernel/nmi_watchdog";
	struct perf_event_attr a = insns();
	int lines, fd;
	long was = read_long(file);

	if (was < 0 || write_long(file, 1) || read_long(file) != 1)
		SKIP(return, "no NMI watchdog");
	lines = log_lines("kpmu: the NMI watchdog holds the counters");
	EXPECT_EQ(kpmu_errno(&a), EBUSY);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), EBUSY);
	EXPECT_GE(log_lines("kpmu: the NMI watchdog holds the counters"), lines + 1);
	ASSERT_EQ(write_long(file, 0), 0);
	EXPECT_EQ(kpmu_errno(&a), 0);
	/* While kpmu holds the counters, the watchdog cannot start or disturb the event */
	fd = ev_must(&a, 0, -1, -1, 0);
	write_long(file, 1);
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
	write_long(file, 0);
	close(fd);
	write_long(file, was);
	EXPECT_EQ(native_errno(&a), 0);
}

TEST_HARNESS_MAIN
