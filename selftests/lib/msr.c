// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "msr.h"

static int open_msrs(int cpu)
{
	char path[32];
	int fd, high;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	/* Use a high number, apart from the fds of the events that programs open and close */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	close(fd);
	return high;
}

bool msr_read(int cpu, uint32_t msr, uint64_t *value)
{
	static int fds[MSR_MAX_CPUS];

	if (!fds[cpu])
		fds[cpu] = open_msrs(cpu);
	return pread(fds[cpu], value, 8, msr) == 8;
}
