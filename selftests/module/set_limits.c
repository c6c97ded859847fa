// SPDX-License-Identifier: GPL-2.0-only
/* Sets of events: arguments, permissions, limits, and snapshots. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "sets.h"

#define SNAPSHOTS	500
#define TIMES	6	/* that the events are opened on the CPU: a read is copied in a while */

TEST(partial)
{
	ROWS("W-12");
	int fd, n = nr_cpus();

	plan(2, n + 1, 0);
	for (int i = 0; i < 3; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_DUMMY;
	}
	target[n] = 9999;
	int before = open_fds();

	EXPECT_EQ(open_errno(), EINVAL);
	EXPECT_EQ(open_fds(), before);
	EXPECT_EQ(error[2 * n - 1], 0);
	EXPECT_EQ(error[2 * n], EINVAL);
	EXPECT_EQ(error[2 * n + 1], 0);		/* not tried */
	args.flags = KPMU_SET_PARTIAL | KPMU_SET_CLOEXEC;
	fd = open_set();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(error[2 * n + 1], EINVAL);
	EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(get(fd), size_of(2 * (n + 1)));
	EXPECT_EQ(result.word[0], 0);
	EXPECT_EQ(result.word[2 * n - 1], 0);
	EXPECT_EQ(result.word[2 * n], KPMU_SET_NONE);
	close(fd);
	/* With times, and without the event in the middle */
	args.flags |= KPMU_SET_TIMES;
	args.nr_targets = 1;
	args.nr_events = 3;
	attr[1].type = 0x3ffff0;
	attr[0].disabled = attr[2].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(error[0], 0);
	EXPECT_EQ(error[1], ENOENT);
	EXPECT_EQ(get(fd), size_of(3 * 3));
	EXPECT_EQ(result.word[0], 0);
	EXPECT_GT(result.word[1], 0);
	EXPECT_EQ(result.word[6], 0);
	EXPECT_GT(result.word[7], 0);
	EXPECT_EQ(result.word[3], KPMU_SET_NONE);
	EXPECT_EQ(result.word[4], 0);
	EXPECT_EQ(result.word[5], 0);
	close(fd);
	attr[1].type = PERF_TYPE_SOFTWARE;
	args.flags &= ~KPMU_SET_TIMES;
	args.nr_events = 2;
	/* Without any event there is no set */
	args.nr_targets = 1;
	target[0] = 9999;
	EXPECT_EQ(open_errno(), EINVAL);
	args.flags = KPMU_SET_TASKS;
	target[0] = 0x3ffff0;
	EXPECT_EQ(open_errno(), ESRCH);
	target[0] = -1;
	EXPECT_EQ(open_errno(), ESRCH);
}

TEST(arguments)
{
	ROWS("W-12");
	int fd;

	plan(1, 1, KPMU_SET_TASKS);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].config = PERF_COUNT_SW_DUMMY;
	args.nr_events = 0;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_events = KPMU_SET_MAX_EVENTS + 1;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_events = 1;
	args.nr_targets = 0;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_targets = KPMU_SET_MAX_TARGETS + 1;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_targets = KPMU_SET_MAX_TARGETS;
	args.nr_events = KPMU_SET_MAX / KPMU_SET_MAX_TARGETS + 1;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_events = args.nr_targets = 1;
	args.flags |= 1U << 31;
	EXPECT_EQ(open_errno(), EINVAL);
	args.flags = KPMU_SET_TASKS | KPMU_SET_CGROUP;
	EXPECT_EQ(open_errno(), EINVAL);
	args.flags = KPMU_SET_TASKS;
	args.cgroup = 1;
	EXPECT_EQ(open_errno(), EINVAL);
	args.cgroup = 0;
	args.period_us = 1000;
	EXPECT_EQ(open_errno(), EINVAL);
	args.period_us = 0;
	args.nr_slots = 1;
	EXPECT_EQ(open_errno(), EINVAL);
	args.nr_slots = 0;
	ev[0].reserved = 1;
	EXPECT_EQ(open_errno(), EINVAL);
	ev[0].reserved = 0;
	ev[0].group = 0;
	EXPECT_EQ(open_errno(), EINVAL);
	ev[0].group = -2;
	EXPECT_EQ(open_errno(), EINVAL);
	ev[0].group = -1;
	args.events = 16;
	EXPECT_EQ(open_errno(), EFAULT);
	args.events = (uintptr_t)ev;
	args.targets = 16;
	EXPECT_EQ(open_errno(), EFAULT);
	args.targets = (uintptr_t)target;
	args.errors = 16;
	EXPECT_EQ(open_errno(), EFAULT);
	args.errors = 0;
	ev[0].attr = 16;
	EXPECT_EQ(open_errno(), EFAULT);
	ev[0].attr = (uintptr_t)&attr[0];

	fd = open_set();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(fcntl(fd, F_GETFD), 0);
	EXPECT_EQ(read(fd, &result, size_of(1) - 1), -1);
	EXPECT_EQ(errno, ENOSPC);
	EXPECT_EQ(syscall(SYS_read, fd, 16L, size_of(1)), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ID, &result), -1);
	EXPECT_EQ(errno, ENOTTY);
	EXPECT_EQ(write(fd, "x", 1), -1);
	EXPECT_EQ(errno, EBADF);
	EXPECT_EQ(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, ENODEV);
}

static int try_cpus(void)
{
	plan(1, 1, 0);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].exclude_kernel = 1;
	return open_errno();
}

static int try_init(void)
{
	plan(1, 1, KPMU_SET_TASKS);
	attr[0].type = PERF_TYPE_SOFTWARE;
	target[0] = 1;
	return open_errno();
}

static int try_kernel(void)
{
	plan(1, 1, KPMU_SET_TASKS);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].exclude_kernel = 0;
	return open_errno();
}

static int try_self(void)
{
	plan(1, 1, KPMU_SET_TASKS);
	attr[0].type = PERF_TYPE_SOFTWARE;
	return open_errno();
}

/* Sets of this task until there is no room for more */
static int hoard(void)
{
	struct rlimit none = { };
	long held = 0;

	setrlimit(RLIMIT_MEMLOCK, &none);
	plan(EVENTS, TARGETS, KPMU_SET_TASKS);
	for (int i = 0; i < EVENTS; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_DUMMY;
	}
	while (open_set() >= 0)
		held += EVENTS * TARGETS;
	if (errno != EPERM)
		return 100;
	/* At least one such set, and less than 4 MiB of events on each CPU */
	return held >= EVENTS * TARGETS && held < 8192 * nr_cpus() ? 0 : 101;
}

TEST(permissions)
{
	ROWS("W-12");

	set_paranoid(2);
	EXPECT_EQ(try_unprivileged(try_self), 0);
	EXPECT_EQ(try_unprivileged(try_cpus), EACCES);
	EXPECT_EQ(try_unprivileged(try_init), EACCES);
	EXPECT_EQ(try_unprivileged(try_kernel), EACCES);
	set_paranoid(0);
	EXPECT_EQ(try_unprivileged(try_cpus), 0);
	set_paranoid(2);
	EXPECT_EQ(try_unprivileged(hoard), 0);
	/* All of it is free again */
	EXPECT_EQ(try_unprivileged(hoard), 0);
}

static struct kpmu_set_page *map_snapshots(int fd, size_t *size)
{
	int each = args.flags & KPMU_SET_TIMES ? 3 : 1;
	size_t slots = (size_t)args.nr_slots * size_of(args.nr_events * args.nr_targets * each);
	void *p;

	*size = 4096 + (slots + 4095) / 4096 * 4096;
	p = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* Copy snapshot number @n; false if it is not there any more */
static bool take(const volatile struct kpmu_set_page *page, uint64_t n)
{
	const volatile uint64_t *slot = (void *)((uintptr_t)page + page->first +
						 (n - 1) % page->nr_slots * page->slot_size);
	uint64_t *to = (uint64_t *)&result;

	if (slot[0] != n)
		return false;
	for (size_t i = 0; i < page->slot_size / 8; i++)
		to[i] = slot[i];
	return slot[0] == n;
}

TEST(snapshots)
{
	ROWS("W-13");
	struct kpmu_set_page *page;
	uint64_t n = 0, time = 0, last = 0, taken = 0, begin, end;
	struct pollfd p = { .events = POLLIN };
	size_t size;

	plan(2, 1, KPMU_SET_TASKS);
	for (int i = 0; i < 2; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = i ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_TASK_CLOCK;
		attr[i].disabled = 0;
	}
	args.period_us = 10000;
	args.nr_slots = 5;
	p.fd = open_set();
	ASSERT_GE(p.fd, 0);
	page = map_snapshots(p.fd, &size);
	ASSERT_TRUE(page);
	EXPECT_EQ(page->nr_slots, 5);
	EXPECT_EQ(page->slot_size, size_of(2));
	for (end = patience(); n < 30 && now_ns() < end;) {
		begin = now_ns();
		EXPECT_EQ(poll(&p, 1, 20000), 1);
		EXPECT_EQ(p.revents, POLLIN);
		/* It was woken */
		EXPECT_LT(now_ns() - begin, 15000000000ULL);
		n = *(volatile __u64 *)&page->head;
		if (!take(page, n))
			continue;
		taken++;
		EXPECT_EQ(result.head.nr_events, 2);
		EXPECT_GT(result.head.time, time);
		EXPECT_GE(result.word[0], last);
		EXPECT_EQ(result.word[1], 0);
		time = result.head.time;
		last = result.word[0];
		page->tail = n;
	}
	EXPECT_GE(n, 30);
	EXPECT_GE(taken, 1);
	EXPECT_GT(last, 0);
	/* The oldest that is kept, and the one before it */
	n = *(volatile __u64 *)&page->head;
	EXPECT_FALSE(take(page, n - 5));
	/* A period is missed rather than made up for: their number does not exceed the time's */
	EXPECT_LE((n + page->missed) * 10000000ULL, time + 20000000ULL);
	/* A read has numbers of its own */
	EXPECT_EQ(get(p.fd), size_of(2));
	EXPECT_EQ(result.head.seq, 1);
	EXPECT_GE(result.word[0], last);

	/* They go on while they are mapped */
	close(p.fd);
	n = *(volatile __u64 *)&page->head;
	for (end = patience(); *(volatile __u64 *)&page->head < n + 2 && now_ns() < end;)
		usleep(1000);
	EXPECT_GE(page->head, n + 2);
	munmap(page, size);
}

/* Are the times of all events those of one moment?  All were enabled at once. */
static bool is_of_one_moment(void)
{
	for (int i = 1; i < EVENTS * TIMES; i++)
		if (result.word[3 * i + 1] != result.word[1] || result.word[3 * i + 2] != result.word[2])
			return false;
	return true;
}

/* A read and a snapshot do not mix: each is of one moment, while both are taken all the time */
TEST(snapshot_beside_reads)
{
	ROWS("W-12 W-13");
	struct kpmu_set_page *page;
	uint64_t until, n, taken = 0;
	size_t size;
	int fd;

	if (nr_cpus() < 2)
		SKIP(return, "needs two CPUs");
	pin_to(0);
	plan(EVENTS, TIMES, KPMU_SET_TIMES);
	for (int i = 0; i < EVENTS; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_DUMMY;
		attr[i].disabled = 1;
	}
	for (int i = 0; i < TIMES; i++)
		target[i] = 1;
	args.period_us = 1000;
	args.nr_slots = 3;
	fd = open_set();
	ASSERT_GE(fd, 0);
	page = map_snapshots(fd, &size);
	ASSERT_TRUE(page);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	n = page->head;
	until = now_ns() + 10000000000;
	while (n < SNAPSHOTS && now_ns() < until) {
		EXPECT_EQ(get(fd), size_of(3 * EVENTS * TIMES));
		ASSERT_TRUE(is_of_one_moment());
		if (n == *(volatile __u64 *)&page->head)
			continue;
		n = *(volatile __u64 *)&page->head;
		if (take(page, n)) {
			ASSERT_TRUE(is_of_one_moment());
			taken++;
		}
	}
	EXPECT_GT(taken, 0);
	munmap(page, size);
	close(fd);
}

/* As many events as a task can have: the next one is refused, with its reason */
TEST(full_context)
{
	ROWS("W-12");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct kpmu_open open = { .attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1 };
	struct kpmu_why why;
	int fd, one;

	if (slow() > 2)
		SKIP(return, "takes minutes on this kernel");
	plan(EVENTS, KPMU_SET_MAX / EVENTS, KPMU_SET_TASKS);
	args.errors = 0;
	for (int i = 0; i < EVENTS; i++)
		attr[i] = a;
	fd = open_set();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_OPEN, &open), -1);
	EXPECT_EQ(errno, ENOSPC);
	ASSERT_EQ(ioctl(ev_device(), KPMU_IOC_WHY, &why), 0);
	EXPECT_EQ(strcmp(why.text, "this task, CPU or cgroup has the maximum number of events"), 0);
	/* The context of another task, or of a CPU, is not full */
	one = ev_open(&a, -1, 0, -1, 0);
	EXPECT_GE(one, 0);
	close(fd);
	one = ioctl(ev_device(), KPMU_IOC_OPEN, &open);
	EXPECT_GE(one, 0);
}

TEST(snapshot_arguments)
{
	ROWS("W-13");
	size_t size;
	void *page;
	int fd;

	plan(1, 1, KPMU_SET_TASKS);
	attr[0].type = PERF_TYPE_SOFTWARE;
	attr[0].config = PERF_COUNT_SW_DUMMY;
	args.nr_slots = 1;
	args.period_us = 999;
	EXPECT_EQ(open_errno(), EINVAL);
	args.period_us = 1000;
	args.nr_slots = KPMU_SET_MAX_SLOTS + 1;
	EXPECT_EQ(open_errno(), EINVAL);
	/* The more events, the longer must the period be */
	plan(EVENTS, TARGETS, KPMU_SET_TASKS);
	for (int i = 0; i < EVENTS; i++) {
		attr[i].type = PERF_TYPE_SOFTWARE;
		attr[i].config = PERF_COUNT_SW_DUMMY;
	}
	args.nr_slots = 2;
	args.period_us = 10 * EVENTS * TARGETS - 1;
	EXPECT_EQ(open_errno(), EINVAL);
	args.period_us++;
	fd = open_set();
	ASSERT_GE(fd, 0);
	/* All of it or nothing, and shared */
	page = map_snapshots(fd, &size);
	ASSERT_TRUE(page);
	EXPECT_EQ(mmap(NULL, size + 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(mmap(NULL, size - 4096, PROT_READ, MAP_SHARED, fd, 4096), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	/* Whatever user space writes there, the kernel relies on none of it */
	memset(page, 0xff, size);
	usleep(50000);
	munmap(page, size);
	close(fd);
}

TEST_HARNESS_MAIN
