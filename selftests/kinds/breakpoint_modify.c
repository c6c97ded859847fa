// SPDX-License-Identifier: GPL-2.0-only
/* PERF_EVENT_IOC_MODIFY_ATTRIBUTES: change the address, type or length of a breakpoint. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "breakpoint.h"
#include "event.h"
#include "harness.h"

static volatile long data[8] __attribute__((aligned(64)));

static int modify(int fd, struct perf_event_attr *a)
{
	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, a) ? errno : 0;
}

TEST(address)
{
	ROWS("I-26");
	struct perf_event_attr a = bp_at(&data[0]);
	int fd;

	a.disabled = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	data[0] = 1;
	data[1] = 1;
	EXPECT_EQ(ev_count(fd), 1);
	a.bp_addr = (uintptr_t)&data[1];
	EXPECT_EQ(modify(fd, &a), 0);
	data[0] = 1;
	data[0] = 1;
	EXPECT_EQ(ev_count(fd), 1);
	data[1] = 1;
	EXPECT_EQ(ev_count(fd), 2);
	/* Type and length may be changed too */
	a.bp_type = HW_BREAKPOINT_RW;
	a.bp_len = HW_BREAKPOINT_LEN_4;
	EXPECT_EQ(modify(fd, &a), 0);
	(void)data[1];
	data[1] = 1;
	EXPECT_EQ(ev_count(fd), 4);
}

/* The breakpoints of child tasks move, too, also those of tasks that are created later */
TEST(inherited)
{
	ROWS("I-26");
	struct perf_event_attr a = bp_at(&data[0]);
	int fd, go[2];
	char c = 0;

	a.disabled = 0;
	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(pipe(go), 0);
	if (!fork()) {
		data[0] = 1;
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		data[0] = 1;
		data[1] = 1;
		data[1] = 1;
		_exit(0);
	}
	while (ev_count(fd) < 1)
		usleep(1000);
	a.bp_addr = (uintptr_t)&data[1];
	EXPECT_EQ(modify(fd, &a), 0);
	EXPECT_EQ(write(go[1], &c, 1), 1);
	wait(NULL);
	EXPECT_EQ(ev_count(fd), 3);
	data[0] = 1;
	data[1] = 1;
	EXPECT_EQ(ev_count(fd), 4);
	if (!fork()) {
		data[0] = 1;
		data[1] = 1;
		_exit(0);
	}
	wait(NULL);
	EXPECT_EQ(ev_count(fd), 5);
	/* An invalid one changes nothing */
	a.bp_addr = (uintptr_t)&data[1] + 1;
	EXPECT_EQ(modify(fd, &a), EINVAL);
	data[1] = 1;
	EXPECT_EQ(ev_count(fd), 6);
}

/* Children come and go while the breakpoint moves to and fro */
TEST(inherited_under_load)
{
	ROWS("I-26");
	struct perf_event_attr a = bp_at(&data[0]);
	int fd, i, n = often(200);
	pid_t load;

	a.disabled = 0;
	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	load = fork();
	if (!load) {
		for (;;) {
			if (!fork())
				_exit(0);
			wait(NULL);
		}
	}
	for (i = 1; i <= n; i++) {
		a.bp_addr = (uintptr_t)&data[i & 1];
		EXPECT_EQ(modify(fd, &a), 0);
		data[i & 1] = 1;
		data[~i & 1] = 1;
		EXPECT_EQ(ev_count(fd), i);
	}
	kill(load, SIGKILL);
	waitpid(load, NULL, 0);
}

/* Runs in turns with its child, and goes from CPU to CPU, until told to stop; then uses what is watched */
static void wander(const volatile bool *go)
{
	pid_t pid = fork();
	long sum = 0;
	int n = 0;

	while (*go) {
		sched_yield();
		if (!(++n & 63))
			pin_to(n >> 6 & 1);
	}
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	data[0] = 1;
	data[0] = 2;
	sum += data[0];
	_exit(sum != 2);
}

/* The breakpoint of a task moves to and fro, while the task is switched all the time */
TEST(moved_under_load)
{
	ROWS("I-26");
	struct perf_event_attr a = bp_at(&data[0]);
	volatile bool *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd, i, status, n = often(2000);
	pid_t pid;

	ASSERT_NE(go, MAP_FAILED);
	a.disabled = 0;
	*go = true;
	pid = fork();
	if (!pid)
		wander(go);
	fd = ev_must(&a, pid, -1, -1, 0);
	for (i = n; i >= 0; i--) {
		a.bp_addr = (uintptr_t)&data[i & 1];
		a.bp_type = i & 1 ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
		a.bp_len = i & 2 ? HW_BREAKPOINT_LEN_4 : HW_BREAKPOINT_LEN_8;
		EXPECT_EQ(modify(fd, &a), 0);
	}
	EXPECT_EQ(ev_count(fd), 0);
	*go = false;
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
	/* Two writes; the read is not watched any more */
	EXPECT_EQ(ev_count(fd), 2);
	close(fd);
}

TEST(other_fields_refused)
{
	ROWS("I-27");
	struct perf_event_attr a = bp_at(&data[0]), b;
	int fd;

	a.disabled = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	b = a;
	b.sample_period = 5;
	EXPECT_EQ(modify(fd, &b), EINVAL);
	b = a;
	b.exclude_user = 1;
	EXPECT_EQ(modify(fd, &b), EINVAL);
	b = a;
	b.read_format = PERF_FORMAT_ID;
	EXPECT_EQ(modify(fd, &b), EINVAL);
	b = a;
	b.type = PERF_TYPE_SOFTWARE;
	EXPECT_EQ(modify(fd, &b), EINVAL);
	/* After a refused address the breakpoint is unchanged */
	b = a;
	b.bp_addr = (uintptr_t)&data[0] + 1;
	EXPECT_EQ(modify(fd, &b), EINVAL);
	data[0] = 1;
	EXPECT_EQ(ev_count(fd), 1);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, NULL), -1);
	EXPECT_EQ(errno, EFAULT);
}

/* What an event cannot use is not kept at open: the same attr is then a change */
TEST(branch_type_without_branches)
{
	ROWS("I-27");
	struct perf_event_attr a = bp_at(&data[0]);
	int fd;

	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(modify(fd, &a), EINVAL);
	a.branch_sample_type = 0;
	EXPECT_EQ(modify(fd, &a), 0);
}

TEST(other_types)
{
	ROWS("I-26");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_PAGE_FAULTS);
	int fd = ev_must(&a, 0, -1, -1, 0);

	EXPECT_EQ(modify(fd, &a), EOPNOTSUPP);
	a.type = PERF_TYPE_BREAKPOINT;
	EXPECT_EQ(modify(fd, &a), EINVAL);
}

/* MODIFY_ATTRIBUTES also disables or enables the event, by attr.disabled */
TEST(disabled)
{
	ROWS("I-27");
	struct perf_event_attr a = bp_at(&data[0]);
	int fd;

	a.disabled = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	a.disabled = 1;
	EXPECT_EQ(modify(fd, &a), 0);
	data[0] = 1;
	EXPECT_EQ(ev_count(fd), 0);
	a.disabled = 0;
	EXPECT_EQ(modify(fd, &a), 0);
	data[0] = 1;
	EXPECT_EQ(ev_count(fd), 1);
}

TEST_HARNESS_MAIN
