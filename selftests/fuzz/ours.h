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

/* Counters of some CPUs, which stay reserved until the next time */
static inline void crowd_reserve(int op)
{
	int32_t cpu[2] = { (op + world.turn) % world.cpus, world.turn % world.cpus };
	struct kpmu_reserve args = {
		.cpus = (uintptr_t)cpu, .nr_cpus = 1 + op % 2,
		.counters = 1 + world.turn % 15, .name = "fuzz",
	};

	if (world.reserved >= 0)
		close(world.reserved);
	world.reserved = ioctl(world.device, KPMU_IOC_RESERVE, &args);
}

static inline void crowd_histogram(int op)
{
	struct kpmu_open_histogram args = {
		.event = slot_fd(op % SLOTS), .by = world.turn % 3, .order = 4 + op % 5,
	};

	if (world.histogram >= 0)
		close(world.histogram);
	world.histogram = ioctl(world.device, KPMU_IOC_HISTOGRAM, &args);
}

/* A strict event with the current attr, which is kept until the next one, or joins that one's group */
static inline void crowd_open_strict(int op)
{
	struct kpmu_open open = {
		.attr = (uintptr_t)&world.attr, .pid = op & 1 ? target_pid(op % 4) : -1,
		.cpu = op & 1 ? -1 : (int)((op + world.turn) % world.cpus), .group_fd = -1,
		.flags = KPMU_OPEN_STRICT,
	};
	int fd;

	if (op % 5 == 0) {
		open.flags |= KPMU_OPEN_RESERVED;
		open.reserved = world.reserved;
	}
	if (world.strict >= 0 && op % 3 == 0) {
		open.group_fd = world.strict;
		open.flags &= KPMU_OPEN_RESERVED;
	}
	fd = ioctl(world.device, KPMU_IOC_OPEN, &open);
	if (fd < 0)
		return;
	if (world.strict >= 0)
		close(world.strict);
	world.strict = fd;
}

/* Map snapshots or a timeline, and write anything to their heads and tails */
static inline void crowd_map_set(int op)
{
	for (size_t size = 8192; size <= 32768; size += 4096) {
		uint64_t *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, world.set, 0);

		if (page == MAP_FAILED)
			continue;
		page[op % 64] = op & 16 ? page[op % 64 & ~1] : (uint64_t)op << world.turn % 64;
		if (op & 8)
			munmap(page, size);
		return;
	}
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
	if (world.turn % 3 == 0)
		set.flags |= KPMU_SET_STRICT;
	if (op % 3 == 0) {
		set.period_us = 1000;
		set.nr_slots = 4;
	}
	/* Few buckets for the tasks that exist */
	if (!(op & 2) && world.turn & 4) {
		set.flags |= world.turn & 1 ? KPMU_SET_BY_TASK : KPMU_SET_BY_CGROUP;
		set.flags |= op & 1 ? KPMU_SET_DELTA : 0;
		set.nr_slots = 1 + op % 8;
		set.period_us = 0;
	} else if (!(op & 2) && world.turn & 8) {
		set.flags |= KPMU_SET_TIMELINE;
		set.nr_slots = 8 << op % 4;
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
	uint64_t result[4 + 10 * (2 + 3 * 4)];

	switch (op % 9) {
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
		crowd_map_set(op);
		break;
	default:
		if (read(world.set, result, sizeof(result)) < 0)
			errno = 0;
	}
}

/* After an operation of a program */
static inline void ours_in_crowd(int op)
{
	switch ((world.turn + op) % 8) {
	case 0:
		crowd_explain();
		break;
	case 1:
		crowd_info();
		break;
	case 2:
		crowd_open_set(op);
		break;
	case 3:
		crowd_open_strict(op);
		break;
	case 4:
		crowd_reserve(op);
		break;
	case 5:
		crowd_histogram(op);
		break;
	default:
		if (world.set >= 0)
			crowd_use_set(op + world.turn);
	}
}

#endif
