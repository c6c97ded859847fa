// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-timeline: the trace and the page that it writes. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "run.h"
#include "trace.h"

#define TOOL	"/tests/kpmu-timeline "
#define TINY	"/tests/client_tiny"
#define JSON	"/tmp/timeline-test.json"
#define PAGE	"/tmp/timeline-test.html"
#define FILES	"-o " JSON " -H " PAGE " "
#define BUSY	"sh -c 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done'"
#define MAX_IDS	256	/* pids and tids in a trace */

/* Six events that no fixed counter counts, for four general counters */
static const char *const six[] = { "rc4", "r81d0", "r82d0", "rc5", "r2e", "r41d0" };
#define SIX	"rc4,r81d0,r82d0,rc5,r2e,r41d0"

/* The number in a track's name, as "CPU 1"; -1 without such a track */
static int pid_of(const char *process)
{
	for (int i = 0; i < trace_nr; i++)
		if (trace[i].ph[0] == 'M' && !strcmp(trace[i].name, "process_name") &&
		    !strcmp(trace[i].arg, process))
			return trace[i].pid;
	return -1;
}

static int tid_of(int pid, const char *thread)
{
	for (int i = 0; i < trace_nr; i++)
		if (trace[i].ph[0] == 'M' && !strcmp(trace[i].name, "thread_name") &&
		    trace[i].pid == pid && !strcmp(trace[i].arg, thread))
			return trace[i].tid;
	return -1;
}

/* Number of events of a kind; tid -1: of all threads */
static int count(char ph, int pid, int tid, const char *name)
{
	int n = 0;

	for (int i = 0; i < trace_nr; i++)
		n += trace[i].ph[0] == ph && trace[i].pid == pid &&
		     (tid < 0 || trace[i].tid == tid) && !strcmp(trace[i].name, name);
	return n;
}

/* The slices of each track follow each other: number of those that overlap; -1 without slices */
static int overlaps(void)
{
	static double end[MAX_IDS][MAX_IDS];
	int n = 0, slices = 0;

	memset(end, 0, sizeof(end));
	for (int i = 0; i < trace_nr; i++) {
		const struct trace_event *e = &trace[i];

		if (e->ph[0] != 'X')
			continue;
		slices++;
		/* Times are multiples of 0.001 */
		n += e->dur < 0.0005 || e->ts < end[e->pid % MAX_IDS][e->tid % MAX_IDS] - 0.0005;
		end[e->pid % MAX_IDS][e->tid % MAX_IDS] = e->ts + e->dur;
	}
	return slices ? n : -1;
}

static int by_time(const void *a, const void *b)
{
	double x = ((const struct trace_event *)a)->ts, y = ((const struct trace_event *)b)->ts;

	return (x > y) - (x < y);
}

/* Number of times at which an event has two counters */
static int doubles(int pid, const char *name)
{
	struct trace_event *own = calloc(trace_nr, sizeof(*own));
	int i, nr = 0, n = 0;

	for (i = 0; i < trace_nr; i++)
		if (trace[i].ph[0] == 'X' && trace[i].pid == pid && !strcmp(trace[i].name, name))
			own[nr++] = trace[i];
	qsort(own, nr, sizeof(*own), by_time);
	for (i = 1; i < nr; i++)
		n += own[i].ts < own[i - 1].ts + own[i - 1].dur - 0.0005;
	free(own);
	return n;
}

/* What the rates of an event add up to */
static double sum(int pid, const char *name)
{
	double all = 0, rate = 0, since = 0;

	for (int i = 0; i < trace_nr; i++) {
		const struct trace_event *e = &trace[i];

		if (e->ph[0] != 'C' || e->pid != pid || strcmp(e->name, name))
			continue;
		all += rate * (e->ts - since) / 1e6;
		rate = e->value;
		since = e->ts;
	}
	return all;
}

TEST(tracks)
{
	int status, cpu, pid, i;
	char name[32];
	const char *got;

	ROWS("W-35");
	if (cpu_model() != CPU_SKYLAKE || counters_general() != 4)
		SKIP(return, "not the counters of Skylake");
	got = run(TOOL FILES "-e " SIX " " BUSY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, " records, 0 lost, "), NULL);
	ASSERT_TRUE(read_trace(JSON));
	EXPECT_EQ(overlaps(), 0);
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		snprintf(name, sizeof(name), "CPU %d", cpu);
		pid = pid_of(name);
		ASSERT_GE(pid, 0);
		EXPECT_GE(tid_of(pid, "tasks"), 0);
		for (i = 0; i < 4; i++) {
			snprintf(name, sizeof(name), "counter %d", i);
			EXPECT_GE(tid_of(pid, name), 0);
		}
		EXPECT_EQ(tid_of(pid, "counter 4"), -1);
		/* They take turns, on one counter at a time */
		for (i = 0; i < 6; i++) {
			EXPECT_GE(count('X', pid, -1, six[i]), 1);
			EXPECT_GE(count('C', pid, -1, six[i]), 1);
			EXPECT_EQ(doubles(pid, six[i]), 0);
		}
	}
}

/* The programs, which run on CPU 0, and what they count there */
TEST(counts)
{
	int status, pid;

	ROWS("W-35");
	ASSERT_EQ(pin_to(0), 0);
	run(TOOL FILES "-C 0 -e '{instructions:u,branches:u},page-faults,instructions:u' -p 0 sh -c '" TINY "; exit 0'",
	    &status);
	EXPECT_EQ(status, 0);
	ASSERT_TRUE(read_trace(JSON));
	EXPECT_EQ(overlaps(), 0);
	EXPECT_EQ(pid_of("CPU 1"), -1);
	pid = pid_of("CPU 0");
	EXPECT_GE(count('X', pid, tid_of(pid, "tasks"), "sh"), 1);
	EXPECT_GE(count('X', pid, -1, "instructions:u"), 1);
	/* It has no counter */
	EXPECT_EQ(count('X', pid, -1, "page-faults"), 0);
	EXPECT_GE(count('C', pid, -1, "page-faults"), 1);
	/* The client alone executes 400,007 and 100,002; rates are rounded */
	EXPECT_GE(sum(pid, "instructions:u"), 400000);
	EXPECT_GE(sum(pid, "branches:u"), 100000);
	EXPECT_GE(sum(pid, "instructions:u (2)"), 400000);
}

/* Without room for records, what is known is shown */
TEST(lost)
{
	const char *got;
	int status;

	ROWS("W-35");
	got = run(TOOL FILES "-m 1 -e " SIX " " BUSY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, " records, "), NULL);
	EXPECT_EQ(strstr(got, " 0 lost"), NULL);
	EXPECT_NE(strstr(got, "there is room for 8 on each CPU"), NULL);
	ASSERT_TRUE(read_trace(JSON));
	EXPECT_EQ(overlaps(), 0);
}

static int times(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static bool has_lane(const char *page, const char *runs, int cpu, const char *lane)
{
	char text[128];

	snprintf(text, sizeof(text), "<g class=\"lane\" data-run=\"%s\" data-cpu=\"%d\" data-lane=\"%s\">",
		 runs, cpu, lane);
	return strstr(page, text);
}

TEST(page)
{
	char *text, name[64];
	int status, cpu, i;

	ROWS("W-36");
	if (cpu_model() != CPU_SKYLAKE || counters_general() != 4)
		SKIP(return, "not the counters of Skylake");
	run(TOOL FILES "-n -e " SIX " sh -c 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done <&0'",
	    &status);
	EXPECT_EQ(status, 0);
	text = file_text(PAGE);
	ASSERT_TRUE(text);
	EXPECT_EQ(times(text, "<svg "), 1);
	EXPECT_EQ(times(text, "<g "), times(text, "</g>"));
	EXPECT_EQ(times(text, "<rect "), times(text, "</rect>") + times(text, "/>") -
		  times(text, "<path class=\"grid\""));
	/* Nothing from elsewhere, and the command as text */
	EXPECT_EQ(times(text, "//"), 1);
	EXPECT_NE(strstr(text, "xmlns=\"http://www.w3.org/2000/svg\""), NULL);
	EXPECT_EQ(strstr(text, "<script"), NULL);
	EXPECT_NE(strstr(text, "done &#60;&#38;0"), NULL);
	EXPECT_NE(strstr(text, "Native perf is sampled every millisecond"), NULL);
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		EXPECT_TRUE(has_lane(text, "kpmu", cpu, "tasks"));
		EXPECT_FALSE(has_lane(text, "native perf", cpu, "tasks"));
		EXPECT_TRUE(has_lane(text, "kpmu", cpu, "counter 3"));
		EXPECT_TRUE(has_lane(text, "native perf", cpu, "counter 3"));
		for (i = 0; i < 6; i++) {
			EXPECT_TRUE(has_lane(text, "kpmu", cpu, six[i]));
			EXPECT_TRUE(has_lane(text, "native perf", cpu, six[i]));
		}
	}
	ASSERT_TRUE(read_trace(JSON));
	EXPECT_EQ(overlaps(), 0);
	for (i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "<rect class=\"e%d\"", i);
		EXPECT_GE(times(text, name), 2);
	}
	/* Of native perf at least what it began with */
	EXPECT_GE(count('X', pid_of("CPU 0 (native perf)"), -1, six[0]), 1);
	free(text);
}

TEST(errors)
{
	const char *got;
	int status;

	ROWS("W-37");
	run(TOOL FILES "-- sh -c 'exit 7'", &status);
	EXPECT_EQ(WEXITSTATUS(status), 7);
	ASSERT_TRUE(read_trace(JSON));
	run(TOOL FILES "sh -c 'kill -9 $$'", &status);
	EXPECT_EQ(WEXITSTATUS(status), 128 + 9);
	run(TOOL FILES "/nowhere", &status);
	EXPECT_EQ(WEXITSTATUS(status), 127);
	got = run(TOOL FILES "-e nosuch true", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	EXPECT_NE(strstr(got, "unknown event 'nosuch'"), NULL);
	run(TOOL FILES, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	run(TOOL "-o /nowhere/data true", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	got = run(TOOL FILES "-p 999 true", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	EXPECT_NE(strstr(got, "at least 1000 us"), NULL);
	run(TOOL FILES "-m 0 true", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	run(TOOL FILES "-m 65537 true", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	got = run(TOOL FILES "-C 0,0 true", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	EXPECT_NE(strstr(got, "a CPU is in the set twice"), NULL);
	got = run(TOOL FILES "-C 1023 true", &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	EXPECT_NE(strstr(got, "cannot record cycles"), NULL);
	run(TOOL "--help", &status);
	EXPECT_EQ(status, 0);
}

TEST(unprivileged)
{
	const char *got;
	int status;

	ROWS("W-37");
	set_paranoid(2);
	got = run(TOOL "-o /tmp/timeline-other.json true", &status);
	EXPECT_EQ(status, 0);
	ASSERT_EQ(chmod("/dev/kpmu", 0666), 0);
	/* exec drops the saved uid, and with it all capabilities */
	ASSERT_EQ(setresuid(65534, 65534, 0), 0);
	got = run(TOOL "-o /tmp/timeline-user.json true", &status);
	ASSERT_EQ(setresuid(0, 0, 0), 0);
	EXPECT_EQ(chmod("/dev/kpmu", 0600), 0);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	EXPECT_NE(strstr(got, "needs CAP_PERFMON or root"), NULL);
}

TEST_HARNESS_MAIN
