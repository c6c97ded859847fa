// SPDX-License-Identifier: GPL-2.0-only
/* User-visible interfaces other than events: tracepoints, debugfs, sysctl, the device node. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "cost.h"
#include "event.h"
#include "harness.h"

#define TRACING	"/sys/kernel/tracing/"
#define DEBUG	"/sys/kernel/debug/kpmu/"

static char text[1 << 20];

static const char *slurp(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n, len = 0;

	if (fd < 0)
		return NULL;
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += n;
	text[len] = 0;
	close(fd);
	return text;
}

static int put(const char *path, const char *val)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t len = strlen(val), n;

	if (fd < 0)
		return -1;
	n = write(fd, val, len);
	close(fd);
	return n == len ? 0 : -1;
}

/* Is there a line in text[] that contains both strings? */
static bool traced(const char *event, const char *fmt, ...)
{
	char want[128], *line, *save = NULL;
	static char copy[sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	strcpy(copy, text);
	for (line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (strstr(line, event) && strstr(line, want))
			return true;
	return false;
}

TEST(tracepoints)
{
	struct perf_event_attr bad = ev_attr(PERF_TYPE_HARDWARE, 99);
	uint64_t id, id2;
	int fd, fd2;

	ASSERT_EQ(0, put(TRACING "trace", ""));
	ASSERT_EQ(0, put(TRACING "events/kpmu/enable", "1"));
	fd = ev_self(PERF_TYPE_RAW, RAW_LOADS, -1);
	fd2 = ev_self(PERF_TYPE_RAW, RAW_STORES, fd);
	id = ev_id(fd);
	id2 = ev_id(fd2);
	work_counted(fd, 10, 0);
	ev_count(fd);
	EXPECT_EQ(EINVAL, ev_errno(&bad, 0, -1, -1, 0));
	put(TRACING "events/kpmu/enable", "0");
	ASSERT_NE(NULL, slurp(TRACING "trace"));

	EXPECT_TRUE(traced("kpmu_open", "id=%llu type=4 config=0x81d0", id));
	EXPECT_TRUE(traced("kpmu_open", "ret=-22 no such generic event"));
	EXPECT_TRUE(traced("kpmu_assign", "id=%llu counter=", id));
	EXPECT_TRUE(traced("kpmu_assign", "id=%llu counter=", id2));
	EXPECT_TRUE(traced("kpmu_commit", "running=0x"));
	EXPECT_TRUE(traced("kpmu_wrmsr", "msr=0x38f"));
	EXPECT_TRUE(traced("kpmu_read", "id=%llu count=10 ", id));
}

/* Why an event cannot join a group */
TEST(why_not_in_the_group)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY), b;
	struct rlimit many = { 4096, 4096 };
	int lead, n;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &many));
	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES | PERF_FORMAT_ID | PERF_FORMAT_LOST;
	lead = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(0, put(TRACING "trace", ""));
	ASSERT_EQ(0, put(TRACING "events/kpmu/kpmu_open/enable", "1"));
	b = a;
	b.pinned = 1;
	EXPECT_EQ(EINVAL, ev_errno(&b, 0, -1, lead, 0));
	b = a;
	b.use_clockid = 1;
	b.clockid = CLOCK_MONOTONIC;
	EXPECT_EQ(EINVAL, ev_errno(&b, 0, -1, lead, 0));
	put(TRACING "events/kpmu/kpmu_open/enable", "0");
	/* Three words for each event, after nr and both times, in 16 KiB */
	for (n = 1; n < (16384 - 24) / 24; n++)
		ev_must(&a, 0, -1, lead, 0);
	ASSERT_EQ(0, put(TRACING "events/kpmu/kpmu_open/enable", "1"));
	EXPECT_EQ(E2BIG, ev_errno(&a, 0, -1, lead, 0));
	put(TRACING "events/kpmu/kpmu_open/enable", "0");
	ASSERT_NE(NULL, slurp(TRACING "trace"));
	EXPECT_TRUE(traced("kpmu_open", "ret=-22 pinned and exclusive are for group leaders"));
	EXPECT_TRUE(traced("kpmu_open", "ret=-22 the group uses a different clock"));
	EXPECT_TRUE(traced("kpmu_open", "ret=-7 the group is too large"));
}

/* With twice as many events as counters, some groups are rejected and rotation starts */
TEST(waiting_is_traced)
{
	int i, n = counters_general();
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_LOADS);

	ASSERT_EQ(0, put(TRACING "trace", ""));
	ASSERT_EQ(0, put(TRACING "events/kpmu/enable", "1"));
	attr.disabled = 0;
	for (i = 0; i < 2 * n; i++)
		ev_must(&attr, 0, -1, -1, 0);
	for (i = 0; i < 100; i++)
		work(1000000);
	put(TRACING "events/kpmu/enable", "0");
	ASSERT_NE(NULL, slurp(TRACING "trace"));
	EXPECT_TRUE(traced("kpmu_reject", "no usable counter"));
	EXPECT_TRUE(traced("kpmu_rotate", "waiting="));
	EXPECT_TRUE(traced("kpmu_plan", "waiting="));
}

static int lines_with(const char *event)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, event)); p++)
		n++;
	return n;
}

/* The PMU model counts writes to PMU registers; the trace must contain as many */
TEST(every_register_write_is_traced)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_STORES);
	uint64_t before, after;
	int fd, i;

	pin_to(0);
	attr.disabled = 0;
	/* At the first event, native perf clears its dirty counters; kpmu does not trace that */
	ev_disable(ev_must(&attr, 0, -1, -1, 0));
	ASSERT_EQ(0, put(TRACING "trace", ""));
	ASSERT_EQ(0, put(TRACING "events/kpmu/kpmu_wrmsr/enable", "1"));
	before = cost_sample().wrmsr;
	fd = ev_must(&attr, 0, -1, -1, 0);
	for (i = 0; i < 5; i++) {
		ev_disable(fd);
		ev_enable(fd);
	}
	close(fd);
	after = cost_sample().wrmsr;
	put(TRACING "events/kpmu/kpmu_wrmsr/enable", "0");
	ASSERT_NE(NULL, slurp(TRACING "trace"));
	EXPECT_GE(after - before, 11);
	EXPECT_EQ(after - before, lines_with("kpmu_wrmsr: msr="));
	EXPECT_TRUE(traced("kpmu_wrmsr", "msr=0x38f value=0"));
}

static bool shown(int fd, const char *why)
{
	char want[64], *p;

	snprintf(want, sizeof(want), "id %llu, ", (unsigned long long)ev_id(fd));
	p = strstr(text, want);
	return p && !strncmp(strchr(p, ':') + 2, why, strlen(why));
}

TEST(why_a_group_waits)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	int n = counters_general(), off, alone, over, cpu, i;

	pin_to(0);
	off = ev_must(&attr, 0, -1, -1, 0);
	attr.disabled = 0;
	attr.pinned = 1;
	for (i = 0; i < n; i++)
		ev_must(&attr, 0, -1, -1, 0);
	over = ev_must(&attr, 0, -1, -1, 0);
	attr.pinned = 0;
	cpu = ev_must(&attr, 0, 1, -1, 0);
	i = ev_must(&attr, 0, -1, -1, 0);
	attr.exclusive = 1;
	alone = ev_must(&attr, 0, -1, -1, 0);
	ASSERT_NE(NULL, slurp(DEBUG "cpus"));
	EXPECT_TRUE(shown(off, "off"));
	EXPECT_TRUE(shown(over, "in error"));
	EXPECT_TRUE(shown(i, "no usable counter is free"));
	EXPECT_TRUE(shown(alone, "exclusive, but other groups run"));
	EXPECT_TRUE(shown(cpu, "bound to another CPU"));
	EXPECT_NE(NULL, strstr(text, "2 of the task, rotation on"));
}

/* The rotation timer runs only while a group waits for a counter */
TEST(rotation_only_while_something_waits)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	int n = counters_general(), i, fd = -1;

	pin_to(0);
	attr.disabled = 0;
	for (i = 0; i < n; i++)
		ev_must(&attr, 0, -1, -1, 0);
	ASSERT_NE(NULL, slurp(DEBUG "cpus"));
	EXPECT_NE(NULL, strstr(text, "0 of the task, rotation off"));
	fd = ev_must(&attr, 0, -1, -1, 0);
	ASSERT_NE(NULL, slurp(DEBUG "cpus"));
	EXPECT_NE(NULL, strstr(text, "1 of the task, rotation on"));
	close(fd);
	usleep(100000);		/* the timer stops when it next expires */
	ASSERT_NE(NULL, slurp(DEBUG "cpus"));
	EXPECT_NE(NULL, strstr(text, "0 of the task, rotation off"));
}

TEST(debugfs_shows_what_runs)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	char want[64];
	int fd;

	pin_to(0);
	attr.disabled = 0;
	fd = ev_must(&attr, 0, -1, -1, 0);
	ASSERT_NE(NULL, slurp(DEBUG "cpus"));
	snprintf(want, sizeof(want), "id %llu on counter",
		 (unsigned long long)ev_id(fd));
	EXPECT_NE(NULL, strstr(text, want));
	EXPECT_NE(NULL, strstr(text, "in use"));
	ASSERT_NE(NULL, slurp(DEBUG "stats"));
	EXPECT_NE(NULL, strstr(text, "opens"));
	EXPECT_NE(NULL, strstr(text, "plans"));
}

/* No hook or symbol is missing on a supported kernel */
TEST(caps_are_complete)
{
	ASSERT_NE(NULL, slurp(DEBUG "caps"));
	EXPECT_EQ(NULL, strstr(text, "missing"));
	/* Disabled features are listed with the reason */
	EXPECT_NE(NULL, strstr(text, "rdpmc                      ok "));
	EXPECT_NE(NULL, strstr(text, "count tracepoints          ok "));
	EXPECT_NE(NULL, strstr(text, "page faults                ok "));
	EXPECT_NE(NULL, strstr(text, "redirect                   off      switched off by"));
	/* Some boots have a CPU with branch records */
	EXPECT_TRUE(strstr(text, "branch stack               ok ") ||
		    strstr(text, "branch stack               off      this CPU has no branch records"));
	EXPECT_EQ(NULL, strstr(text, "(null)"));
	EXPECT_NE(NULL, strstr(text, "sched_switch"));
	EXPECT_NE(NULL, strstr(text, "perf_event_exit_task"));
}

TEST(device_owner_and_mode)
{
	struct stat st;

	ROWS("Y-18 C-17");
	ASSERT_EQ(0, stat(KPMU_DEVICE, &st));
	EXPECT_EQ(0600, st.st_mode & 0777);
	EXPECT_EQ(0, st.st_uid);
	EXPECT_TRUE(S_ISCHR(st.st_mode));
}

TEST(own_paranoid_file)
{
	ROWS("Y-01 Y-19 O-31");
	EXPECT_EQ(2, read_long(paranoid_file()));
	EXPECT_EQ(0, write_long(paranoid_file(), 1));
	EXPECT_EQ(1, read_long(paranoid_file()));
	EXPECT_EQ(0, write_long(paranoid_file(), 2));
}

TEST_HARNESS_MAIN
