// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native perf on a hybrid machine, whose CPUs 0 and 1 are performance cores, 2 and 3 efficiency
 * cores: its two PMUs, and what each of them counts on which CPU.  Kernels differ in what they do
 * with a type of no PMU in the upper half of a generic config, so this is not tested.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#define CORE	0
#define ATOM	2
#define LOOPS	100000

static int core_type, atom_type;

static int perf_open(uint32_t type, uint64_t config, int pid, int cpu, int group)
{
	struct perf_event_attr a = {
		.size = sizeof(a), .type = type, .config = config,
		.disabled = group < 0, .exclude_kernel = 1, .exclude_hv = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = syscall(SYS_perf_event_open, &a, pid, cpu, group, 0);

	return fd < 0 ? -errno : fd;
}

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
}

/* 2 instructions, 1 conditional branch in each iteration */
static void loop(long n)
{
	asm volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

struct result { uint64_t value, enabled, running; };

/* The difference between runs of 2 * LOOPS and LOOPS iterations is exact */
static struct result count(int fd, int cpu)
{
	struct result r[2];

	go_to(cpu);
	for (int i = 0; i < 2; i++) {
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		loop((i + 1) * (long)LOOPS);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(fd, &r[i], sizeof(r[i])) != sizeof(r[i]))
			exit(1);
	}
	r[1].value -= r[0].value;
	return r[1];
}

/* An event of this task: what it counts for an iteration, on the two kinds of CPUs */
static void counts(const char *name, int type, uint64_t config, long on_core, long on_atom)
{
	int fd = perf_open(type, config, 0, -1, -1);
	struct result c = count(fd, CORE), a = count(fd, ATOM);

	check(fd >= 0 && c.value == on_core * (uint64_t)LOOPS && a.value == on_atom * (uint64_t)LOOPS,
	      "%s: %llu on a performance core, %llu on an efficiency core", name,
	      (unsigned long long)c.value, (unsigned long long)a.value);
	close(fd);
}

static void opens(const char *name, int type, uint64_t config, int cpu, int expected)
{
	int fd = perf_open(type, config, -1, cpu, -1);

	check(expected ? fd == -expected : fd >= 0, "%s on CPU %d: %s", name, cpu,
	      fd < 0 ? strerror(-fd) : "opens");
	if (fd >= 0)
		close(fd);
}

/* The largest group of an event is the number of counters that can count it */
static void room(const char *name, int type, uint64_t config, int expected)
{
	int fd[32], n = 0;

	for (; n < 32; n++) {
		fd[n] = perf_open(type, config, 0, -1, n ? fd[0] : -1);
		if (fd[n] < 0)
			break;
	}
	check(n == expected, "%s: %d counters", name, n);
	while (n--)
		close(fd[n]);
}

static int number(const char *path)
{
	FILE *f = fopen(path, "r");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void leaves(int cpu, unsigned int type)
{
	unsigned int a, b, c, d;

	go_to(cpu);
	__cpuid_count(7, 0, a, b, c, d);
	check(d >> 15 & 1, "CPU %d says that the machine is hybrid", cpu);
	__cpuid_count(0x1a, 0, a, b, c, d);
	check(a >> 24 == type, "CPU %d has core type %#x", cpu, a >> 24);
	__cpuid_count(0xa, 0, a, b, c, d);
	check((a >> 8 & 0xff) == 6 && (d & 0x1f) == 3, "CPU %d: CPUID has the counters of all", cpu);
}

static void times(void)
{
	int fd = perf_open(core_type, 0xc0, 0, -1, -1);
	struct result c = count(fd, CORE), a;

	check(c.running == c.enabled, "running all the time on its CPU");
	close(fd);
	fd = perf_open(core_type, 0xc0, 0, -1, -1);
	a = count(fd, ATOM);
	check(a.enabled && !a.running, "enabled, but not running on another one");
	close(fd);
}

int main(void)
{
	uint64_t on_atom;

	core_type = number("/sys/bus/event_source/devices/cpu_core/type");
	atom_type = number("/sys/bus/event_source/devices/cpu_atom/type");
	on_atom = (uint64_t)atom_type << 32;
	check(core_type == PERF_TYPE_RAW && atom_type > 4, "types %d and %d", core_type, atom_type);
	leaves(CORE, 0x40);
	leaves(ATOM, 0x20);
	counts("instructions", PERF_TYPE_HARDWARE, 1, 2, 0);
	counts("cpu_core/instructions/", PERF_TYPE_HARDWARE, 4ull << 32 | 1, 2, 0);
	counts("cpu_atom/instructions/", PERF_TYPE_HARDWARE, on_atom | 1, 0, 2);
	counts("cpu_core/event=0xc4,umask=0x11/", core_type, 0x11c4, 1, 0);
	counts("cpu_core/event=0xc4,umask=0x7e/", core_type, 0x7ec4, 0, 0);
	counts("cpu_atom/event=0xc4,umask=0x7e/", atom_type, 0x7ec4, 0, 1);
	counts("cpu_atom/event=0xc4,umask=0x11/", atom_type, 0x11c4, 0, 0);
	counts("cpu_core/slots/", core_type, 0x0400, 16, 0);
	times();
	opens("instructions", PERF_TYPE_HARDWARE, 1, CORE, 0);
	opens("instructions", PERF_TYPE_HARDWARE, 1, ATOM, 0);
	opens("cpu_core/instructions/", core_type, 0xc0, ATOM, ENOENT);
	opens("cpu_atom/instructions/", atom_type, 0xc0, CORE, ENOENT);
	opens("instructions of cpu_core", PERF_TYPE_HARDWARE, 4ull << 32 | 1, ATOM, ENOENT);
	opens("instructions of cpu_atom", PERF_TYPE_HARDWARE, on_atom | 1, CORE, ENOENT);
	room("cpu_core, instructions", core_type, 0xc0, 9);
	room("cpu_core, branches", core_type, 0xc4, 8);
	room("cpu_core, loads", core_type, 0x81d0, 4);
	room("cpu_atom, instructions", atom_type, 0xc0, 7);
	room("cpu_atom, branches", atom_type, 0xc4, 6);
	room("cpu_atom, loads", atom_type, 0x81d0, 6);
	printf("1..%d\n", tests);
	return failed != 0;
}
