/* SPDX-License-Identifier: GPL-2.0-only */
/* Stress mode: calls of /dev/kpmu that native perf does not have, while others change events. */
#ifndef KPMU_FUZZ_OURS_H
#define KPMU_FUZZ_OURS_H

#include "world.h"

/* Which of the open events and of one with the current attr count together? */
static inline void crowd_explain(void)
{
	struct kpmu_explain_event ev[SLOTS + 1] = { { .attr = (uintptr_t)&world.attr, .group = -1 } };
	struct kpmu_explain set = {
		.size = sizeof(ev[0]), .nr = SLOTS + 1, .cpu = -1, .events = (uintptr_t)ev,
	};

	for (int i = 0; i < SLOTS; i++) {
		ev[i + 1].fd = slot_fd(i);
		ev[i + 1].group = -1;
	}
	ioctl(world.device, KPMU_IOC_EXPLAIN, &set);
}

static inline void crowd_info(void)
{
	struct kpmu_info info;
	struct kpmu_info_counter c[8];
	struct kpmu_ask_info ask = {
		.cpu = real_cpu(0), .size = sizeof(info), .info = (uintptr_t)&info,
		.counter_size = sizeof(c[0]), .nr = 8, .counters = (uintptr_t)c,
	};

	ioctl(world.device, KPMU_IOC_INFO, &ask);
}

/*
 * A set of events with the current attr, a group among them, on tasks or on CPUs.  It stays until the
 * next one, also in the tasks that this one forks.
 */
static inline void crowd_open_set(int op)
{
	struct kpmu_set_event ev[4];
	int32_t target[4];
	struct kpmu_open_set set = {
		.events = (uintptr_t)ev, .nr_events = 1 + op % 4,
		.targets = (uintptr_t)target, .nr_targets = 1 + world.turn % 4,
		.flags = op & 1 ? KPMU_SET_PARTIAL : 0,
	};

	if (world.set >= 0)
		close(world.set);
	if (world.turn & 2)
		set.flags |= KPMU_SET_TIMES;
	if (op & 2)
		set.flags |= KPMU_SET_TASKS;
	if (op % 3 == 0) {
		set.period_us = 1000;
		set.nr_slots = 4;
	}
	for (int i = 0; i < 4; i++) {
		ev[i] = (struct kpmu_set_event){
			.attr = (uintptr_t)&world.attr, .group = i > 1 ? 1 : -1,
		};
		target[i] = op & 2 ? target_pid(i) : (int)((i + world.turn) % world.cpus);
	}
	world.set = ioctl(world.device, KPMU_IOC_OPEN_SET, &set);
}

static inline void crowd_use_set(int op)
{
	uint64_t result[3 + 3 * 16];
	void *page;

	switch (op % 8) {
	case 0:
		ioctl(world.set, PERF_EVENT_IOC_ENABLE, 0);
		break;
	case 1:
		ioctl(world.set, PERF_EVENT_IOC_DISABLE, 0);
		break;
	case 2:
		ioctl(world.set, PERF_EVENT_IOC_RESET, 0);
		break;
	case 3:
		page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, world.set, 0);
		if (page != MAP_FAILED && op & 8)
			munmap(page, 8192);
		break;
	default:
		if (read(world.set, result, sizeof(result)) < 0)
			errno = 0;
	}
}

/* After an operation of a program */
static inline void ours_in_crowd(int op)
{
	switch ((world.turn + op) % 6) {
	case 0:
		crowd_explain();
		break;
	case 1:
		crowd_info();
		break;
	case 2:
		crowd_open_set(op);
		break;
	default:
		if (world.set >= 0)
			crowd_use_set(op + world.turn);
	}
}

#endif
