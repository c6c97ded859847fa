// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole cost of command lines: the kernel instructions of all CPUs from before the command starts
 * until after its deferred work: of its load alone, of the command with an eventfd for each event,
 * and of the whole command.  The last difference is what the events cost.  The counter is a
 * statistic of the PMU model, so neither perf nor kpmu takes part in the measurement.  On kpmu the redirect serves the commands: the loader of a program that the load
 * executes would have a preload library to map, which is no cost of events.
 *
 * "whole NAME" measures only the commands whose names contain NAME.  "whole load NAME N" performs a
 * load: N forks, or N task switches.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"

#define SELF	"/tests/bench_whole"
#define REDIRECT "/proc/sys/kernel/kpmu/redirect"
#define OUTPUT	"/tmp/output"
#define STUB	"/tests/libnoevents.so"

/*
 * In @perf and @load words are separated by one space.  @perf is the prefix of the load.  perf
 * record does not look for build ids (-B, -N): natively this saves 200 of 700 million instructions,
 * which have nothing to do with events.
 */
static const struct command {
	const char *name, *perf, *load;
	const char *without;	/* if this is not the load without the prefix */
	enum { ALWAYS_WORKS, MAY_FAIL, MAY_FAIL_ON_AMD } works;	/* left out if it fails natively */
} commands[] = {
	{ "perf stat, 1,000 forks", "perf stat -o /tmp/stat",
	  SELF " load forks 1000", NULL, ALWAYS_WORKS },
	{ "perf stat -a, 1,000 switches", "perf stat -a -o /tmp/stat",
	  SELF " load switches 1000", NULL, ALWAYS_WORKS },
	{ "perf record -a -g, a build", "perf record -q -a -g -B -N -o /tmp/data",
	  "sh /tests/build.sh 8", NULL, ALWAYS_WORKS },
	/* Debian 12's PAPI has no events of Zen 4 */
	{ "PAPI: 1,000 times start, read, stop", "", "/tests/client_papi 1000",
	  "/tests/client_papi 0", MAY_FAIL_ON_AMD },
	/* Debian 12's rr does not support the vdso of 7.2 */
	{ "rr record, a build", "rr record -o /tmp/rr", "sh /tests/build.sh 2", NULL, MAY_FAIL },
};

static int forks(int n)
{
	pid_t pid;

	while (n--) {
		pid = fork();
		if (!pid)
			_exit(0);
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

static int switches(int n)
{
	pid_t pid;

	pin_to(0);
	pid = partner_start();
	for (; n > 0; n -= 2)
		op_pingpong();
	partner_end(pid);
	return 0;
}

/* Split @text at its spaces and append the words to @argv */
static int words(char **argv, int n, const char *text)
{
	char *copy = strdup(text), *w;

	for (w = strtok(copy, " "); w; w = strtok(NULL, " "))
		argv[n++] = w;
	argv[n] = NULL;
	return n;
}

/*
 * How a command runs.  EVENTS loads the library of NO_EVENTS, but leaves it off: its start then
 * costs the same.
 */
enum how { PLAIN, EVENTS, NO_EVENTS };

static void execute(const char *prefix, const char *load, enum how how)
{
	char *argv[32];
	int fd = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	words(argv, words(argv, 0, prefix), load);
	dup2(fd, 1);
	dup2(fd, 2);
	if (how != PLAIN)
		setenv("LD_PRELOAD", STUB, 1);
	if (how == NO_EVENTS)
		setenv("NO_EVENTS", "1", 1);
	execvp(argv[0], argv);
	_exit(127);
}

static void show(const char *path)
{
	char buf[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, n, stdout);
	close(fd);
}

/* Events that kpmu has opened so far */
static long opens(void)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/stats", "r");
	char line[256];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "opens %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* The deferred work of a command ends in this many seconds of guest time, which are cheap */
#define LATER	8

/* Kernel instructions of a command; -1 if it fails */
static double run_once(const char *prefix, const char *load, enum how how)
{
	double before, idle;
	int status;
	pid_t pid;

	if (system("rm -rf /tmp/rr /tmp/data /tmp/stat"))
		return -1;
	sleep(LATER);
	idle = cost_sample().insns;
	sleep(LATER);
	before = cost_sample().insns;
	idle = before - idle;
	pid = fork();
	if (!pid)
		execute(prefix, load, how);
	waitpid(pid, &status, 0);
	sleep(LATER);
	if (status) {
		printf("# %s %s failed with status %#x\n", prefix, load, status);
		show(OUTPUT);
		return -1;
	}
	return cost_sample().insns - before - idle;
}

#define RUNS	3
#define RUNS_CHEAP 15
#define CHEAP	50e6

/*
 * The median of some runs.  The start of perf, at 20 million instructions, differs by 0.3 % between two
 * runs; events may be 1 % of it.
 */
static double run(const char *prefix, const char *load, enum how how)
{
	double all[RUNS_CHEAP];
	int i, k, runs = RUNS_CHEAP;

	for (i = 0; i < runs; i++) {
		double cost = run_once(prefix, load, how);

		if (cost < 0)
			return -1;
		for (k = i; k && all[k - 1] > cost; k--)
			all[k] = all[k - 1];
		all[k] = cost;
		if (cost > CHEAP)
			runs = RUNS;
	}
	return all[runs / 2];
}

/* Does the command work natively on this machine? */
static bool works(const struct command *c)
{
	if (c->works == ALWAYS_WORKS || (c->works == MAY_FAIL_ON_AMD && !is_amd()))
		return true;
	return run_once(c->perf, c->load, PLAIN) >= 0;
}

static bool measure_on_route(const struct command *c, double alone)
{
	double start, with;
	long before;

	start = c->without ? alone : run(c->perf, c->load, NO_EVENTS);
	before = opens();
	with = run(c->perf, c->load, c->without ? PLAIN : EVENTS);
	if (alone < 0 || start < 0 || with < 0)
		return false;
	if ((opens() > before) == route_is_native()) {
		printf("# %s: not served by the route\n", c->name);
		return false;
	}
	printf("whole | %s | %.0f | %.0f | %.0f\n", c->name, alone, start, with);
	return true;
}

static bool measure_command(const struct command *c)
{
	double alone;
	bool good;

	if (!works(c))
		return true;
	/* The first runs warm the caches of the kernel up */
	if (run_once(c->perf, c->load, PLAIN) < 0)
		return false;
	alone = run("", c->without ? c->without : c->load, PLAIN);
	if (!route_is_native() && write_long(REDIRECT, 1))
		return false;
	good = measure_on_route(c, alone);
	if (!route_is_native() && write_long(REDIRECT, 0))
		return false;
	return good;
}

int main(int argc, char **argv)
{
	int i, bad = 0;

	if (argc == 4 && !strcmp(argv[2], "forks"))
		return forks(atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[2], "switches"))
		return switches(atoi(argv[3]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	cost_on(nr_cpus());
	/* With Debian's default, PAPI does not even try */
	set_paranoid(2);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (argc < 2 || strstr(commands[i].name, argv[1]))
			bad += !measure_command(&commands[i]);
	return bad > 0;
}
