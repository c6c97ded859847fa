// SPDX-License-Identifier: GPL-2.0-only
/* msr/irperf/, which counts retired instructions at all levels: AMD's IRPERF. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#define PMU "/sys/bus/event_source/devices/msr/"

static int read_file(const char *path, const char *fmt)
{
	FILE *f = fopen(path, "r");
	unsigned int v = 0;

	if (!f || fscanf(f, fmt, &v) != 1) {
		printf("# %s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	return v;
}

static int irperf_open(void)
{
	struct perf_event_attr a = {
		.size = sizeof(a), .type = read_file(PMU "type", "%u"),
		.config = read_file(PMU "events/irperf", "event=%x"), .disabled = 1,
	};

	return syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static uint64_t counted(int fd, unsigned long n)
{
	uint64_t v = 0;

	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	asm volatile("1: dec %0; jnz 1b" : "+r"(n));
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &v, 8) != 8)
		check(0, "irperf: read");
	return v;
}

int main(int argc, char **argv)
{
	int there = access(PMU "events/irperf", R_OK) == 0, fd;
	uint64_t few, many;

	if (argc > 1) {
		check(!there, "irperf: %s there is none", argv[1]);
		printf("1..%d\n", tests);
		return failed != 0;
	}
	check(there, "irperf: the kernel has msr/irperf/");
	fd = irperf_open();
	check(fd >= 0, "irperf: opened");
	few = counted(fd, 1000000);
	many = counted(fd, 11000000);
	/* Interrupts of ten million rounds are counted as well */
	check(few > 2000000 && few < 3000000 && many - few >= 19990000 && many - few < 22000000,
	      "irperf: %lu and %lu instructions", (unsigned long)few, (unsigned long)many);
	printf("1..%d\n", tests);
	return failed != 0;
}
