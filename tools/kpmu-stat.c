// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-stat - count events of a program, a process, CPUs or a cgroup; also an example of how
 * to use /dev/kpmu by libkpmu.  See kpmu-stat(1).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat.h"

/**
 * struct options - what the command line says
 * @list: events
 * @cpus: CPUs, NULL for all
 * @cgroup: path of a cgroup, NULL for none
 * @pid: process to count, 0 for none
 * @interval: in ms, 0 for none
 * @runs: how often to run the program
 * @all: count all CPUs
 * @each: print each CPU
 * @draw: print the table of events and counters instead
 * @holders: print the holders of counters instead
 * @format: how to print
 */
static struct options {
	const char *list, *cpus, *cgroup;
	pid_t pid;
	int interval, runs;
	bool all, each, draw, holders;
	enum format format;
} opts = { .list = "cycles,instructions,branches,branch-misses", .runs = 1 };

static struct kpmu_event events[MAX_EVENTS];
static struct kpmu_set *set;
static int nr_events;

/* Of each target, then of all together: the last counts, and sums over the runs */
static struct row {
	struct kpmu_count last[MAX_EVENTS];
	double sum[MAX_EVENTS], squares[MAX_EVENTS];
	uint64_t enabled[MAX_EVENTS], running[MAX_EVENTS];
} *rows;

static void prepare_events(bool on_exec)
{
	for (int i = 0; i < nr_events; i++) {
		struct kpmu_event *e = &events[i];

		e->attr.disabled = e->leader == i;
		e->attr.enable_on_exec = on_exec && e->leader == i;
		e->attr.inherit = counts_tasks();
	}
}

static int open_cgroup(void)
{
	int fd = open(opts.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", opts.cgroup, strerror(errno));
	return fd;
}

/* All events on all targets are one set: one fd, and one read for all counts */
static void open_all(bool on_exec)
{
	int list[MAX_TARGETS], failed, cgroup = opts.cgroup ? open_cgroup() : -1;
	unsigned int flags = (counts_tasks() ? KPMU_SET_TASKS : 0) |
			     (opts.cgroup ? KPMU_SET_CGROUP : 0);

	if (nr_events * nr_targets > KPMU_SET_MAX)
		die("%d events on %d threads or CPUs are more than %d", nr_events, nr_targets,
		    KPMU_SET_MAX);
	for (int t = 0; t < nr_targets; t++)
		list[t] = counts_tasks() ? targets[t].pid : targets[t].cpu;
	prepare_events(on_exec);
	set = kpmu_set_open(events, nr_events, list, nr_targets, flags, cgroup, &failed);
	if (!set && failed >= 0)
		refused("count", &events[failed], errno);
	if (!set)
		die("cannot count: %s%s", strerror(errno),
		    errno == EPERM ? ": too many events for RLIMIT_MEMLOCK" : "");
	if (cgroup >= 0)
		close(cgroup);
	explain_events(events, nr_events, counts_tasks() ? -1 : targets[0].cpu);
}

/* ---- counts ---------------------------------------------------------------------- */

/* The counts of an event on a target, or on all, as of the last read */
static struct kpmu_count count_of(int t, int i)
{
	struct kpmu_count c = t < nr_targets ? kpmu_set_count(set, t, i) : kpmu_set_sum(set, i);

	return c.value == KPMU_SET_NONE ? (struct kpmu_count){ 0, 0, 0 } : c;
}

/* What was counted since the last call, for each event of a target, or of all of them */
static void take(int t, struct sample *samples)
{
	for (int i = 0; i < nr_events; i++) {
		struct kpmu_count now = count_of(t, i), *last = &rows[t].last[i];

		samples[i] = (struct sample) {
			.count = { now.value - last->value, now.enabled - last->enabled,
				   now.running - last->running },
			.deviation = -1,
		};
		*last = now;
	}
}

/* The first row to print: each target, or only all of them together */
static int first_row(void)
{
	return opts.each ? 0 : nr_targets;
}

static int last_row(void)
{
	return opts.each ? nr_targets - 1 : nr_targets;
}

static int cpu_of(int t)
{
	return opts.each ? targets[t].cpu : -1;
}

static double last_print;

static void print_all(double at)
{
	struct sample samples[MAX_EVENTS];

	if (kpmu_set_read(set))
		die("cannot read the counts: %s", strerror(errno));
	for (int t = first_row(); t <= last_row(); t++) {
		take(t, samples);
		print_samples(events, nr_events, samples, opts.interval ? at : -1, cpu_of(t),
			      at - last_print);
	}
	last_print = at;
}

static void add_run(void)
{
	struct sample samples[MAX_EVENTS];

	if (kpmu_set_read(set))
		die("cannot read the counts: %s", strerror(errno));
	for (int t = first_row(); t <= last_row(); t++) {
		struct row *r = &rows[t];

		take(t, samples);
		for (int i = 0; i < nr_events; i++) {
			double value = kpmu_count_scaled(samples[i].count);

			r->sum[i] += value;
			r->squares[i] += value * value;
			r->enabled[i] += samples[i].count.enabled;
			r->running[i] += samples[i].count.running;
		}
	}
}

/* Standard error of the mean of @n values, in percent of it */
static double deviation(double sum, double squares, int n)
{
	double mean = sum / n, variance = (squares - mean * sum) / (n - 1);

	return mean && variance > 0 ? 100 * sqrt(variance / n) / mean : 0;
}

static void print_means(int runs, double elapsed)
{
	struct sample samples[MAX_EVENTS];

	for (int t = first_row(); t <= last_row(); t++) {
		const struct row *r = &rows[t];

		for (int i = 0; i < nr_events; i++) {
			uint64_t enabled = r->enabled[i] / runs, running = r->running[i] / runs;
			double mean = r->sum[i] / runs;

			/* The mean is one of extrapolated values: undo that for the printing */
			if (running < enabled)
				mean = mean * running / enabled;
			samples[i] = (struct sample) {
				.count = { llround(mean), enabled, running },
				.deviation = deviation(r->sum[i], r->squares[i], runs),
			};
		}
		print_samples(events, nr_events, samples, -1, cpu_of(t), elapsed);
	}
}

/* ---- what is counted -------------------------------------------------------------- */

static double in_seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

static bool counts_others(void)
{
	return opts.all || opts.cpus || opts.cgroup || opts.pid;
}

static void set_targets(pid_t child)
{
	nr_targets = 0;
	if (opts.all || opts.cpus || opts.cgroup)
		add_cpus(opts.cpus);
	else if (opts.pid)
		add_threads(opts.pid);
	else
		add_target(child, -1);
}

/* Count one run of a program, or until a signal arrives; adds to @taken */
static int run_once(char **argv, struct taken *taken)
{
	struct rusage usage = { 0 };
	int go = -1, status;
	pid_t child = *argv ? start_program(argv, &go) : 0;
	double begin;

	set_targets(child);
	open_all(child && !counts_others());
	if (!rows)
		rows = calloc(nr_targets + 1, sizeof(*rows));
	if (!rows)
		die("no memory");
	if (!child || counts_others())
		kpmu_set_enable(set);
	begin = seconds();
	if (child)
		release_program(go);
	status = wait_program(child, opts.interval, begin, &usage, print_all);
	kpmu_set_disable(set);
	taken->elapsed += seconds() - begin;
	taken->user += in_seconds(usage.ru_utime);
	taken->system += in_seconds(usage.ru_stime);
	return status;
}

static void end_run(void)
{
	kpmu_set_close(set);
	for (int t = 0; t <= nr_targets; t++)
		memset(rows[t].last, 0, sizeof(rows[t].last));
}

static int count(char **argv)
{
	struct taken taken = { 0 };
	int status = 0, n = 0;

	catch_signals();
	while (n < opts.runs && !stopped) {
		status = run_once(argv, &taken);
		n++;
		if (opts.runs == 1)
			break;
		add_run();
		end_run();
	}
	taken.elapsed /= n;
	taken.user /= n;
	taken.system /= n;
	if (opts.runs == 1)
		print_all(taken.elapsed);
	else
		print_means(n, taken.elapsed);
	if (*argv)
		print_taken(&taken, n);
	return status;
}

static int draw_table(int cpu)
{
	for (int i = 0; i < nr_events; i++)
		events[i].attr.disabled = events[i].leader == i;
	need_device();
	if (!explain_events(events, nr_events, cpu))
		die("the module does not explain: %s", strerror(errno));
	return print_explained(events) ? 1 : 0;
}

static int tell_holders(const char *cpus)
{
	need_device();
	add_cpus(cpus);
	for (int t = 0; t < nr_targets; t++)
		if (!print_holders(targets[t].cpu))
			die("CPU %d: %s", targets[t].cpu, strerror(errno));
	return 0;
}

static void list_events(void)
{
	for (int i = 0; kpmu_event_name(i); i++)
		puts(kpmu_event_name(i));
	puts("rHEX (as PERFEVTSEL: r81d0 is event d0, umask 81)");
}

static void usage(FILE *f)
{
	fputs("usage: kpmu-stat [OPTION...] COMMAND [ARGUMENT...]\n"
	      "       kpmu-stat [OPTION...] -p PID | -a | -C CPUS | -G CGROUP [COMMAND [ARGUMENT...]]\n"
	      "       kpmu-stat -E [-e EVENTS] [-C CPU] | -w [-C CPUS] | -l\n"
	      "What to count:\n"
	      "  -e, --event=EVENTS      names with commas between, {a,b} is a group, :u :k :p\n"
	      "  -p, --pid=PID           the threads of a process\n"
	      "  -a, --all-cpus          all CPUs\n"
	      "  -C, --cpu=CPUS          these CPUs, as 0-3,5\n"
	      "  -G, --cgroup=DIRECTORY  the tasks of a cgroup\n"
	      "How to print:\n"
	      "  -I, --interval-print=MS at each interval\n"
	      "  -r, --repeat=N          run the command N times: means and standard errors\n"
	      "  -A, --no-aggr           a line for each CPU\n"
	      "  -x, --csv  -j, --json   for programs\n"
	      "  -o, --output=FILE       to a file\n"
	      "Instead of counting:\n"
	      "  -E, --explain           which events count together, and on which counters\n"
	      "  -w, --holders           what is on each counter of the CPUs\n"
	      "  -l, --list              names of events\n"
	      "  -h, --help\n", f);
}

static const struct option long_options[] = {
	{ "event", required_argument, NULL, 'e' },
	{ "pid", required_argument, NULL, 'p' },
	{ "all-cpus", no_argument, NULL, 'a' },
	{ "cpu", required_argument, NULL, 'C' },
	{ "cgroup", required_argument, NULL, 'G' },
	{ "interval-print", required_argument, NULL, 'I' },
	{ "repeat", required_argument, NULL, 'r' },
	{ "no-aggr", no_argument, NULL, 'A' },
	{ "csv", no_argument, NULL, 'x' },
	{ "json", no_argument, NULL, 'j' },
	{ "output", required_argument, NULL, 'o' },
	{ "explain", no_argument, NULL, 'E' },
	{ "holders", no_argument, NULL, 'w' },
	{ "list", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void set_option(int opt)
{
	switch (opt) {
	case 'e':
		opts.list = optarg;
		break;
	case 'p':
		opts.pid = positive(optarg, INT_MAX, "a process id");
		break;
	case 'a':
		opts.all = true;
		break;
	case 'C':
		opts.cpus = optarg;
		break;
	case 'G':
		opts.cgroup = optarg;
		break;
	case 'I':
		opts.interval = positive(optarg, INT_MAX, "an interval");
		break;
	case 'r':
		opts.runs = positive(optarg, INT_MAX, "the number of runs");
		break;
	case 'A':
		opts.each = true;
		break;
	case 'x':
		opts.format = CSV;
		break;
	case 'j':
		opts.format = JSON;
		break;
	case 'o':
		if (!freopen(optarg, "w", stdout))
			die("%s: %s", optarg, strerror(errno));
		break;
	case 'E':
		opts.draw = true;
		break;
	case 'w':
		opts.holders = true;
		break;
	case 'l':
		list_events();
		exit(0);
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fputs("kpmu-stat --help lists the options\n", stderr);
		exit(125);
	}
}

static void check_options(char **argv)
{
	if (!*argv && !counts_others()) {
		usage(stderr);
		exit(125);
	}
	if (opts.runs > 1 && (!*argv || opts.interval))
		die("-r is for commands, and not with -I");
	if (opts.each && !opts.all && !opts.cpus && !opts.cgroup)
		die("-A is for CPUs: -a, -C or -G");
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+e:EI:p:aAC:G:r:wxjo:lh", long_options, NULL)) != -1)
		set_option(opt);
	print_begin(opts.format, isatty(STDOUT_FILENO));
	if (opts.holders)
		return tell_holders(opts.cpus);
	nr_events = parse_events(opts.list, events);
	if (opts.draw)
		return draw_table(opts.cpus ? atoi(opts.cpus) : -1);
	check_options(argv + optind);
	need_device();
	return count(argv + optind);
}
