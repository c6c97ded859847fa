// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations cost: retired kernel instructions and PMU register accesses,
 * counted by the model, so the machine's speed does not matter.
 *
 * Prints lines "row | instructions | WRMSR | RDMSR" for the route in use; the
 * script beside it sets native and kpmu side by side.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"

static void row(const char *name, struct cost c)
{
	printf("%s | %.0f | %.1f | %.1f\n", name, c.insns, c.wrmsr, c.rdmsr);
}

static int fd;
static struct cost bare;

static void op_bare(void)
{
	syscall(SYS_getppid);
}

static void op_read(void)
{
	uint64_t buf[32];

	if (syscall(SYS_read, fd, buf, sizeof(buf)) <= 0)
		exit(1);
}

static void op_toggle(void)
{
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void op_toggle_group(void)
{
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static struct perf_event_attr open_attr;

static void op_open(void)
{
	close(ev_must(&open_attr, 0, -1, -1, 0));
}

/* Four general-counter events and more: what a metric asks for */
static const uint64_t four[] = { RAW_BRANCHES, RAW_LOADS, RAW_STORES, 0x00c5 };

static int open_group(pid_t pid, int nr, uint64_t format)
{
	int leader = -1, f, i;

	for (i = 0; i < nr; i++) {
		struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, four[i]);

		attr.exclude_kernel = 0;
		attr.disabled = 0;
		attr.read_format = format;
		f = ev_must(&attr, pid, -1, leader, 0);
		if (leader < 0)
			leader = f;
	}
	return leader;
}

static void close_from(int first)
{
	int f;

	for (f = first; f < first + 16; f++)
		close(f);
}

static struct cost net(struct cost c, int syscalls)
{
	return (struct cost) {
		c.insns - syscalls * bare.insns, c.wrmsr, c.rdmsr
	};
}

static void bench_calls(void)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	attr.exclude_kernel = 0;
	attr.disabled = 0;
	fd = ev_must(&attr, 0, -1, -1, 0);
	row("read() one counter", net(measure(op_read), 1));
	row("disable + enable, one event", net(measure(op_toggle), 2));
	close(fd);

	fd = open_group(0, 4, PERF_FORMAT_GROUP | PERF_FORMAT_ID |
			PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING);
	row("read() group of 4 with times and ids", net(measure(op_read), 1));
	row("disable + enable, group of 4", net(measure(op_toggle_group), 2));
	close_from(fd);

	open_attr = attr;
	row("open + close, enabled hardware event", net(measure(op_open), 2));
}

/* What a switch costs with events on both sides or one, less what it costs without */
static struct cost idle_switch;

static struct cost switch_without_events(void)
{
	pid_t pid = partner_start();
	struct cost c = measure(op_pingpong);

	partner_end(pid);
	return c;
}

static void bench_switch(const char *name, int nr, bool both)
{
	pid_t pid = partner_start();
	struct cost c;
	int first;

	first = open_group(0, nr, 0);
	if (both)
		open_group(pid, nr, 0);
	c = minus(measure(op_pingpong), idle_switch);
	row(name, (struct cost) { c.insns / 2, c.wrmsr / 2, c.rdmsr / 2 });
	close_from(first);
	partner_end(pid);
}

static void bench_switches(void)
{
	struct cost c = { 0 };
	int i;

	bench_switch("task switch, 4 events both sides, per switch", 4, true);
	bench_switch("task switch, 4 events one side, per switch", 4, false);
	bench_switch("task switch, 1 event both sides", 1, true);
	/* The hook goes a second after the last event, or when there is time for it */
	for (i = 0; i < 10; i++) {
		sleep(2);
		c = minus(switch_without_events(), idle_switch);
		if (c.insns <= 5)
			break;
	}
	row("task switch when no kpmu event exists", c);
}

#define TRACEPOINT "/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id"

static char *page;

static char *fault_page(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munlock(p, 4096);
	return p;
}

static void op_fault(void)
{
	madvise(page, 4096, MADV_DONTNEED);
	*(volatile char *)page = 1;
}

static int soft(uint32_t type, uint64_t config, int lead)
{
	struct perf_event_attr attr = ev_attr(type, config);

	attr.exclude_kernel = 0;
	attr.disabled = 0;
	return ev_must(&attr, 0, -1, lead, 0);
}

/* What is counted, less what it costs when nobody counts it */
static void bench_hit(const char *name, void (*op)(void), uint32_t type,
		      uint64_t config)
{
	struct cost without = measure(op);

	fd = soft(type, config, -1);
	row(name, minus(measure(op), without));
	close(fd);
}

/* Software events: what has no counter */
static void bench_soft(void)
{
	int i;

	page = fault_page();
	bench_hit("page fault, counted", op_fault, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_PAGE_FAULTS);
	bench_hit("tracepoint hit, counted", op_bare, PERF_TYPE_TRACEPOINT,
		  read_long(TRACEPOINT));
	fd = soft(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, -1);
	row("read() software event", net(measure(op_read), 1));
	close(fd);
	fd = soft(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, -1);
	for (i = 0; i < 3; i++)
		soft(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, fd);
	row("read() task-clock", net(measure(op_read), 1));
	row("disable + enable, group of 4 clocks",
	    net(measure(op_toggle_group), 2));
	close_from(fd);
}

/* Beside the counters' own: a switch of four clocks and faults on both sides */
static void bench_soft_switch(void)
{
	static const uint64_t configs[] = {
		PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
		PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
	};
	pid_t pid = partner_start();
	struct cost c;
	int i, first = -1;

	for (i = 0; i < 8; i++) {
		struct perf_event_attr attr = ev_attr(PERF_TYPE_SOFTWARE,
						      configs[i % 4]);

		attr.exclude_kernel = 0;
		attr.disabled = 0;
		fd = ev_must(&attr, i < 4 ? 0 : pid, -1, -1, 0);
		if (first < 0)
			first = fd;
	}
	c = minus(measure(op_pingpong), idle_switch);
	row("task switch, 4 software events both sides",
	    (struct cost) { c.insns / 2, c.wrmsr / 2, c.rdmsr / 2 });
	partner_end(pid);
	close_from(first);
}

/* Just over a period's instructions in user mode: one overflow */
#define SAMPLE_ROUNDS	10000

static void op_sample(void)
{
	work(SAMPLE_ROUNDS);
}

static const size_t len = 65 * 4096;

static void *open_sample(uint64_t more)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_HARDWARE,
					      PERF_COUNT_HW_INSTRUCTIONS);
	void *ring;

	attr.disabled = 0;
	attr.sample_period = 4 * SAMPLE_ROUNDS;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_PERIOD | more;
	fd = ev_must(&attr, 0, -1, -1, 0);
	/* Read-only: there is always room */
	ring = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return ring;
}

static void bench_sample(const char *name, uint64_t more)
{
	void *ring = open_sample(more);

	row(name, measure(op_sample));
	munmap(ring, len);
	close(fd);
}

static void bench_samples(void)
{
	/* The least of many is taken, and in a throttled tick nothing is sampled */
	no_throttle();
	bench_sample("overflow sample, IP+TID+TIME+PERIOD", 0);
	bench_sample("same with callchain", PERF_SAMPLE_CALLCHAIN);
}

static void bench_memory(void)
{
	const char *slab = route_is_native() ? "perf_event" : "kpmu_event";
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/slab_size", slab);
	row("memory per event, bytes", (struct cost) { read_long(path), 0, 0 });
}

/* loop ROW N: one operation over and over, to be looked at from outside */
static int loop(const char *what, long n)
{
	void (*op)(void) = op_read;
	int nr = strstr(what, "4") ? 4 : 1;

	if (strstr(what, "bare"))
		op = op_bare;
	if (strstr(what, "toggle"))
		op = nr == 4 ? op_toggle_group : op_toggle;
	if (strstr(what, "open")) {
		op = op_open;
		open_attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
		open_attr.disabled = 0;
		open_attr.exclude_kernel = 0;
	}
	if (strstr(what, "sample")) {
		op = op_sample;
		open_sample(0);
	}
	if (strstr(what, "fault")) {
		op = op_fault;
		page = fault_page();
		soft(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, -1);
	}
	if (strstr(what, "hit")) {
		op = op_bare;
		soft(PERF_TYPE_TRACEPOINT, read_long(TRACEPOINT), -1);
	}
	if (strstr(what, "switch")) {
		op = op_pingpong;
		fd = partner_start();
		if (strstr(what, "both"))
			open_group(fd, nr, 0);
	}
	if (!strstr(what, "none"))
		fd = open_group(0, nr, nr == 4 ? 0xf : 0);
	while (n--)
		op();
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	pin_to(0);
	if (argc == 4 && !strcmp(argv[1], "loop"))
		return loop(argv[2], atol(argv[3]));
	bare = measure(op_bare);
	printf("# a bare system call: %.0f instructions\n", bare.insns);
	idle_switch = switch_without_events();
	bench_calls();
	bench_switches();
	bench_soft();
	bench_soft_switch();
	bench_samples();
	bench_memory();
	return 0;
}
