// SPDX-License-Identifier: GPL-2.0-only
/* Cost of system calls on hardware events, and memory use of events. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

static void bench_hardware(void)
{
	struct perf_event_attr attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);

	op_fd = ev_must(&attr, 0, -1, -1, 0);
	row("read() one counter", net(measure(op_read), 1));
	row("disable + enable, one event", net(measure(op_toggle), 2));
	close(op_fd);

	op_fd = open_four(0, GROUP_FORMAT);
	row("read() group of 4 with times and ids", net(measure(op_read), 1));
	row("disable + enable, group of 4", net(measure(op_toggle_group), 2));
	close_from(op_fd);

	op_attr = attr;
	row("open + close, enabled hardware event", net(measure(op_open), 2));
}

/*
 * Free pages, including the free lists of the CPUs ("count:").  Memory of any kind that is
 * allocated meanwhile reduces the result.
 */
static long pages_free(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	char line[256];
	long sum = 0, n;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " pages free %ld", &n) == 1 ||
		    sscanf(line, " count: %ld", &n) == 1)
			sum += n;
	if (!f || !sum)
		exit(1);
	fclose(f);
	return sum;
}

#define FEW	1000
#define MANY	9000

static int fds[MANY];

static void open_up_to(int from, int to, const struct perf_event_attr *attr)
{
	while (from < to)
		fds[from++] = ev_must(attr, 0, -1, -1, 0);
}

/* Bytes per event.  Averaged over many events, because slabs grow by whole pages. */
static struct cost memory_of(struct perf_event_attr attr)
{
	struct cost c = { 0 };
	long free;
	int i;

	attr.disabled = 1;
	open_up_to(0, FEW, &attr);
	free = pages_free();
	open_up_to(FEW, MANY, &attr);
	c.mean = (free - pages_free()) * 4096.0 / (MANY - FEW);
	c.insns = c.mean;
	for (i = 0; i < MANY; i++)
		close(fds[i]);
	return c;
}

static void bench_memory(void)
{
	const char *slab = route_is_native() ? "perf_event" : "kpmu_event";
	struct perf_event_attr attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);
	struct rlimit files = { MANY + 100, MANY + 100 };
	struct cost c = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/slab_size", slab);
	c.insns = read_long(path);
	c.mean = c.insns;
	row("memory of an event's own object", c);
	setrlimit(RLIMIT_NOFILE, &files);
	row("memory per event, all of it", memory_of(attr));
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	row("memory per sampling event, all of it", memory_of(attr));
}

int main(void)
{
	bench_begin();
	bench_hardware();
	bench_memory();
	return 0;
}
