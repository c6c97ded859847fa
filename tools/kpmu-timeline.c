// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-timeline - run a program, and draw what the CPUs did meanwhile: tasks, which event had which
 * counter, rates.  Also an example of how to use timelines by libkpmu.  See kpmu-timeline(1).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timeline.h"

#define ROOM		(48 << 20)	/* for records of all CPUs by default, bytes */
#define MIN_RECORDS	8
#define PERIOD		10000		/* us */
#define MIN_PERIOD	1000
#define EVENT_PERIOD	10		/* for each event, us */

/**
 * struct options - what the command line says
 * @list: events
 * @cpus: CPUs, NULL for all
 * @json: path of the JSON file, NULL for none
 * @page: path of the page, NULL for none
 * @period: of additional records in us, 0 for none, -1 for the default
 * @records: number of records that each CPU has room for, 0 for the default
 * @native: run the program on native perf, too
 */
static struct options {
	const char *list, *cpus, *json, *page;
	long period;
	unsigned int records;
	bool native;
} opts = {
	.list = "cycles,instructions,branches,branch-misses,cache-references,cache-misses",
	.period = -1,
};

struct kpmu_event events[MAX_EVENTS];
int nr_events;
char *command;

static struct kpmu_timeline *timeline;

/* ---- opening ----------------------------------------------------------------------- */

static long period(void)
{
	long least = EVENT_PERIOD * nr_events * nr_targets;

	if (least < MIN_PERIOD)
		least = MIN_PERIOD;
	if (opts.period < 0)
		return least > PERIOD ? least : PERIOD;
	if (opts.period && opts.period < least)
		die("with so many events and CPUs a period must be 0, for none, or at least %ld us",
		    least);
	return opts.period;
}

/* A power of two */
static unsigned int records(void)
{
	size_t each = sizeof(struct kpmu_timeline_record) + nr_events * 9 + 8;
	unsigned int n = MIN_RECORDS;

	if (!opts.records)
		while (n < 16384 && 2 * n * each * nr_targets <= ROOM)
			n *= 2;
	else
		while (n < opts.records)
			n *= 2;
	return n;
}

static void cannot_open(int failed, int err)
{
	if (failed >= 0 && (err == EACCES || err == EPERM))
		fputs("kpmu-timeline: recording CPUs needs CAP_PERFMON or root, or lower values of kernel.perf_event_paranoid and kernel.kpmu.perf_event_paranoid\n",
		      stderr);
	if (failed >= 0)
		refused("record", &events[failed], err);
	if (kpmu_why()[0])
		die("cannot record: %s: %s", strerror(err), kpmu_why());
	if (err == EINVAL)
		die("cannot record: the records take more than 64 MiB (see -m), or the loaded module is older than this tool");
	die("cannot record: %s%s", strerror(err), err == EPERM ?
	    ": the records need more than RLIMIT_MEMLOCK; use -m with a smaller number" : "");
}

static void open_timeline(void)
{
	int i, failed, cpus[MAX_TARGETS];

	for (i = 0; i < nr_targets; i++)
		cpus[i] = targets[i].cpu;
	for (i = 0; i < nr_events; i++)
		events[i].attr.disabled = events[i].leader == i;
	timeline = kpmu_timeline_open(events, nr_events, cpus, nr_targets, 0, records(), period(),
				      &failed);
	if (!timeline)
		cannot_open(failed, errno);
}

/* ---- recording --------------------------------------------------------------------- */

/* Return: whether there was a record */
static bool drain(struct capture *c)
{
	const struct kpmu_moment *m;
	bool any = false;

	while ((m = kpmu_timeline_next(timeline))) {
		track_moment(c, m);
		any = true;
	}
	return any;
}

/* Until the program ends; returns its status as of a shell */
static int follow(struct capture *c, pid_t child)
{
	struct pollfd fds[2] = {
		{ .fd = kpmu_timeline_fd(timeline), .events = POLLIN },
		{ .fd = syscall(SYS_pidfd_open, child, 0), .events = POLLIN },
	};
	int status = 0;

	while (waitpid(child, &status, WNOHANG) != child) {
		if (stopped)
			kill(child, SIGTERM);
		poll(fds, 2, fds[1].fd < 0 ? 10 : 500);
		/* A small ring may be half full of records that are too new to be returned */
		if (!drain(c))
			poll(NULL, 0, 1);
	}
	if (fds[1].fd >= 0)
		close(fds[1].fd);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int record(struct capture *c, char **argv)
{
	uint64_t end;
	int go, status;
	pid_t child;

	open_timeline();
	child = start_program(argv, &go);
	begin_capture(c);
	if (kpmu_timeline_enable(timeline))
		die("cannot enable the events: %s", strerror(errno));
	release_program(go);
	status = follow(c, child);
	end = clock_ns();
	kpmu_timeline_disable(timeline);
	c->length = end - c->begin;
	/* The last records are returned when they are 10 ms old */
	poll(NULL, 0, 20);
	drain(c);
	c->lost = kpmu_timeline_lost(timeline, -1);
	end_capture(c, end);
	kpmu_timeline_close(timeline);
	return status;
}

/* ---- the command line -------------------------------------------------------------- */

static void usage(FILE *f)
{
	fputs("usage: kpmu-timeline [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	      "  -e, --events=LIST     as kpmu-stat: names, rHEX, {group}, :u :k :p\n"
	      "  -C, --cpu=LIST        record these CPUs; default all\n"
	      "  -p, --period=US       additional records at this period; default 10000, 0: none\n"
	      "  -m, --records=N       each CPU has room for N records\n"
	      "  -o, --output=FILE     JSON for https://ui.perfetto.dev\n"
	      "  -H, --html=FILE       a page with a picture\n"
	      "  -n, --native          run the program once more, on native perf\n"
	      "  -h, --help\n"
	      "Without -o and -H: timeline.json and timeline.html\n", f);
}

static const struct option long_options[] = {
	{ "events", required_argument, NULL, 'e' },
	{ "cpu", required_argument, NULL, 'C' },
	{ "period", required_argument, NULL, 'p' },
	{ "records", required_argument, NULL, 'm' },
	{ "output", required_argument, NULL, 'o' },
	{ "html", required_argument, NULL, 'H' },
	{ "native", no_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void set_option(int opt)
{
	switch (opt) {
	case 'e':
		opts.list = optarg;
		break;
	case 'C':
		opts.cpus = optarg;
		break;
	case 'p':
		opts.period = strcmp(optarg, "0") ? positive(optarg, 3600000000, "a period") : 0;
		break;
	case 'm':
		opts.records = positive(optarg, KPMU_SET_MAX_RECORDS, "a number of records");
		break;
	case 'o':
		opts.json = optarg;
		break;
	case 'H':
		opts.page = optarg;
		break;
	case 'n':
		opts.native = true;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fputs("kpmu-timeline --help lists the options\n", stderr);
		exit(125);
	}
}

/* The same event twice: tracks have different names */
static void number_same(void)
{
	char name[sizeof(events[0].name)];
	int i, j, same;

	for (i = nr_events - 1; i > 0; i--) {
		for (j = 0, same = 1; j < i; j++)
			same += !strcmp(events[j].name, events[i].name);
		snprintf(name, sizeof(name), "%.50s (%d)", events[i].name, same);
		if (same > 1)
			strcpy(events[i].name, name);
	}
}

/* The arguments with spaces between */
static char *join(char **argv)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	for (; *argv; argv++)
		fprintf(f, "%s%s", *argv, argv[1] ? " " : "");
	fclose(f);
	return text;
}

static FILE *create(const char *path)
{
	FILE *f = path ? fopen(path, "we") : NULL;

	if (path && !f)
		die("%s: %s", path, strerror(errno));
	return f;
}

static void finish(FILE *f, const char *path)
{
	if (f && (ferror(f) | fclose(f)))
		die("%s: cannot be written", path);
}

static void print_summary(const struct capture *c)
{
	fprintf(stderr, "%llu records, %llu lost, %llu switches, %llu changes of counters, %.3f s\n",
		(unsigned long long)c->records, (unsigned long long)c->lost,
		(unsigned long long)c->switches, (unsigned long long)c->changes, c->length / 1e9);
	if (c->lost)
		fprintf(stderr, "kpmu-timeline: records were lost; there is room for %u on each CPU, -m sets it\n",
			records());
}

int main(int argc, char **argv)
{
	struct capture runs[2] = {
		{ .name = "kpmu", .how = "each change is recorded", .has_tasks = true },
		{ .name = "native perf", .how = "sampled every millisecond" },
	};
	FILE *json, *page;
	int opt, status, nr = 1;

	while ((opt = getopt_long(argc, argv, "+e:C:p:m:o:H:nh", long_options, NULL)) != -1)
		set_option(opt);
	if (optind == argc) {
		usage(stderr);
		return 125;
	}
	if (!opts.json && !opts.page) {
		opts.json = "timeline.json";
		opts.page = "timeline.html";
	}
	nr_events = parse_events(opts.list, events);
	if (!nr_events)
		die("no events");
	number_same();
	add_cpus(opts.cpus);
	need_device();
	json = create(opts.json);
	page = create(opts.page);
	command = join(argv + optind);
	catch_signals();
	status = record(&runs[0], argv + optind);
	if (opts.native && !stopped) {
		if (record_native(&runs[1], argv + optind))
			nr = 2;
		else
			status = 125;
	}
	if (json)
		write_json(json, runs, nr);
	if (page)
		write_page(page, runs, nr);
	finish(json, opts.json);
	finish(page, opts.page);
	print_summary(&runs[0]);
	return status;
}
