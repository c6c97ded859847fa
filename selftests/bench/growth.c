// SPDX-License-Identifier: GPL-2.0-only
/*
 * Growth of costs with the number of events that the operation does not concern: lines
 * "curve | name | number | instructions".  The curves must be flat, see is_flat() in table.awk.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "cost.h"
#include "event.h"

#define MAX	10000
#define RING	(2 * 4096)
#define NATIVE_INTERVAL "/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms"
#define KPMU_INTERVAL "/proc/sys/kernel/kpmu/perf_event_mux_interval_ms"

static int fds[MAX], nr_fds;
static void *maps[MAX];

static void point(const char *curve, int n, double insns)
{
	printf("curve | %s | %d | %.0f\n", curve, n, insns);
}

static void interval(int ms)
{
	write_long(route_is_native() ? NATIVE_INTERVAL : KPMU_INTERVAL, ms);
}

static struct perf_event_attr branches(int enabled)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	attr.exclude_kernel = 0;
	attr.disabled = !enabled;
	return attr;
}

static void add(pid_t pid, int enabled)
{
	struct perf_event_attr attr = branches(enabled);

	fds[nr_fds++] = ev_must(&attr, pid, -1, -1, 0);
}

static void close_all(void)
{
	while (nr_fds) {
		close(fds[--nr_fds]);
		if (maps[nr_fds])
			munmap(maps[nr_fds], RING);
		maps[nr_fds] = NULL;
	}
}

/* Threads that sleep forever */
static pthread_barrier_t ready;
static pid_t tid;

static void *idle_thread(void *unused)
{
	tid = syscall(SYS_gettid);
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return NULL;
}

static pid_t idle_task(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(&t, &attr, idle_thread, NULL))
		exit(1);
	pthread_barrier_wait(&ready);
	return tid;
}

/* A switch between two tasks with one event each, while sleeping threads have one event each */
static void grow_switch(void)
{
	pid_t pid = partner_start();
	struct cost none = measure_least(op_pingpong), c;
	int n, last = 0;

	add(0, 1);
	add(pid, 1);
	for (n = 1; n <= 1000; n *= 10) {
		for (; last < n; last++)
			add(idle_task(), 1);
		c = minus(measure_least(op_pingpong), none);
		point("task switch, by events of other tasks", n, c.insns / 2);
	}
	close_all();
	partner_end(pid);
}

/* A switch between two tasks that have more events than there are counters */
static void grow_switch_own(void)
{
	pid_t pid = partner_start();
	struct cost none = measure_least(op_pingpong), c;
	int n;

	interval(1000);
	for (n = 10; n <= 1000; n *= 10) {
		while (nr_fds < 2 * n) {
			add(0, 1);
			add(pid, 1);
		}
		c = minus(measure_least(op_pingpong), none);
		point("task switch, by its waiting events", n, c.insns / 2);
	}
	interval(4);
	close_all();
	partner_end(pid);
}

/*
 * A switch between two tasks in different cgroups.  Both cgroups have events, and so do up to
 * 198 cgroups without tasks.
 */
static void grow_cgroups(void)
{
	struct perf_event_attr attr = branches(1);
	static struct cgroup root, here, there, other[200];
	pid_t pid = partner_start();
	struct cost none, c;
	char name[16];
	int n, last = 0;

	if (!cgroup_v1())
		return;
	cgroup_root(&root);
	cgroup_make(&here, &root, "here");
	cgroup_make(&there, &root, "there");
	cgroup_add(&here, getpid());
	cgroup_add(&there, pid);
	none = measure_least(op_pingpong);
	fds[nr_fds++] = ev_must(&attr, here.fd, 0, -1, PERF_FLAG_PID_CGROUP);
	fds[nr_fds++] = ev_must(&attr, there.fd, 0, -1, PERF_FLAG_PID_CGROUP);
	for (n = 2; n <= 200; n *= 10) {
		for (; last + 2 < n; last++) {
			sprintf(name, "other%d", last);
			cgroup_make(&other[last], &root, name);
			fds[nr_fds++] = ev_must(&attr, other[last].fd, 0, -1,
						PERF_FLAG_PID_CGROUP);
		}
		c = minus(measure_least(op_pingpong), none);
		point("cgroup switch, by watched cgroups", n, c.insns / 2);
	}
	close_all();
	cgroup_add(&root, getpid());
	partner_end(pid);
	while (last)
		cgroup_remove(&other[--last]);
	cgroup_remove(&here);
	cgroup_remove(&there);
}

static struct perf_event_attr open_attr;

static void op_open(void)
{
	close(ev_must(&open_attr, 0, -1, -1, 0));
}

/* Allocating an fd costs more with more open files.  This part is not a cost of events. */
static void op_dup(void)
{
	close(dup(0));
}

static void grow_open(const char *curve, int enabled)
{
	/* The last step would take minutes with native perf */
	int n, max = route_is_native() ? MAX / 10 : MAX;
	struct cost files;

	interval(1000);
	files = measure_least(op_dup);
	open_attr = branches(1);
	for (n = enabled ? 10 : 1; n <= max; n *= 10) {
		while (nr_fds < n)
			add(0, enabled);
		point(curve, n, measure_least(op_open).insns -
		      (measure_least(op_dup).insns - files.insns));
	}
	interval(4);
	close_all();
}

/* Native perf does not count its rotations: assume one per ms, as set by interval(1) */
static uint64_t rotations(void)
{
	char buf[4096], *p;
	ssize_t n;
	int fd;

	if (route_is_native())
		return now_ns() / 1000000;
	fd = open("/sys/kernel/debug/kpmu/stats", O_RDONLY);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	p = strstr(buf, "rotations");
	return p ? strtoull(p + strlen("rotations"), NULL, 10) : 0;
}

struct spell {
	uint64_t insns, rotations, ms;
};

/*
 * Kernel instructions, rotations and duration of at least @ms ms in user mode.  Ticks and
 * rotations are the only kernel work in this time.
 */
static struct spell spell(int ms)
{
	uint64_t start = now_ns(), end = start + ms * 1000000ULL;
	struct spell s;

	s.rotations = rotations();
	s.insns = cost_sample().insns;
	while (now_ns() < end)
		work(1000);
	s.insns = cost_sample().insns - s.insns;
	s.rotations = rotations() - s.rotations;
	s.ms = (now_ns() - start) / 1000000;
	return s;
}

/*
 * Minimum instructions per rotation of several tries.  @idle: kernel instructions per ms
 * without rotations, which are subtracted.
 */
static double per_rotation(double idle)
{
	double best = 1e18, c;
	int i;

	for (i = 0; i < 8; i++) {
		struct spell s = spell(100);

		if (!s.rotations)
			continue;
		c = (s.insns - idle * s.ms) / s.rotations;
		if (c < best)
			best = c;
	}
	return best;
}

static void grow_rotation(void)
{
	double idle = 1e18;
	int n, i;

	for (i = 0; i < 8; i++) {
		struct spell s = spell(100);

		if ((double)s.insns / s.ms < idle)
			idle = (double)s.insns / s.ms;
	}
	interval(1);
	for (n = 1; n <= 1000; n *= 10) {
		while (nr_fds < n + counters_general())
			add(0, 1);
		point("rotation, by waiting groups", n, per_rotation(idle));
	}
	interval(4);
	close_all();
}

/* Small, so that many samples fit between two ticks */
#define SAMPLE_ROUNDS	2500

static void op_sample(void)
{
	work(SAMPLE_ROUNDS);
}

/*
 * Open a sampling event and map its ring buffer.  The mapping is read-only, so the kernel
 * overwrites old records and the buffer never fills up.
 */
static void add_sampled(uint32_t type, uint64_t config, uint64_t period)
{
	struct perf_event_attr attr = ev_attr(type, config);

	attr.disabled = 0;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_PERIOD;
	fds[nr_fds] = ev_must(&attr, 0, -1, -1, 0);
	maps[nr_fds] = mmap(NULL, RING, PROT_READ, MAP_SHARED, fds[nr_fds], 0);
	if (maps[nr_fds++] == MAP_FAILED)
		exit(1);
}

/* A sample, while the task has other sampling events that do not overflow, with a ring each */
static void grow_samples(void)
{
	int n;

	no_throttle();
	add_sampled(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 4 * SAMPLE_ROUNDS);
	for (n = 1; n <= 1000; n *= 10) {
		while (nr_fds < n)
			add_sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
				    1ULL << 40);
		point("sample, by mapped events of the task", n,
		      measure_least(op_sample).insns);
	}
	close_all();
}

/* A switch between two tasks, one of which has such events; each event has a user page */
static void grow_mapped(void)
{
	pid_t pid = partner_start();
	struct cost none = measure_least(op_pingpong), c;
	int n;

	for (n = 1; n <= 100; n *= 10) {
		while (nr_fds < n)
			add_sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
				    1ULL << 40);
		c = minus(measure_least(op_pingpong), none);
		point("task switch, by its mapped events", n, c.insns / 2);
	}
	close_all();
	partner_end(pid);
}

static void op_map(void)
{
	munmap(mmap(NULL, RING, PROT_READ, MAP_SHARED, fds[0], 0), RING);
}

/* mmap() and munmap() of an event's ring, while the task has other events with user pages */
static void grow_mmap(void)
{
	struct perf_event_attr attr = branches(0);
	int n;

	fds[nr_fds++] = ev_must(&attr, 0, -1, -1, 0);
	for (n = 1; n <= 1000; n *= 10) {
		while (nr_fds <= n)
			add_sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
				    1ULL << 40);
		point("mmap + munmap, by mapped events", n, measure_least(op_map).insns);
	}
	close_all();
}

/* With the argument "rotation" only the rotation curve, else all others */
int main(int argc, char **argv)
{
	struct rlimit files = { MAX + 2000, MAX + 2000 };

	bench_begin();
	setrlimit(RLIMIT_NOFILE, &files);
	if (argc > 1 && !strcmp(argv[1], "rotation")) {
		grow_rotation();
		return 0;
	}
	grow_cgroups();
	grow_switch();
	grow_switch_own();
	grow_samples();
	grow_mapped();
	grow_mmap();
	grow_open("open + close, by events that are off", 0);
	grow_open("open + close, by waiting events", 1);
	return 0;
}
