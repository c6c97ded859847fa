// SPDX-License-Identifier: GPL-2.0-only
/* PERF_EVENT_IOC_SET_FILTER: an event counts only hits of its tracepoint that match. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "missing.h"

#define ID	"/sys/kernel/tracing/events/syscalls/sys_enter_close/id"

static struct perf_event_attr tp(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, read_long(ID));

	a.exclude_kernel = 0;
	a.disabled = 0;
	return a;
}

static int filter(int fd, const char *f)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, f) ? errno : 0;
}

/* Close the fds 1000 to 1000 + @n - 1, which are not open */
static void closes(int n)
{
	int i;

	for (i = 0; i < n; i++)
		close(1000 + i);
}

TEST(by_field)
{
	ROWS("I-19");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), all = ev_must(&a, 0, -1, -1, 0);

	closes(10);
	EXPECT_EQ(ev_count(fd), 10);
	EXPECT_EQ(filter(fd, "fd == 1003 || fd > 1007"), 0);
	closes(10);
	EXPECT_EQ(ev_count(fd), 13);
	/* The filter does not affect other events */
	EXPECT_EQ(ev_count(all), 20);
	close(all);
	closes(10);
	EXPECT_EQ(ev_count(fd), 16);
}

TEST(once)
{
	ROWS("I-19");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0);

	EXPECT_EQ(filter(fd, "fd == 1001"), 0);
	EXPECT_EQ(filter(fd, "fd == 1002"), EEXIST);
	closes(10);
	EXPECT_EQ(ev_count(fd), 1);
}

TEST(invalid_filters)
{
	ROWS("I-20");
	static const char *const bad[] = {
		"no_such_field == 1", "fd == 1 && no_such_field == 2",
	};
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(filter(fd, bad[i]), EINVAL);
	EXPECT_EQ(filter(fd, NULL), EFAULT);
	/* A refused filter has no effect */
	closes(5);
	EXPECT_EQ(ev_count(fd), 5);
	EXPECT_EQ(filter(fd, "fd == 1001"), 0);
	closes(5);
	EXPECT_EQ(ev_count(fd), 6);
}

/* A filter also applies to inherited events, those created before it and after it */
TEST(inherited)
{
	ROWS("I-19");
	struct perf_event_attr a = tp();
	int fd, to[2], from[2], i;
	char c;

	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(pipe(to) | pipe(from), 0);
	if (!fork()) {
		closes(10);
		if (write(from[1], "x", 1) != 1 || read(to[0], &c, 1) != 1)
			_exit(1);
		closes(10);
		_exit(0);
	}
	ASSERT_EQ(read(from[0], &c, 1), 1);
	EXPECT_EQ(ev_count(fd), 10);
	EXPECT_EQ(filter(fd, "fd == 1003"), 0);
	ASSERT_EQ(write(to[1], "x", 1), 1);
	wait(NULL);
	EXPECT_EQ(ev_count(fd), 11);
	for (i = 0; i < 3; i++) {
		if (!fork()) {
			closes(10);
			_exit(0);
		}
		wait(NULL);
	}
	EXPECT_EQ(ev_count(fd), 14);
}

TEST(on_all_cpus)
{
	ROWS("I-19");
	struct perf_event_attr a = tp();
	int fd = ev_must(&a, 0, -1, -1, 0), cpu;

	EXPECT_EQ(filter(fd, "fd == 1003"), 0);
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(pin_to(cpu), 0);
		closes(10);
	}
	EXPECT_EQ(ev_count(fd), nr_cpus());
}

TEST(filter_needs_tracepoint)
{
	ROWS("I-19");
	static const uint32_t types[] = { PERF_TYPE_SOFTWARE, PERF_TYPE_HARDWARE };
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		int fd = ev_self(types[i], 1, -1);

		EXPECT_EQ(filter(fd, "fd == 1"), EINVAL);
		close(fd);
	}
}

static int asked, filtered;
static volatile int done;

static void *asks(void *page)
{
	ioctl(asked, PERF_EVENT_IOC_QUERY_BPF, page);
	return NULL;
}

static void *filters(void *unused)
{
	done = filter(filtered, "fd == 1003") ? -1 : 1;
	return NULL;
}

/* While an ioctl on one event waits for user memory, an ioctl on another event does not block */
TEST(ioctls_do_not_block_each_other)
{
	ROWS("I-19");
	struct uffdio_zeropage zero = { .range.len = MISSING_SIZE };
	uint64_t end = patience();
	struct perf_event_attr a = tp();
	struct uffd_msg msg;
	pthread_t t[2];
	void *page;
	int uffd;

	if (route_is_native())
		SKIP(return, "it is about our locks");
	uffd = empty_page(&page);
	if (uffd < 0)
		SKIP(return, "no userfaultfd");
	asked = ev_must(&a, 0, -1, -1, 0);
	filtered = ev_must(&a, -1, 0, -1, 0);
	pthread_create(&t[0], NULL, asks, page);
	ASSERT_EQ(read(uffd, &msg, sizeof(msg)), sizeof(msg));
	pthread_create(&t[1], NULL, filters, NULL);
	while (!done && now_ns() < end)
		usleep(1000);
	EXPECT_EQ(done, 1);
	zero.range.start = (uintptr_t)page;
	EXPECT_EQ(ioctl(uffd, UFFDIO_ZEROPAGE, &zero), 0);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

TEST_HARNESS_MAIN
