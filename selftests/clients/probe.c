// SPDX-License-Identifier: GPL-2.0-only
/*
 * A static program that opens a kprobe on a kernel function and a uprobe on a function of its own.
 * The attr points to a string: the name of the kernel function or the path of the file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client.h"

#define CALLS	5

static void __attribute__((noinline)) marker(void)
{
	__asm__ volatile("" : : : "memory");
}

static void probe(const char *pmu, const char *name, uint64_t offset)
{
	struct perf_event_attr a = { .size = sizeof(a) };
	uint64_t v = 0;
	char path[128];
	int fd, i;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%u", &a.type) != 1) {
		printf("%s: not here\n", pmu);
		return;
	}
	fclose(f);
	a.config1 = (uintptr_t)name;
	a.config2 = offset;
	fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	if (fd < 0) {
		printf("%s %s: %s\n", pmu, name == (void *)8 ? "?" : name,
		       strerror(errno));
		return;
	}
	for (i = 0; i < CALLS; i++) {
		syscall(SYS_getppid);
		marker();
	}
	if (read(fd, &v, sizeof(v)) != sizeof(v))
		perror("read");
	printf("%s %s: %lu\n", pmu, name, (unsigned long)v);
	close(fd);
}

int main(void)
{
	uint64_t offset = (uintptr_t)marker - (uintptr_t)__executable_start;

	probe("kprobe", "__x64_sys_getppid", 0);
	probe("kprobe", "no_such_function", 0);
	probe("kprobe", (void *)8, 0);
	probe("uprobe", "/tests/client_probe", offset);
	if (chdir("/tests"))
		return 1;
	probe("uprobe", "client_probe", offset);
	probe("uprobe", "/nowhere", offset);
	return 0;
}
