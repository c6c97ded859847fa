// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole cost of command lines: the kernel instructions of all CPUs from before the command starts
 * until after its deferred work, once with perf and once without.  The difference is perf's
 * overhead.  The counter is a statistic of the PMU model, so neither perf nor kpmu takes part in
 * the measurement.  On kpmu the redirect serves the commands: the loader of a program that the load
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

static void execute(const char *prefix, const char *load)
{
	char *argv[32];
	int fd = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	words(argv, words(argv, 0, prefix), load);
	dup2(fd, 1);
	dup2(fd, 2);
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
static double run(const char *prefix, const char *load)
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
		execute(prefix, load);
	waitpid(pid, &status, 0);
	sleep(LATER);
	if (status) {
		printf("# %s %s failed with status %#x\n", prefix, load, status);
		show(OUTPUT);
		return -1;
	}
	return cost_sample().insns - before - idle;
}

/* The same, with its events on the route */
static double run_on_route(const struct command *c)
{
	double cost;

	if (!route_is_native() && write_long(REDIRECT, 1))
		return -1;
	cost = run(c->perf, c->load);
	if (!route_is_native() && write_long(REDIRECT, 0))
		return -1;
	return cost;
}

/* The first run warms the caches of the kernel up */
static bool measure_command(const struct command *c)
{
	const char *other = c->without ? c->without : c->load;
	double without, with;
	long before;

	if ((c->works == MAY_FAIL || (c->works == MAY_FAIL_ON_AMD && is_amd())) &&
	    run(c->perf, c->load) < 0)
		return true;
	if (run("", other) < 0 || run_on_route(c) < 0)
		return false;
	without = run("", other);
	before = opens();
	with = run_on_route(c);
	if (without < 0 || with < 0)
		return false;
	if ((opens() > before) == route_is_native()) {
		printf("# %s: not served by the route\n", c->name);
		return false;
	}
	printf("whole | %s | %.0f | %.0f\n", c->name, without, with);
	return true;
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
