// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client that encodes its events itself, as libpfm4 and PAPI do.  It reads the type of the PMU
 * and the positions of the fields from sysfs.  The event codes are in its own table.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client.h"

#define PMU	"/sys/bus/event_source/devices/cpu/"

static int read_line(const char *path, char *line, int len)
{
	FILE *f = fopen(path, "r");
	int ok = f && fgets(line, len, f);

	if (f)
		fclose(f);
	if (!ok)
		perror(path);
	return ok;
}

/* Place @val in the field of config that the file describes, for example "config:0-7" */
static uint64_t field(const char *path, uint64_t val)
{
	unsigned int from, to;
	char line[64];

	if (!read_line(path, line, sizeof(line)) ||
	    sscanf(line, "config:%u-%u", &from, &to) != 2)
		return 0;
	return (val & ((1ULL << (to - from + 1)) - 1)) << from;
}

static const struct code {
	const char *name;
	unsigned int event, umask;
} codes[] = {
	{ "BR_INST_RETIRED:ALL_BRANCHES", 0xc4, 0 },
	{ "MEM_INST_RETIRED:ALL_LOADS", 0xd0, 0x81 },
	{ "MEM_INST_RETIRED:ALL_STORES", 0xd0, 0x82 },
};

#define N	3

int main(void)
{
	struct perf_event_attr a;
	uint64_t v[N + 3] = { 0 };
	int i, fd, lead = -1;
	char line[64];
	unsigned int type;

	if (!read_line(PMU "type", line, sizeof(line)) ||
	    sscanf(line, "%u", &type) != 1)
		return 1;
	for (i = 0; i < N; i++) {
		a = client_attr(type, field(PMU "format/event", codes[i].event) |
				field(PMU "format/umask", codes[i].umask));
		a.disabled = lead < 0;
		a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
				PERF_FORMAT_TOTAL_TIME_RUNNING;
		fd = syscall(SYS_perf_event_open, &a, 0, -1, lead, 0);
		if (fd < 0) {
			perror(codes[i].name);
			return 1;
		}
		if (lead < 0)
			lead = fd;
	}
	work_counted(lead, 20000, PERF_IOC_FLAG_GROUP);
	if (read(lead, v, sizeof(v)) != sizeof(v))
		perror("read");
	for (i = 0; i < N; i++)
		printf("%-30s %lu\n", codes[i].name, (unsigned long)v[3 + i]);
	printf("always on a counter: %d\n", v[1] == v[2]);
	return 0;
}
