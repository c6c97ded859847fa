// SPDX-License-Identifier: GPL-2.0-only
/* A static program that makes the system call without the C library. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client.h"

static long raw_open(struct perf_event_attr *attr, long pid, long cpu,
		     long group_fd, long flags)
{
	register long r10 __asm__("r10") = group_fd;
	register long r8 __asm__("r8") = flags;
	long ret;

	__asm__ volatile("syscall" : "=a" (ret)
			 : "a" (298L), "D" (attr), "S" (pid), "d" (cpu),
			   "r" (r10), "r" (r8) : "rcx", "r11", "memory");
	return ret;
}

/*
 * The same by int $0x80, the entry for 32-bit programs, which truncates addresses to 32 bits.  So
 * the attr is in static data, which is below 4 GiB (-no-pie).
 */
static long raw_open_32(struct perf_event_attr *attr, int pid, int cpu,
			int group_fd, int flags)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a" (ret)
			 : "a" (336L), "b" (attr), "c" (pid), "d" (cpu),
			   "S" (group_fd), "D" (flags)
			 : "r8", "r9", "r10", "r11", "memory");
	return ret;
}

static struct perf_event_attr attrs[2], bad;

int main(void)
{
	uint64_t v[3] = { 0 };
	long lead, fd;
	int i;

	for (i = 0; i < 2; i++) {
		attrs[i] = client_attr(PERF_TYPE_HARDWARE, i ?
				       PERF_COUNT_HW_BRANCH_INSTRUCTIONS :
				       PERF_COUNT_HW_INSTRUCTIONS);
		attrs[i].disabled = !i;
		attrs[i].read_format = PERF_FORMAT_GROUP;
	}
	lead = raw_open(&attrs[0], 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	fd = raw_open(&attrs[1], 0, -1, lead, 0);
	if (lead < 0 || fd < 0) {
		printf("open %ld %ld\n", lead, fd);
		return 1;
	}
	work_counted(lead, 10000, PERF_IOC_FLAG_GROUP);
	if (read(lead, v, sizeof(v)) != sizeof(v))
		perror("read");
	printf("instructions %lu branches %lu\n", (unsigned long)v[1],
	       (unsigned long)v[2]);

	bad = attrs[0];
	printf("bad group %ld\n", raw_open(&attrs[1], 0, -1, 0, 0));
	printf("bad memory %ld\n", raw_open((void *)8, 0, -1, -1, 0));
	printf("bad task %ld\n", raw_open(&bad, 0x3fffffff, -1, -1, 0));
	printf("bad flags %ld\n", raw_open(&bad, 0, -1, -1, 64));
	bad.size = 5000;
	printf("too large %ld", raw_open(&bad, 0, -1, -1, 0));
	printf(" %u\n", bad.size > 63 && bad.size < 256);
	fd = raw_open_32(&attrs[0], 0, -1, -1, 0);
	printf("32 bits %s\n", fd > lead ? "ok" : strerror(-fd));
	return 0;
}
