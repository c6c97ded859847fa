// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-record - sample a program and its children, a process, or all CPUs, into a file for perf
 * report and perf script; also an example of how to use the ring buffers of /dev/kpmu by libkpmu.
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
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"

#define MAX_CPUS	1024
#define PAGES		128	/* per ring */

/**
 * struct options - what the command line says
 * @path: of the file
 * @event: what to sample
 * @period: a sample every so many events; 0: by frequency
 * @freq: samples a second
 * @pid: process to sample, 0 for none
 * @all: sample all CPUs
 * @chains: with call chains
 */
static struct options {
	const char *path, *event;
	uint64_t period, freq;
	pid_t pid;
	bool all, chains;
} opts = { .path = "perf.data", .event = "instructions", .freq = 1000 };

static struct kpmu_event event;

/* The rings, one for each CPU, and the events that have them mapped */
static struct {
	int fd;
	struct kpmu_ring *ring;
} rings[MAX_CPUS];
static int nr_rings;
static unsigned long long samples, lost, throttled;

/* An event of a target on a CPU, -1 if the CPU is offline, or if the thread has ended */
static int open_event(pid_t pid, int cpu)
{
	int fd = kpmu_event_open(&event.attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno != ENODEV && !(errno == ESRCH && nr_targets > 1))
		refused("sample", &event, errno);
	return fd;
}

/* The targets' events on a CPU: the first one has the ring, the others write to it */
static void open_cpu(int cpu)
{
	int t, fd, first = -1;

	for (t = 0; t < nr_targets; t++) {
		fd = open_event(targets[t].pid, cpu);
		if (fd < 0)
			continue;
		if (first >= 0) {
			if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first))
				die("cannot share a ring: %s", strerror(errno));
			continue;
		}
		first = fd;
		rings[nr_rings].fd = fd;
		rings[nr_rings].ring = kpmu_ring_map(fd, PAGES);
		if (!rings[nr_rings].ring)
			die("cannot map a ring: %s%s", strerror(errno), errno == EPERM ?
			    "; see perf_event_mlock_kb" : "");
	}
	nr_rings += first >= 0;
}

static void open_rings(void)
{
	int cpu, nr = sysconf(_SC_NPROCESSORS_CONF);

	need_device();
	for (cpu = 0; cpu < nr && nr_rings < MAX_CPUS; cpu++)
		open_cpu(cpu);
	if (!nr_rings)
		die("the process has ended");
}

static void account(const struct perf_event_header *h)
{
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		samples++;
		break;
	case PERF_RECORD_LOST:
		lost += ((const uint64_t *)(h + 1))[1];
		break;
	case PERF_RECORD_THROTTLE:
		throttled++;
		break;
	}
}

/* Write all records of a ring to the file, then free their space for the kernel */
static void drain(struct kpmu_ring *ring)
{
	const struct perf_event_header *h;

	while ((h = kpmu_ring_next(ring))) {
		account(h);
		put_record(h, h->size);
	}
	kpmu_ring_consume(ring);
}

static void progress(bool end)
{
	if (!isatty(STDERR_FILENO) && !end)
		return;
	fprintf(stderr, "%s%llu samples, %llu lost, throttled %llu times, %.1f MB%s",
		end ? "" : "\r", samples, lost, throttled, file_size() / 1e6, end ? "\n" : "");
}

/* A program to run is told to end; a process that runs anyway goes on */
static bool is_over(pid_t child, int *status)
{
	if (child && stopped)
		kill(child, SIGTERM);
	if (child)
		return waitpid(child, status, WNOHANG) == child;
	return stopped || (opts.pid && kill(opts.pid, 0) && errno == ESRCH);
}

/* Collect records until it is over */
static int collect(pid_t child)
{
	struct pollfd fds[MAX_CPUS];
	int i, status = 0;
	bool over = false;

	while (!over) {
		for (i = 0; i < nr_rings; i++)
			fds[i] = (struct pollfd) { rings[i].fd, POLLIN, 0 };
		poll(fds, nr_rings, 100);
		over = is_over(child, &status);
		for (i = 0; i < nr_rings; i++)
			drain(rings[i].ring);
		progress(false);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void usage(FILE *f)
{
	fputs("usage: kpmu-record [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	      "       kpmu-record [OPTION...] -p PID | -a [PROGRAM [ARGUMENT...]]\n"
	      "  -e, --event=EVENT  what to sample, as kpmu-stat; default instructions\n"
	      "  -c, --count=N      a sample every N events\n"
	      "  -F, --freq=HZ      so many samples a second; default 1000\n"
	      "  -g, --call-graph   with call chains\n"
	      "  -p, --pid=PID      all threads of a process\n"
	      "  -a, --all-cpus     all that runs\n"
	      "  -o, --output=FILE  default perf.data; for perf report -i and perf script -i\n"
	      "  -h, --help\n", f);
}

static const struct option long_options[] = {
	{ "event", required_argument, NULL, 'e' },
	{ "count", required_argument, NULL, 'c' },
	{ "freq", required_argument, NULL, 'F' },
	{ "call-graph", no_argument, NULL, 'g' },
	{ "pid", required_argument, NULL, 'p' },
	{ "all-cpus", no_argument, NULL, 'a' },
	{ "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void set_option(int opt)
{
	switch (opt) {
	case 'e':
		opts.event = optarg;
		break;
	case 'c':
		opts.period = positive(optarg, INT64_MAX, "a period");
		break;
	case 'F':
		opts.freq = positive(optarg, INT64_MAX, "a frequency");
		break;
	case 'g':
		opts.chains = true;
		break;
	case 'p':
		opts.pid = positive(optarg, INT_MAX, "a process id");
		break;
	case 'a':
		opts.all = true;
		break;
	case 'o':
		opts.path = optarg;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		fputs("kpmu-record --help lists the options\n", stderr);
		exit(125);
	}
}

static void set_attr(bool on_exec)
{
	struct perf_event_attr *a = &event.attr;
	char bad[64];

	if (kpmu_events_parse(opts.event, &event, 1, bad) != 1)
		die(bad[0] ? "unknown event '%s'; kpmu-stat -l lists those known" : "-e takes one event",
		    bad);
	a->freq = !opts.period;
	a->sample_period = opts.period ? opts.period : opts.freq;
	a->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_PERIOD | (opts.chains ? PERF_SAMPLE_CALLCHAIN : 0);
	a->disabled = a->enable_on_exec = on_exec;
	a->inherit = !opts.all;
	a->sample_id_all = 1;
	a->mmap = a->comm = a->comm_exec = a->task = 1;
	a->watermark = 1;
	a->wakeup_watermark = PAGES * 4096 / 4;
}

/* The events exist before the mappings are read, so that none is missed */
static void put_existing(void)
{
	put_kernel();
	if (opts.all)
		put_all_processes();
	else if (opts.pid)
		put_process(opts.pid);
}

int main(int argc, char **argv)
{
	int opt, go = -1, status;
	pid_t child = 0;

	while ((opt = getopt_long(argc, argv, "+e:c:F:gp:ao:h", long_options, NULL)) != -1)
		set_option(opt);
	if (optind == argc && !opts.pid && !opts.all) {
		usage(stderr);
		return 125;
	}
	set_attr(!opts.pid && !opts.all);
	catch_signals();
	if (optind < argc)
		child = start_program(argv + optind, &go);
	if (opts.all)
		add_target(-1, -1);
	else if (opts.pid)
		add_threads(opts.pid);
	else
		add_target(child, -1);
	begin_file(opts.path, &event.attr);
	open_rings();
	put_existing();
	if (child)
		release_program(go);
	status = collect(child);
	progress(true);
	end_file();
	return status;
}
