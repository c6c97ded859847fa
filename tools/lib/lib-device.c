// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu: the device, single events, information about CPUs and events. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libkpmu.h"

static int device = -1;

int kpmu_device(void)
{
	int fd = __atomic_load_n(&device, __ATOMIC_ACQUIRE), none = -1;

	if (fd >= 0)
		return fd;
	fd = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0 || __atomic_compare_exchange_n(&device, &none, fd, 0, __ATOMIC_ACQ_REL,
						  __ATOMIC_ACQUIRE))
		return fd;
	/* Another thread was first */
	close(fd);
	return none;
}

static int open_event(const struct kpmu_open *args)
{
	int fd = kpmu_device();

	return fd < 0 ? fd : ioctl(fd, KPMU_IOC_OPEN, args);
}

int kpmu_event_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		    unsigned long flags)
{
	struct kpmu_open args = {
		.attr = (uintptr_t)attr, .pid = pid, .cpu = cpu, .group_fd = group_fd,
		.flags = flags,
	};

	return open_event(&args);
}

int kpmu_event_open_on(int reservation, const struct perf_event_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	struct kpmu_open args = {
		.attr = (uintptr_t)attr, .pid = pid, .cpu = cpu, .group_fd = group_fd,
		.reserved = reservation, .flags = flags | KPMU_OPEN_RESERVED,
	};

	return open_event(&args);
}

int kpmu_reserve(const int *cpus, int nr_cpus, uint32_t counters, const char *name)
{
	struct kpmu_reserve args = {
		.cpus = (uintptr_t)cpus, .nr_cpus = nr_cpus, .counters = counters,
		.flags = KPMU_RESERVE_CLOEXEC,
	};
	int fd = kpmu_device();

	strncpy(args.name, name, sizeof(args.name) - 1);
	return fd < 0 ? fd : ioctl(fd, KPMU_IOC_RESERVE, &args);
}

const char *kpmu_why(void)
{
	static __thread struct kpmu_why why;
	int fd = __atomic_load_n(&device, __ATOMIC_ACQUIRE);

	if (fd < 0 || ioctl(fd, KPMU_IOC_WHY, &why))
		why.text[0] = 0;
	return why.text;
}

int kpmu_cpu_info(int cpu, struct kpmu_info *info, struct kpmu_info_counter *counters, int nr)
{
	struct kpmu_ask_info ask = {
		.cpu = cpu, .size = sizeof(*info), .info = (uintptr_t)info,
		.counter_size = sizeof(*counters), .nr = nr, .counters = (uintptr_t)counters,
	};
	int fd = kpmu_device();

	if (fd < 0 || ioctl(fd, KPMU_IOC_INFO, &ask))
		return -1;
	return (int)info->nr_counters < nr ? (int)info->nr_counters : nr;
}

int kpmu_events_explain(const struct kpmu_event *events, int nr, int cpu,
			struct kpmu_explain_event *view)
{
	struct kpmu_explain set = {
		.size = sizeof(*view), .nr = nr, .pid = cpu < 0 ? 0 : -1, .cpu = cpu,
		.events = (uintptr_t)view,
	};
	int fd = kpmu_device(), i;

	if (fd < 0)
		return -1;
	for (i = 0; i < nr; i++) {
		memset(&view[i], 0, sizeof(*view));
		view[i].attr = (uintptr_t)&events[i].attr;
		view[i].group = events[i].leader == i ? -1 : events[i].leader;
	}
	return ioctl(fd, KPMU_IOC_EXPLAIN, &set);
}
