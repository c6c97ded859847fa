/* SPDX-License-Identifier: GPL-2.0-only */
/* Opening and reading a set of events (KPMU_IOC_OPEN_SET), for the tests of sets. */
#ifndef KPMU_TEST_SETS_H
#define KPMU_TEST_SETS_H

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "event.h"

#define EVENTS	16
#define TARGETS	64

static struct perf_event_attr attr[EVENTS];
static struct kpmu_set_event ev[EVENTS];
static int32_t target[KPMU_SET_MAX_TARGETS], error[TARGETS * EVENTS];
static struct kpmu_open_set args;

static struct {
	struct kpmu_set_head head;
	uint64_t word[3 * TARGETS * EVENTS];
} result;

/* A set of @events times instructions on @targets targets, which are CPUs from 0 or 0 */
static inline void plan(int events, int targets, uint32_t flags)
{
	memset(ev, 0, sizeof(ev));
	memset(error, 0xff, sizeof(error));
	for (int i = 0; i < EVENTS; i++) {
		attr[i] = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
		ev[i].attr = (uintptr_t)&attr[i];
		ev[i].group = -1;
	}
	for (int i = 0; i < targets; i++)
		target[i] = flags & KPMU_SET_TASKS ? 0 : i;
	args = (struct kpmu_open_set) {
		.events = (uintptr_t)ev, .targets = (uintptr_t)target,
		.errors = (uintptr_t)error, .nr_events = events, .nr_targets = targets,
		.flags = flags,
	};
}

static inline int open_set(void)
{
	return ioctl(ev_device(), KPMU_IOC_OPEN_SET, &args);
}

static inline int open_errno(void)
{
	return fd_errno(open_set());
}

static inline ssize_t get(int fd)
{
	memset(&result, 0x55, sizeof(result));
	return read(fd, &result, sizeof(result));
}

static inline ssize_t size_of(int words)
{
	return sizeof(struct kpmu_set_head) + 8 * words;
}

#endif
