// SPDX-License-Identifier: GPL-2.0-only
/* kprobe and uprobe events: the probe is inserted at open and removed at close. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "task.h"

static struct perf_event_attr kprobe(const char *func, uint64_t offset, int ret)
{
	struct perf_event_attr a = ev_attr(pmu_type("kprobe"), ret);

	a.exclude_kernel = 0;
	a.kprobe_func = (uintptr_t)func;
	a.probe_offset = offset;
	a.read_format = FORMAT_TIMES;
	return a;
}

static void call(int n)
{
	while (n--)
		syscall(SYS_getppid);
}

#define FUNC	"__x64_sys_getppid"

/* Number of kprobes in FUNC.  Aliases may be listed instead, e.g. __do_sys_getppid: match all */
static int probes(void)
{
	char line[200];
	FILE *f = fopen("/sys/kernel/debug/kprobes/list", "r");
	int n = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, "sys_getppid+0x");
	fclose(f);
	return n;
}

TEST(kprobe_counts)
{
	ROWS("T-83 T-87 T-85 Y-16");
	struct perf_event_attr a = kprobe(FUNC, 0, 0);
	int fd = ev_must(&a, 0, -1, -1, 0), i;

	EXPECT_GE(probes(), 1);
	call(2);
	for (i = 1; i <= 3; i++) {
		ev_enable(fd);
		call(5);
		ev_disable(fd);
		EXPECT_EQ(ev_times(fd).value, 5 * i);
		call(1);
	}
	EXPECT_TRUE(always_ran(fd));
	close(fd);
	EXPECT_EQ(probes(), 0);
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	call(3);
	EXPECT_EQ(ev_times(fd).value, 3);
}

TEST(kretprobe_counts)
{
	ROWS("T-86");
	struct perf_event_attr a = kprobe(FUNC, 0, 0), r = kprobe(FUNC, 0, 1);
	int fd = ev_must(&a, 0, -1, -1, 0), ret = ev_must(&r, 0, -1, -1, 0);

	ev_enable(fd);
	ev_enable(ret);
	call(11);
	EXPECT_EQ(ev_times(fd).value, 11);
	EXPECT_EQ(ev_times(ret).value, 11);
}

TEST(kprobe_by_address)
{
	ROWS("T-88");
	struct perf_event_attr a = kprobe(NULL, 0, 0);
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long addr = 0, at;
	char line[300], name[200], kind;
	int fd;

	ASSERT_TRUE(f);
	while (!addr && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %c %199s", &at, &kind, name) == 3 &&
		    !strcmp(name, FUNC))
			addr = at;
	fclose(f);
	if (!addr)
		SKIP(return, "no addresses in kallsyms");
	a.kprobe_addr = addr;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	call(6);
	EXPECT_EQ(ev_times(fd).value, 6);
}

TEST(kprobe_of_a_cpu)
{
	ROWS("T-83");
	struct perf_event_attr a = kprobe(FUNC, 0, 0);
	int fd;

	ASSERT_EQ(pin_to(1), 0);
	fd = ev_must(&a, -1, 1, -1, 0);
	ev_enable(fd);
	call(4);
	ASSERT_EQ(pin_to(0), 0);
	call(4);
	EXPECT_EQ(ev_times(fd).value, 4);
}

/* Filters on fields common to all trace events */
TEST(kprobe_filter)
{
	ROWS("T-87 I-19");
	struct perf_event_attr a = kprobe(FUNC, 0, 0);
	int none = ev_must(&a, 0, -1, -1, 0), all = ev_must(&a, 0, -1, -1, 0);
	int bad = ev_must(&a, 0, -1, -1, 0);

	ASSERT_EQ(ioctl(none, PERF_EVENT_IOC_SET_FILTER, "common_pid == 0"), 0);
	ASSERT_EQ(ioctl(all, PERF_EVENT_IOC_SET_FILTER, "common_pid > 0"), 0);
	EXPECT_EQ(ioctl(all, PERF_EVENT_IOC_SET_FILTER, "common_pid > 0"), -1);
	EXPECT_EQ(errno, EEXIST);
	EXPECT_EQ(ioctl(bad, PERF_EVENT_IOC_SET_FILTER, "no_such_field > 0"), -1);
	EXPECT_EQ(errno, EINVAL);
	ev_enable(none);
	ev_enable(all);
	call(5);
	EXPECT_EQ(ev_times(none).value, 0);
	EXPECT_EQ(ev_times(all).value, 5);
}

TEST(kprobe_errors)
{
	ROWS("C-14 T-87");
	struct perf_event_attr a = kprobe("no_such_function_anywhere", 0, 0);

	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	a = kprobe((char *)8, 0, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EFAULT);
	a = kprobe("", 0, 0);
	EXPECT_NE(ev_errno(&a, 0, -1, -1, 0), 0);
	a = kprobe(FUNC, 0, 0);
	a.sample_type = PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	a = kprobe(FUNC, 0, 0);
	a.exclude_kernel = 1;
	drop_privilege();
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EACCES);
}

/* The open of a bad probe of another task does not keep that task from an exec */
TEST(kprobe_error_of_another_task)
{
	ROWS("C-14 T-87");
	struct perf_event_attr bad = kprobe("no_such_function_anywhere", 0, 0);
	struct perf_event_attr a = kprobe(FUNC, 0, 0);
	struct worker w;
	int fd;

	worker_start(&w);
	EXPECT_EQ(ev_errno(&bad, w.pid, -1, -1, 0), ENOENT);
	worker_exec_self(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	EXPECT_EQ(ev_errno(&bad, w.pid, -1, fd, 0), ENOENT);
	worker_exec_self(&w);
	worker_stop(&w);
}

static __attribute__((noinline)) int probed(int n)
{
	asm volatile("nop; nop");
	return n + 1;
}

static struct perf_event_attr uprobe(const char *path, uint64_t offset, int ret)
{
	struct perf_event_attr a = ev_attr(pmu_type("uprobe"), ret);

	a.uprobe_path = (uintptr_t)path;
	a.probe_offset = offset;
	a.read_format = FORMAT_TIMES;
	return a;
}

static void probe_me(int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++)
		sum = probed(sum);
}

#define SELF	"/proc/self/exe"

TEST(uprobe_counts)
{
	ROWS("T-84 T-89 T-85 T-86");
	struct perf_event_attr a = uprobe(SELF, file_offset(probed), 0);
	struct perf_event_attr r = uprobe(SELF, file_offset(probed), 1);
	int fd = ev_must(&a, 0, -1, -1, 0), ret = ev_must(&r, 0, -1, -1, 0);

	probe_me(2);
	ev_enable(fd);
	ev_enable(ret);
	probe_me(8);
	ev_disable(fd);
	probe_me(2);
	EXPECT_EQ(ev_times(fd).value, 8);
	EXPECT_EQ(ev_times(ret).value, 10);
	EXPECT_TRUE(always_ran(fd));
	close(fd);
	close(ret);
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	probe_me(3);
	EXPECT_EQ(ev_times(fd).value, 3);
}

TEST(uprobe_inherited)
{
	ROWS("T-84 H-01");
	struct perf_event_attr a = uprobe(SELF, file_offset(probed), 0);
	int fd, i;

	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	probe_me(1);
	for (i = 0; i < 3; i++) {
		if (!fork()) {
			probe_me(5);
			_exit(0);
		}
		wait(NULL);
	}
	EXPECT_EQ(ev_times(fd).value, 16);
}

/*
 * Reference counter of the uprobe; bits 32 and up of config are its file offset.  The kernel
 * increments it when it inserts the probe, and decrements it when it removes the probe.
 */
static volatile unsigned short semaphore __attribute__((section(".data")));

TEST(uprobe_reference_counter)
{
	ROWS("U-45");
	struct perf_event_attr a = uprobe(SELF, file_offset(probed), 0);
	int fd;

	a.config |= file_offset((void *)&semaphore) << 32;
	EXPECT_EQ(semaphore, 0);
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(semaphore, 1);
	ev_enable(fd);
	probe_me(2);
	EXPECT_EQ(ev_times(fd).value, 2);
	close(fd);
	EXPECT_EQ(semaphore, 0);
}

TEST(uprobe_errors)
{
	ROWS("E-43 C-14");
	struct perf_event_attr a = uprobe("/no/such/file", 0, 0);

	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	a = uprobe(NULL, 0, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = uprobe((char *)8, 0, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EFAULT);
	a = uprobe("/tmp", 0, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = uprobe(SELF, file_offset(probed), 0);
	drop_privilege();
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EACCES);
}

TEST_HARNESS_MAIN
