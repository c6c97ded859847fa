// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens by syscall(2): natively it is the system call, on kpmu libkpmu-preload replaces it.  The
 * program is dynamic, unlike the others.  It executes itself again with the library.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

#define LIBRARY	"/tests/libkpmu-preload.so"

static void op_open_by_name(void)
{
	int fd = syscall(SYS_perf_event_open, &op_attr, 0, -1, -1, 0);

	if (fd < 0)
		exit(1);
	close(fd);
}

static void preload(char **argv)
{
	if (getenv("LD_PRELOAD"))
		return;
	setenv("LD_PRELOAD", LIBRARY, 1);
	execv(argv[0], argv);
	exit(1);
}

int main(int argc, char **argv)
{
	struct cost by_name;

	argv[0] = "/tests/bench_preload";
	if (!route_is_native())
		preload(argv);
	bench_begin();
	op_attr = counting(PERF_TYPE_RAW, RAW_BRANCHES);
	by_name = measure(op_open_by_name);
	row("open + close, enabled hardware event, preload", by_name);
	if (!route_is_native())
		row("what the preload adds to that", minus(by_name, measure(op_open)));
	return 0;
}
