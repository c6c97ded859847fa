// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu-preload.so: programs get the same results as from native perf. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>

#include "event.h"
#include "harness.h"
#include "run.h"

#define PRELOAD	"LD_PRELOAD=/tests/libkpmu-preload.so "
#define CLIENT	"/tests/client_libc"

/* Output of @command without the library, as a copy: run() reuses its buffer */
static const char *native(const char *command)
{
	int status;
	char *text = strdup(run(command, &status));

	if (status)
		printf("# %s: status %#x\n", command, status);
	return text;
}

static bool same(const char *a, const char *b)
{
	if (strcmp(a, b))
		printf("# native:\n%s# preloaded:\n%s", a, b);
	return !strcmp(a, b);
}

/*
 * The client opens events in a constructor, in main(), in a thread, in a child and after exec.  It
 * also prints the errno of calls that fail.
 */
TEST(as_native)
{
	const char *want = native(CLIENT), *got;
	long before = opens();
	int status;

	ASSERT_TRUE(has_line(want, "main: fd 3, 4003"));
	got = run(PRELOAD CLIENT, &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(same(want, got));
	/* The constructor opens an event twice: at the start and after exec */
	EXPECT_EQ(opens() - before, 6);
}

/* Its BPF program writes to a bpf-output event, which has to be one of native perf */
TEST(bpf_program)
{
	const char *want = native("/tests/client_bpf ioctl"), *got;
	long before = opens();
	int status;

	got = run(PRELOAD "/tests/client_bpf ioctl", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(same(want, got));
	/* The bpf-output event is opened on kpmu, too, and closed again */
	EXPECT_EQ(opens() - before, 2);
	got = run(PRELOAD "/tests/client_bpf link", &status);
	EXPECT_EQ(status, 0);
	if (exact())
		EXPECT_TRUE(has_line(got, "link: 10 records, in order"));
}

/* The program closes all fds from 3 on, including the device fd that the library holds */
TEST(fds_closed)
{
	const char *got;
	int status;

	got = run(PRELOAD CLIENT " close", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(has_line(got, "closed: fd 4, 4003"));
	/* The fd limit is below 250, the number to which the library moves its fd */
	got = run("ulimit -n 8; " PRELOAD CLIENT " exec", &status);
	EXPECT_TRUE(has_line(got, "exec: fd 3, 4003"));
}

TEST(off)
{
	const char *want = native(CLIENT), *got;
	long before = opens();
	int status;

	got = run("KPMU_PRELOAD=off " PRELOAD CLIENT, &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(same(want, got));
	EXPECT_EQ(opens(), before);
}

TEST(without_the_device)
{
	const char *want = native(CLIENT), *got;
	long before = opens();
	int status;

	ASSERT_EQ(rename("/dev/kpmu", "/dev/kpmu.away"), 0);
	got = run("KPMU_PRELOAD=fallback " PRELOAD CLIENT, &status);
	EXPECT_TRUE(same(want, got));
	got = run(PRELOAD CLIENT " exec", &status);
	EXPECT_TRUE(has_line(got, "exec: Function not implemented"));
	EXPECT_NE(strstr(got, "cannot open /dev/kpmu: No such file"), NULL);
	ASSERT_EQ(rename("/dev/kpmu.away", "/dev/kpmu"), 0);
	EXPECT_EQ(opens(), before);
}

TEST(debug)
{
	const char *got;
	int status;

	got = run("KPMU_PRELOAD_DEBUG=1 " PRELOAD CLIENT " exec", &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, "perf_event_open(type 0 config 0x1, pid 0, cpu -1, group -1, flags 0x8) = 3"),
		  NULL);
}

/* Files with limits and PMU types are redirected to those of kpmu */
TEST(files)
{
	long type = read_long("/sys/bus/kpmu/devices/cpu/type");
	char line[64];
	const char *got;
	int status;

	set_paranoid(2);
	ASSERT_EQ(write_long("/proc/sys/kernel/kpmu/perf_event_paranoid", 1), 0);
	got = run(PRELOAD CLIENT " files", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(has_line(got, "/proc/sys/kernel/perf_event_paranoid: 1"));
	EXPECT_TRUE(has_line(got, "open: 2 1"));
	snprintf(line, sizeof(line), "/sys/bus/event_source/devices/cpu/type: %ld", type);
	EXPECT_TRUE(has_line(got, line));
	snprintf(line, sizeof(line), "openat: 2 %ld", type);
	EXPECT_TRUE(has_line(got, line));
	EXPECT_TRUE(has_line(got, "stat: 0"));
	EXPECT_TRUE(has_line(got, "access: 0"));
	EXPECT_TRUE(has_line(got, "opendir: 1"));
	got = run("KPMU_PRELOAD=off " PRELOAD CLIENT " files", &status);
	EXPECT_TRUE(has_line(got, "/proc/sys/kernel/perf_event_paranoid: 2"));
	set_paranoid(2);
}

#define RDPMC	"/sys/bus/kpmu/devices/cpu/rdpmc"

/* Only kpmu's own files differ from those of native perf: here one, which is read by two paths */
TEST(files_again)
{
	const char *want, *got;
	int lines = 0, status;
	char *line;

	want = native(CLIENT " repeat");
	got = run(PRELOAD CLIENT " repeat", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(same(want, got));
	ASSERT_EQ(write_long(RDPMC, 0), 0);
	got = run(PRELOAD CLIENT " repeat", &status);
	EXPECT_EQ(status, 0);
	/* With 0 for 1 in these lines, it is what it was */
	for (line = strstr(got, "cpu/rdpmc: 0"); line; line = strstr(line, "cpu/rdpmc: 0")) {
		line[strlen("cpu/rdpmc: ")] = '1';
		lines++;
	}
	EXPECT_EQ(lines, 8);
	EXPECT_TRUE(same(want, got));
	got = run("KPMU_PRELOAD=off " PRELOAD CLIENT " repeat", &status);
	EXPECT_EQ(strstr(got, "cpu/rdpmc: 0"), NULL);
	ASSERT_EQ(write_long(RDPMC, 1), 0);
}

/* The library may have noted that a PMU does not exist, which appears then */
TEST(a_new_pmu)
{
	const char *got;
	int status;

	got = run("(sleep 2; insmod /tests/kpmu-toy.ko) & " PRELOAD CLIENT " wait toy/type; wait", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(has_line(got, "waited: 1"));
	EXPECT_NE(strstr(got, "/toy/type: "), NULL);
	EXPECT_EQ(strstr(got, "No such file"), NULL);
	run("rmmod kpmu_toy", &status);
	EXPECT_EQ(status, 0);
}

TEST_HARNESS_MAIN
