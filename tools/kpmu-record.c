// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-record - sample a program and its children, into a file for perf report and
 * perf script; also an example of how to use the ring buffers of /dev/kpmu.
 */
#define _GNU_SOURCE
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

#include "lib/libkpmu.h"

#define MAX_CPUS	1024
#define PAGES		128	/* per ring */

/* Header of a perf.data file */
struct section {
	__u64 offset, size;
};

struct file_header {
	char magic[8];
	__u64 size, attr_size;
	struct section attrs, data, event_types;
	__u64 features[4];
};

struct file_attr {
	struct perf_event_attr attr;
	struct section ids;
};

/* An event of a CPU, and its ring */
static struct {
	int fd;
	struct kpmu_ring *ring;
} rings[MAX_CPUS];
static struct kpmu_event event;
static int nr_rings;
static FILE *out;
static __u64 written;
static __u64 samples, lost, throttled;
static volatile sig_atomic_t stop;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("kpmu-record: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(125);
}

static void put(const void *data, size_t size)
{
	if (fwrite(data, 1, size, out) != size)
		die("writing the file: %s", strerror(errno));
	written += size;
}

static void __attribute__((noreturn)) report(int err)
{
	const char *why = kpmu_why();

	die("cannot sample %s: %s%s%s", event.name, strerror(err), why[0] ? ": " : "", why);
}

/* Open one event per CPU, inherited by the program's children */
static void open_rings(pid_t pid)
{
	int cpu, fd;

	if (kpmu_device() < 0)
		die("%s: %s", KPMU_DEVICE, errno == ENOENT ?
		    "not there; is the module loaded?" : strerror(errno));
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && nr_rings < MAX_CPUS; cpu++) {
		fd = kpmu_event_open(&event.attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno == ENODEV)
			continue;		/* offline */
		if (fd < 0)
			report(errno);
		rings[nr_rings].fd = fd;
		rings[nr_rings].ring = kpmu_ring_map(fd, PAGES);
		if (!rings[nr_rings].ring)
			die("cannot map a ring: %s%s", strerror(errno), errno == EPERM ?
			    "; see perf_event_mlock_kb" : "");
		nr_rings++;
	}
}

static void account(const struct perf_event_header *h)
{
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		samples++;
		break;
	case PERF_RECORD_LOST:
		lost += ((const __u64 *)(h + 1))[1];
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
		put(h, h->size);
	}
	kpmu_ring_consume(ring);
}

/* MMAP record of the kernel's text; perf report gets the symbols from /proc/kallsyms */
static void put_kernel(void)
{
	struct {
		struct perf_event_header header;
		__u32 pid, tid;
		__u64 addr, len, offset;
		char name[32];
		__u64 whose[2];		/* TID, TIME */
	} m = {
		.header = { PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, sizeof(m) },
		.pid = -1, .name = "[kernel.kallsyms]_text",
	};
	unsigned long long addr;
	char line[256], name[128];
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %127s", &addr, name) == 2 &&
		    !strcmp(name, "_text")) {
			m.addr = m.offset = addr;
			m.len = 0xffffffffff000000ULL - addr;
			break;
		}
	}
	if (f)
		fclose(f);
	if (m.addr)
		put(&m, sizeof(m));
}

static void begin_file(const char *path)
{
	struct file_header h = { "PERFILE2", sizeof(h), sizeof(struct file_attr),
				 { sizeof(h), sizeof(struct file_attr) },
				 { sizeof(h) + sizeof(struct file_attr), 0 },
				 { 0, 0 }, { 0 } };
	struct file_attr a = { .attr = event.attr };

	out = fopen(path, "w+");
	if (!out)
		die("%s: %s", path, strerror(errno));
	put(&h, sizeof(h));
	put(&a, sizeof(a));
	written = 0;
	put_kernel();
}

/* Fill in the size of the data, which is only known now */
static void end_file(void)
{
	struct file_header h;

	rewind(out);
	if (fread(&h, sizeof(h), 1, out) != 1)
		die("the file cannot be read back");
	h.data.size = written;
	rewind(out);
	put(&h, sizeof(h));
	if (fclose(out))
		die("writing the file: %s", strerror(errno));
}

static pid_t start(char **argv, int *go)
{
	int pipes[2];
	pid_t pid;
	char c;

	if (pipe2(pipes, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		close(pipes[1]);
		if (read(pipes[0], &c, 1) != 1)
			_exit(127);
		execvp(argv[0], argv);
		fprintf(stderr, "kpmu-record: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(pipes[0]);
	*go = pipes[1];
	return pid;
}

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void progress(int end)
{
	if (!isatty(STDERR_FILENO) && !end)
		return;
	fprintf(stderr, "%s%llu samples, %llu lost, throttled %llu times, %.1f MB%s",
		end ? "" : "\r", samples, lost, throttled, written / 1e6,
		end ? "\n" : "");
}

/* Collect records until the program has ended; a signal to stop is passed on to it */
static int collect(pid_t pid)
{
	struct pollfd fds[MAX_CPUS];
	int i, status = 0, ended = 0;

	while (!ended) {
		for (i = 0; i < nr_rings; i++)
			fds[i] = (struct pollfd) { rings[i].fd, POLLIN, 0 };
		poll(fds, nr_rings, 100);
		if (stop)
			kill(pid, SIGTERM);
		ended = waitpid(pid, &status, WNOHANG) == pid;
		for (i = 0; i < nr_rings; i++)
			drain(rings[i].ring);
		progress(0);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void __attribute__((noreturn)) usage(void)
{
	puts("kpmu-record [-e EVENT] [-c PERIOD | -F HZ] [-g] [-o FILE] [--] PROGRAM [ARG...]\n"
	     "  -e  what to sample (as kpmu-stat; default instructions)\n"
	     "  -c  a sample every so many events\n"
	     "  -F  so many samples a second (default 1000)\n"
	     "  -g  with call chains\n"
	     "  -o  the file (default perf.data), for perf report -i and perf script -i");
	exit(0);
}

int main(int argc, char **argv)
{
	struct perf_event_attr *a = &event.attr;
	const char *path = "perf.data", *name = "instructions";
	__u64 period = 0, freq = 1000;
	int opt, go, chains = 0, status;
	char bad[64];
	pid_t pid;

	while ((opt = getopt(argc, argv, "+e:c:F:go:h")) != -1) {
		switch (opt) {
		case 'e':
			name = optarg;
			break;
		case 'c':
			period = strtoull(optarg, NULL, 0);
			break;
		case 'F':
			freq = strtoull(optarg, NULL, 0);
			break;
		case 'g':
			chains = 1;
			break;
		case 'o':
			path = optarg;
			break;
		case 'h':
			usage();
		default:
			return 125;
		}
	}
	if (optind == argc)
		die("which program? (-h for help)");
	if (kpmu_events_parse(name, &event, 1, bad) != 1)
		die(bad[0] ? "unknown event '%s'; kpmu-stat -l lists those known" : "-e takes one event",
		    bad);
	a->size = sizeof(*a);
	a->freq = !period;
	a->sample_period = period ? period : freq;
	a->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_PERIOD | (chains ? PERF_SAMPLE_CALLCHAIN : 0);
	a->disabled = a->enable_on_exec = a->inherit = a->sample_id_all = 1;
	a->mmap = a->comm = a->comm_exec = a->task = 1;
	a->watermark = 1;
	a->wakeup_watermark = PAGES * 4096 / 4;

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	pid = start(argv + optind, &go);
	open_rings(pid);
	begin_file(path);
	if (write(go, "", 1) != 1)
		die("the program did not wait");
	close(go);
	status = collect(pid);
	progress(1);
	end_file();
	return status;
}
