// SPDX-License-Identifier: GPL-2.0-only
/* Cost of operations on many events or on one of many, and of further open calls. */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define MAX	4096

static int fds[MAX];

static void open_all(const struct perf_event_attr *attr, int n)
{
	int i;

	for (i = 0; i < n; i++)
		fds[i] = ev_must(attr, 0, -1, -1, 0);
}

static void close_all(int n)
{
	while (n--)
		close(fds[n]);
}

static void op_prctl(void)
{
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
}

static void op_prctl_on(void)
{
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
}

/* Software events are enabled, because 4,096 hardware events cost a million each natively */
static void bench_prctl(void)
{
	const struct trial off = { .op = op_prctl, .per = MAX, .tries = 5 };
	const struct trial on = {
		.before = op_prctl, .op = op_prctl_on, .per = MAX, .tries = 5,
	};
	struct perf_event_attr attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);

	attr.disabled = 1;
	open_all(&attr, MAX);
	row("prctl(off), 4,096 events that are, each", measure_trial(&off));
	close_all(MAX);
	attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.disabled = 1;
	open_all(&attr, MAX);
	row("prctl(on), 4,096 events that are off, each", measure_trial(&on));
	close_all(MAX);
}

static void enable_one(void)
{
	ev_enable(op_fd);
}

static void disable_one(void)
{
	ev_disable(op_fd);
}

/*
 * Disable the last event, which waits for a counter.  With native perf one rotation of that many
 * events costs hundreds of times as much as the call.  Many tries, so that one rotation does not
 * dominate the mean.
 */
static void bench_disable(void)
{
	const struct trial one = {
		.before = enable_one, .op = disable_one, .per = 1, .tries = 1000,
	};
	struct perf_event_attr attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);

	open_all(&attr, 1024);
	op_fd = fds[1023];
	row("disable 1 of 1,024 enabled", measure_trial(&one));
	close_all(1024);
}

static void bench_breakpoint(void)
{
	static uint64_t watched;

	op_attr = counting(PERF_TYPE_BREAKPOINT, 0);
	op_attr.exclude_kernel = 1;
	op_attr.bp_type = HW_BREAKPOINT_W;
	op_attr.bp_addr = (uintptr_t)&watched;
	op_attr.bp_len = HW_BREAKPOINT_LEN_8;
	row("open + close, breakpoint", measure(op_open));
}

static void bench_fault_counter(void)
{
	op_attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	row("open + close, page-faults", measure(op_open));
}

/*
 * A group of the maximum size.  Its events are software events, because a group of hardware events
 * must fit onto the counters.  A read of a group returns at most 16 KiB natively, so the group that
 * is read is smaller.  The leader is disabled, as that of perf stat: natively each open would stop
 * and start the whole group.
 */
#define READ_NR	1024

static int group_nr;
static uint64_t group_format;

static void open_group_of(int n)
{
	struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE,
					       PERF_COUNT_SW_PAGE_FAULTS);
	int i;

	attr.read_format = group_format;
	for (i = 0; i < n; i++) {
		attr.disabled = !i;
		fds[i] = ev_must(&attr, 0, -1, i ? fds[0] : -1, 0);
	}
	op_fd = fds[0];
	group_nr = n;
}

/* Per member, of one group: natively the cost grows with its square */
static void group_row(const char *name, uint64_t since)
{
	struct cost c = { 0 };

	c.insns = (cost_sample().insns - since) / (double)group_nr;
	c.mean = c.insns;
	row(name, c);
}

static void op_read_group(void)
{
	static uint64_t buf[READ_NR + 1];

	if (read(op_fd, buf, sizeof(buf)) != sizeof(buf))
		exit(1);
}

static void bench_group(void)
{
	const struct trial toggle = { .op = op_toggle_group, .per = MAX, .tries = 3 };
	uint64_t since = cost_sample().insns;

	open_group_of(MAX);
	group_row("group of 4,096: open of a member", since);
	row("group of 4,096: disable + enable, per member", measure_trial(&toggle));
	since = cost_sample().insns;
	close_all(MAX);
	group_row("group of 4,096: close of a member", since);
	group_format = PERF_FORMAT_GROUP;
	open_group_of(READ_NR);
	ev_enable(op_fd);
	row("group of 1,024: read(), per member",
	    divided(measure(op_read_group), READ_NR));
	close_all(READ_NR);
}

int main(void)
{
	struct rlimit files = { MAX + 100, MAX + 100 };

	bench_begin();
	setrlimit(RLIMIT_NOFILE, &files);
	bench_fault_counter();
	bench_breakpoint();
	bench_group();
	bench_disable();
	bench_prctl();
	return 0;
}
