// SPDX-License-Identifier: GPL-2.0-only
/* Errors of ioctl(2) on an event. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "attr.h"
#include "harness.h"

static int insns(void)
{
	return ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
}

static int ioctl_errno(int fd, unsigned long cmd, unsigned long arg)
{
	return ioctl(fd, cmd, arg) < 0 ? errno : 0;
}

TEST(numbers)
{
	ROWS("I-32");
	EXPECT_EQ(PERF_EVENT_IOC_ENABLE, 0x2400);
	EXPECT_EQ(PERF_EVENT_IOC_DISABLE, 0x2401);
	EXPECT_EQ(PERF_EVENT_IOC_REFRESH, 0x2402);
	EXPECT_EQ(PERF_EVENT_IOC_RESET, 0x2403);
	EXPECT_EQ(PERF_EVENT_IOC_PERIOD, 0x40082404);
	EXPECT_EQ(PERF_EVENT_IOC_SET_OUTPUT, 0x2405);
	EXPECT_EQ(PERF_EVENT_IOC_SET_FILTER, 0x40082406);
	EXPECT_EQ(PERF_EVENT_IOC_ID, 0x80082407);
	EXPECT_EQ(PERF_EVENT_IOC_SET_BPF, 0x40042408);
	EXPECT_EQ(PERF_EVENT_IOC_PAUSE_OUTPUT, 0x40042409);
	EXPECT_EQ(PERF_EVENT_IOC_QUERY_BPF, 0xc008240a);
	EXPECT_EQ(PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0x4008240b);
}

TEST(unknown)
{
	ROWS("I-31");
	int fd = insns();
	unsigned long v;

	for (int nr = 12; nr < 256; nr++)
		EXPECT_EQ(ioctl_errno(fd, _IO('$', nr), 0), ENOTTY);
	/* A known number with another size or direction is a different ioctl */
	EXPECT_EQ(ioctl_errno(fd, _IOW('$', 0, long), (long)&v), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, _IO('$', 7), (long)&v), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, _IOR('$', 7, char), (long)&v), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, _IO('%', 0), 0), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, 0, 0), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, 0xffffffff, 0), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, 0x5401, (long)&v), ENOTTY);	/* TCGETS */
	/* The ioctls of /dev/kpmu do not work on an event */
	EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, (long)&v), ENOTTY);
	EXPECT_EQ(ev_count(fd), 0);
}

TEST(id_needs_a_pointer)
{
	ROWS("I-21");
	int fd = insns();
	uint64_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, 0), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, 8), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, 0xffffffff81000000UL), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, 0x800000000000UL), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, -1UL), EFAULT);
	ASSERT_EQ(munmap(page + 512, 4096), 0);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, (long)(page + 511)), 0);
	EXPECT_EQ(page[511], ev_id(fd));
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, (long)(page + 511) + 4), EFAULT);
	ASSERT_EQ(mprotect(page, 4096, PROT_READ), 0);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ID, (long)page), EFAULT);
}

TEST(id)
{
	ROWS("I-21 F-12");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t v[2];
	int fd;

	a.read_format = PERF_FORMAT_ID;
	fd = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(read(fd, v, sizeof(v)), 16);
	EXPECT_EQ(v[1], ev_id(fd));
	EXPECT_EQ(v[1], ev_id(fd));
	EXPECT_NE(v[1], 0);
}

/* A counting event has no period */
TEST(period)
{
	ROWS("I-14");
	int fd = insns();
	uint64_t v = 1000;

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_PERIOD, (long)&v), EINVAL);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_PERIOD, 0), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_PERIOD, 0xffffffff81000000UL), EFAULT);
	v = 0;
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_PERIOD, (long)&v), EINVAL);
	v = 1ULL << 63;
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_PERIOD, (long)&v), EINVAL);
}

TEST(refresh)
{
	ROWS("I-10 V-05");
	int fd = insns();

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_REFRESH, 0), EINVAL);
	work(1000);
	EXPECT_EQ(ev_count(fd), 0);	/* the failed REFRESH has not enabled it */
}

TEST(set_output)
{
	ROWS("I-16 I-18 U-49");
	int fd = insns(), other = insns(), pipes[2];

	ASSERT_EQ(pipe(pipes), 0);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_OUTPUT, -1UL), 0);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_OUTPUT, 999), EBADF);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_OUTPUT, pipes[0]), EBADF);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_OUTPUT, 0xffffffffUL), EBADF);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_OUTPUT, fd), EINVAL);
	/* The target event has no ring buffer */
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_OUTPUT, other), EINVAL);
}

TEST(pause_output)
{
	ROWS("I-25");
	int fd = insns();

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), EINVAL);
}

/* QUERY_BPF and SET_FILTER are for tracepoints */
TEST(filter_and_query)
{
	ROWS("I-30");
	uint32_t q[6] = { 4 };
	int fd = insns();

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_QUERY_BPF, (long)q), EINVAL);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_FILTER, (long)"a == 1"), EINVAL);
}

TEST(filter_bad_pointer)
{
	int fd = insns();

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_FILTER, 0), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_FILTER,
			      0xffffffff81000000UL), EFAULT);
}

TEST(bpf_bad_fd)
{
	int fd = insns();

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_BPF, 999), EBADF);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_SET_BPF, eventfd(0, 0)), EINVAL);
}

TEST(modify_attributes)
{
	ROWS("I-26");
	union any_attr x;
	int fd = insns();

	any_init(&x);
	x.a.size = 128;
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (long)&x), EOPNOTSUPP);
	x.a.type = PERF_TYPE_BREAKPOINT;
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (long)&x), EINVAL);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0), EFAULT);
	x.a.size = 3;
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (long)&x), E2BIG);
}

/* MODIFY_ATTRIBUTES checks the attr as the open call does */
TEST(modify_attributes_bad_attr)
{
	union any_attr x;
	int fd = insns();

	any_init(&x);
	x.a.size = 128;
	x.a.read_format = 1 << 20;
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (long)&x), EINVAL);
}

/* Bits of the argument other than PERF_IOC_FLAG_GROUP are ignored */
TEST(odd_arguments)
{
	ROWS("I-01 I-02");
	int lead = insns(), member;

	member = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, lead);
	EXPECT_EQ(ioctl_errno(member, PERF_EVENT_IOC_DISABLE, 2), 0);
	EXPECT_EQ(ioctl_errno(lead, PERF_EVENT_IOC_ENABLE, ~1UL), 0);
	work(1000);
	EXPECT_GE(ev_count(lead), 4000);
	EXPECT_EQ(ev_count(member), 0);
	EXPECT_EQ(ioctl_errno(lead, PERF_EVENT_IOC_DISABLE, ~0UL), 0);
	EXPECT_EQ(ioctl_errno(lead, PERF_EVENT_IOC_RESET, 1 | 1 << 20), 0);
	EXPECT_EQ(ev_count(lead), 0);
}

/* ioctls of events on other files, and on no file */
TEST(on_other_files)
{
	int fd = eventfd(0, 0);

	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ENABLE, 0), ENOTTY);
	EXPECT_EQ(ioctl_errno(-1, PERF_EVENT_IOC_ENABLE, 0), EBADF);
}

/* ioctl of a 32-bit program: 64-bit code can make it with int 0x80 */
static int ioctl32(int fd, unsigned int cmd, void *arg)
{
	int ret;

	asm volatile("int $0x80" : "=a" (ret)
		     : "a" (54), "b" (fd), "c" (cmd), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

TEST(callers_of_32_bits)
{
	ROWS("U-39");
	int fd = insns(), ret, status;
	pid_t pid;
	uint64_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	/* Without them int $0x80 is a fault */
	pid = fork();
	if (!pid)
		_exit(ioctl32(fd, PERF_EVENT_IOC_ENABLE, 0) == -ENOSYS);
	waitpid(pid, &status, 0);
	if (status)
		SKIP(return, "no 32-bit system calls");
	ret = ioctl32(fd, PERF_EVENT_IOC_ENABLE, 0);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(ioctl32(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_EQ(ioctl32(fd, PERF_EVENT_IOC_RESET, 0), 0);
	/* The number contains the size of the pointer, 4 bytes in 32-bit programs */
	EXPECT_EQ(ioctl32(fd, _IOR('$', 7, uint32_t), low), 0);
	EXPECT_EQ(*low, ev_id(fd));
	EXPECT_EQ(ioctl32(fd, _IOW('$', 4, uint64_t), low), -EINVAL);
	EXPECT_EQ(ioctl32(fd, _IOW('$', 6, uint32_t), low), -EINVAL);
	low[0] = 1ULL << 32;		/* an attr of size 1 */
	EXPECT_EQ(ioctl32(fd, _IOW('$', 11, uint32_t), low), -E2BIG);
}

TEST_HARNESS_MAIN
