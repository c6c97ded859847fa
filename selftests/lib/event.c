// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"

bool route_is_native(void)
{
	const char *route = getenv("KPMU_ROUTE");

	return route && !strcmp(route, "native");
}

/* The fd stays open: a test may drop the privilege to open the device */
int ev_device(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			perror(KPMU_DEVICE);
			exit(1);
		}
		/* Use a high number: some tests exhaust the low fds */
		int high = fcntl(fd, F_DUPFD_CLOEXEC, 250);

		if (high >= 0) {
			close(fd);
			fd = high;
		}
	}
	return fd;
}

/*
 * A program that unloads the module defines this as true: an open device holds a reference to
 * the module.
 */
const bool ev_device_late __attribute__((weak));

static void __attribute__((constructor)) open_early(void)
{
	if (!route_is_native() && !ev_device_late)
		ev_device();
}

static int open_attr(const struct perf_event_attr *attr, pid_t pid, int cpu,
		     int group_fd, unsigned long flags)
{
	struct kpmu_open args = {
		.attr = (uintptr_t)attr, .pid = pid, .cpu = cpu,
		.group_fd = group_fd, .flags = flags,
	};

	if (route_is_native())
		return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
	return ioctl(ev_device(), KPMU_IOC_OPEN, &args);
}

/* AMD's code for one of event.h, or 0 */
static uint64_t amd_code(uint64_t config)
{
	switch (config & 0xffff) {
	case RAW_LOADS: return 0x0129;
	case RAW_STORES: return 0x0229;
	case RAW_BRANCHES: return 0x00c2;
	default: return 0;
	}
}

/* Is it an attr of a raw event with a code of event.h?  It may not be readable. */
static bool is_intels(const struct perf_event_attr *attr)
{
	struct { uint32_t type, size; uint64_t config; } head = { 0 };
	int fd[2];

	if (pipe(fd))
		return false;
	if (write(fd[1], attr, sizeof(head)) != sizeof(head) ||
	    read(fd[0], &head, sizeof(head)) != sizeof(head))
		head.type = 0;
	close(fd[0]);
	close(fd[1]);
	return head.type == PERF_TYPE_RAW && amd_code(head.config);
}

int ev_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
	    int group_fd, unsigned long flags)
{
	/* Changed in place, as only the attr itself says how large it is */
	struct perf_event_attr *a = (struct perf_event_attr *)attr;
	uint64_t config;
	int fd, err;

	if (!is_amd() || !is_intels(attr))
		return open_attr(attr, pid, cpu, group_fd, flags);
	config = a->config;
	a->config = (config & ~0xffffULL) | amd_code(config);
	fd = open_attr(a, pid, cpu, group_fd, flags);
	err = errno;
	a->config = config;
	errno = err;
	return fd;
}

struct perf_event_attr ev_attr(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr) {
		.type = type, .size = sizeof(struct perf_event_attr),
		.config = config, .disabled = 1, .exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

int ev_must(const struct perf_event_attr *attr, pid_t pid, int cpu,
	    int group_fd, unsigned long flags)
{
	int fd = ev_open(attr, pid, cpu, group_fd, flags);

	if (fd < 0) {
		printf("# cannot open type %u config %#llx: %s\n", attr->type,
		       (unsigned long long)attr->config, strerror(errno));
		exit(1);
	}
	return fd;
}

int ev_self(uint32_t type, uint64_t config, int group_fd)
{
	struct perf_event_attr attr = ev_attr(type, config);

	attr.disabled = group_fd < 0;
	return ev_must(&attr, 0, -1, group_fd, 0);
}

int fd_errno(int fd)
{
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int ev_errno(const struct perf_event_attr *attr, pid_t pid, int cpu,
	     int group_fd, unsigned long flags)
{
	return fd_errno(ev_open(attr, pid, cpu, group_fd, flags));
}

uint64_t ev_count(int fd)
{
	uint64_t v[64];

	if (read(fd, v, sizeof(v)) < 8) {
		printf("# read: %s\n", strerror(errno));
		exit(1);
	}
	return v[0];
}

uint64_t ev_id(int fd)
{
	uint64_t id = 0;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id)) {
		printf("# PERF_EVENT_IOC_ID: %s\n", strerror(errno));
		exit(1);
	}
	return id;
}

struct ev_times ev_times(int fd)
{
	struct ev_times t;

	if (read(fd, &t, sizeof(t)) != sizeof(t)) {
		printf("# read of times: %s\n", strerror(errno));
		exit(1);
	}
	return t;
}

bool always_ran(int fd)
{
	struct ev_times t = ev_times(fd);

	if (t.running != t.enabled)
		printf("# enabled %llu ns, running %llu ns\n",
		       (unsigned long long)t.enabled,
		       (unsigned long long)t.running);
	return t.running == t.enabled;
}

int ev_self_times(uint32_t type, uint64_t config, int group_fd)
{
	struct perf_event_attr attr = ev_attr(type, config);

	attr.disabled = group_fd < 0;
	attr.read_format = FORMAT_TIMES;
	return ev_must(&attr, 0, -1, group_fd, 0);
}

static void control(int fd, unsigned long cmd, const char *name)
{
	if (ioctl(fd, cmd, 0)) {
		printf("# %s: %s\n", name, strerror(errno));
		exit(1);
	}
}

void ev_enable(int fd)
{
	control(fd, PERF_EVENT_IOC_ENABLE, "PERF_EVENT_IOC_ENABLE");
}

void ev_disable(int fd)
{
	control(fd, PERF_EVENT_IOC_DISABLE, "PERF_EVENT_IOC_DISABLE");
}

bool exact(void)
{
	const char *e = getenv("KPMU_EXACT");

	return !e || strcmp(e, "0");
}

int pin_task(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set);
}

int pin_to(int cpu)
{
	return pin_task(0, cpu);
}

int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

struct leaf {
	unsigned int a, b, c, d;
};

static struct leaf leaf(unsigned int n)
{
	struct leaf l = { 0 };

	__get_cpuid(n, &l.a, &l.b, &l.c, &l.d);
	return l;
}

bool is_amd(void)
{
	static int known;

	if (!known)
		known = leaf(0).b == 0x68747541 ? 1 : 2;	/* "Auth" */
	return known == 1;
}

bool has_pmu(void)
{
	return pmu_version();
}

int pmu_version(void)
{
	if (is_amd())
		return leaf(0x80000022).a & 1 ? 2 : 1;
	return leaf(0xa).a & 0xff;
}

/* AMD: 6 with PerfCtrExtCore */
int counters_general(void)
{
	if (is_amd())
		return leaf(0x80000001).c >> 23 & 1 ? 6 : 4;
	return leaf(0xa).a >> 8 & 0xff;
}

int counter_width(void)
{
	return is_amd() ? 48 : leaf(0xa).a >> 16 & 0xff;
}

int counters_fixed(void)
{
	return pmu_version() > 1 && !is_amd() ? leaf(0xa).d & 0x1f : 0;
}

unsigned int model_property(const char *name, unsigned int otherwise)
{
	const char *props = getenv("KPMU_PROPS"), *at;
	size_t len = strlen(name);

	for (at = props; at && (at = strstr(at, name)); at += len)
		if (at[len] == '=')
			return strtoul(at + len + 1, NULL, 0);
	return otherwise;
}

bool is_zen4(void)
{
	unsigned int a = leaf(1).a, family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
	unsigned int model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);

	if (!is_amd() || family < 0x19)
		return false;
	return family > 0x19 || (model >= 0x10 && model < 0x20) ||
	       (model >= 0x60 && model < 0x80) || (model >= 0xa0 && model < 0xb0);
}

/* Intel: on a fixed counter; AMD: since Zen 4 */
bool has_ref_cycles(void)
{
	return is_amd() ? is_zen4() : counters_fixed() >= 3;
}

unsigned int events_missing(void)
{
	return is_amd() ? 1 << 2 : leaf(0xa).b;		/* AMD has no bus cycles */
}

enum cpu cpu_model(void)
{
	unsigned int a = leaf(1).a;

	if (is_amd())
		return (a >> 8 & 0xf) + (a >> 20 & 0xff) >= 0x17 ? CPU_ZEN : CPU_OTHER;
	if (leaf(0).b != 0x756e6547 || (a >> 8 & 0xf) != 6)
		return CPU_OTHER;
	a = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
	return a == CPU_SKYLAKE || a == CPU_ICELAKE || a == CPU_SPR ? a : CPU_OTHER;
}

bool exact_time(void)
{
	const char *e = getenv("KPMU_ICOUNT");

	return e && !strcmp(e, "1");
}

int cpu_online(int cpu, int online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_long(path, online);
}

void *toggle_last_cpu(void *stop)
{
	int last = nr_cpus() - 1;

	while (!*(volatile int *)stop) {
		cpu_online(last, 0);
		cpu_online(last, 1);
	}
	return NULL;
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

uint64_t patience(void)
{
	/* Under -icount, guest time does not depend on the load of the host */
	return now_ns() + (exact_time() ? 5 : 40) * 1000000000ULL * slow();
}

int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n - 3;	/* ., .. and the fd of the directory itself */
}

void drop_privilege(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) {
		perror("cannot become nobody");
		exit(1);
	}
	/* Changing ids clears the dumpable flag.  Set it again: only privileges are under test. */
	prctl(PR_SET_DUMPABLE, 1);
}

int try_unprivileged(int (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		drop_privilege();
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void drop_to(int cap)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	data[cap / 32].effective = 1u << cap % 32;
	data[cap / 32].permitted = 1u << cap % 32;
	prctl(PR_SET_KEEPCAPS, 1);
	drop_privilege();
	if (syscall(SYS_capset, &head, data)) {
		perror("capset");
		exit(1);
	}
}

long read_long(const char *path)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	if (read(fd, buf, sizeof(buf) - 1) < 0)
		buf[0] = 0;
	close(fd);
	return strtol(buf, NULL, 0);
}

int write_long(const char *path, long val)
{
	char buf[32];
	int len = snprintf(buf, sizeof(buf), "%ld\n", val);
	int fd = open(path, O_WRONLY);
	int err;

	if (fd < 0)
		return -1;
	err = write(fd, buf, len) == len ? 0 : -1;
	close(fd);
	return err;
}

uint32_t pmu_type(const char *pmu)
{
	char path[100];
	long type;

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/%s/type",
		 route_is_native() ? "event_source" : "kpmu", pmu);
	type = read_long(path);
	if (type < 0) {
		printf("# %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return type;
}

uint64_t file_offset(const void *addr)
{
	unsigned long start, end, off, at = (unsigned long)addr;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[300];
	uint64_t found = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 &&
		    start <= at && at < end)
			found = at - start + off;
	fclose(f);
	return found;
}

const char *sysctl_file(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s%s",
		 route_is_native() ? "" : "kpmu/", name);
	return path;
}

const char *paranoid_file(void)
{
	return sysctl_file("perf_event_paranoid");
}

/* kpmu applies the stricter of its own and the native level, so set both */
void set_paranoid(int level)
{
	if (write_long("/proc/sys/kernel/perf_event_paranoid", level) ||
	    (!route_is_native() && write_long(paranoid_file(), level))) {
		perror("cannot set perf_event_paranoid");
		exit(1);
	}
}

/* Native perf rejects a write to the rate while the time share is unlimited */
void throttle_at(long rate, int percent)
{
	write_long(sysctl_file("perf_cpu_time_max_percent"), 25);
	write_long(sysctl_file("perf_event_max_sample_rate"), rate);
	write_long(sysctl_file("perf_cpu_time_max_percent"), percent);
}

void no_throttle(void)
{
	throttle_at(1000000000, 0);
}
