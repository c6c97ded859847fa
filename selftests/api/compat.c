// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls of 32-bit programs on events.  A 64-bit program can make them with int 0x80:
 * the kernel then treats the call and its arguments as those of a 32-bit program.
 */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define READ_32		3
#define GETPID_32	20
#define IOCTL_32	54

/* ioctls with a pointer argument: the number contains its size, 4 bytes in 32-bit programs */
#define ID_32		_IOR('$', 7, uint32_t)
#define FILTER_32	_IOW('$', 6, uint32_t)
#define QUERY_32	_IOWR('$', 10, uint32_t)
#define MODIFY_32	_IOW('$', 11, uint32_t)

static long call32(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("int $0x80" : "=a" (ret)
		     : "a" (nr), "b" (a), "c" (b), "d" (c)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

/* Memory that a 32-bit pointer can address */
static void *low(void)
{
	static char *p;

	if (!p) {
		p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		if (p == MAP_FAILED)
			exit(1);
	}
	return p;
}

static long ioctl32(int fd, unsigned long cmd, const void *arg)
{
	return call32(IOCTL_32, fd, cmd, (long)arg);
}

static void need_32(void)
{
	int status;

	if (!fork())
		_exit(call32(GETPID_32, 0, 0, 0) != getpid());
	wait(&status);
	if (status)
		SKIP(return, "this kernel has no system calls of 32 bits");
}

TEST(ioctls_without_pointer)
{
	ROWS("U-39");
	int fd = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	uint64_t *v = low();

	need_32();
	EXPECT_EQ(ioctl32(fd, PERF_EVENT_IOC_ENABLE, NULL), 0);
	work(1000);
	EXPECT_EQ(ioctl32(fd, PERF_EVENT_IOC_DISABLE, NULL), 0);
	/* Values are 64 bits wide for 32-bit programs too */
	EXPECT_EQ(call32(READ_32, fd, (long)v, 24), 24);
	EXPECT_EQ(v[0], ev_times(fd).value);
	EXPECT_EQ(v[1], ev_times(fd).enabled);
	EXPECT_EQ(v[2], ev_times(fd).running);
	EXPECT_GE(v[0], WORK_INSNS(1000));
	EXPECT_EQ(ioctl32(fd, PERF_EVENT_IOC_RESET, NULL), 0);
	EXPECT_EQ(ev_times(fd).value, 0);
}

TEST(id)
{
	ROWS("U-39");
	int fd = ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, -1);
	uint64_t *id = low();

	need_32();
	EXPECT_EQ(ioctl32(fd, ID_32, id), 0);
	EXPECT_EQ(*id, ev_id(fd));
	*id = 0;
	EXPECT_EQ(ioctl32(fd, PERF_EVENT_IOC_ID, id), 0);
	EXPECT_EQ(*id, ev_id(fd));
	EXPECT_EQ(ioctl32(fd, ID_32, NULL), -EFAULT);
	EXPECT_EQ(ioctl32(fd, _IOR('$', 7, uint16_t), id), -ENOTTY);
}

TEST(filter)
{
	ROWS("U-39 I-19");
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT,
		read_long("/sys/kernel/tracing/events/syscalls/sys_enter_close/id"));
	int fd, i;

	need_32();
	a.exclude_kernel = 0;
	a.disabled = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	strcpy(low(), "fd == 1003");
	EXPECT_EQ(ioctl32(fd, FILTER_32, low()), 0);
	for (i = 0; i < 10; i++)
		close(1000 + i);
	EXPECT_EQ(ev_count(fd), 1);
}

static volatile long data[2];

TEST(modify)
{
	ROWS("U-39 I-26");
	struct perf_event_attr *a = low();
	int fd;

	need_32();
	*a = ev_attr(PERF_TYPE_BREAKPOINT, 0);
	a->disabled = 0;
	a->bp_type = HW_BREAKPOINT_W;
	a->bp_len = HW_BREAKPOINT_LEN_8;
	a->bp_addr = (uintptr_t)&data[0];
	fd = ev_must(a, 0, -1, -1, 0);
	a->bp_addr = (uintptr_t)&data[1];
	EXPECT_EQ(ioctl32(fd, MODIFY_32, a), 0);
	data[0] = 1;
	data[1] = 1;
	EXPECT_EQ(ev_count(fd), 1);
}

TEST(query)
{
	ROWS("U-39 I-28");
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT,
		read_long("/sys/kernel/tracing/events/syscalls/sys_enter_close/id"));
	uint32_t *q = low();
	int fd;

	need_32();
	a.exclude_kernel = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	q[0] = 4;
	q[1] = 99;
	EXPECT_EQ(ioctl32(fd, QUERY_32, q), 0);
	EXPECT_EQ(q[1], 0);
}

TEST_HARNESS_MAIN
