/* SPDX-License-Identifier: GPL-2.0-only */
/* A set of events for KPMU_IOC_EXPLAIN, for its tests. */
#ifndef KPMU_TEST_EXPLAIN_H
#define KPMU_TEST_EXPLAIN_H

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "event.h"

#define MAX	12

static struct perf_event_attr attr[MAX];
static struct kpmu_explain_event ev[KPMU_EXPLAIN_MAX + 1];
static struct kpmu_explain set;

/* @nr events of the caller, all to be filled in */
static inline void start(int nr)
{
	memset(ev, 0, sizeof(ev));
	set = (struct kpmu_explain) {
		.size = sizeof(ev[0]), .nr = nr, .cpu = -1, .events = (uintptr_t)ev,
	};
	for (int i = 0; i < nr; i++)
		ev[i].group = -1;
}

/* 0 or the errno */
static inline int ask(void)
{
	return ioctl(ev_device(), KPMU_IOC_EXPLAIN, &set) ? errno : 0;
}

/* Event @i is one that is not open */
static inline void dry(int i, uint64_t config, int group)
{
	attr[i] = ev_attr(PERF_TYPE_RAW, config);
	attr[i].disabled = group < 0;
	ev[i].attr = (uintptr_t)&attr[i];
	ev[i].group = group;
}

#endif
