// SPDX-License-Identifier: GPL-2.0-only
/*
 * test - what does dot() cost?  The program counts its own instructions by perf_event_open(2) and
 * compares exactly: each further element costs the same, and a call with the same arguments always
 * costs the same.  Neither depends on the compiler or the C library.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "dot.h"

#define MOST 4096

static long a[MOST], b[MOST];
static volatile long result;

static long long cost(int fd, size_t n)
{
	long long count;

	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	result = dot(a, b, n);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return -1;
	return count;
}

static int failed;

static void equal(const char *what, long long is, long long expected)
{
	printf("%s %s: %lld, expected %lld\n", is == expected ? "ok" : "not ok", what, is,
	       expected);
	if (is != expected)
		failed = 1;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	long long c1, c2, c4;

	if (fd < 0) {
		perror("perf_event_open");
		return 1;
	}
	for (size_t i = 0; i < MOST; i++)
		a[i] = b[i] = i;
	cost(fd, 8);		/* the dynamic linker finds the functions once */
	c1 = cost(fd, MOST / 4);
	c2 = cost(fd, MOST / 2);
	c4 = cost(fd, MOST);
	equal("the cost is linear", c4 - c2, 2 * (c2 - c1));
	equal("the same call costs the same", cost(fd, MOST), c4);
	equal("each element costs a whole number of instructions", (c4 - c2) % (MOST / 2), 0);
	printf("# %lld instructions an element\n", (c4 - c2) / (MOST / 2));
	return failed;
}
