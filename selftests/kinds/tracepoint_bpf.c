// SPDX-License-Identifier: GPL-2.0-only
/* BPF programs on events: attach, run, query; and events that do not support them. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "bpf.h"
#include "event.h"
#include "harness.h"

/* The program counts its runs.  The hit does not count if @result is 0. */
static int load(uint32_t type, int map, int result)
{
	return BUILD(type, map, SET(8, result));
}

static uint64_t value(int map)
{
	return map_word(map, 0);
}

static struct perf_event_attr tp(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT,
		read_long("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id"));

	a.exclude_kernel = 0;
	a.disabled = 0;
	return a;
}

static void call(int n)
{
	while (n--)
		syscall(SYS_getppid);
}

static int set(int fd, int prog)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) ? errno : 0;
}

TEST(runs)
{
	ROWS("I-22");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), map = words_map();
	int prog = load(BPF_PROG_TYPE_TRACEPOINT, map, 1);

	call(3);
	EXPECT_EQ(value(map), 0);
	EXPECT_EQ(set(fd, prog), 0);
	call(5);
	EXPECT_EQ(value(map), 5);
	EXPECT_EQ(ev_count(fd), 8);
	close(fd);
	call(2);
	EXPECT_EQ(value(map), 5);
}

TEST(return_0_suppresses_hit)
{
	ROWS("I-22");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), map = words_map();

	EXPECT_EQ(set(fd, load(BPF_PROG_TYPE_TRACEPOINT, map, 0)), 0);
	call(5);
	EXPECT_EQ(value(map), 5);
	EXPECT_EQ(ev_count(fd), 0);
}

/* The program of one event suppresses hits for all events of the tracepoint */
TEST(return_0_suppresses_all_events)
{
	ROWS("I-22");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), other = ev_must(&a, 0, -1, -1, 0);
	int map = words_map();

	call(3);
	EXPECT_EQ(set(fd, load(BPF_PROG_TYPE_TRACEPOINT, map, 0)), 0);
	call(5);
	EXPECT_EQ(ev_count(other), 3);
	close(fd);
	call(2);
	EXPECT_EQ(ev_count(other), 5);
	EXPECT_EQ(value(map), 5);
}

TEST(one_program_per_event)
{
	ROWS("I-23");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), other = ev_must(&a, 0, -1, -1, 0);
	int map = words_map(), prog = load(BPF_PROG_TYPE_TRACEPOINT, map, 1);

	EXPECT_EQ(set(fd, prog), 0);
	EXPECT_EQ(set(fd, prog), EEXIST);
	/* Another program on another event of the same tracepoint */
	EXPECT_EQ(set(other, load(BPF_PROG_TYPE_TRACEPOINT, map, 1)), 0);
	call(4);
	EXPECT_EQ(value(map), 8);
}

TEST(query)
{
	ROWS("I-28 I-29");
	struct perf_event_attr a = tp();
	int fd[2] = { ev_must(&a, 0, -1, -1, 0), ev_must(&a, 0, -1, -1, 0) };
	int map = words_map(), prog[2], i;
	struct {
		uint32_t ids_len, prog_cnt, ids[4];
	} q = { .ids_len = 4 };

	EXPECT_EQ(ioctl(fd[0], PERF_EVENT_IOC_QUERY_BPF, &q), 0);
	EXPECT_EQ(q.prog_cnt, 0);
	for (i = 0; i < 2; i++) {
		prog[i] = load(BPF_PROG_TYPE_TRACEPOINT, map, 1);
		EXPECT_EQ(set(fd[i], prog[i]), 0);
	}
	/* Each event of the tracepoint lists all its programs */
	EXPECT_EQ(ioctl(fd[1], PERF_EVENT_IOC_QUERY_BPF, &q), 0);
	EXPECT_EQ(q.prog_cnt, 2);
	EXPECT_EQ(q.ids[0], program_id(prog[0]));
	EXPECT_EQ(q.ids[1], program_id(prog[1]));
	/* ids is too short: it is filled, prog_cnt is complete, and nothing is written behind it */
	q.ids_len = 1;
	q.prog_cnt = 0;
	memset(q.ids, 0x55, sizeof(q.ids));
	EXPECT_EQ(ioctl(fd[1], PERF_EVENT_IOC_QUERY_BPF, &q), -1);
	EXPECT_EQ(errno, ENOSPC);
	EXPECT_EQ(q.ids_len, 1);
	EXPECT_EQ(q.prog_cnt, 2);
	EXPECT_EQ(q.ids[0], program_id(prog[0]));
	for (i = 1; i < 4; i++)
		EXPECT_EQ(q.ids[i], 0x55555555);
	/* With ids_len 0 only prog_cnt is written */
	q.ids_len = 0;
	q.prog_cnt = 0;
	q.ids[0] = 0x55555555;
	EXPECT_EQ(ioctl(fd[1], PERF_EVENT_IOC_QUERY_BPF, &q), 0);
	EXPECT_EQ(q.prog_cnt, 2);
	EXPECT_EQ(q.ids[0], 0x55555555);
	EXPECT_EQ(ioctl(fd[1], PERF_EVENT_IOC_QUERY_BPF, NULL), -1);
	EXPECT_EQ(errno, EFAULT);
	q.ids_len = 65;
	EXPECT_EQ(ioctl(fd[1], PERF_EVENT_IOC_QUERY_BPF, &q), -1);
	EXPECT_EQ(errno, E2BIG);
}

TEST(query_needs_permission)
{
	ROWS("I-30 C-13");
	struct perf_event_attr a = tp();
	uint32_t q[6] = { 4 };
	int fd, sw = ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, -1);

	a.exclude_kernel = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(ioctl(sw, PERF_EVENT_IOC_QUERY_BPF, q), -1);
	EXPECT_EQ(errno, EINVAL);
	drop_privilege();
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, q), -1);
	EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(ioctl(sw, PERF_EVENT_IOC_QUERY_BPF, q), -1);
	EXPECT_EQ(errno, EPERM);
}

TEST(invalid_programs)
{
	ROWS("I-22");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), map = words_map();
	int sw = ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, -1);

	EXPECT_EQ(set(fd, 999), EBADF);
	EXPECT_EQ(set(fd, eventfd(0, 0)), EINVAL);
	EXPECT_EQ(set(fd, map), EINVAL);
	/* A program of the wrong type */
	EXPECT_EQ(set(fd, load(BPF_PROG_TYPE_KPROBE, map, 1)), EINVAL);
	EXPECT_EQ(set(sw, load(BPF_PROG_TYPE_TRACEPOINT, map, 1)), EINVAL);
}

TEST(on_a_probe)
{
	ROWS("I-22");
	struct perf_event_attr a = ev_attr(0, 0);
	int fd, map = words_map();

	a.type = read_long(route_is_native() ?
			   "/sys/bus/event_source/devices/kprobe/type" :
			   "/sys/bus/kpmu/devices/kprobe/type");
	a.exclude_kernel = 0;
	a.disabled = 0;
	a.kprobe_func = (uintptr_t)"__x64_sys_getppid";
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(set(fd, load(BPF_PROG_TYPE_KPROBE, map, 1)), 0);
	EXPECT_EQ(set(fd, load(BPF_PROG_TYPE_KPROBE, map, 1)), EEXIST);
	call(6);
	EXPECT_EQ(value(map), 6);
	EXPECT_EQ(ev_count(fd), 6);
}

/* A program for overflows cannot be run at hits, nor a program for hits at overflows */
TEST(at_overflow)
{
	ROWS("I-22 I-37");
	struct perf_event_attr a = tp();
	int map = words_map();

	a.sample_period = 1;
	EXPECT_EQ(set(ev_must(&a, 0, -1, -1, 0),
		      load(BPF_PROG_TYPE_PERF_EVENT, map, 1)), EINVAL);
	a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	a.sample_period = 1000000;
	EXPECT_EQ(set(ev_must(&a, 0, -1, -1, 0),
		      load(BPF_PROG_TYPE_TRACEPOINT, map, 1)), EINVAL);
}

TEST_HARNESS_MAIN
