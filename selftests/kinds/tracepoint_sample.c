// SPDX-License-Identifier: GPL-2.0-only
/* Sampling tracepoint and breakpoint events: the contents of their records. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <linux/hw_breakpoint.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

#define EVENTS	"/sys/kernel/tracing/events/"

static struct record record;

static struct ring *map(int fd, const struct perf_event_attr *a, int pages)
{
	struct ring *r = calloc(1, sizeof(*r));

	ring_map(r, fd, a, pages);
	return r;
}

static struct perf_event_header *next(struct ring *r)
{
	return ring_next(r, &record) ? &record.head : NULL;
}

static struct perf_event_attr tp(const char *name, uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, 0);
	char path[200];

	snprintf(path, sizeof(path), EVENTS "%s/id", name);
	a.config = read_long(path);
	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	a.sample_period = period;
	return a;
}

/* The first fields of all tracepoint records */
struct common {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
};

TEST(raw_record)
{
	ROWS("S-13 S-14 T-35");
	struct perf_event_attr a = tp("syscalls/sys_enter_close", 1);
	struct {
		struct perf_event_header header;
		uint32_t size;
		struct common common;
		uint32_t nr;
		uint64_t fd;
	} __attribute__((packed)) *s;
	struct perf_event_header *h;
	int fd, n = 0, i;
	struct ring *r;

	a.sample_type = PERF_SAMPLE_RAW;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 16);
	ev_enable(fd);
	for (i = 0; i < 10; i++)
		close(1000 + i);
	ev_disable(fd);
	while ((h = next(r))) {
		s = (void *)h;
		ASSERT_EQ(h->type, PERF_RECORD_SAMPLE);
		EXPECT_EQ(h->size, sizeof(*h) + 4 + s->size);
		EXPECT_EQ(s->size % 8, 4);
		EXPECT_GE(s->size, 24);
		EXPECT_LT(s->size, 40);
		EXPECT_EQ(s->common.type, a.config);
		EXPECT_EQ(s->common.pid, getpid());
		EXPECT_EQ(s->nr, SYS_close);
		n++;
	}
	EXPECT_EQ(n, 10);
}

TEST(of_a_cpu)
{
	ROWS("S-13 S-09");
	struct perf_event_attr a = tp("sched/sched_switch", 1);
	struct timespec t = { .tv_nsec = 5000000 };
	struct {
		struct perf_event_header header;
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time, addr;
		uint32_t cpu, zero;
		uint64_t period;
		uint32_t size;
		struct common common;
		char prev_comm[16];
		int32_t prev_pid;
	} __attribute__((packed)) *s;
	struct perf_event_header *h;
	int fd, n = 0, ours = 0, i;
	struct ring *r;

	ASSERT_EQ(pin_to(1), 0);
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
			PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	fd = ev_must(&a, -1, 1, -1, 0);
	r = map(fd, &a, 64);
	ev_enable(fd);
	for (i = 0; i < 10; i++)
		nanosleep(&t, NULL);
	ev_disable(fd);
	while ((h = next(r))) {
		s = (void *)h;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		/* The switch belongs to the task that is scheduled out */
		EXPECT_EQ(s->tid, s->prev_pid);
		EXPECT_EQ(s->common.pid, s->prev_pid);
		EXPECT_EQ(s->cpu, 1);
		EXPECT_EQ(s->addr, 0);
		EXPECT_EQ(s->period, 1);
		EXPECT_GT(s->ip, 1ULL << 63);
		ours += s->prev_pid == getpid();
		n++;
	}
	EXPECT_GT(ours, 5);
	EXPECT_GT(n, ours);
}

TEST(every_nth)
{
	ROWS("A-03");
	struct perf_event_attr a = tp("syscalls/sys_enter_getppid", 7);
	struct ring *r;
	int fd, i;

	a.sample_type = PERF_SAMPLE_IP;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 16);
	ev_enable(fd);
	for (i = 0; i < 100; i++)
		syscall(SYS_getppid);
	ev_disable(fd);
	EXPECT_EQ(ring_count(r, PERF_RECORD_SAMPLE), 14);
	EXPECT_EQ(ev_count(fd), 100);
}

TEST(with_a_filter)
{
	ROWS("I-19");
	struct perf_event_attr a = tp("syscalls/sys_enter_close", 1);
	struct ring *r;
	int fd, i;

	a.sample_type = PERF_SAMPLE_RAW;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 16);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "fd == 1003"), 0);
	ev_enable(fd);
	for (i = 0; i < 10; i++)
		close(1000 + i);
	ev_disable(fd);
	EXPECT_EQ(ring_count(r, PERF_RECORD_SAMPLE), 1);
}

static volatile long data;

TEST(breakpoint)
{
	ROWS("S-06 T-06");
	struct perf_event_attr a = ev_attr(PERF_TYPE_BREAKPOINT, 0);
	struct {
		struct perf_event_header header;
		uint64_t ip, addr;
	} *s;
	struct perf_event_header *h;
	int fd, n = 0, i;
	struct ring *r;

	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (uintptr_t)&data;
	a.bp_len = HW_BREAKPOINT_LEN_8;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 16);
	ev_enable(fd);
	for (i = 0; i < 20; i++)
		data = i;
	ev_disable(fd);
	while ((h = next(r))) {
		s = (void *)h;
		ASSERT_EQ(h->size, sizeof(*s));
		EXPECT_EQ(s->addr, (uintptr_t)&data);
		EXPECT_GT(s->ip, 4096);
		EXPECT_LT(s->ip, 1ULL << 47);
		n++;
	}
	EXPECT_EQ(n, 20);
}

/* A second REFRESH arms the event again, unlike in upstream 6.18: row DIFF-23 */
TEST(breakpoint_refresh)
{
	ROWS("V-12");
	struct perf_event_attr a = ev_attr(PERF_TYPE_BREAKPOINT, 0);
	struct ring *r;
	int fd, i, round;

	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (uintptr_t)&data;
	a.bp_len = HW_BREAKPOINT_LEN_8;
	a.sample_period = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 16);
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2), 0);
		for (i = 0; i < 10; i++) {
			data = i;
			getppid();
		}
		EXPECT_EQ(ring_count(r, PERF_RECORD_SAMPLE), 2);
	}
}

TEST_HARNESS_MAIN
