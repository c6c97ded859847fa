// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-stat, and KPMU_IOC_WHY, the module's reason for a failed open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "cgroup.h"
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

/* What follows from the counts, and the times; numbers are separated on a terminal only */
TEST(metrics)
{
	ROWS("W-16");
	const char *got, *at;
	double rate, branches, clock;
	int status;

	if (!has_pmu())
		SKIP(return, "no PMU");
	got = run(STAT "-e instructions:u,cycles:u,branches:u,branch-misses:u,task-clock " TINY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, " " TINY_INSNS "  instructions:u"), NULL);
	EXPECT_NE(strstr(got, " insn per cycle\n"), NULL);
	EXPECT_NE(strstr(got, " % of all branches\n"), NULL);
	EXPECT_NE(strstr(got, " CPUs utilized\n"), NULL);
	EXPECT_NE(strstr(got, "  seconds elapsed\n"), NULL);
	EXPECT_NE(strstr(got, "  seconds user\n"), NULL);
	EXPECT_NE(strstr(got, "  seconds sys\n"), NULL);
	/* The rate of branches is their number by the CPU time */
	at = strstr(got, "  branches:u  # ");
	ASSERT_NE(at, NULL);
	rate = atof(at + strlen("  branches:u  # "));
	rate *= strstr(at, " G/sec") == at + 24 ? 1e9 : strstr(at, " M/sec") == at + 24 ? 1e6 : 1e3;
	branches = atof(TINY_BRANCHES);
	at = strstr(got, "  task-clock");
	ASSERT_NE(at, NULL);
	while (at > got && at[-1] != '\n')
		at--;
	clock = atof(at);
	EXPECT_TRUE(rate > 0.99 * branches / (clock / 1e9) && rate < 1.01 * branches / (clock / 1e9));
}

/* The program once, and from the second time on three times */
#define MORE_LATER	"[ -e /tmp/second ] && " TINY " && " TINY "; : >/tmp/second; " TINY

/* Runs of the same program with the same count: it is the mean, and the standard error is 0 */
TEST(repeated)
{
	ROWS("W-16");
	const char *got;
	int status;

	if (!has_pmu())
		SKIP(return, "no PMU");
	got = run(STAT "-r 3 -e branches:u " TINY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, " " TINY_BRANCHES "  branches:u  ( +-  0.00% )\n"), NULL);
	EXPECT_NE(strstr(got, "  seconds elapsed, on average of 3 runs\n"), NULL);
	got = run(STAT "--repeat=2 --csv --event=branches:u " TINY, &status);
	EXPECT_EQ(strncmp(got, TINY_BRANCHES ",branches:u,", strlen(TINY_BRANCHES ",branches:u,")), 0);
	EXPECT_NE(strstr(got, ",100.00,0.00%\n"), NULL);
	/* Once and three times the work: the mean is in between, and the error is not 0 */
	got = run("rm -f /tmp/second; " STAT "-r 2 -j -e branches:u sh -c '" MORE_LATER "'",
		  &status);
	EXPECT_GT(atol(strstr(got, "\"value\": ") + 9), 2 * 100000);
	EXPECT_LT(atol(strstr(got, "\"value\": ") + 9), 3 * 100000);
	EXPECT_EQ(strstr(got, "\"deviation\": 0.00"), NULL);
	run(STAT "-r 2 -a sleep 0", &status);
	EXPECT_EQ(status, 0);
	run(STAT "-r 0 " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	run(STAT "-r 2 -I 100 " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
}

/* A line for each CPU */
TEST(each_cpu)
{
	ROWS("W-16");
	const char *got;
	int status, cpus;

	got = run(STAT "-a -A -x -e task-clock sleep 0.2 | cut -d, -f1,3 | sort -u | wc -l", &status);
	cpus = atoi(got);
	EXPECT_EQ(cpus, nr_cpus());
	got = run(STAT "-C 0 -A -e task-clock sleep 0.1", &status);
	EXPECT_EQ(strncmp(got, "  CPU0   ", 9), 0);
	run(STAT "-A " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
}

/* The tasks of a cgroup, on all CPUs */
TEST(cgroup)
{
	ROWS("W-16");
	struct cgroup root, c;
	char command[600];
	const char *got;
	int status;

	cgroup_v2();
	cgroup_root(&root);
	cgroup_make(&c, &root, "statted");
	snprintf(command, sizeof(command),
		 STAT "-x -G %s -e task-clock sh -c 'echo $$ >%s/cgroup.procs; exec " TINY "'",
		 c.path, c.path);
	got = run(command, &status);
	EXPECT_EQ(status, 0);
	EXPECT_GT(atol(got), 0);
	snprintf(command, sizeof(command), STAT "-x -G %s -e task-clock " TINY, c.path);
	got = run(command, &status);
	EXPECT_EQ(strncmp(got, "0,task-clock,", 13), 0);
	cgroup_remove(&c);
	run(STAT "-G /nowhere " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
}

/* A program that sleeps is counted, and its count is 0 */
TEST(asleep)
{
	ROWS("W-16");
	const char *got;
	int status;

	got = run(STAT "-x -I 100 -e task-clock sleep 0.5", &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, ",0,task-clock,0,0.00\n"), NULL);
	got = run(STAT "--help", &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, "--no-aggr"), NULL);
	run(STAT "--nosuch", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
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
