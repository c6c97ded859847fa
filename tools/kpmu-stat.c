// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-stat - count events of a program, a process or CPUs; also an example of how
 * to use /dev/kpmu.  See kpmu-stat(1).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat.h"

#define MAX_TARGETS	1024

/* A task, or a CPU with all tasks that run there */
struct target {
	pid_t pid;
	int cpu;
};

static struct kpmu_event events[MAX_EVENTS];
static struct target targets[MAX_TARGETS];
static struct kpmu_set *set;
static struct kpmu_count before[MAX_EVENTS];
static int nr_events, nr_targets;
static enum { TEXT, CSV, JSON } format;
static volatile sig_atomic_t stop;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("kpmu-stat: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(125);
}

static void add_target(pid_t pid, int cpu)
{
	if (nr_targets == MAX_TARGETS)
		die("more than %d threads or CPUs", MAX_TARGETS);
	targets[nr_targets++] = (struct target) { pid, cpu };
}

static void add_threads(pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		die("no process %d", pid);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_target(atoi(entry->d_name), -1);
	closedir(dir);
}

/* A list such as "0-3,5"; NULL for all online CPUs */
static void add_cpus(const char *list)
{
	char line[256] = "";
	FILE *f;
	int a, b, n;

	if (!list) {
		f = fopen("/sys/devices/system/cpu/online", "r");
		if (!f || !fgets(line, sizeof(line), f))
			die("cannot tell which CPUs are online");
		fclose(f);
		list = line;
	}
	for (;; list += n + 1) {
		if (sscanf(list, "%d%n-%d%n", &a, &n, &b, &n) < 2 &&
		    sscanf(list, "%d%n", &b, &n) < 1)
			die("not a list of CPUs: %s", list);
		for (; a <= b; a++)
			add_target(-1, a);
		if (list[n] != ',')
			return;
	}
}

/* End with an error that is one of the device if there is none */
static void need_device(void)
{
	if (kpmu_device() < 0)
		die("%s: %s", KPMU_DEVICE, errno == ENOENT ?
		    "not there; is the module loaded?" : strerror(errno));
}

/* Report an error, with the reason that the module gives */
static void __attribute__((noreturn)) report(const struct kpmu_event *e, int err)
{
	const char *why = kpmu_why();

	die("cannot count %s: %s%s%s", e->name, strerror(err), why[0] ? ": " : "", why);
}

static void prepare_events(bool on_exec)
{
	for (int i = 0; i < nr_events; i++) {
		struct kpmu_event *e = &events[i];

		e->attr.disabled = e->leader == i;
		e->attr.enable_on_exec = on_exec && e->leader == i;
		e->attr.inherit = targets[0].pid >= 0;
	}
}

/* All events on all targets are one set: one fd, and one read for all counts */
static void open_all(bool on_exec)
{
	bool tasks = targets[0].pid >= 0;
	int list[MAX_TARGETS], failed;

	need_device();
	if (nr_events * nr_targets > KPMU_SET_MAX)
		die("%d events on %d threads or CPUs are more than %d", nr_events, nr_targets,
		    KPMU_SET_MAX);
	for (int t = 0; t < nr_targets; t++)
		list[t] = tasks ? targets[t].pid : targets[t].cpu;
	prepare_events(on_exec);
	set = kpmu_set_open(events, nr_events, list, nr_targets, tasks ? KPMU_SET_TASKS : 0, &failed);
	if (!set && failed >= 0)
		report(&events[failed], errno);
	if (!set)
		die("cannot count: %s%s", strerror(errno),
		    errno == EPERM ? ": too many events for RLIMIT_MEMLOCK" : "");
	explain_events(events, nr_events, tasks ? -1 : targets[0].cpu);
}

/* The share of the time, and why it is not all of it */
static void print_share(const struct kpmu_event *e, struct kpmu_count c, double part)
{
	const char *why = why_shared(events, e - events);

	if (c.running)
		printf("  (estimated: counted %.1f%% of the time", part);
	else
		printf("  (");
	printf("%s%s)", c.running && why[0] ? "; " : "", why);
}

static void print_one(const struct kpmu_event *e, struct kpmu_count c, double at)
{
	double part = c.enabled ? 100.0 * c.running / c.enabled : 0;
	uint64_t value = kpmu_count_scaled(c);

	if (format == CSV) {
		if (at >= 0)
			printf("%.3f,", at);
		if (c.running)
			printf("%llu", (unsigned long long)value);
		printf(",%s,%llu,%.2f\n", e->name, (unsigned long long)c.running, part);
	} else if (format == JSON) {
		putchar('{');
		if (at >= 0)
			printf("\"time\": %.3f, ", at);
		printf("\"event\": \"%s\", \"value\": ", e->name);
		if (c.running)
			printf("%llu", (unsigned long long)value);
		else
			fputs("null", stdout);
		printf(", \"enabled\": %llu, \"running\": %llu",
		       (unsigned long long)c.enabled, (unsigned long long)c.running);
		if (c.running < c.enabled)
			printf(", \"reason\": \"%s\"", why_shared(events, e - events));
		puts("}");
	} else {
		if (at >= 0)
			printf("%10.3f", at);
		if (c.running)
			printf("%20llu  %s", (unsigned long long)value, e->name);
		else
			printf("%20s  %s", "not counted", e->name);
		/* The times of a pinned event without a counter are 0 */
		if (c.running < c.enabled || (!c.running && has_no_room(e - events)))
			print_share(e, c, part);
		putchar('\n');
	}
}

static void print_all(double at)
{
	int i;

	if (kpmu_set_read(set))
		die("cannot read the counts: %s", strerror(errno));
	for (i = 0; i < nr_events; i++) {
		struct kpmu_count now = kpmu_set_sum(set, i), c = now;

		c.value -= before[i].value;
		c.enabled -= before[i].enabled;
		c.running -= before[i].running;
		before[i] = now;
		print_one(&events[i], c, at);
	}
	fflush(stdout);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* Fork a child that waits for a byte before it executes the program */
static pid_t prepare(char **argv, int *go)
{
	int pipe_fds[2];
	char byte;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid) {
		close(pipe_fds[0]);
		*go = pipe_fds[1];
		return pid;
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) == 1) {
		execvp(argv[0], argv);
		fprintf(stderr, "kpmu-stat: %s: %s\n", argv[0], strerror(errno));
	}
	_exit(127);
}

/* Wait until the program ends or a signal arrives, printing at each interval */
static int watch(pid_t child, int go, int interval)
{
	double start = seconds(), next = start;
	int status = 0;

	if (child && write(go, "", 1) != 1)
		die("the program is gone");
	if (go >= 0)
		close(go);
	while (!stop) {
		if (child && waitpid(child, &status, interval ? WNOHANG : 0) == child)
			break;
		if (!interval) {
			if (!child)
				pause();
			continue;
		}
		next += interval / 1000.0;
		while (!stop && seconds() < next) {
			poll(NULL, 0, 1 + (next - seconds()) * 1000 / (child ? 10 : 1));
			if (child && waitpid(child, &status, WNOHANG) == child)
				goto out;
		}
		print_all(seconds() - start);
	}
out:
	kpmu_set_disable(set);
	print_all(interval ? seconds() - start : -1);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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

static void parse_events(const char *list)
{
	char bad[64];

	nr_events = kpmu_events_parse(list, events, MAX_EVENTS, bad);
	if (nr_events < 0 && errno == E2BIG)
		die("more than %d events", MAX_EVENTS);
	if (nr_events < 0)
		die("unknown event '%s'; -l lists those known", bad);
}

static void usage(FILE *f)
{
	fputs("usage: kpmu-stat [-e EVENTS] [-I MS] [-x | -j] [-o FILE] COMMAND [ARGUMENT...]\n"
	      "       kpmu-stat [...] -p PID | -a | -C CPUS [COMMAND [ARGUMENT...]]\n"
	      "       kpmu-stat -E [-e EVENTS] [-C CPU]: which events count together, and on which counters\n"
	      "       kpmu-stat -w [-C CPUS]: the counters of the CPUs and their holders\n"
	      "       kpmu-stat -l\n"
	      "EVENTS: names with commas between, {a,b} is a group, :u :k :p; -l lists names\n", f);
}

int main(int argc, char **argv)
{
	const char *list = "cycles,instructions,branches,branch-misses", *cpus = NULL;
	int opt, interval = 0, go = -1;
	pid_t pid = 0, child = 0;
	bool all = false, draw = false, holders = false;

	while ((opt = getopt(argc, argv, "+e:EI:p:aC:wxjo:lh")) != -1) {
		switch (opt) {
		case 'e':
			list = optarg;
			break;
		case 'E':
			draw = true;
			break;
		case 'I':
			interval = atoi(optarg);
			break;
		case 'p':
			pid = atoi(optarg);
			break;
		case 'a':
			all = true;
			break;
		case 'C':
			cpus = optarg;
			break;
		case 'w':
			holders = true;
			break;
		case 'x':
			format = CSV;
			break;
		case 'j':
			format = JSON;
			break;
		case 'o':
			if (!freopen(optarg, "w", stdout))
				die("%s: %s", optarg, strerror(errno));
			break;
		case 'l':
			list_events();
			return 0;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 125;
		}
	}
	if (holders)
		return tell_holders(cpus);
	parse_events(list);
	if (draw)
		return draw_table(cpus ? atoi(cpus) : -1);
	if (optind < argc)
		child = prepare(argv + optind, &go);
	else if (!pid && !all && !cpus)
		return usage(stderr), 125;
	if (all || cpus)
		add_cpus(cpus);
	else if (pid)
		add_threads(pid);
	else
		add_target(child, -1);
	open_all(child && !all && !cpus && !pid);
	if (!child || all || cpus || pid)
		kpmu_set_enable(set);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	return watch(child, go, interval);
}
