// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many events read and controlled together: natively one system call for each, on kpmu a set
 * (KPMU_IOC_OPEN_SET).  The cost is the sum over all CPUs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define CPUS	4
#define EVENTS	8

/* Four general counters, the fixed ones, and one that needs none */
static const struct {
	uint32_t type;
	uint64_t config;
} kinds[EVENTS] = {
	{ PERF_TYPE_RAW, RAW_BRANCHES }, { PERF_TYPE_RAW, RAW_LOADS },
	{ PERF_TYPE_RAW, RAW_STORES }, { PERF_TYPE_RAW, 0x00c5 },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
};

static struct perf_event_attr attr[EVENTS];
static int cpus, events, set, fds[CPUS * EVENTS];

static void open_one_set(void)
{
	struct kpmu_set_event ev[EVENTS] = { };
	int32_t cpu[CPUS] = { 0, 1, 2, 3 };
	struct kpmu_open_set args = {
		.events = (uintptr_t)ev, .nr_events = events,
		.targets = (uintptr_t)cpu, .nr_targets = cpus,
	};

	for (int i = 0; i < events; i++) {
		ev[i].attr = (uintptr_t)&attr[i];
		ev[i].group = -1;
	}
	set = ioctl(ev_device(), KPMU_IOC_OPEN_SET, &args);
	if (set < 0)
		exit(1);
}

static void open_them(void)
{
	if (!route_is_native()) {
		open_one_set();
		return;
	}
	for (int i = 0; i < cpus * events; i++)
		fds[i] = ev_must(&attr[i % events], -1, i / events, -1, 0);
}

static void close_them(void)
{
	if (!route_is_native())
		close(set);
	for (int i = 0; route_is_native() && i < cpus * events; i++)
		close(fds[i]);
}

static void read_them(void)
{
	static struct {
		struct kpmu_set_head head;
		uint64_t word[CPUS * EVENTS];
	} r;

	if (!route_is_native()) {
		if (read(set, &r, sizeof(r)) <= 0)
			exit(1);
		return;
	}
	for (int i = 0; i < cpus * events; i++)
		if (read(fds[i], &r.word[i], sizeof(r.word[i])) <= 0)
			exit(1);
}

/* What read(2) costs whatever file it reads: the way to the file, LSMs, accounting */
static void read_nothing(void)
{
	static int null = -1;
	char c;

	if (null < 0)
		null = open("/dev/null", O_RDONLY);
	if (read(null, &c, 1) != 0)
		exit(1);
}

static void ioctl_all(unsigned long cmd)
{
	if (!route_is_native())
		ioctl(set, cmd, 0);
	for (int i = 0; route_is_native() && i < cpus * events; i++)
		ioctl(fds[i], cmd, 0);
}

static void toggle_them(void)
{
	ioctl_all(PERF_EVENT_IOC_DISABLE);
	ioctl_all(PERF_EVENT_IOC_ENABLE);
}

static void reopen(void)
{
	open_them();
	close_them();
}

static void tell(const char *what, struct cost c)
{
	char name[64];

	snprintf(name, sizeof(name), "%d CPU%s x %d events: %s", cpus, cpus > 1 ? "s" : "",
		 events, what);
	row(name, c);
}

static void bench_sets(int on, int nr)
{
	cpus = on;
	events = nr;
	cost_on(on);
	open_them();
	tell("read all", measure(read_them));
	if (on == 1) {
		struct cost all = measure(read_them), none = measure(read_nothing);

		none.insns *= route_is_native() ? nr : 1;
		none.mean *= route_is_native() ? nr : 1;
		tell("read, beyond a read of /dev/null, per event", divided(minus(all, none), nr));
		tell("read, net, per event", divided(net(all, route_is_native() ? nr : 1), nr));
	}
	tell("disable + enable all", measure(toggle_them));
	close_them();
	tell("open + close all", measure(reopen));
}

int main(void)
{
	if (nr_cpus() < CPUS)
		return 1;
	for (int i = 0; i < EVENTS; i++)
		attr[i] = counting(kinds[i].type, kinds[i].config);
	bench_begin();
	bench_sets(1, 8);
	bench_sets(CPUS, 4);
	return 0;
}
