// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-stat, and KPMU_IOC_WHY, the module's reason for a failed open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "run.h"

#define STAT	"/tests/kpmu-stat "
#define TINY	"/tests/client_tiny"

/*
 * From selftests/clients/tiny.c.  Instructions: 4 before the loop, 4 in each round, 3 after it.
 * Branches: jb, one in each round, syscall.
 */
#define TINY_INSNS	"400007"
#define TINY_BRANCHES	"100002"

TEST(counts_a_program)
{
	const char *got;
	int status;

	got = run(STAT "-x -e instructions:u,branches:u " TINY " | cut -d, -f1,2", &status);
	EXPECT_TRUE(has_line(got, TINY_INSNS ",instructions:u"));
	EXPECT_TRUE(has_line(got, TINY_BRANCHES ",branches:u"));
	got = run(STAT "-e '{instructions:u,branches:u},rc4:u' " TINY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(has_line(got, "              " TINY_INSNS "  instructions:u"));
	EXPECT_TRUE(has_line(got, "              " TINY_BRANCHES "  rc4:u"));
	got = run(STAT "-j -e branches:u " TINY, &status);
	EXPECT_NE(strstr(got, "{\"event\": \"branches:u\", \"value\": " TINY_BRANCHES ", "), NULL);
}

/* Five processes do the work; fork and wait add a few instructions */
TEST(counts_children)
{
	const char *got;
	int status;

	got = run(STAT "-x -e instructions:u " TINY " forking", &status);
	EXPECT_EQ(status, 0);
	EXPECT_GT(atol(got), 5 * 400000);
	EXPECT_LT(atol(got), 5 * 400000 + 200);
}

/* The table of -E, and the reason why an event did not count all the time */
TEST(explains)
{
	ROWS("W-06");
	const char *got;
	int status;

	if (cpu_model() != CPU_SKYLAKE || counters_general() != 4)
		SKIP(return, "not the counters of Skylake");
	got = run(STAT "-E -e instructions:u,rc4:u,rc4:u,rc4:u,r1c0:u,rc4:u,page-faults", &status);
	EXPECT_EQ(WEXITSTATUS(status), 1);
	EXPECT_TRUE(has_line(got, "counter                         0  1  2  3 16"));
	EXPECT_TRUE(has_line(got, "instructions:u                  .  .  .  .  X  (fixed)"));
	EXPECT_TRUE(has_line(got, "r1c0:u                             X           (some counters only)"));
	EXPECT_TRUE(has_line(got, "rc4:u                           .  .  .  .     does not fit: no usable counter is free"));
	EXPECT_TRUE(has_line(got, "page-faults                                    needs no counter"));
	EXPECT_TRUE(has_line(got, "1 of 7 events cannot count together with the others: all take turns"));
	got = run(STAT "-E -e instructions:u,cycles:u", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(has_line(got, "all events count together"));

	got = run(STAT "-e rc4:u,r81d0:u,r82d0:u,rc5:u,r00c4:u sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'",
		  &status);
	EXPECT_NE(strstr(got, "% of the time; takes turns with r00c4:u)"), NULL);
	EXPECT_NE(strstr(got, "% of the time; no usable counter is free: takes turns with rc5:u)"), NULL);
	got = run(STAT "-e rc4:up,r81d0:up,r82d0:up,rc5:up,r00c4:up " TINY, &status);
	EXPECT_TRUE(has_line(got, "         not counted  r00c4:up  (no usable counter is free: takes turns with rc5:up)"));
}

/* What -w says of the events that this test holds on CPU 0 */
TEST(holders)
{
	ROWS("W-14");
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	const char *got;
	char line[160];
	int status, fd;

	if (!has_pmu())
		SKIP(return, "no PMU");
	fd = ev_must(&attr, -1, 0, -1, 0);
	ev_enable(fd);
	got = run(STAT "-w -C 0", &status);
	EXPECT_EQ(status, 0);
	snprintf(line, sizeof(line),
		 "CPU 0: %d general and %d fixed counters of %d bits, %d free;",
		 counters_general(), counters_fixed(), counter_width(),
		 counters_general() + counters_fixed() - 1);
	EXPECT_EQ(strncmp(got, line, strlen(line)), 0);
	snprintf(line, sizeof(line), "general  event %llu of the CPU, type 4 config %#x",
		 (unsigned long long)ev_id(fd), RAW_BRANCHES);
	EXPECT_NE(strstr(got, line), NULL);
	EXPECT_NE(strstr(got, "  general  free\n"), NULL);
	EXPECT_EQ(strstr(got, "CPU 1:"), NULL);
	/* Without a list: all CPUs that are online */
	got = run(STAT "-w", &status);
	snprintf(line, sizeof(line), "CPU %d:", nr_cpus() - 1);
	EXPECT_NE(strstr(got, line), NULL);
}

TEST(exit_status)
{
	int status;

	run(STAT "-e instructions:u sh -c 'exit 7'", &status);
	EXPECT_EQ(WEXITSTATUS(status), 7);
	run(STAT "-e instructions:u /nowhere", &status);
	EXPECT_EQ(WEXITSTATUS(status), 127);
	run(STAT "-e nosuch " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	run(STAT, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
}

TEST(cpus_and_processes)
{
	const char *got;
	int status;

	/* The program may run on other CPUs than these two */
	got = run(STAT "-x -C 0,1 -e instructions " TINY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_GT(atol(got), 0);
	got = run(STAT "-x -a -e instructions " TINY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_GT(atol(got), 400007);
	got = run("sh -c 'while :; do :; done' & " STAT "-x -p $! -e instructions:u sleep 0.3; kill $!",
		  &status);
	EXPECT_GT(atol(got), 1000);
}

TEST(intervals)
{
	const char *got, *s;
	int status, n = 0;

	got = run(STAT "-x -I 100 -a -e instructions sleep 1", &status);
	EXPECT_EQ(status, 0);
	for (s = got; (s = strstr(s, ",instructions,")); s++)
		n++;
	EXPECT_GE(n, 3);
}

/* kpmu-stat prints the reason for an error; KPMU_IOC_WHY returns it */
TEST(reasons)
{
	const char *got;
	int status;

	got = run(STAT "-e r10000000000:u " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	EXPECT_NE(strstr(got, "cannot count r10000000000:u: Invalid argument: "), NULL);
	got = run(STAT "-C 99 -e instructions " TINY, &status);
	EXPECT_NE(strstr(got, "no such CPU"), NULL);
	set_paranoid(3);
	if (!fork()) {
		int fd = open(KPMU_DEVICE, O_RDWR);
		struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, 0);
		struct kpmu_open args = {
			.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
		};
		struct kpmu_why why;

		drop_privilege();
		memset(&why, 1, sizeof(why));
		/* Empty: no open by this fd has failed yet */
		if (ioctl(fd, KPMU_IOC_WHY, &why) || why.text[0])
			_exit(1);
		if (ioctl(fd, KPMU_IOC_OPEN, &args) != -1 || errno != EACCES)
			_exit(2);
		if (ioctl(fd, KPMU_IOC_WHY, &why) ||
		    strcmp(why.text, "perf_event_paranoid is above 2"))
			_exit(3);
		_exit(ioctl(fd, KPMU_IOC_WHY, 8) != -1 || errno != EFAULT);
	}
	wait(&status);
	EXPECT_EQ(WEXITSTATUS(status), 0);
	set_paranoid(2);
}

TEST_HARNESS_MAIN
