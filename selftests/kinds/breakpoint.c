// SPDX-License-Identifier: GPL-2.0-only
/* Breakpoint events: what they count, their maximum number, required permissions. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "breakpoint.h"
#include "event.h"
#include "harness.h"

static volatile long data[16] __attribute__((aligned(64)));

static __attribute__((noinline)) void called(void)
{
	asm volatile("nop");
}

static struct perf_event_attr bp(uint32_t type, const volatile void *addr,
				 uint64_t len)
{
	struct perf_event_attr a = bp_at(addr);

	a.bp_type = type;
	a.bp_len = len;
	a.read_format = FORMAT_TIMES;
	return a;
}

static int self(uint32_t type, const volatile void *addr, uint64_t len)
{
	struct perf_event_attr a = bp(type, addr, len);

	return ev_must(&a, 0, -1, -1, 0);
}

static uint64_t hits(int fd)
{
	return ev_times(fd).value;
}

TEST(writes)
{
	ROWS("T-06 T-91 A-68");
	int fd = self(HW_BREAKPOINT_W, &data[0], HW_BREAKPOINT_LEN_8);
	long sum = 0;

	data[0] = 1;
	ev_enable(fd);
	data[0] = 2;
	data[0] = 3;
	data[1] = 4;
	sum += data[0];
	ev_disable(fd);
	data[0] = 5;
	EXPECT_EQ(hits(fd), 2);
	EXPECT_TRUE(always_ran(fd));
	EXPECT_EQ(sum, 3);
}

TEST(reads_and_writes)
{
	ROWS("T-91");
	int fd = self(HW_BREAKPOINT_RW, &data[0], HW_BREAKPOINT_LEN_8);
	long v;

	ev_enable(fd);
	data[0] = 2;
	v = data[0];
	ev_disable(fd);
	EXPECT_EQ(v, 2);
	EXPECT_EQ(hits(fd), 2);
}

TEST(executions)
{
	ROWS("T-92");
	int fd = self(HW_BREAKPOINT_X, called, sizeof(long)), i;

	called();
	ev_enable(fd);
	for (i = 0; i < 9; i++)
		called();
	ev_disable(fd);
	called();
	EXPECT_EQ(hits(fd), 9);
}

TEST(lengths)
{
	ROWS("A-69");
	static const int lens[] = { 1, 2, 4, 8 };
	struct perf_event_attr a;
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		volatile char *p = (volatile char *)&data[2];

		fd = self(HW_BREAKPOINT_W, p, lens[i]);
		ev_enable(fd);
		p[lens[i] - 1] = 1;
		p[lens[i]] = 1;
		ev_disable(fd);
		EXPECT_EQ(hits(fd), 1);
		close(fd);
	}
	a = bp(HW_BREAKPOINT_W, data, 3);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	/* Only some AMD CPUs support longer breakpoints */
	a = bp(HW_BREAKPOINT_W, data, 16);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	a = bp(HW_BREAKPOINT_X, called, 1);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	/* The address must be a multiple of the length */
	a = bp(HW_BREAKPOINT_W, (char *)data + 1, 4);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

TEST(kinds_refused)
{
	ROWS("A-67 T-90");
	static const uint32_t bad[] = {
		HW_BREAKPOINT_EMPTY, HW_BREAKPOINT_R, HW_BREAKPOINT_X | 1,
		HW_BREAKPOINT_X | 2, HW_BREAKPOINT_X | 3, 8, 0xffffffff,
	};
	struct perf_event_attr a;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		a = bp(bad[i], data, 8);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	}
}

/* The bp_* fields define the breakpoint; config is ignored, as upstream */
TEST(config_ignored)
{
	ROWS("T-82");
	static const uint64_t configs[] = { 0, 1, ~0ULL };
	struct perf_event_attr a;
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		a = bp(HW_BREAKPOINT_W, &data[3], HW_BREAKPOINT_LEN_8);
		a.config = configs[i];
		fd = ev_must(&a, 0, -1, -1, 0);
		ev_enable(fd);
		data[3] = 1;
		data[4] = 1;
		ev_disable(fd);
		EXPECT_EQ(hits(fd), 1);
		close(fd);
	}
}

TEST(limit_of_four)
{
	ROWS("T-93 E-30 O-28 N-09");
	struct perf_event_attr a = bp(HW_BREAKPOINT_W, &data[4], 8);
	int fd[4], i;

	for (i = 0; i < 4; i++)
		fd[i] = self(HW_BREAKPOINT_W, &data[i], 8);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOSPC);
	/* The maximum is per task, and the child has inherited none */
	if (!fork())
		_exit(ev_errno(&a, 0, -1, -1, 0));
	wait(&i);
	EXPECT_EQ(i, 0);
	close(fd[2]);
	fd[2] = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOSPC);
	for (i = 0; i < 4; i++)
		ev_enable(fd[i]);
	data[4] = 1;
	EXPECT_EQ(hits(fd[2]), 1);
	data[0] = 1;
	data[1] = 1;
	data[3] = 1;
	/* QEMU may report an earlier hit again, so counts may be higher */
	for (i = 0; i < 4; i++)
		EXPECT_GE(hits(fd[i]), 1);
}

TEST(of_a_cpu)
{
	ROWS("T-06");
	struct perf_event_attr a = bp(HW_BREAKPOINT_W, &data[0], 8);
	int fd;

	ASSERT_EQ(pin_to(1), 0);
	fd = ev_must(&a, -1, 1, -1, 0);
	ev_enable(fd);
	data[0] = 1;
	ASSERT_EQ(pin_to(0), 0);
	data[0] = 1;
	ASSERT_EQ(pin_to(1), 0);
	data[0] = 1;
	ev_disable(fd);
	EXPECT_EQ(hits(fd), 2);
}

TEST(bound_to_a_cpu)
{
	ROWS("T-06");
	struct perf_event_attr a = bp(HW_BREAKPOINT_W, &data[0], 8);
	int fd;

	ASSERT_EQ(pin_to(1), 0);
	fd = ev_must(&a, 0, 1, -1, 0);
	ev_enable(fd);
	data[0] = 1;
	ASSERT_EQ(pin_to(0), 0);
	data[0] = 1;
	EXPECT_FALSE(always_ran(fd));
	ASSERT_EQ(pin_to(1), 0);
	data[0] = 1;
	EXPECT_EQ(hits(fd), 2);
}

TEST(inherited)
{
	ROWS("H-01 T-06");
	struct perf_event_attr a = bp(HW_BREAKPOINT_W, &data[0], 8);
	int fd, i, status;

	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	data[0] = 1;
	for (i = 0; i < 3; i++) {
		if (!fork()) {
			data[0] = 1;
			data[0] = 1;
			if (!fork()) {
				data[0] = 1;
				_exit(0);
			}
			wait(&status);
			_exit(0);
		}
		wait(&status);
	}
	EXPECT_EQ(hits(fd), 10);
}

static void *other_thread(void *unused)
{
	data[0] = 1;
	data[0] = 1;
	return NULL;
}

TEST(another_thread_is_another_task)
{
	ROWS("T-06");
	int fd = self(HW_BREAKPOINT_W, &data[0], 8);
	pthread_t t;

	ev_enable(fd);
	pthread_create(&t, NULL, other_thread, NULL);
	pthread_join(t, NULL);
	EXPECT_EQ(hits(fd), 0);
	data[0] = 1;
	EXPECT_EQ(hits(fd), 1);
}

TEST(kernel_addresses)
{
	ROWS("E-39 C-11");
	struct perf_event_attr a = bp(HW_BREAKPOINT_W,
				      (void *)0xffffffff82000000UL, 8);

	/* A breakpoint on a kernel address contradicts exclude_kernel */
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.exclude_kernel = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	set_paranoid(1);
	if (!fork()) {
		drop_privilege();
		_exit(ev_errno(&a, 0, -1, -1, 0));
	}
	int status;

	wait(&status);
	EXPECT_EQ(WEXITSTATUS(status), EPERM);
	set_paranoid(2);
	drop_privilege();
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EACCES);
}

TEST(in_groups)
{
	ROWS("Q-15");
	struct perf_event_attr a = bp(HW_BREAKPOINT_X, called, sizeof(long));
	int hw = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	int member, lead, insns;

	a.disabled = 0;
	member = ev_must(&a, 0, -1, hw, 0);
	lead = self(HW_BREAKPOINT_W, &data[1], 8);
	insns = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, lead);
	ev_enable(hw);
	ev_enable(lead);
	called();
	data[1] = 1;
	work(1000);
	ev_disable(hw);
	ev_disable(lead);
	called();
	data[1] = 1;
	EXPECT_EQ(hits(member), 1);
	EXPECT_EQ(hits(lead), 1);
	EXPECT_GE(hits(insns), WORK_INSNS(1000));
}

TEST_HARNESS_MAIN
