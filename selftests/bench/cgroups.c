// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two trees of nested cgroups, 8 deep.  Each cgroup has an event on CPU 0.  A task in a leaf is
 * counted by the events of all eight levels.  Half of them are hardware events, which fit onto the
 * counters, so that nothing rotates.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "cgroup.h"
#include "cost.h"
#include "event.h"
#include "ops.h"

#define DEEP	8

static struct cgroup root, tree[2][DEEP];
static int fds[2][DEEP];

static void make_tree(struct cgroup *level, const char *name)
{
	int i;

	for (i = 0; i < DEEP; i++)
		cgroup_make(&level[i], i ? &level[i - 1] : &root, name);
}

static struct perf_event_attr event_of_level(int i)
{
	static const uint64_t raw[DEEP / 2] = {
		RAW_BRANCHES, RAW_LOADS, RAW_STORES, 0x00c5,
	};

	if (i % 2)
		return counting(PERF_TYPE_RAW, raw[i / 2]);
	return counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
}

static void open_trees(void)
{
	int t, i;

	for (t = 0; t < 2; t++)
		for (i = 0; i < DEEP; i++) {
			struct perf_event_attr attr = event_of_level(i);

			fds[t][i] = ev_must(&attr, tree[t][i].fd, 0, -1,
					    PERF_FLAG_PID_CGROUP);
		}
}

static void close_trees(void)
{
	int i;

	for (i = 0; i < 2 * DEEP; i++)
		close(fds[i / DEEP][i % DEEP]);
}

static void op_open_leaf(void)
{
	close(ev_must(&op_attr, tree[0][DEEP - 1].fd, 0, -1, PERF_FLAG_PID_CGROUP));
}

/* What the events add to a switch between the caller and a partner in the leaf of tree @t */
static void bench_switch(const char *name, int t)
{
	struct cost none;
	pid_t pid;

	cgroup_add(&tree[0][DEEP - 1], getpid());
	pid = partner_start();
	cgroup_add(&tree[t][DEEP - 1], pid);
	none = measure(op_pingpong);
	open_trees();
	row(name, divided(minus(measure(op_pingpong), none), 2));
	close_trees();
	partner_end(pid);
	cgroup_add(&root, getpid());
	/* The hooks are detached a while after the last event */
	op_cold();
}

/* A set that counts @nr events of CPU 0 by cgroup */
static int open_buckets(int nr)
{
	static const uint64_t raw[] = { RAW_BRANCHES, RAW_LOADS, RAW_STORES, 0x00c5 };
	struct kpmu_set_event ev[ARRAY_SIZE(raw)] = { };
	struct perf_event_attr attr[ARRAY_SIZE(raw)];
	int32_t cpu = 0;
	struct kpmu_open_set args = {
		.events = (uintptr_t)ev, .nr_events = nr, .targets = (uintptr_t)&cpu,
		.nr_targets = 1, .flags = KPMU_SET_BY_CGROUP, .nr_slots = 100,
	};

	for (int i = 0; i < nr; i++) {
		attr[i] = counting(PERF_TYPE_RAW, raw[i]);
		ev[i] = (struct kpmu_set_event){ .attr = (uintptr_t)&attr[i], .group = -1 };
	}
	return ioctl(ev_device(), KPMU_IOC_OPEN_SET, &args);
}

/* What counting by cgroup adds to a switch between two cgroups, or within one */
static void bench_buckets(const char *name, int nr, int t)
{
	struct cost none;
	pid_t pid;
	int fd;

	if (route_is_native())
		return;
	cgroup_add(&tree[0][DEEP - 1], getpid());
	pid = partner_start();
	cgroup_add(&tree[t][DEEP - 1], pid);
	none = measure(op_pingpong);
	fd = open_buckets(nr);
	if (fd < 0)
		exit(1);
	row(name, divided(minus(measure(op_pingpong), none), 2));
	close(fd);
	partner_end(pid);
	cgroup_add(&root, getpid());
	op_cold();
}

int main(void)
{
	bench_begin();
	cgroup_v2();
	cgroup_root(&root);
	make_tree(tree[0], "this");
	make_tree(tree[1], "that");
	bench_switch("switch in one leaf", 0);
	bench_switch("switch between two such trees", 1);
	bench_buckets("switch in one leaf, 4 events by cgroup", 4, 0);
	bench_buckets("switch between two leaves, 1 event by cgroup", 1, 1);
	bench_buckets("switch between two leaves, 4 events by cgroup", 4, 1);
	op_attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);
	row("open + close of an event in a leaf", measure(op_open_leaf));
	return 0;
}
