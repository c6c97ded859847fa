// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-timeline: the same events by native perf.  It writes no record when the events on the counters
 * change, so the user page of each event is read every millisecond.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "timeline.h"

#define PERIOD		1000000		/* ns */
#define READ_EACH	10		/* read(2) the counts of events on counters so often */
#define FIXED_INDEX	(1U << 30)	/* of RDPMC: a fixed counter */
#define TRIES		20		/* 100 ms each, until kpmu has released the counters */

/* An event on a CPU */
struct native {
	int fd;
	const struct perf_event_mmap_page *page;
};

static struct native *natives;		/* those of the first CPU first */

static int open_native(const struct kpmu_event *e, int cpu, int group)
{
	struct perf_event_attr attr = e->attr;
	int fd, i;

	for (i = 0; i < TRIES; i++) {
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0 || errno != EBUSY)
			break;
		poll(NULL, 0, 100);
	}
	return fd;
}

static bool open_cpu(struct native *first, int cpu)
{
	void *p;
	int i;

	for (i = 0; i < nr_events; i++) {
		int leader = events[i].leader;

		first[i].fd = open_native(&events[i], cpu, leader == i ? -1 : first[leader].fd);
		if (first[i].fd < 0) {
			fprintf(stderr, "kpmu-timeline: native perf does not count %s: %s%s\n",
				events[i].name, strerror(errno), errno == EACCES || errno == EPERM ?
				"; run as root, or lower kernel.perf_event_paranoid" : "");
			return false;
		}
		p = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, first[i].fd, 0);
		if (p == MAP_FAILED) {
			perror("kpmu-timeline: cannot map an event of native perf");
			return false;
		}
		first[i].page = p;
	}
	return true;
}

static void close_natives(int nr)
{
	int i;

	/* Members before their leaders */
	for (i = nr; i--;) {
		if (natives[i].page)
			munmap((void *)natives[i].page, sysconf(_SC_PAGESIZE));
		if (natives[i].fd > 0)
			close(natives[i].fd);
	}
	free(natives);
}

/* The counter of an event, and its count: unknown while it has one */
static uint8_t look_at(const struct perf_event_mmap_page *page, uint64_t *count)
{
	uint32_t seq, index;
	uint64_t offset;

	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		index = __atomic_load_n(&page->index, __ATOMIC_RELAXED);
		offset = __atomic_load_n(&page->offset, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq & 1 || seq != __atomic_load_n(&page->lock, __ATOMIC_RELAXED));
	*count = index ? UNKNOWN : offset;
	if (!index)
		return KPMU_TIMELINE_WAITS;
	index--;
	if (index & FIXED_INDEX)
		index = FIRST_FIXED + (index & 0xff);
	return index < MAX_COUNTERS ? index : KPMU_TIMELINE_RUNS;
}

static void sample_cpu(struct capture *c, int i, bool reads)
{
	uint64_t at = time_in(c, clock_ns()), counts[MAX_EVENTS], count;
	uint8_t where[MAX_EVENTS];
	int e;

	for (e = 0; e < nr_events; e++) {
		struct native *n = &natives[i * nr_events + e];

		where[e] = look_at(n->page, &counts[e]);
		if (where[e] == KPMU_TIMELINE_WAITS || !reads)
			continue;
		if (read(n->fd, &count, sizeof(count)) == sizeof(count))
			counts[e] = count;
	}
	track_owners(c, &c->cpus[i], at, where);
	track_counts(&c->cpus[i], at, counts, reads);
}

static void sample_all(struct capture *c, bool reads)
{
	int i;

	for (i = 0; i < nr_targets; i++)
		sample_cpu(c, i, reads);
	c->records += nr_targets;
}

static void add_ns(struct timespec *t, long ns)
{
	t->tv_nsec += ns;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

/* Until the program ends */
static void sample(struct capture *c, pid_t child)
{
	struct timespec next;
	int round, status;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (round = 0; waitpid(child, &status, WNOHANG) != child; round++) {
		sample_all(c, round % READ_EACH == 0);
		if (stopped)
			kill(child, SIGTERM);
		add_ns(&next, PERIOD);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	sample_all(c, true);
	end_capture(c, clock_ns());
}

/* With the redirect the events of "native perf" would be kpmu's */
static bool is_redirected(void)
{
	FILE *f = fopen("/proc/sys/kernel/kpmu/redirect", "r");
	int on = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &on) != 1)
		on = 0;
	fclose(f);
	return on;
}

/**
 * record_native() - run the program once more while native perf counts the events
 * @c: the run
 * @argv: the program
 *
 * Return: false if native perf cannot; there is a message then.
 */
bool record_native(struct capture *c, char **argv)
{
	int i, go, nr = nr_targets * nr_events;
	bool good = true;
	pid_t child;

	if (is_redirected()) {
		fputs("kpmu-timeline: native perf is redirected to kpmu: sysctl kernel.kpmu.redirect=0\n",
		      stderr);
		return false;
	}
	natives = calloc(nr, sizeof(*natives));
	if (!natives)
		die("out of memory");
	for (i = 0; i < nr_targets && good; i++)
		good = open_cpu(natives + i * nr_events, targets[i].cpu);
	if (good) {
		child = start_program(argv, &go);
		begin_capture(c);
		for (i = 0; i < nr; i++)
			if (events[i % nr_events].leader == i % nr_events)
				ioctl(natives[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		release_program(go);
		sample(c, child);
	}
	close_natives(nr);
	return good;
}
