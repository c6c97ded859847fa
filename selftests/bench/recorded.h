/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of events that sample what the hardware records, with a prefix for the kind of hardware */
#ifndef KPMU_BENCH_RECORDED_H
#define KPMU_BENCH_RECORDED_H

#include <stdbool.h>
#include <stdio.h>

#include "ops.h"

static const char *prefix = "";

static inline void prefixed_row(const char *name, struct cost c)
{
	char full[100];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	row(full, c);
}

/* A switch between two tasks with such an event each, which takes no sample */
static inline void sampled_switch(const char *name, struct perf_event_attr attr)
{
	static bool known;
	pid_t pid;
	int first;

	if (!known)
		switch_without_events();
	known = true;
	pid = partner_start();
	attr.sample_period = 1ULL << 40;
	first = ev_must(&attr, 0, -1, -1, 0);
	ev_must(&attr, pid, -1, -1, 0);
	prefixed_row(name, net_switch());
	close_from(first);
	partner_end(pid);
}

#endif
